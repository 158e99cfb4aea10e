"""Users and items that a model does not know, folded in from attributes and interactions."""

from __future__ import annotations

from typing import Any, Dict, List, Mapping, NamedTuple, Optional, Tuple

import numpy as np
from numpy.typing import NDArray

from . import _core, _params
from ._data import Entries, further_table, related
from ._estimator import Estimator
from ._ids import Ids, Side
from ._results import FoldedIn

Lists = Tuple[NDArray[Any], NDArray[np.float32]]


class Folded(NamedTuple):
    """What was folded in, with all items: those of the model, then the new ones."""

    users: Side
    user_factors: NDArray[np.float32]
    items: Side
    new_factors: NDArray[np.float32]
    item_scale: Optional[NDArray[np.float32]]
    taken: List[Tuple[str, str]]


class Folding(Estimator):
    """The part of the estimator that knows rows by their attributes."""

    def fold_in_related(self, relations: Optional[Mapping[str, Any]] = None, interactions: Any = None) -> FoldedIn:
        """Computes the factors of users and new items from attributes, interactions, or both. The model is not changed.

        ``relations`` are those of the model, with the rows of new users or items, in any form that ``fit`` accepts:
        ``{"items-tags": (["laura"], ["noir"])}``. ``interactions`` is a table of users and items, of which at least one
        is known to the model. Users with interactions are folded in whether they are known or not; other known users and
        items keep the factors they were trained with.

        Examples
        --------
        >>> import absentia
        >>> log = (["ann", "ann", "bob", "cy"], ["heat", "fargo", "heat", "up"])
        >>> tags = (["heat", "fargo", "up"], ["noir", "noir", "family"])
        >>> model = absentia.Factorizer(factors=2, weights=0.05, regularization=0.01)
        >>> new = model.fit(log, relations={"items-tags": tags}).fold_in_related({"items-tags": (["laura"], ["noir"])})
        >>> new.items.tolist(), new.item_factors.shape
        (['laura'], (1, 2))
        """
        folded = self._folded(relations, interactions)
        known = self._fitted().shape[1]
        return FoldedIn(folded.users.all(), folded.user_factors, folded.items.all()[known:], folded.new_factors)

    def _folded(self, relations: Optional[Mapping[str, Any]], interactions: Any) -> Folded:
        texts, tables = related(relations)
        table: Optional[_core.Table] = None
        pairs: List[Tuple[str, str]] = []
        if interactions is not None:
            ids, table = further_table(interactions, self._reading, self._columns)
            pairs = _texts(ids, table[0], table[1])
        found = _core.fold_in_related(self._fitted(), _params.settings({}), tables, texts, table, self._threads())
        users, user_factors, items, new_factors, scale = found
        return Folded(Side(users), user_factors, Side(items), new_factors, scale, pairs)

    def _recommend_folded(self, users: List[Any], n: int, folded: Folded, seen: Optional[Entries]) -> Lists:
        """The best items of users, new ones included; what they took, or have ``seen``, is left out where that is given."""
        names = [str(user) for user in users]
        # An unknown id has the row -1.
        own, known = (side.rows_of_texts(names, True) for side in (folded.users.core, self._ids.users.core))
        for name, is_unknown in zip(names, (own < 0) & (known < 0)):
            if is_unknown:
                raise KeyError(f"user {name!r} is not in the model, and nothing is given of it")
        factors = np.empty((len(names), self.user_factors_.shape[1]), dtype=np.float32)
        is_folded = own >= 0
        factors[is_folded] = folded.user_factors[own[is_folded]]
        factors[~is_folded] = self.user_factors_[known[~is_folded]]
        items = np.concatenate([self.item_factors_, folded.new_factors])
        rows = None if seen is None else _seen_rows(names, known, seen, folded)
        found, scores = _core.top_k(factors, items, n, rows, None, folded.item_scale, self._threads())
        return folded.items.names(found), np.where(found < 0, np.float32(-np.inf), scores)


def _texts(ids: Ids, users: Any, items: Any) -> List[Tuple[str, str]]:
    """Pairs of rows as the texts of their ids."""
    user_texts, item_texts = ids.users.core.texts(), ids.items.core.texts()
    return [(user_texts[user], item_texts[item]) for user, item in zip(users.tolist(), items.tolist())]


def _seen_rows(names: List[str], known: NDArray[np.int64], seen: Entries, folded: Folded) -> _core.Csr:
    """What each user has seen: in the training data, and in the interactions that were given."""
    users, items = seen.pairs()
    order = np.argsort(users, kind="stable")
    users, items = users[order], items[order]
    starts, ends = (np.searchsorted(users, known, side=side) for side in ("left", "right"))
    taken: Dict[str, List[str]] = {}
    for user, item in folded.taken:
        taken.setdefault(user, []).append(item)
    lists = []
    for name, row, start, end in zip(names, known, starts, ends):
        own = folded.items.core.rows_of_texts(taken.get(name, []), True)
        before = items[start:end] if row >= 0 else items[:0]
        lists.append(np.union1d(before.astype(np.int64), own[own >= 0]))
    indptr = np.cumsum([0, *map(len, lists)]).astype(np.int64)
    indices = np.concatenate([*lists, np.zeros(0, np.int64)]).astype(np.int32)
    return (len(folded.items), indptr, indices, None, None)
