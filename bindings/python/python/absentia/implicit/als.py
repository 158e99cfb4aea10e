"""Alternating least squares with the API of ``implicit`` 0.7."""

from __future__ import annotations

import logging
from typing import Any, Callable, List, Optional, Tuple

import numpy as np
import scipy.linalg
from numpy.typing import DTypeLike, NDArray

from .. import _core, _params
from ._progress import Progress
from ._matrices import ModelFitError, ParameterWarning, confidences, csr, generator, confidence_arrays, singles
from ._ranking import Recommender

__all__ = ["AlternatingLeastSquares", "ModelFitError", "ParameterWarning"]

log = logging.getLogger("absentia.implicit")


class AlternatingLeastSquares(Recommender):
    """Alternating least squares (Hu, Koren and Volinsky 2008) with the API of ``implicit``.

    Parameters
    ----------
    factors, regularization, alpha, iterations, calculate_training_loss, num_threads, random_state
        As in ``implicit``.
    dtype : data-type
        Type of the factors. They are computed in single precision.
    use_native : bool
        Accepted without effect; there is only one implementation.
    use_cg : bool
        Whether to make three conjugate-gradient steps per row (``als-cg``) instead of exact solves (``als``).
    use_gpu : bool
        ``True`` raises ``ValueError``: there is no GPU backend.

    Examples
    --------
    >>> import scipy.sparse as sp
    >>> X = sp.csr_matrix([[1, 1, 0, 0], [1, 1, 0, 0], [0, 0, 1, 1], [0, 0, 1, 0]])
    >>> model = AlternatingLeastSquares(factors=2, alpha=10, random_state=0)
    >>> model.fit(X, show_progress=False)
    >>> ids, scores = model.recommend(3, X[3], N=1)
    >>> ids.tolist()
    [3]
    """

    def __init__(
        self,
        factors: int = 100,
        regularization: float = 0.01,
        alpha: float = 1.0,
        dtype: DTypeLike = np.float32,
        use_native: bool = True,
        use_cg: bool = True,
        use_gpu: bool = False,
        iterations: int = 15,
        calculate_training_loss: bool = False,
        num_threads: int = 0,
        random_state: Any = None,
    ) -> None:
        if use_gpu:
            raise ValueError("use_gpu=True: Absentia has no GPU backend; leave it out")
        self.factors = factors
        self.regularization = regularization
        self.alpha = alpha
        self.dtype = np.dtype(dtype)
        self.use_native = use_native
        self.use_cg = use_cg
        self.iterations = iterations
        self.calculate_training_loss = calculate_training_loss
        self.num_threads = num_threads
        self.random_state = random_state
        self.cg_steps = 3
        self.fit_callback: Optional[Callable[..., Any]] = None
        self.user_factors = None
        self.item_factors = None

    def fit(
        self, user_items: Any, show_progress: bool = True, callback: Optional[Callable[..., Any]] = None
    ) -> None:
        """Factorises a matrix of confidences. If the model already has factors, training starts from them.

        ``callback(iteration, seconds, loss)`` is called after every iteration. ``loss`` is None unless
        ``calculate_training_loss`` is set.
        """
        rows = confidences(csr(user_items), self.alpha)
        if rows.nnz and not np.isfinite(rows.data).all():
            raise ModelFitError("NaN encountered in factors: a value of user_items is not finite")
        self._start(rows.shape)
        progress = Progress(self.calculate_training_loss, self.iterations, rows, callback or self.fit_callback, show_progress)
        try:
            self._train(rows, progress)
        finally:
            progress.close()
        if self.calculate_training_loss:
            log.info("Final training loss %s", progress.loss)

    def _train(self, rows: Any, progress: Progress) -> None:
        iterations = _params.whole("iterations", self.iterations)
        if rows.nnz == 0:
            # Nothing is liked: the best factors are zeros from the first iteration on.
            for iteration in range(iterations):
                self.user_factors[:], self.item_factors[:] = 0, 0
                progress(iteration + 1, 0.0, 0.0, 0.0, 0.0)
        elif iterations:
            model, _, _ = _core.fit(
                confidence_arrays(rows),
                self._settings(iterations),
                scheme=_core.Scheme.parse("uniform:1"),
                init=(singles(self.user_factors), singles(self.item_factors)),
                callback=progress if progress.is_needed else None,
            )
            self.user_factors = np.array(np.asarray(model.user_factors), dtype=self.dtype)
            self.item_factors = np.array(np.asarray(model.item_factors), dtype=self.dtype)
            # Zeros are the best factors of a row without entries, and a few steps only come near them.
            self.user_factors[np.diff(rows.indptr) == 0] = 0
            self.item_factors[np.bincount(rows.indices, minlength=rows.shape[1]) == 0] = 0

    def _start(self, shape: Tuple[int, int]) -> None:
        draws = generator(self.random_state)
        size = _params.whole("factors", self.factors)
        drawn: Any = self.dtype if self.dtype in (np.float32, np.float64) else np.float32
        if self.user_factors is None:
            self.user_factors = (draws.random((shape[0], size), dtype=drawn) * 0.01).astype(self.dtype)
        if self.item_factors is None:
            self.item_factors = (draws.random((shape[1], size), dtype=drawn) * 0.01).astype(self.dtype)

    def _settings(self, iterations: int) -> str:
        return _params.settings(
            {
                "factors": _params.whole("factors", self.factors),
                "iterations": iterations,
                "regularization": _params.real("regularization", self.regularization),
                "reg-exponent": 0.0,
                "solver": f"als-cg:{self.cg_steps}" if self.use_cg else "als",
                "targets": "raw",
                "confidence": "column",
                "threads": self._threads(),
            }
        )

    def recalculate_user(self, userid: Any, user_items: Any) -> NDArray[Any]:
        """Computes the best factors of users for the rows of ``user_items``. The model is not changed."""
        rows = csr(user_items)
        users = 1 if np.isscalar(userid) else len(userid)
        if rows.shape[0] != users:
            raise ValueError("user_items should have one row for every item in user")
        solved = self._solve(self.item_factors, rows)
        return solved[0] if np.isscalar(userid) else solved

    def recalculate_item(self, itemid: Any, item_users: Any) -> NDArray[Any]:
        """Computes the best factors of items for the rows of ``item_users``. The model is not changed."""
        solved = self._solve(self.user_factors, csr(item_users))
        return solved[0] if np.isscalar(itemid) else solved

    def _solve(self, fixed: NDArray[Any], rows: Any) -> NDArray[Any]:
        solved = _core.solve_rows(
            singles(fixed),
            confidence_arrays(confidences(rows, self.alpha)),
            _params.real("regularization", self.regularization),
            self._threads(),
        )
        return solved.astype(self.dtype, copy=False)

    def partial_fit_users(self, userids: Any, user_items: Any) -> None:
        """Updates or adds users; each has one row of ``user_items``."""
        if len(userids) != user_items.shape[0]:
            raise ValueError("user_items must contain 1 row for every user in userids")
        solved = self.recalculate_user(userids, user_items)
        self.user_factors = _stored(self.user_factors, userids, solved)

    def partial_fit_items(self, itemids: Any, item_users: Any) -> None:
        """Updates or adds items; each has one row of ``item_users``."""
        if len(itemids) != item_users.shape[0]:
            raise ValueError("item_users must contain 1 row for every user in itemids")
        solved = self.recalculate_item(itemids, item_users)
        self.item_factors = _stored(self.item_factors, itemids, solved)

    def explain(
        self, userid: int, user_items: Any, itemid: int, user_weights: Any = None, N: int = 10
    ) -> Tuple[float, List[Tuple[Any, Any]], Any]:
        """Explains a score: the score, the user's entries that add most to it, and ``user_weights``.

        ``user_weights`` is the Cholesky factor of the user's system. Pass it to further calls for the same
        user to make them faster.
        """
        row = confidences(csr(user_items), self.alpha)[userid]
        liked, confidence = self.item_factors[row.indices], row.data.astype(np.float64)
        if user_weights is None:
            gram = self.YtY + self.regularization * np.eye(self.factors)
            gram = gram + (liked.T * (np.abs(confidence) - 1)) @ liked
            user_weights = scipy.linalg.cho_factor(gram)
        weighted = scipy.linalg.cho_solve(user_weights, self.item_factors[itemid])
        positive = confidence > 0
        parts = (liked[positive] @ weighted) * confidence[positive]
        order = np.lexsort((-row.indices[positive], -parts))[:N]
        top = [(row.indices[positive][at], parts[at]) for at in order]
        return parts.sum(), top, user_weights

    @property
    def YtY(self) -> NDArray[Any]:
        """The item factors' Gram matrix."""
        gram: NDArray[Any] = self.item_factors.T @ self.item_factors
        return gram

    @property
    def XtX(self) -> NDArray[Any]:
        """The user factors' Gram matrix."""
        gram: NDArray[Any] = self.user_factors.T @ self.user_factors
        return gram

    def to_gpu(self) -> Any:
        """There is no GPU backend."""
        raise ValueError("Absentia has no GPU backend")

    def save(self, fileobj_or_path: Any) -> None:
        """Writes the ``.npz`` file of ``implicit``, which both libraries load."""
        names = (
            "user_factors item_factors regularization factors num_threads iterations use_native use_cg "
            "cg_steps calculate_training_loss random_state alpha"
        ).split()
        stored = {name: getattr(self, name) for name in names}
        stored["dtype"] = self.dtype.name
        np.savez(fileobj_or_path, **{name: value for name, value in stored.items() if value is not None})

    @classmethod
    def load(cls, fileobj_or_path: Any) -> "AlternatingLeastSquares":
        """Reads a model saved here or by ``implicit``."""
        if isinstance(fileobj_or_path, str) and not fileobj_or_path.endswith(".npz"):
            fileobj_or_path = fileobj_or_path + ".npz"
        model = cls()
        with np.load(fileobj_or_path, allow_pickle=False) as stored:
            for name, value in stored.items():
                if name == "dtype":
                    model.dtype = np.dtype(str(value))
                else:
                    setattr(model, name, value.item() if value.shape == () else value)
        return model


def _stored(factors: NDArray[Any], rows: Any, solved: NDArray[Any]) -> NDArray[Any]:
    missing = max(rows) - len(factors) + 1
    if missing > 0:
        factors = np.concatenate([factors, np.zeros((missing, factors.shape[1]), dtype=factors.dtype)])
    factors[rows] = solved
    return factors
