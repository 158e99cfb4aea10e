"""Dates and unix times of any kind as unix seconds, by the rules for files."""

from __future__ import annotations

import datetime
from typing import Any

import numpy as np
from numpy.typing import NDArray

from . import _core

# What numpy converts "not a time" to.
MISSING = np.iinfo(np.int64).min


def unix_seconds(dates: Any) -> NDArray[np.int64]:
    """Unix seconds of datetimes, ISO-8601 texts, years as texts and integers in any unit; ``MISSING`` for no date."""
    array = dates if hasattr(dates, "dtype") else np.array(dates, dtype=object)
    array = np.asarray(array)
    if array.ndim != 1:
        raise ValueError(f"dates have {array.ndim} dimensions, expected 1")
    if array.dtype.kind == "M":
        return array.astype("datetime64[s]").astype(np.int64)
    return _core.dates([_plain(date) for date in array.tolist()])


def _plain(date: Any) -> Any:
    """A date as an integer, a text or ``None``."""
    if date is None or str(date) in ("NaT", "nan", "<NA>"):
        return None
    if isinstance(date, datetime.date):
        return date.isoformat()
    if isinstance(date, np.datetime64):
        return str(date.astype("datetime64[s]"))
    return date
