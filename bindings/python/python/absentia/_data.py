"""Converts sparse matrices, tables, columns and files to the form that the engine accepts."""

from __future__ import annotations

import logging
import os
from pathlib import Path
from typing import Any, Dict, List, Mapping, NamedTuple, Optional, Tuple, Union

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from . import _core
from ._ids import MOST, Ids, Side, intern

DUPLICATES = "sum"
"""How repeated pairs are merged, except in files."""

FILE_DUPLICATES = "last"
"""How repeated pairs in files are merged, as on the command line."""

Lent = Union[_core.Matrix, "_core.Csr"]


class Taken(NamedTuple):
    """Data in a form that the engine accepts, with its ids."""

    lent: Lent
    ids: Ids
    shape: Tuple[int, int]

    def pairs(self) -> Tuple[NDArray[np.uint32], NDArray[np.uint32]]:
        """The interactions as two arrays: user rows and item rows."""
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
    grow: bool = False,
    sample_weight: Any = None,
    columns: Optional[Mapping[str, Any]] = None,
    time_unit: Optional[str] = None,
) -> Taken:
    """Converts a sparse matrix, a table, columns or files.

    With ``ids``, entries with unknown ids are left out. With ``grow`` they get new rows instead.
    ``columns`` says which column of a table is the user, item, rating, time or weight,
    ``time_unit`` what times that are numbers count.
    """
    if columns and _labels(data) is None:
        raise ValueError(f"columns choose among those of a table, and the data is a {type(data).__name__}")
    if sp.issparse(data):
        return _from_sparse(data, ids, grow, sample_weight)
    if is_files(data):
        return _from_files(data, ids, grow, time_unit)
    entries = _columns(data, columns or {})
    if sample_weight is not None:
        entries = entries._replace(weights=sample_weight)
    return _from_columns(entries, ids, grow, time_unit)


def columns_in(data: Any, columns: Mapping[str, Any]) -> Dict[str, Any]:
    """Those of the chosen columns that a further table has; none for other data."""
    labels = _labels(data) or []
    return {role: label for role, label in columns.items() if labels and (label is None or label in labels)}


def merge(old: Taken, new: Taken, duplicates: str) -> Taken:
    """Merges two sets of entries. The ids of ``new`` extend those of ``old``."""
    shape = (max(old.shape[0], new.shape[0]), max(old.shape[1], new.shape[1]))
    return Taken(_core.Matrix.merged(old.lent, new.lent, shape, duplicates), new.ids, shape)


def _from_sparse(matrix: Any, ids: Optional[Ids], grow: bool, sample_weight: Any) -> Taken:
    if matrix.ndim != 2:
        raise ValueError(f"the matrix has {matrix.ndim} dimensions, expected 2")
    shape = (int(matrix.shape[0]), int(matrix.shape[1]))
    check_counts(shape)
    if ids is not None and grow:
        ids = _grown(ids, shape)
    elif ids is not None and shape != (len(ids.users), len(ids.items)):
        expected = (len(ids.users), len(ids.items))
        raise ValueError(f"the matrix has shape {shape}, expected {expected}, that of the model")
    rows = matrix.tocsr()
    weights = None
    if sample_weight is not None:
        weights = _floats("sample_weight", sample_weight)
        if rows is not matrix:
            raise ValueError("sample_weight goes with the entries of a CSR matrix; convert the matrix first")
    return Taken(lend(rows, weights), ids or Ids.dense(shape), shape)


def check_counts(shape: Tuple[int, int]) -> None:
    """Rejects more users or items than row numbers can represent."""
    for count, what in zip(shape, ("users", "items")):
        if count > MOST:
            raise ValueError(f"{count} {what} are more than the {MOST} that are supported")


def _grown(ids: Ids, shape: Tuple[int, int]) -> Ids:
    """Adds ids for new rows. This is possible only if all ids are row numbers."""
    known = (len(ids.users), len(ids.items))
    if shape[0] <= known[0] and shape[1] <= known[1]:
        return ids
    if ids.users.core.kind != "rows" or ids.items.core.kind != "rows":
        raise ValueError(f"the matrix has shape {shape} and the model ids for {known}; give the new ids in a table")
    return Ids.dense((max(shape[0], known[0]), max(shape[1], known[1])))


def lend(rows: Any, weights: Optional[NDArray[np.float32]] = None) -> _core.Csr:
    """Borrows compressed rows. Arrays that are contiguous, ``int32`` and ``float32`` are not copied."""
    indices = np.asarray(rows.indices)
    if indices.size and indices.min() < 0:
        at = int(np.flatnonzero(indices < 0)[0])
        raise ValueError(f"entry {at}: item {indices[at]} is negative")
    if indices.dtype != np.int32:
        if indices.size and indices.max() >= rows.shape[1]:
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


def is_files(data: Any) -> bool:
    """Whether the data is a path or a list of paths."""
    if isinstance(data, (list, set)):
        return bool(data) and all(isinstance(path, (str, os.PathLike)) for path in data)
    return isinstance(data, (str, os.PathLike))


def _from_files(data: Any, ids: Optional[Ids], grow: bool, time_unit: Optional[str]) -> Taken:
    patterns = [data] if isinstance(data, (str, os.PathLike)) else list(data)
    texts = [str(Path(os.fspath(pattern))) for pattern in patterns]
    cores = ids.cores() if ids else None
    users, items, values, weights, times, user_ids, item_ids = _core.read(texts, cores, grow, time_unit)
    if times is not None and time_unit is None:
        times = _of_one_unit(times, None)
    if ids is None or grow:
        ids = Ids(Side(user_ids), Side(item_ids))
    shape = (len(ids.users), len(ids.items))
    matrix = _core.Matrix.from_triplets(users, items, shape, FILE_DUPLICATES, values, weights, times)
    return Taken(matrix, ids, shape)


def _columns(data: Any, chosen: Mapping[str, Any]) -> Columns:
    if isinstance(data, Columns):
        return data
    labels = _labels(data)
    if labels is not None:
        return _table(data, labels, chosen)
    if isinstance(data, list) and data and all(_is_row(row) for row in data):
        return _rows(data)
    if isinstance(data, (tuple, list)) and 2 <= len(data) <= 3:
        return Columns(*data)
    raise TypeError(
        f"data of type {type(data).__name__} is not supported; give a scipy sparse matrix, a table (pandas, polars, "
        "pyarrow), (users, items[, values]), a list of (user, item[, value]), or a path"
    )


def _is_row(row: Any) -> bool:
    """Whether this can be a row: a user, an item and possibly a value."""
    return isinstance(row, (tuple, list)) and 2 <= len(row) <= 3 and all(np.ndim(cell) == 0 for cell in row)


def _rows(rows: List[Any]) -> Columns:
    """The columns of a list of rows."""
    if 2 <= len(rows) <= 3 and len({len(row) for row in rows}) == 1 and any(isinstance(row, list) for row in rows):
        size = f"{len(rows)} lists of {len(rows[0])}"
        raise ValueError(f"{size} can be rows or columns; give rows as tuples, or columns as a tuple (users, items[, values])")
    widths = sorted({len(row) for row in rows})
    if len(widths) > 1:
        raise ValueError(f"rows differ in length: {widths}")
    return Columns(*(list(column) for column in zip(*rows)))


def _labels(data: Any) -> Optional[List[Any]]:
    """The labels of a table's columns; ``None`` if the data is not a table."""
    labels = getattr(data, "column_names", None)  # pyarrow
    if labels is None:
        labels = getattr(data, "columns", None)  # pandas, polars
    return None if labels is None else list(labels)


def _table(data: Any, labels: List[Any], chosen: Mapping[str, Any]) -> Columns:
    if len(labels) < 2:
        raise ValueError(f"the table has columns {labels}; at least a user and an item are needed")
    for role, label in chosen.items():
        if label is not None and label not in labels:
            raise ValueError(f"the table has no column {label!r} for the {role}; its columns are {labels}")
    places = {role: None if label is None else labels.index(label) for role, label in chosen.items()}
    first_row = [_first_cell(data[label]) for label in labels]
    found = _core.table_columns([str(label) for label in labels], first_row, places)
    column = {role: _column(data, labels[at]) for role, at in found.items()}
    return Columns(
        column["user"], column["item"], column.get("rating"), column.get("weight"), column.get("time")
    )


def _first_cell(column: Any) -> str:
    """The first cell of a column as text."""
    if not len(column):
        return ""
    cell = column.iloc[0] if hasattr(column, "iloc") else column[0]
    return str(cell.as_py() if hasattr(cell, "as_py") else cell)


def _column(data: Any, name: Any) -> Any:
    """A column as an array: a view if it holds contiguous numbers without nulls."""
    column = data[name]
    if not hasattr(column, "combine_chunks"):
        return column.to_numpy()
    import pyarrow as pa

    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    if column.null_count:
        raise ValueError(f"column {name!r} has {column.null_count} nulls")
    if column.num_chunks == 1:
        column = column.chunk(0)
        return column.to_numpy(zero_copy_only=False)
    return column.to_numpy()


def _from_columns(columns: Columns, ids: Optional[Ids], grow: bool, time_unit: Optional[str]) -> Taken:
    lengths = {name: len(column) for name, column in columns._asdict().items() if column is not None}
    if len(set(lengths.values())) > 1:
        raise ValueError(f"columns differ in length: {lengths}")
    keep: Any = slice(None)
    if ids is None or grow:
        user_side, users = intern("users", columns.users, ids.users if ids else None)
        item_side, items = intern("items", columns.items, ids.items if ids else None)
        ids = Ids(user_side, item_side)
    else:
        users = ids.users.rows(columns.users, skip=True)
        items = ids.items.rows(columns.items, skip=True)
        keep = (users != MOST) & (items != MOST)
        users, items = users[keep], items[keep]
    shape = (len(ids.users), len(ids.items))
    values = None if columns.values is None else np.ascontiguousarray(_floats("values", columns.values)[keep])
    weights = None if columns.weights is None else np.ascontiguousarray(_floats("weights", columns.weights)[keep])
    times = None if columns.times is None else np.ascontiguousarray(_times(columns.times, time_unit)[keep])
    matrix = _core.Matrix.from_triplets(users, items, shape, DUPLICATES, values, weights, times)
    return Taken(matrix, ids, shape)


def _times(given: Any, unit: Optional[str]) -> NDArray[np.int64]:
    array = np.asarray(given)
    if array.dtype.kind == "M":
        return array.astype("datetime64[s]").astype(np.int64)
    if array.dtype.kind not in "iuf":
        raise ValueError(f"times hold {array.dtype}, expected numbers or datetimes")
    if array.dtype.kind == "f" and not np.isfinite(array).all():
        raise ValueError("a time is not finite")
    return _of_one_unit(np.ascontiguousarray(array, dtype=np.int64), unit)


def _of_one_unit(times: NDArray[np.int64], unit: Optional[str]) -> NDArray[np.int64]:
    """Times as the engine takes them. Their unit is logged if it was found and is not seconds."""
    times, found = _core.times(times, unit)
    if found != "seconds":
        logging.getLogger("absentia").info("times are read as %s; time_unit chooses another unit", found)
    return times
