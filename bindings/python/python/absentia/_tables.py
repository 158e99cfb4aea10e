"""Tables, columns and lists of rows in memory."""

from __future__ import annotations

from typing import Any, Dict, List, Mapping, NamedTuple, Optional

import numpy as np

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
