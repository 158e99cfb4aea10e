"""The ids of users and items, and their rows."""

from __future__ import annotations

from typing import Any, NamedTuple, Optional, Tuple

import numpy as np
from numpy.typing import NDArray

from . import _core

MAX_ROWS = 2**32 - 1
"""The largest number of users or items."""


class Side:
    """The ids of one side, users or items, and their rows."""

    def __init__(self, core: _core.IdMap, kind: Optional[str] = None) -> None:
        self.core = core
        self.kind = kind or core.kind

    def __len__(self) -> int:
        return len(self.core)

    def rows(self, ids: Any, *, skip: bool = False, what: str = "id") -> NDArray[np.uint32]:
        """The rows of ids, each of which is a ``what``.

        An unknown id raises ``KeyError``; with ``skip`` it gives the row ``MAX_ROWS``.
        """
        kind, values = _ids("ids", ids)
        try:
            if kind == "integers":
                rows = self.core.rows_of_integers(values, skip)
            else:
                rows = self.core.rows_of_texts(values, skip)
        except KeyError as error:
            raise KeyError(f"{what} {error.args[0]}") from None
        return rows.astype(np.uint32)

    def all(self) -> NDArray[Any]:
        """All ids in the order of their rows."""
        if self.kind != "texts":
            integers = self.core.integers()
            if integers is not None:
                return integers
        return np.array(self.core.texts(), dtype=object)

    def names(self, rows: NDArray[np.int64]) -> NDArray[Any]:
        """The ids of rows. Row -1 gives -1, or ``None`` if ids are strings."""
        if self.core.kind == "rows" and self.kind != "texts":
            return rows
        if self.kind == "texts" and rows.size < len(self):
            found = np.empty(rows.size, dtype=object)
            found[:] = self.core.texts_of(np.ascontiguousarray(rows).reshape(-1))
            return found.reshape(rows.shape)
        names = self.all()
        found = names[np.maximum(rows, 0)] if len(names) else np.zeros(rows.shape, dtype=names.dtype)
        found[rows < 0] = None if names.dtype == object else -1
        return found


class Ids(NamedTuple):
    """The ids of both sides."""

    users: Side
    items: Side

    @classmethod
    def dense(cls, shape: Tuple[int, int]) -> "Ids":
        return cls(Side(_core.IdMap.dense(shape[0])), Side(_core.IdMap.dense(shape[1])))

    def cores(self) -> Tuple[_core.IdMap, _core.IdMap]:
        return self.users.core, self.items.core


def intern(what: str, given: Any, known: Optional[Side] = None) -> Tuple[Side, NDArray[np.uint32]]:
    """Numbers new ids after the known ones; yields the ids and the row of each entry.

    New ids are numbered in order: integers by number, then strings by bytes. The order of entries does
    not matter.
    """
    kind, values = _ids(what, given)
    core = None if known is None else known.core
    if kind == "integers":
        core, rows = _core.IdMap.of_integers(values, core)
    else:
        core, rows = _core.IdMap.of_texts(values, core)
    if known is not None and "texts" in (kind, known.kind):
        kind = "texts"
    return Side(core, kind), rows


def _ids(what: str, given: Any) -> Tuple[str, Any]:
    """Detects the kind of ids: yields ``("integers", int64 array)`` or ``("texts", list)``."""
    array = np.asarray(given)
    if array.ndim != 1:
        raise ValueError(f"{what} have {array.ndim} dimensions, expected 1")
    if array.dtype.kind in "iu":
        if array.dtype == np.uint64 and array.size and array.max() > np.iinfo(np.int64).max:
            raise ValueError(f"{what} hold an integer that does not fit into a signed 64-bit integer")
        return "integers", np.ascontiguousarray(array, dtype=np.int64)
    if array.dtype.kind == "f":
        if not np.isfinite(array).all():
            at = int(np.flatnonzero(~np.isfinite(array))[0])
            raise ValueError(f"{what}: entry {at} is {array[at]}, which is not an id")
        if not (array == np.floor(array)).all():
            raise ValueError(f"{what} are fractions; ids must be integers or strings")
        if array.size and np.abs(array).max() > 2.0**53:
            raise ValueError(f"{what} are floats above 2**53, which are the same for several ids; give integers or strings")
        return "integers", np.ascontiguousarray(array, dtype=np.int64)
    values = array.tolist()
    if array.size == 0:
        return "integers", np.zeros(0, dtype=np.int64)
    if all(isinstance(value, str) for value in values):
        return "texts", values
    if all(isinstance(value, (int, np.integer)) and not isinstance(value, bool) for value in values):
        return "integers", np.array(values, dtype=np.int64)
    at = next(at for at, value in enumerate(values) if not isinstance(value, str))
    raise ValueError(f"{what}: entry {at} is {values[at]!r}; ids must be all integers or all strings")
