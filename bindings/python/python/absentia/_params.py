"""Converts constructor arguments to the settings of a job. The engine parses their text forms."""

from __future__ import annotations

import json
import operator
from typing import Any, Callable, Dict

import numpy as np
from numpy.typing import NDArray


def key(name: str) -> str:
    """The key of a job that an argument stands for."""
    return name.replace("_", "-")


def optional(check: Callable[[str, Any], Any], name: str, value: Any) -> Any:
    """Checks a value that need not be given."""
    return None if value is None else check(name, value)


def whole(name: str, value: Any) -> int:
    """Checks that the value is an integer of at least 0."""
    try:
        number = operator.index(value)
    except TypeError:
        raise TypeError(f"{name} is {value!r}; it must be an integer") from None
    if number < 0:
        raise ValueError(f"{name} is {number}; it must be at least 0")
    return number


def real(name: str, value: Any) -> float:
    """Checks that the value is a finite number."""
    try:
        number = float(value)
    except (TypeError, ValueError):
        raise TypeError(f"{name} is {value!r}; it must be a number") from None
    if not np.isfinite(np.float32(number)):
        raise ValueError(f"{name} is {number}; it must be finite")
    return number


def seed(random_state: Any) -> int:
    """Makes a seed from an integer or a generator; ``None`` gives a random seed."""
    if random_state is None:
        return int(np.random.default_rng().integers(2**63))
    if isinstance(random_state, np.random.RandomState):
        return int(random_state.randint(2**31))
    if isinstance(random_state, np.random.Generator):
        return int(random_state.integers(2**63))
    return whole("random_state", random_state)


def confidence(name: str, given: Any) -> Any:
    """Checks a number; leaves the text form of a rule to the engine."""
    if isinstance(given, (int, float, np.integer, np.floating)) and not isinstance(given, bool):
        return real(name, given)
    return str(given)


def floats(given: Any) -> NDArray[np.float32]:
    """A table of factors."""
    return np.ascontiguousarray(given, dtype=np.float32)


def settings(given: Dict[str, Any]) -> str:
    """Settings as the engine reads them, with the keys of a configuration file. None means not given."""
    return json.dumps({key: value for key, value in given.items() if value is not None})
