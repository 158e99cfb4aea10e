"""Converts sparse matrices, tables and columns to the form that the engine accepts. Files are read by the engine."""

from __future__ import annotations

import os
from typing import Any, Dict, List, Mapping, NamedTuple, Optional, Sequence, Tuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from . import _core, _params
from ._dates import MISSING, unix_seconds
from ._ids import MAX_ROWS, Ids, Side, intern
from ._options import COLUMNS, FILES_ONLY, ROWS, paths
from ._tables import ColumnOption, Columns, columns_of, labels_of, rows_of_users

# Kinds of arrays of dates: datetimes, texts and objects.
_DATES = "MUO"

# More users than these are found sooner by converting the whole table.
_FEW = 16

Settings = Dict[str, Any]
"""Keys of a job with their values."""


class Entries(NamedTuple):
    """Interactions in a form that the engine accepts, with their ids."""

    core: _core.Data
    ids: Ids

    @property
    def shape(self) -> Tuple[int, int]:
        """The number of users and of items."""
        return len(self.ids.users), len(self.ids.items)

    def pairs(self) -> Tuple[NDArray[np.uint32], NDArray[np.uint32]]:
        """The interactions as two arrays: user rows and item rows."""
        if isinstance(self.core, _core.Dataset):
            return self.core.pairs()
        _, indptr, indices, _, _ = self.core
        users = np.repeat(np.arange(self.shape[0], dtype=np.uint32), np.diff(indptr))
        return users, indices.view(np.uint32)


def file_settings(data: Any, columns: Optional[Mapping[str, Any]]) -> Settings:
    """Files and their columns as keys of a job; nothing for data in memory."""
    if not is_files(data):
        return {}
    chosen = {f"{role}-col": "none" if label is None else str(label) for role, label in (columns or {}).items()}
    return {"data": paths(data), **chosen}


def prepare(
    data: Any,
    settings: Settings,
    *,
    columns: Optional[Mapping[str, Any]] = None,
    sample_weight: Any = None,
    relations: Sequence[_core.Relation] = (),
) -> Entries:
    """Reads and prepares the data of a run, as the settings of its job say.

    ``columns`` says which column of a table is the user, item, rating, time or weight.
    """
    if is_files(data):
        if sample_weight is not None:
            raise ValueError("sample_weight is for data in memory; name a column of the file with weight_col")
        return _of_dataset(_core.prepare(_params.settings(settings), relations=list(relations)))
    if columns and labels_of(data) is None:
        raise ValueError(f"columns choose among those of a table, and the data is a {type(data).__name__}")
    _check_in_memory(data, settings)
    if sp.issparse(data):
        if not relations and not any(name.replace("_", "-") in settings for name in (*ROWS, "exposed")):
            return from_sparse(data, sample_weight=sample_weight)
        settings = {**settings, "duplicates": settings.get("duplicates") or "sum"}  # as scipy does
        entries, ids = _sparse_columns(data, sample_weight), Ids.dense(data.shape)
        rows = (entries.users, entries.items)
    else:
        entries = columns_of(data, {**_column_options(settings), **(columns or {})})
        if sample_weight is not None:
            entries = entries._replace(weights=sample_weight)
        ids, rows, entries = _rows_of(entries, None, True)
    table = _table(rows, entries, ids)
    return _of_dataset(_core.prepare(_table_settings(settings, entries), table, relations=list(relations)), ids)


def related(relations: Optional[Mapping[str, Any]]) -> Tuple[List[str], List[_core.Relation]]:
    """Relations in files, as they are written, and relations in memory."""
    texts: List[str] = []
    tables: List[_core.Relation] = []
    for name, given in (relations or {}).items():
        if isinstance(given, (str, os.PathLike)):
            texts.append(f"{name}:{os.fspath(given)}")
            continue
        data, options = given, ""
        if isinstance(given, tuple) and len(given) == 2 and isinstance(given[1], str):
            data, options = given[0], f",{given[1]}"
        if ",header=" in options:
            raise ValueError(f"{name}: header= is for files; the names of a table in memory are known")
        features = _features(data, "dense=yes" in options)
        if features is not None:
            dense = "" if "dense=yes" in options else ",dense=yes"
            tables.append((f"{name}:memory{dense}{options}", *features))
        else:
            tables.append((f"{name}:memory{options}", _relation_table(data)))
    return texts, tables


def _features(data: Any, dense: bool) -> Optional[Tuple[Optional[List[str]], List[str], _core.Floats]]:
    """Features as the engine takes them: ids of rows, names of columns, numbers; ``None`` if the data has entries.

    They are an array of two dimensions, whose ids are row numbers; ids and an array; or, with ``dense=yes``, a table
    with the ids in its first column.
    """
    ids: Any = None
    if isinstance(data, tuple) and len(data) == 2 and isinstance(data[1], np.ndarray) and data[1].ndim == 2:
        ids, data = data
    if isinstance(data, np.ndarray) and data.ndim == 2:
        values, names = data, [str(column) for column in range(data.shape[1])]
    elif dense:
        labels = labels_of(data)
        if labels is None or len(labels) < 2:
            raise ValueError("dense=yes needs an array, ids and an array, or a table with a column of ids and others")
        ids, names = data[labels[0]], [str(label) for label in labels[1:]]
        values = np.column_stack([np.asarray(data[label]) for label in labels[1:]])
    else:
        return None
    if values.dtype.kind not in "fiub":
        raise ValueError(f"features must be numbers, and these are of type {values.dtype}")
    if ids is not None:
        ids = [str(one) for one in np.asarray(ids).tolist()]
        if len(ids) != values.shape[0]:
            raise ValueError(f"{len(ids)} ids for {values.shape[0]} rows of features")
        if len(set(ids)) != len(ids):
            raise ValueError("an id has two rows of features")
    return ids, names, np.ascontiguousarray(values, dtype=np.float32)


def _relation_table(data: Any) -> _core.Table:
    """A relation as the engine takes it: the first two columns of a table, and its values if there is a third."""
    if sp.issparse(data):
        entries, ids = _sparse_columns(data, None), Ids.dense(data.shape)
        return _table((entries.users, entries.items), entries, ids)
    labels = labels_of(data)
    places: Dict[str, Any] = {}
    if labels is not None:
        given = [*labels[:3], None][:3] if len(labels) >= 2 else labels
        places = dict(zip(("user", "item", "rating"), given))
        places.update({"time": None, "weight": None})
    ids, rows, entries = _rows_of(columns_of(data, places), None, True)
    return _table(rows, entries, ids)


def further_table(data: Any, settings: Settings, columns: Optional[Mapping[str, Any]]) -> Tuple[Ids, _core.Table]:
    """Interactions in memory with ids of their own, which a model need not know."""
    if is_files(data) or sp.issparse(data):
        raise ValueError("interactions are a table or columns of ids, not a file or a matrix")
    entries = columns_of(data, columns_in(data, {**_column_options(settings), **(columns or {})}))
    ids, rows, entries = _rows_of(entries, None, True)
    return ids, _table(rows, entries, ids)


def convert(
    data: Any,
    ids: Ids,
    settings: Settings,
    *,
    columns: Optional[Mapping[str, Any]] = None,
    grow: bool = False,
) -> Entries:
    """Converts further data of a model, which is not prepared.

    Entries with unknown ids are left out. With ``grow`` they get new rows instead.
    """
    if sp.issparse(data):
        return from_sparse(data, ids, grow)
    if is_files(data):
        settings = {**settings, **file_settings(data, columns)}
        return _of_dataset(_core.prepare(_params.settings(settings), None, ids.cores(), grow), ids)
    entries = columns_of(data, columns_in(data, {**_column_options(settings), **(columns or {})}))
    ids, rows, entries = _rows_of(entries, ids, grow)
    table = _table(rows, entries, ids)
    return _of_dataset(_core.prepare(_table_settings(settings, entries), table, ids.cores()), ids)


def seen_pairs(
    data: Any, ids: Ids, settings: Settings, columns: Optional[Mapping[str, Any]], users: Sequence[Any]
) -> Optional[Tuple[NDArray[np.uint32], NDArray[np.uint32]]]:
    """What a few users have seen, as rows of users and items, found without converting a whole table.

    ``None`` if there are too many of them, or if the data has to be converted whole.
    """
    if not 0 < len(users) <= _FEW or is_files(data) or sp.issparse(data):
        return None
    chosen = columns_in(data, {**_column_options(settings), **(columns or {})})
    entries = rows_of_users(data, np.asarray(users).tolist(), chosen)
    if entries is None:
        return None
    _, (user_rows, item_rows), _ = _rows_of(entries, ids, False)
    return user_rows, item_rows


def exposed_pairs(
    data: Any, ids: Ids, settings: Settings, columns: Optional[Mapping[str, Any]]
) -> Tuple[Any, Any, Any]:
    """Users, items and weights of pairs in memory that were shown; those with unknown ids are left out."""
    if sp.issparse(data):
        users, items = from_sparse(data, ids).pairs()
        return users, items, None
    entries = columns_of(data, columns_in(data, {**_column_options(settings), **(columns or {})}))
    _, (users, items), entries = _rows_of(entries, ids, False)
    return users, items, None if entries.weights is None else _floats("weights", entries.weights)


def columns_in(data: Any, columns: Mapping[str, Any]) -> Dict[str, Any]:
    """Those of the chosen columns that a further table has."""
    labels = labels_of(data) or []
    names = [str(label) for label in labels]

    def has(label: Any) -> bool:
        if isinstance(label, ColumnOption):
            return label == "none" or label.isdigit() or label in names
        return label is None or label in labels

    return {role: label for role, label in columns.items() if labels and has(label)}


def merge(old: Entries, new: Entries) -> Entries:
    """Merges two sets of entries. The ids of ``new`` extend those of ``old``."""
    return Entries(_core.Dataset.merged(old.core, new.core, new.ids.cores()), new.ids)


def _check_in_memory(data: Any, settings: Settings) -> None:
    """Rejects options that would have no effect on data in memory."""
    without_effect = FILES_ONLY if labels_of(data) is not None else FILES_ONLY | COLUMNS | {"time_unit"}
    for name in sorted(without_effect):
        if name.replace("_", "-") in settings:
            raise ValueError(f"{name} has no effect on a {type(data).__name__}")


def _of_dataset(core: _core.Dataset, ids: Optional[Ids] = None) -> Entries:
    """A data set with its ids, which are of the kind of those that went in."""
    users, items = (None, None) if ids is None else (ids.users.kind, ids.items.kind)
    return Entries(core, Ids(Side(core.user_ids, users), Side(core.item_ids, items)))


def _column_options(settings: Settings) -> Dict[str, Any]:
    """The columns that options choose, by their roles."""
    given = {name[: -len("_col")]: settings.get(name.replace("_", "-")) for name in COLUMNS}
    return {role: ColumnOption(column) for role, column in given.items() if column is not None}


def _table_settings(settings: Settings, entries: Columns) -> str:
    """The settings for a table; dates have no unit to be given."""
    if entries.times is not None and np.asarray(entries.times).dtype.kind in _DATES:
        settings = {key: value for key, value in settings.items() if key != "time-unit"}
    return _params.settings(settings)


def _rows_of(entries: Columns, ids: Optional[Ids], grow: bool) -> Tuple[Ids, Any, Columns]:
    """The ids and rows of entries. New ids are added with ``grow``, and their entries left out without."""
    _check_lengths(entries)
    if ids is None or grow:
        users, user_rows = intern("users", entries.users, ids.users if ids else None)
        items, item_rows = intern("items", entries.items, ids.items if ids else None)
        return Ids(users, items), (user_rows, item_rows), entries
    user_rows = ids.users.rows(entries.users, skip=True)
    item_rows = ids.items.rows(entries.items, skip=True)
    keep = (user_rows != MAX_ROWS) & (item_rows != MAX_ROWS)
    rest = (None if column is None else np.asarray(column)[keep] for column in entries[2:])
    return ids, (user_rows[keep], item_rows[keep]), Columns(None, None, *rest)


def _check_lengths(entries: Columns) -> None:
    lengths = {name: len(column) for name, column in entries._asdict().items() if column is not None}
    if len(set(lengths.values())) > 1:
        raise ValueError(f"columns differ in length: {lengths}")


def _table(rows: Any, entries: Columns, ids: Ids) -> _core.Table:
    """A table as the engine takes it."""
    values = None if entries.values is None else _floats("values", entries.values)
    weights = None if entries.weights is None else _floats("weights", entries.weights)
    times = None if entries.times is None else _times(entries.times)
    return (*rows, values, weights, times, ids.cores())


def _sparse_columns(matrix: Any, sample_weight: Any) -> Columns:
    """The entries of a sparse matrix as columns of row numbers."""
    rows = from_sparse(matrix, sample_weight=sample_weight)
    values, weights = (None, None) if isinstance(rows.core, _core.Dataset) else rows.core[3:]
    return Columns(*rows.pairs(), values, weights)


def from_sparse(matrix: Any, ids: Optional[Ids] = None, grow: bool = False, sample_weight: Any = None) -> Entries:
    """Borrows the rows of a sparse matrix."""
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
    return Entries(csr_arrays(rows, weights), ids or Ids.dense(shape))


def check_counts(shape: Tuple[int, int]) -> None:
    """Rejects more users or items than row numbers can represent."""
    for count, what in zip(shape, ("users", "items")):
        if count > MAX_ROWS:
            raise ValueError(f"{count} {what} are more than the {MAX_ROWS} that are supported")


def _grown(ids: Ids, shape: Tuple[int, int]) -> Ids:
    """Adds ids for new rows. This is possible only if all ids are row numbers."""
    known = (len(ids.users), len(ids.items))
    if shape[0] <= known[0] and shape[1] <= known[1]:
        return ids
    if ids.users.core.kind != "rows" or ids.items.core.kind != "rows":
        raise ValueError(f"the matrix has shape {shape} and the model ids for {known}; give the new ids in a table")
    return Ids.dense((max(shape[0], known[0]), max(shape[1], known[1])))


def csr_arrays(rows: Any, weights: Optional[NDArray[np.float32]] = None) -> _core.Csr:
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


def _times(given: Any) -> NDArray[np.int64]:
    array = np.asarray(given)
    if array.dtype.kind in _DATES:
        seconds = unix_seconds(array)
        _refuse("time", array, seconds == MISSING)
        return seconds
    if array.dtype.kind not in "iuf":
        raise ValueError(f"times hold {array.dtype}, expected numbers or dates")
    # As numbers of 64 bits: beyond them, a conversion would give another time.
    _refuse("time", array, ~(np.abs(array.astype(np.float64)) < 2.0**63))
    return np.ascontiguousarray(array, dtype=np.int64)


def _refuse(what: str, array: NDArray[Any], is_wrong: NDArray[np.bool_]) -> None:
    """Names the first entry that is no such thing."""
    if is_wrong.any():
        at = int(np.flatnonzero(is_wrong)[0])
        raise ValueError(f"entry {at}: {np.ravel(array)[at]} is not a {what}")
