"""The keywords of ``fit`` that say how data is read, prepared and held out. They are the flags of ``absentia train``."""

from __future__ import annotations

import os
from typing import Any, Dict, List, Mapping, Sequence, Tuple, TypedDict, Union

Path = Union[str, "os.PathLike[str]"]


class ReadingOptions(TypedDict, total=False):
    """How files are read. What is not given is detected."""

    format: str
    separator: str
    header: bool
    no_header: bool
    no_quotes: bool
    decimal_comma: bool
    skip_bad: int
    dense_ids: bool
    shape: Union[str, Tuple[int, int]]
    max_line: int


class ColumnOptions(TypedDict, total=False):
    """Which column of a file or table holds what: a heading, a place from 1, or ``"none"``."""

    user_col: Union[str, int]
    item_col: Union[str, int]
    rating_col: Union[str, int]
    time_col: Union[str, int]
    weight_col: Union[str, int]


class PreparationOptions(TypedDict, total=False):
    """Which rows are used."""

    min_rating: float
    since: Union[str, int]
    until: Union[str, int]
    exclude: Union[Path, Sequence[Path]]
    duplicates: str
    sample: str
    sample_seed: int
    k_core: Union[str, int, Tuple[int, int]]


class ValidationOptions(TypedDict, total=False):
    """Rows that are held out to choose the best model, and how models are measured on them."""

    valid: Union[Path, Sequence[Path]]
    valid_split: str
    valid_pick: str
    valid_metric: str
    valid_every: int
    patience: int


class RelationOptions(TypedDict, total=False):
    """Side information in files, as ``absentia train --relation`` takes it."""

    relation: Union[str, Sequence[str]]


class FitOptions(ReadingOptions, ColumnOptions, PreparationOptions, ValidationOptions, RelationOptions, total=False):
    """All of them."""


NAMES = frozenset(FitOptions.__annotations__)
COLUMNS = frozenset(ColumnOptions.__annotations__)
OF_READING = frozenset(ReadingOptions.__annotations__) | COLUMNS
"""Options that hold for further data of a model as well."""
FILES_ONLY = frozenset(ReadingOptions.__annotations__)
ROWS = (
    frozenset(PreparationOptions.__annotations__)
    | frozenset(ValidationOptions.__annotations__)
    | frozenset(RelationOptions.__annotations__)
)
"""Options that need rows, which a sparse matrix is then taken apart into."""


def keys(options: Mapping[str, Any]) -> Dict[str, Any]:
    """Options as keys of a job. ``None`` means not given."""
    unknown = sorted(set(options) - NAMES)
    if unknown:
        raise TypeError(f"fit() got an unexpected keyword argument {unknown[0]!r}; the options are {sorted(NAMES)}")
    given = {name: value for name, value in options.items() if value is not None}
    given.update({name: paths(given[name]) for name in ("valid", "exclude") if name in given})
    return {name.replace("_", "-"): _value(value) for name, value in given.items()}


def paths(given: Any) -> List[str]:
    """A path or several paths as text."""
    return [os.fspath(path) for path in ([given] if isinstance(given, (str, os.PathLike)) else given)]


def _value(value: Any) -> Any:
    if isinstance(value, os.PathLike):
        return os.fspath(value)
    if isinstance(value, tuple) and all(isinstance(one, int) for one in value):
        return ",".join(map(str, value))
    if isinstance(value, (list, tuple)):
        return [_value(one) for one in value]
    return value.item() if hasattr(value, "item") else value
