"""Scores of estimators, for the model selection of scikit-learn."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from . import _core
from ._data import csr_arrays


class Scorer(NamedTuple):
    """A function of an estimator and held-out data that is larger for better models; see :func:`scorer`."""

    metric: str
    hold_out: float
    seed: int

    def __call__(self, estimator: Any, X: Any, y: Any = None) -> float:
        """The metric of the estimator, or of the last step of a pipeline, on the data."""
        steps = getattr(estimator, "steps", None)
        if steps is not None:
            X = estimator[:-1].transform(X) if len(steps) > 1 else X
            estimator = steps[-1][1]
        if not sp.issparse(X):
            return self._of_known_users(estimator, X)
        return self._of_new_users(estimator, X.tocsr())

    def _of_known_users(self, estimator: Any, table: Any) -> float:
        test = estimator._convert(table)
        if not len(test.pairs()[0]):
            raise ValueError(
                "no row has a user and an item that the model knows. Rows of a table are held-out interactions of known "
                "users: if a table is sorted by users, divide it with cv=KFold(5, shuffle=True)"
            )
        return float(estimator._measured(test, [self.metric], True, None)[self.metric])

    def _of_new_users(self, estimator: Any, rows: Any) -> float:
        from ._selection import split

        parts = split(rows, f"share:{self.hold_out}", pick="random", seed=self.seed)
        known, held_out = (sp.csr_matrix(part) for part in parts)
        if held_out.nnz == 0:
            raise ValueError("no entry can be held out: every row has fewer than two")
        users, items = held_out.nonzero()
        _, _, found = _core.evaluate(
            estimator._fitted(),
            csr_arrays(known),
            users.astype(np.uint32),
            items.astype(np.uint32),
            [self.metric],
            True,
            estimator._threads(),
            estimator.fold_in(known),
        )
        return float(found[0][1])


def scorer(metric: str = "ndcg@10", *, hold_out: float = 0.2, seed: int = 0) -> Scorer:
    """Makes a scorer for ``GridSearchCV``, ``cross_val_score`` and the like.

    Rows of a sparse matrix are users whom the model does not know. A share of the entries of each is held out, at
    least one; the user is folded in from the others, and the metric says how well the held-out ones are found. Rows
    of a table are held-out interactions of users whom the model knows.

    Examples
    --------
    >>> import absentia, scipy.sparse as sp
    >>> X = sp.csr_matrix([[1, 1, 0, 0], [1, 1, 0, 0], [0, 0, 1, 1], [0, 0, 1, 1]])
    >>> model = absentia.Factorizer(factors=2, weights=0.1, regularization=0.01).fit(X)
    >>> absentia.scorer("recall@1")(model, sp.csr_matrix([[1, 1, 0, 0], [0, 0, 1, 1]]))
    1.0
    """
    if not 0 < hold_out < 1:
        raise ValueError(f"hold_out is {hold_out}; it must be between 0 and 1")
    return Scorer(metric, hold_out, seed)
