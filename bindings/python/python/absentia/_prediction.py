"""The estimator's recommendations, similar items, explanations and metrics."""

from __future__ import annotations

from typing import Any, Iterable, Mapping, Optional, Sequence, Tuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from . import _core, _params
from ._data import Entries, from_sparse
from ._folding import Folding
from ._ids import Side
from ._results import Evaluation, Explanation
from ._scoring import scorer
from ._tables import labels_of

Lists = Tuple[NDArray[Any], NDArray[np.float32]]

DEFAULT_METRICS = tuple(_core.default_metrics())


class Prediction(Folding):
    """The part of the estimator that uses a trained model."""

    def recommend(
        self,
        users: Any,
        n: int = 10,
        *,
        exclude_seen: bool = True,
        seen: Any = None,
        allow: Optional[Iterable[Any]] = None,
        deny: Optional[Iterable[Any]] = None,
        relations: Optional[Mapping[str, Any]] = None,
        interactions: Any = None,
    ) -> Lists:
        """Recommends the best items for one user or for each of several users, with scores.

        For one user, both arrays are one-dimensional and may be shorter than ``n``. For several users
        they have one row per user. Short rows are padded with -1 (``None`` if ids are strings) and
        ``-inf``.

        ``exclude_seen`` leaves out the items that the user has in the training data. A loaded model does
        not contain its training data: pass it as ``seen``, in any form that ``fit`` accepts. With
        ``allow`` only the items listed there are recommended; those in ``deny`` never are.

        Users and items that the model does not know are folded in from ``relations`` and ``interactions``, as
        :meth:`fold_in_related` does, and new items are ranked with the others.

        Examples
        --------
        >>> import absentia
        >>> log = (["ann", "ann", "bob", "bob", "cy"], ["jaws", "alien", "jaws", "alien", "jaws"])
        >>> model = absentia.Factorizer(factors=2, weights=0.05).fit(log)
        >>> model.recommend("cy")[0].tolist()
        ['alien']
        >>> model.recommend(["ann", "cy"], n=1)[0].tolist()
        [[None], ['alien']]
        """
        model, one = self._fitted(), _is_one(users)
        if relations is not None or interactions is not None:
            if allow is not None or deny is not None:
                raise ValueError("allow and deny are for items of the model; leave them out with relations or interactions")
            known = self._seen_items(seen) if exclude_seen else None
            folded = self._folded(relations, interactions)
            names, scores = self._recommend_folded([users] if one else list(users), _params.whole("n", n), folded, known)
            if not one:
                return names, scores
            is_listed = np.isfinite(scores[0])
            return names[0][is_listed], scores[0][is_listed]
        rows = self._ids.users.rows([users] if one else users, what="user")
        source = self._seen_by([users] if one else users, seen) if exclude_seen else None
        allowed, denied = self._item_rows(allow), self._item_rows(deny)
        found = model.recommend(rows, _params.whole("n", n), source, allowed, denied, None, self._threads())
        return _lists(self._ids.items, found, one)

    def recommend_frame(
        self,
        users: Any,
        n: int = 10,
        *,
        exclude_seen: bool = True,
        seen: Any = None,
        allow: Optional[Iterable[Any]] = None,
        deny: Optional[Iterable[Any]] = None,
    ) -> Any:
        """Recommends as :meth:`recommend` does, in a pandas table of users, items, ranks and scores.

        Examples
        --------
        >>> import absentia
        >>> log = (["ann", "ann", "bob", "bob", "cy"], ["jaws", "alien", "jaws", "alien", "jaws"])
        >>> model = absentia.Factorizer(factors=2, weights=0.05).fit(log)
        >>> model.recommend_frame(["ann", "cy"], n=1)[["user", "item", "rank"]].values.tolist()
        [['cy', 'alien', 1]]
        """
        try:
            import pandas as pd
        except ImportError:
            raise ImportError("recommend_frame returns a pandas table: install pandas, or use recommend") from None
        given = [users] if _is_one(users) else users
        items, scores = self.recommend(given, n, exclude_seen=exclude_seen, seen=seen, allow=allow, deny=deny)
        listed = np.isfinite(scores)
        rows, places = np.nonzero(listed)
        return pd.DataFrame(
            {"user": np.asarray(given)[rows], "item": items[listed], "rank": places + 1, "score": scores[listed]}
        )

    def recommend_rows(self, factors: NDArray[np.float32], n: int = 10, *, seen: Any = None) -> Lists:
        """Recommends the best items for rows of factors, such as those of :meth:`fold_in`.

        ``seen`` has the items to leave out, in the form that :meth:`fold_in` accepts.
        """
        model = self._fitted()
        rows = np.ascontiguousarray(np.atleast_2d(factors), dtype=np.float32)
        source = None if seen is None else self._new_rows(seen).core
        none = np.zeros(0, dtype=np.uint32)
        found = model.recommend(none, _params.whole("n", n), source, None, None, rows, self._threads())
        return _lists(self._ids.items, found, np.ndim(factors) == 1)

    def similar_items(self, items: Any, n: int = 10, *, by: str = "cosine") -> Lists:
        """Finds the items most similar to an item, or to each of several. The item itself is left out.

        ``by`` is ``"cosine"`` or ``"inner-product"``.

        Examples
        --------
        >>> import absentia
        >>> log = (["ann", "ann", "bob", "bob", "cy"], ["jaws", "alien", "jaws", "alien", "up"])
        >>> absentia.Factorizer(factors=2, weights=0.05).fit(log).similar_items("jaws", n=1)[0].tolist()
        ['alien']
        """
        return self._similar("item", items, n, by)

    def similar_users(self, users: Any, n: int = 10, *, by: str = "cosine") -> Lists:
        """Finds the users most similar to a user, or to each of several. The user itself is left out.

        Examples
        --------
        >>> import absentia
        >>> log = (["ann", "ann", "bob", "bob", "cy"], ["jaws", "alien", "jaws", "alien", "up"])
        >>> absentia.Factorizer(factors=2, weights=0.05).fit(log).similar_users("ann", n=1)[0].tolist()
        ['bob']
        """
        return self._similar("user", users, n, by)

    def _similar(self, axis: str, given: Any, n: int, by: str) -> Lists:
        side, one = self._side(axis), _is_one(given)
        rows = side.rows([given] if one else given, what=axis)
        found = self._fitted().similar(axis, rows, _params.whole("n", n), by, self._threads())
        return _lists(side, found, one)

    def explain(self, user: Any, item: Any, *, seen: Any = None) -> Explanation:
        """Explains a score: how much each of the user's entries adds to it.

        Examples
        --------
        >>> import absentia
        >>> log = (["ann", "ann", "bob", "bob", "cy"], ["jaws", "alien", "jaws", "alien", "jaws"])
        >>> why = absentia.Factorizer(factors=2, weights=0.05).fit(log).explain("cy", "alien")
        >>> [item for item, _ in why.contributions]
        ['jaws']
        """
        model, source = self._fitted(), self._seen(seen)
        row, column = int(self._ids.users.rows([user], what="user")[0]), int(self._ids.items.rows([item], what="item")[0])
        score, parts, remainder = model.explain(source.core, row, column, row)
        names = self._ids.items.names(np.array([item for item, _ in parts], dtype=np.int64))
        return Explanation(score, [(name, part) for name, (_, part) in zip(names.tolist(), parts)], remainder)

    def fold_in(self, X: Any) -> NDArray[np.float32]:
        """Computes the factors of new users from their interactions. The model is not changed.

        ``X`` is a sparse matrix with one row per new user, or a list of lists of item ids.

        Examples
        --------
        >>> import absentia
        >>> log = (["ann", "ann", "bob", "bob", "cy"], ["jaws", "alien", "jaws", "alien", "up"])
        >>> model = absentia.Factorizer(factors=2, weights=0.05).fit(log)
        >>> model.recommend_rows(model.fold_in([["jaws"]]), n=1, seen=[["jaws"]])[0].tolist()
        [['alien']]
        """
        return self._fitted().fold_in("user", self._new_rows(X).core, None, self._threads())

    def score(self, users: Any, items: Any = None) -> Any:
        """Computes the scores of pairs of users and items. Either of them may be a single id.

        Given data instead, a sparse matrix or a table, it computes its NDCG at 10 as :func:`absentia.scorer` does: this is
        what the model selection of scikit-learn uses if it is given no ``scoring``.

        Examples
        --------
        >>> import absentia
        >>> log = (["ann", "ann", "bob"], ["jaws", "alien", "up"])
        >>> ann = absentia.Factorizer(factors=2, weights=0.05).fit(log).score("ann", ["jaws", "up"])
        >>> bool(ann[0] > ann[1])
        True
        """
        model = self._fitted()
        if sp.issparse(users) or labels_of(users) is not None:
            return scorer()(self, users)
        if items is None:
            raise TypeError("score needs users and items, or a sparse matrix or a table")
        left, right = np.broadcast_arrays(
            self._ids.users.rows([users] if _is_one(users) else users, what="user"),
            self._ids.items.rows([items] if _is_one(items) else items, what="item"),
        )
        return model.scores(np.ascontiguousarray(left), np.ascontiguousarray(right))

    def evaluate(
        self,
        test: Any,
        metrics: Sequence[str] = DEFAULT_METRICS,
        *,
        exclude_seen: bool = True,
        seen: Any = None,
    ) -> Evaluation:
        """Computes metrics on test interactions, over a ranking of all items.

        ``metrics`` are ``"hr@k"``, ``"ndcg@k"``, ``"recall@k"``, ``"precision@k"``, ``"map@k"``,
        ``"mrr@k"``, ``"mrr"`` and ``"auc"``; ``docs/metrics.md`` defines them. Results are means over the
        users who have test interactions.

        Examples
        --------
        >>> import absentia
        >>> log = (["ann", "ann", "bob", "bob", "cy"], ["jaws", "alien", "jaws", "alien", "jaws"])
        >>> model = absentia.Factorizer(factors=2, weights=0.05).fit(log)
        >>> model.evaluate((["cy"], ["alien"]), ["hr@1"])
        Evaluation(hr@1: 1.0000; 1 users, all unseen items ranked)
        """
        return self._measured(self._convert(test), metrics, exclude_seen, seen)

    def _measured(self, test: Entries, metrics: Sequence[str], exclude_seen: bool, seen: Any) -> Evaluation:
        model = self._fitted()
        source = self._seen_items(seen).core if exclude_seen else _empty_rows(model.shape)
        users, items = test.pairs()
        rows, candidates, found = _core.evaluate(
            model, source, users, items, list(metrics), exclude_seen, self._threads()
        )
        return Evaluation(self._ids.users.names(rows.astype(np.int64)), candidates, found)

    def _new_rows(self, given: Any) -> Entries:
        items = self._fitted().shape[1]
        if not sp.issparse(given):
            lists = [self._ids.items.rows(row, what="item") for row in given]
            indptr = np.cumsum([0, *map(len, lists)])
            indices = np.concatenate([*lists, np.zeros(0, np.uint32)]).astype(np.int64)
            shape = (len(lists), items)
            given = sp.csr_matrix((np.ones(len(indices), np.float32), indices, indptr), shape=shape)
        if given.shape[1] != items:
            raise ValueError(f"the matrix has {given.shape[1]} columns, and the model {items} items")
        return from_sparse(given)

    def _item_rows(self, given: Optional[Iterable[Any]]) -> Optional[NDArray[np.uint32]]:
        if given is None:
            return None
        listed = given if isinstance(given, np.ndarray) else list(given)
        return np.unique(self._ids.items.rows(listed, what="item"))


def _is_one(given: Any) -> bool:
    return isinstance(given, str) or np.ndim(given) == 0


def _lists(side: Side, found: Tuple[NDArray[np.int64], NDArray[np.float32]], one: bool) -> Lists:
    ids, scores = found
    if not one:
        return side.names(ids), scores
    kept = ids[0] >= 0
    return side.names(ids[0][kept]), scores[0][kept]


def _empty_rows(shape: Tuple[int, int]) -> _core.Csr:
    return (shape[1], np.zeros(shape[0] + 1, np.int64), np.zeros(0, np.int32), None, None)
