"""Recommendations and similar items with the API of ``implicit``."""

from __future__ import annotations

import warnings
from typing import Any, Optional, Tuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray

from .. import _core, _params
from .._data import csr_arrays
from ._matrices import canonical, indices, lengths, singles

Lists = Tuple[NDArray[Any], NDArray[Any]]


class Recommender:
    """The part of the model that ranks items and users."""

    dtype: "np.dtype[Any]"
    num_threads: int
    user_factors: Any
    item_factors: Any

    def recalculate_user(self, userid: Any, user_items: Any) -> NDArray[Any]:
        raise NotImplementedError

    def recalculate_item(self, itemid: Any, item_users: Any) -> NDArray[Any]:
        raise NotImplementedError

    def recommend(
        self,
        userid: Any,
        user_items: Any,
        N: int = 10,
        filter_already_liked_items: bool = True,
        filter_items: Optional[ArrayLike] = None,
        recalculate_user: bool = False,
        items: Optional[ArrayLike] = None,
    ) -> Lists:
        """Recommends the best items for a user or for several, as ``(ids, scores)``."""
        if filter_already_liked_items or recalculate_user:
            if not isinstance(user_items, sp.csr_matrix):
                raise ValueError("user_items needs to be a CSR sparse matrix")
            count = 1 if np.isscalar(userid) else len(userid)
            rows: Any = user_items
            if rows.shape[0] != count:
                raise ValueError("user_items must contain 1 row for every user in userids")
        queries = self.recalculate_user(userid, user_items) if recalculate_user else self.user_factors[userid]
        chosen = self._chosen(items, filter_items, self.item_factors, "items", "recommend", rising=True)
        seen = user_items if filter_already_liked_items else None
        if chosen is not None:
            N = min(N, len(chosen))
            seen = None if seen is None else _among(seen, chosen)
        factors = self.item_factors if chosen is None else self.item_factors[chosen]
        ids, scores = self._top(queries, factors, N, seen, filter_items)
        if np.isscalar(userid):
            ids, scores = ids[0], scores[0]
        return (ids if chosen is None else chosen[ids]), scores

    def recommend_all(
        self,
        user_items: Any,
        N: int = 10,
        recalculate_user: bool = False,
        filter_already_liked_items: bool = True,
        filter_items: Optional[ArrayLike] = None,
        users_items_offset: int = 0,
    ) -> NDArray[Any]:
        """Deprecated, as in ``implicit``: :meth:`recommend` with an array of users does the same."""
        warnings.warn(
            "recommend_all is deprecated. Use recommend with an array of userids instead",
            DeprecationWarning,
            stacklevel=2,
        )
        users = np.arange(user_items.shape[0]) + users_items_offset
        ids, _ = self.recommend(
            users, user_items, N, filter_already_liked_items, filter_items, recalculate_user
        )
        return ids

    def rank_items(
        self, userid: Any, user_items: Any, selected_items: ArrayLike, recalculate_user: bool = False
    ) -> Lists:
        """Deprecated, as in ``implicit``: :meth:`recommend` with ``items`` does the same."""
        warnings.warn(
            "rank_items is deprecated. Use recommend with the 'items' parameter instead",
            DeprecationWarning,
            stacklevel=2,
        )
        return self.recommend(
            userid,
            user_items,
            recalculate_user=recalculate_user,
            items=selected_items,
            filter_already_liked_items=False,
        )

    def similar_users(
        self,
        userid: Any,
        N: int = 10,
        filter_users: Optional[ArrayLike] = None,
        users: Optional[ArrayLike] = None,
    ) -> Lists:
        """Finds the users most similar to a user or to several, by cosine. The user itself is included."""
        query = self.user_factors[userid]
        chosen = self._chosen(users, filter_users, self.user_factors, "users", "similar_users")
        return self._similar(query, np.isscalar(userid), self.user_factors, N, filter_users, chosen)

    def similar_items(
        self,
        itemid: Any,
        N: int = 10,
        recalculate_item: bool = False,
        item_users: Any = None,
        filter_items: Optional[ArrayLike] = None,
        items: Optional[ArrayLike] = None,
    ) -> Lists:
        """Finds the items most similar to an item or to several, by cosine. The item itself is included."""
        query = self.recalculate_item(itemid, item_users) if recalculate_item else self.item_factors[itemid]
        chosen = self._chosen(items, filter_items, self.item_factors, "items", "similar_items")
        return self._similar(query, np.isscalar(itemid), self.item_factors, N, filter_items, chosen)

    def _chosen(
        self,
        given: Optional[ArrayLike],
        filtered: Any,
        factors: NDArray[Any],
        what: str,
        method: str,
        rising: bool = False,
    ) -> Optional[NDArray[Any]]:
        if given is None:
            return None
        if filtered is not None and np.size(filtered):
            raise ValueError(f"Can't set both {what} and filter_{what} in {method} call")
        chosen = np.array(given)
        if chosen.dtype.kind not in "iu":
            raise IndexError("arrays used as indices must be of integer (or boolean) type")
        if rising:
            chosen.sort()
        if chosen.size and (chosen.max() >= len(factors) or chosen.min() < 0):
            raise IndexError(f"Some {what[:-1]}ids in the {what} parameter are not in the model")
        return chosen

    def _similar(
        self,
        query: NDArray[Any],
        one: bool,
        factors: NDArray[Any],
        n: int,
        filtered: Optional[ArrayLike],
        chosen: Optional[NDArray[Any]],
    ) -> Lists:
        if chosen is not None:
            factors = factors[chosen]
        ids, scores = self._top(query, factors, n, None, filtered, lengths(factors))
        scores = scores / lengths(np.atleast_2d(query)).astype(scores.dtype)[:, None]
        if one:
            ids, scores = ids[0], scores[0]
        return (ids if chosen is None else chosen[ids]), scores

    def _top(
        self,
        queries: NDArray[Any],
        factors: NDArray[Any],
        n: int,
        seen: Any,
        filtered: Optional[ArrayLike],
        norms: Optional[NDArray[Any]] = None,
    ) -> Lists:
        deny = None if filtered is None else np.unique(indices(filtered, len(factors)))
        if n <= 0:
            raise IndexError("N must be at least 1")
        if seen is not None and seen.nnz and seen.indices.max() >= len(factors):
            raise IndexError(f"index {seen.indices.max()} is out of bounds for axis 0 with size {len(factors)}")
        ids, scores = _core.top_k(
            singles(np.atleast_2d(queries)),
            singles(factors),
            n,
            None if seen is None else csr_arrays(canonical(seen)),
            deny,
            None if norms is None else (1.0 / norms).astype(np.float32),
            self._threads(),
        )
        ids, scores = ids.astype(np.int32), scores.astype(self.dtype, copy=False)
        _fill(ids, scores, len(factors), seen, deny)
        return ids, scores

    @property
    def user_norms(self) -> NDArray[Any]:
        """The lengths of the user factors. The length of a row of zeros is a tiny positive number."""
        return lengths(self.user_factors)

    @property
    def item_norms(self) -> NDArray[Any]:
        """The lengths of the item factors. The length of a row of zeros is a tiny positive number."""
        return lengths(self.item_factors)

    def _threads(self) -> Optional[int]:
        return _params.whole("num_threads", self.num_threads) or None


def _among(seen: Any, chosen: NDArray[Any]) -> Any:
    """Selects columns. Explicit zeros do not count as seen then, as in ``implicit``."""
    rows = seen[:, chosen]
    rows.eliminate_zeros()
    return rows


def _fill(ids: Any, scores: Any, columns: int, seen: Any, deny: Optional[NDArray[np.uint32]]) -> None:
    """Orders equal scores and fills short lists as ``implicit`` does.

    ``implicit`` orders equal scores by decreasing column. A list with too few candidates ends with
    filtered columns, which have the lowest float as score. If these are also too few, it ends with zeros.
    """
    tied = (scores[:, 1:] == scores[:, :-1]).any(axis=1)
    short = ids[:, -1] < 0
    for row in np.flatnonzero(tied | short).tolist():
        real = int((ids[row] >= 0).sum())
        order = np.lexsort((-ids[row, :real], -scores[row, :real]))
        ids[row, :real], scores[row, :real] = ids[row, order], scores[row, order]
        if short[row]:
            _fill_end(ids[row], scores[row], real, _filtered(row, columns, seen, deny))


def _filtered(row: int, columns: int, seen: Any, deny: Optional[NDArray[np.uint32]]) -> NDArray[np.intp]:
    """The columns that were filtered for a row, in decreasing order."""
    filtered = np.zeros(columns, dtype=bool)
    if deny is not None:
        filtered[deny] = True
    if seen is not None:
        filtered[seen.indices[seen.indptr[row] : seen.indptr[row + 1]]] = True
    return np.flatnonzero(filtered)[::-1]


def _fill_end(ids: Any, scores: Any, real: int, filtered: NDArray[np.intp]) -> None:
    n = len(ids)
    fillers = filtered[filtered < n][: n - real]
    end = real + len(fillers)
    ids[real:end], scores[real:end] = fillers, -np.finfo(scores.dtype).max
    ids[end:], scores[end:] = 0, 0.0
