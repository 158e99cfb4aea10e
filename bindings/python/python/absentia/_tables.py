"""Tables, columns and lists of rows in memory."""

from __future__ import annotations

from typing import Any, Dict, List, Mapping, NamedTuple, Optional

import numpy as np
from numpy.typing import NDArray

from . import _core


class Columns(NamedTuple):
    """Entries as columns, in any order."""

    users: Any
    items: Any
    values: Any = None
    weights: Any = None
    times: Any = None


class ColumnOption(str):
    """A column as an option names it: a heading, a place from 1, or ``"none"``."""


def columns_of(data: Any, chosen: Mapping[str, Any]) -> Columns:
    """The columns of entries; ``chosen`` has columns of a table by their roles."""
    if isinstance(data, Columns):
        return data
    labels = labels_of(data)
    if labels is not None:
        return _table_columns(data, labels, chosen)
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


def labels_of(data: Any) -> Optional[List[Any]]:
    """The labels of a table's columns; ``None`` if the data is not a table."""
    labels = getattr(data, "column_names", None)  # pyarrow
    if labels is None:
        labels = getattr(data, "columns", None)  # pandas, polars
    return None if labels is None else list(labels)


def _table_columns(data: Any, labels: List[Any], chosen: Mapping[str, Any]) -> Columns:
    column = {role: _column(data, label) for role, label in _roles(data, labels, chosen).items()}
    return Columns(
        column["user"], column["item"], column.get("rating"), column.get("weight"), column.get("time")
    )


def rows_of_users(data: Any, users: List[Any], chosen: Mapping[str, Any]) -> Optional[Columns]:
    """The users and items of those rows of a table, or of two arrays, that are of a few users; the other rows are not
    converted.

    ``None`` if the data is neither, or if its users are of another kind than the given ones.
    """
    labels = labels_of(data)
    if labels is not None:
        roles = _roles(data, labels, chosen)
        column, items = data[roles["user"]], data[roles["item"]]
    elif _are_arrays(data):
        column, items = data[:2]
    else:
        return None
    places = _places_of(column, users)
    if places is None:
        return None
    own = np.array(users * len(places)) if len(users) == 1 else _taken(column, places)
    return Columns(own, _taken(items, places))


def _are_arrays(data: Any) -> bool:
    """Whether these are columns as arrays of the same length; what else is wrong with others is found elsewhere."""
    if not isinstance(data, tuple) or not 2 <= len(data) <= 3:
        return False
    if not all(isinstance(column, np.ndarray) and column.ndim == 1 for column in data):
        return False
    return len({len(column) for column in data}) == 1


def _places_of(column: Any, users: List[Any]) -> Optional[NDArray[np.int64]]:
    """The places of a few values in a column; ``None`` if they are of another kind than the column's."""
    texts = all(isinstance(user, str) for user in users)
    integers = all(isinstance(user, (int, np.integer)) and not isinstance(user, bool) for user in users)
    if isinstance(column.dtype if hasattr(column, "dtype") else None, np.dtype):
        cells = np.asarray(column)
        if texts and cells.dtype == object:
            return _core.places_of_texts(cells, users)
        if not (texts and cells.dtype.kind == "U" or integers and cells.dtype.kind in "iuO"):
            return None
        found = np.zeros(len(cells), dtype=bool)
        for user in users:
            found |= cells == user
        return np.flatnonzero(found)
    if hasattr(column, "arg_true"):  # polars, whose texts would be copied to be those of Arrow
        return _places_in_polars(column, users, texts, integers)
    cells = _arrow(column)
    if cells is None:
        return None
    import pyarrow as pa
    import pyarrow.compute as pc

    is_text = pa.types.is_string(cells.type) or pa.types.is_large_string(cells.type)
    if not (texts and is_text or integers and pa.types.is_integer(cells.type)):
        return None
    if texts and not cells.null_count:
        chunks = cells.chunks if hasattr(cells, "chunks") else [cells]
        return _places_in_chunks(chunks, users)
    # By name: the functions are made when the module is loaded, which types do not show.
    found = pc.call_function("equal", [cells, pa.scalar(users[0], cells.type)])
    for user in users[1:]:
        found = pc.call_function("or", [found, pc.call_function("equal", [cells, pa.scalar(user, cells.type)])])
    return np.asarray(pc.call_function("indices_nonzero", [found])).astype(np.int64)


def _places_in_chunks(chunks: List[Any], texts: List[str]) -> NDArray[np.int64]:
    """The places of a few texts in pieces of a column in the form of Arrow, without nulls."""
    places, before = [np.zeros(0, np.int64)], 0
    for chunk in chunks:
        _, offsets, cells = chunk.buffers()
        if len(chunk) and cells is not None:
            width = np.dtype(np.int32) if str(chunk.type) == "string" else np.dtype(np.int64)
            ends = np.frombuffer(offsets, width, len(chunk) + 1, chunk.offset * width.itemsize)
            places.append(before + _core.places_in_arrow(ends, np.frombuffer(cells, np.uint8), texts))
        before += len(chunk)
    return np.concatenate(places)


def _places_in_polars(column: Any, users: List[Any], texts: bool, integers: bool) -> Optional[NDArray[np.int64]]:
    import polars as pl

    if not (texts and column.dtype == pl.String or integers and column.dtype.is_integer()):
        return None
    found = column == users[0]
    for user in users[1:]:
        found = found | (column == user)
    places: NDArray[np.int64] = found.fill_null(False).arg_true().to_numpy().astype(np.int64)
    return places


def _arrow(column: Any) -> Any:
    """A column in the form of Arrow, if it has one."""
    if hasattr(column, "combine_chunks"):  # pyarrow
        return column
    convert = getattr(getattr(column, "array", None), "__arrow_array__", None)  # pandas
    return None if convert is None else convert()


def _taken(column: Any, places: NDArray[np.int64]) -> NDArray[Any]:
    """Some cells of a column."""
    if isinstance(column, np.ndarray):
        return column[places]
    if hasattr(column, "iloc"):
        return np.asarray(column.array.take(places))
    if hasattr(column, "combine_chunks"):
        return np.asarray(column.take(places))
    return np.asarray(column[places].to_numpy())


def _roles(data: Any, labels: List[Any], chosen: Mapping[str, Any]) -> Dict[str, Any]:
    """The label of the column of each role that the table has."""
    if len(labels) < 2:
        raise ValueError(f"the table has columns {labels}; at least a user and an item are needed")
    places: Dict[str, Any] = {}
    for role, label in chosen.items():
        if label is None or isinstance(label, ColumnOption):
            places[role] = label
        elif label in labels:
            places[role] = labels.index(label)
        else:
            raise ValueError(f"the table has no column {label!r} for the {role}; its columns are {labels}")
    first_row = [_first_cell(data[label]) for label in labels]
    found = _core.table_columns([str(label) for label in labels], first_row, places)
    return {role: labels[at] for role, at in found.items()}


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
