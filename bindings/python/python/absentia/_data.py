"""From what a caller has (sparse matrices, tables, columns, files) to what the engine takes."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any, Dict, List, NamedTuple, Optional, Sequence, Tuple, Union

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from . import _core

MOST = 2**32 - 1
"""Most users or items that can be told apart."""

_HEADINGS: Dict[str, Sequence[str]] = {
    "user": ("user", "userid", "users", "uid", "useridx", "visitorid", "customerid", "reviewerid", "u"),
    "item": ("item", "itemid", "items", "iid", "itemidx", "movieid", "productid", "asin", "businessid", "i"),
    "value": ("rating", "ratings", "value", "score", "count", "stars"),
    "time": ("time", "timestamp", "ts", "date", "datetime", "unixtime"),
    "weight": ("weight", "weights", "confidence"),
}

Lent = Union[_core.Matrix, "_core.Csr"]


class Side:
    """The ids of one side and the rows they stand for."""

    def __init__(self, core: _core.IdMap, kind: Optional[str] = None) -> None:
        self.core = core
        self.kind = kind or core.kind

    def __len__(self) -> int:
        return len(self.core)

    def rows(self, ids: Any, *, skip: bool = False) -> NDArray[np.uint32]:
        """The rows of ids; an unknown one is a ``KeyError``, or left as the largest number."""
        kind, values = _ids("ids", ids)
        if kind == "integers":
            rows = self.core.rows_of_integers(values, skip)
        else:
            rows = self.core.rows_of_texts(values, skip)
        return rows.astype(np.uint32)

    def all(self) -> NDArray[Any]:
        """All ids in the order of their rows."""
        if self.kind != "texts":
            integers = self.core.integers()
            if integers is not None:
                return integers
        return np.array(self.core.texts(), dtype=object)

    def names(self, rows: NDArray[np.int64]) -> NDArray[Any]:
        """The ids of rows; that of -1 is -1, or ``None`` where ids are texts."""
        if self.core.kind == "rows" and self.kind != "texts":
            return rows
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


class Taken(NamedTuple):
    """Data in a form the engine takes, with the ids of its rows."""

    lent: Lent
    ids: Ids
    shape: Tuple[int, int]

    def pairs(self) -> Tuple[NDArray[np.uint32], NDArray[np.uint32]]:
        """The interactions as columns of rows."""
        if isinstance(self.lent, _core.Matrix):
            return self.lent.pairs()
        _, indptr, indices, _, _ = self.lent
        users = np.repeat(np.arange(self.shape[0], dtype=np.uint32), np.diff(indptr))
        return users, indices.view(np.uint32)


class Columns(NamedTuple):
    """Entries as columns, in any order."""

    users: Any
    items: Any
    values: Any = None
    weights: Any = None
    times: Any = None


def take(
    data: Any,
    *,
    ids: Optional[Ids] = None,
    duplicates: Optional[str] = None,
    sample_weight: Any = None,
) -> Taken:
    """Takes a sparse matrix, a table, columns or files; with ``ids``, entries of others are left out."""
    if sp.issparse(data):
        return _from_sparse(data, ids, sample_weight)
    if isinstance(data, (str, os.PathLike)) or _are_paths(data):
        return _from_files(data, ids, duplicates or "last")
    columns = _columns(data)
    if sample_weight is not None:
        columns = columns._replace(weights=sample_weight)
    return _from_columns(columns, ids, duplicates or "sum")


def _from_sparse(matrix: Any, ids: Optional[Ids], sample_weight: Any) -> Taken:
    if matrix.ndim != 2:
        raise ValueError(f"the matrix has {matrix.ndim} dimensions, expected 2")
    shape = (int(matrix.shape[0]), int(matrix.shape[1]))
    for count, what in zip(shape, ("users", "items")):
        if count > MOST:
            raise ValueError(f"{count} {what} are more than the {MOST} that can be told apart")
    if ids is not None and shape != (len(ids.users), len(ids.items)):
        expected = (len(ids.users), len(ids.items))
        raise ValueError(f"the matrix has shape {shape}, expected {expected}, that of the model")
    rows = matrix.tocsr()
    weights = None
    if sample_weight is not None:
        weights = _floats("sample_weight", sample_weight)
        if rows is not matrix:
            raise ValueError("sample_weight goes with the entries of a CSR matrix; convert the matrix first")
    return Taken(lend(rows, weights), ids or Ids.dense(shape), shape)


def lend(rows: Any, weights: Optional[NDArray[np.float32]] = None) -> _core.Csr:
    """Lends compressed rows; what is contiguous, ``int32`` and ``float32`` is not copied."""
    indices = np.asarray(rows.indices)
    if indices.dtype != np.int32:
        if indices.size and (indices.min() < 0 or indices.max() >= rows.shape[1]):
            raise ValueError(f"an index of the matrix is outside 0..{rows.shape[1]}")
        indices = indices.astype(np.uint32).view(np.int32)
    return (
        int(rows.shape[1]),
        np.ascontiguousarray(rows.indptr, dtype=np.int64),
        np.ascontiguousarray(indices),
        _floats("the matrix", rows.data),
        weights,
    )


def _floats(what: str, given: Any) -> NDArray[np.float32]:
    array = np.asarray(given)
    if array.ndim != 1:
        raise ValueError(f"{what} has {array.ndim} dimensions, expected 1")
    if array.dtype.kind not in "fiub":
        raise ValueError(f"{what} holds {array.dtype}, expected numbers")
    with np.errstate(over="ignore"):
        return np.ascontiguousarray(array, dtype=np.float32)


def _are_paths(data: Any) -> bool:
    return isinstance(data, (list, set)) and bool(data) and all(isinstance(x, (str, os.PathLike)) for x in data)


def _from_files(data: Any, ids: Optional[Ids], duplicates: str) -> Taken:
    patterns = [data] if isinstance(data, (str, os.PathLike)) else list(data)
    texts = [str(Path(os.fspath(pattern))) for pattern in patterns]
    users, items, values, weights, times, user_ids, item_ids = _core.read(texts, ids.cores() if ids else None)
    known = ids or Ids(Side(user_ids), Side(item_ids))
    shape = (len(known.users), len(known.items))
    matrix = _core.Matrix.from_triplets(users, items, shape, duplicates, values, weights, times)
    return Taken(matrix, known, shape)


def _columns(data: Any) -> Columns:
    if isinstance(data, Columns):
        return data
    names = _headings(data)
    if names is not None:
        return _table(data, names)
    if isinstance(data, (tuple, list)) and 2 <= len(data) <= 3:
        return Columns(*data)
    raise TypeError(
        f"cannot take a {type(data).__name__}; give a scipy sparse matrix, a table (pandas, polars, pyarrow), "
        "(users, items[, values]), or a path"
    )


def _headings(data: Any) -> Optional[List[str]]:
    names = getattr(data, "column_names", None)  # pyarrow
    if names is None:
        names = getattr(data, "columns", None)  # pandas, polars
    return None if names is None else [str(name) for name in names]


def _table(data: Any, names: List[str]) -> Columns:
    plain = ["".join(c for c in name.lower() if c.isalnum()) for name in names]
    found: Dict[str, int] = {}
    for role, headings in _HEADINGS.items():
        at = next((at for at, name in enumerate(plain) if name in headings), None)
        if at is not None:
            found[role] = at
    if "user" not in found or "item" not in found:
        if len(names) < 2:
            raise ValueError(f"the table has columns {names}; at least a user and an item are needed")
        # Without usual headings the order is user, item, value, time.
        found = dict(zip(("user", "item", "value", "time"), range(len(names))))
    column = {role: _column(data, names[at]) for role, at in found.items()}
    return Columns(
        column["user"], column["item"], column.get("value"), column.get("weight"), column.get("time")
    )


def _column(data: Any, name: str) -> Any:
    column = data[name]
    if hasattr(column, "combine_chunks"):  # pyarrow
        import pyarrow as pa

        if pa.types.is_dictionary(column.type):
            column = column.cast(column.type.value_type)
        if column.null_count:
            raise ValueError(f"column {name!r} has {column.null_count} nulls")
        return column.to_numpy()
    return column.to_numpy()


def _from_columns(columns: Columns, ids: Optional[Ids], duplicates: str) -> Taken:
    lengths = {name: len(column) for name, column in columns._asdict().items() if column is not None}
    if len(set(lengths.values())) > 1:
        raise ValueError(f"columns differ in length: {lengths}")
    kinds: Dict[str, Any] = {}
    if ids is None:
        user_side, users = _intern("users", columns.users)
        item_side, items = _intern("items", columns.items)
        ids = Ids(user_side, item_side)
        kinds = {"users": users, "items": items}
        keep: Any = slice(None)
    else:
        users = ids.users.rows(columns.users, skip=True)
        items = ids.items.rows(columns.items, skip=True)
        keep = (users != MOST) & (items != MOST)
        kinds = {"users": users[keep], "items": items[keep]}
    shape = (len(ids.users), len(ids.items))
    values = None if columns.values is None else np.ascontiguousarray(_floats("values", columns.values)[keep])
    weights = None if columns.weights is None else np.ascontiguousarray(_floats("weights", columns.weights)[keep])
    times = None if columns.times is None else np.ascontiguousarray(_times(columns.times)[keep])
    matrix = _core.Matrix.from_triplets(
        kinds["users"], kinds["items"], shape, duplicates, values, weights, times
    )
    return Taken(matrix, ids, shape)


def _times(given: Any) -> NDArray[np.int64]:
    array = np.asarray(given)
    if array.dtype.kind == "M":
        return array.astype("datetime64[s]").astype(np.int64)
    if array.dtype.kind not in "iuf":
        raise ValueError(f"times hold {array.dtype}, expected numbers or datetimes")
    if array.dtype.kind == "f" and not np.isfinite(array).all():
        raise ValueError("a time is not finite")
    return array.astype(np.int64)


def _intern(what: str, given: Any) -> Tuple[Side, NDArray[np.uint32]]:
    kind, values = _ids(what, given)
    if kind == "integers":
        core, rows = _core.IdMap.of_integers(values)
    else:
        core, rows = _core.IdMap.of_texts(values)
    return Side(core, kind), rows


def _ids(what: str, given: Any) -> Tuple[str, Any]:
    """Tells integers from texts: ``("integers", int64 array)`` or ``("texts", list)``."""
    array = np.asarray(given)
    if array.ndim != 1:
        raise ValueError(f"{what} have {array.ndim} dimensions, expected 1")
    if array.dtype.kind in "iu":
        if array.dtype == np.uint64 and array.size and array.max() > np.iinfo(np.int64).max:
            raise ValueError(f"{what} hold an integer beyond 64 bits with sign")
        return "integers", np.ascontiguousarray(array, dtype=np.int64)
    if array.dtype.kind == "f":
        if not np.isfinite(array).all():
            at = int(np.flatnonzero(~np.isfinite(array))[0])
            raise ValueError(f"{what}: entry {at} is {array[at]}, which is no id")
        if not (array == np.floor(array)).all():
            raise ValueError(f"{what} are fractions; ids must be integers or texts")
        return "integers", np.ascontiguousarray(array, dtype=np.int64)
    values = array.tolist()
    if array.size == 0:
        return "integers", np.zeros(0, dtype=np.int64)
    if all(isinstance(value, str) for value in values):
        return "texts", values
    if all(isinstance(value, (int, np.integer)) and not isinstance(value, bool) for value in values):
        return "integers", np.array(values, dtype=np.int64)
    at = next(at for at, value in enumerate(values) if not isinstance(value, str))
    raise ValueError(f"{what}: entry {at} is {values[at]!r}; ids must be all integers or all texts")
