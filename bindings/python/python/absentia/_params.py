"""Constructor arguments as the engine's parameters."""

from __future__ import annotations

import json
import operator
from typing import Any, Dict, Optional

import numpy as np

_UNITS = {"": 1.0, "s": 1.0, "m": 60.0, "min": 60.0, "h": 3600.0, "d": 86400.0, "w": 604800.0, "y": 31557600.0}
_MILLISECONDS_FROM = 100_000_000_000


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


_PLAIN_SOLVERS = (
    "eals",
    "als",
    "eals-vanilla",
    "svd",
    "ials1",
    "rcd",
    "ii-svd",
    "bpr",
    "sgd-observed",
    "popularity",
)
_SOLVERS_WITH_NUMBER = {"als-cg": ("steps", 3), "subspace": ("block", 16), "itemknn": ("neighbours", 100)}


def solver(given: Any) -> Dict[str, Any]:
    """Takes a solver or a baseline by name; ``als-cg[:steps]``, ``subspace[:block]``, ``itemknn[:neighbours]``."""
    name, _, option = str(given).partition(":")
    if name in _PLAIN_SOLVERS and not option:
        return {"kind": name}
    if name in _SOLVERS_WITH_NUMBER:
        key, usual = _SOLVERS_WITH_NUMBER[name]
        if not option:
            return {"kind": name, key: usual}
        if option.isdigit():
            return {"kind": name, key: int(option)}
    raise ValueError(
        f"solver is {given!r}; it must be 'eals', 'als', 'als-cg[:steps]', 'subspace[:block]', 'eals-vanilla', or a "
        "baseline: 'svd', 'ials1', 'rcd', 'ii-svd', 'bpr', 'sgd-observed', 'popularity', 'itemknn[:neighbours]'"
    )


def targets(given: Any) -> Dict[str, Any]:
    """Takes ``"binary"``, ``"raw"``, ``"log"`` or ``"normalized:0.35[,0.35]"``."""
    name, _, option = str(given).partition(":")
    if name in ("binary", "raw", "log") and not option:
        return {"kind": name}
    try:
        if name == "normalized":
            user, _, item = option.partition(",")
            return {"kind": name, "user": float(user), "item": float(item or user)}
    except ValueError:
        pass
    raise ValueError(f"targets is {given!r}; it must be 'binary', 'raw', 'log' or 'normalized:0.35[,0.35]'")


def confidence(given: Any, latest: Optional[int]) -> Dict[str, Any]:
    """Takes a number, ``"linear:40"``, ``"log:10,0.5"``, ``"decay:30d"`` or ``"column"``."""
    if isinstance(given, (int, float, np.integer, np.floating)) and not isinstance(given, bool):
        return {"kind": "constant", "weight": real("confidence", given)}
    name, _, option = str(given).partition(":")
    first, _, second = option.partition(",")
    try:
        if name == "column" and not option:
            return {"kind": "column"}
        if name == "linear":
            return {"kind": "linear", "alpha": float(option)}
        if name == "log":
            return {"kind": "log", "alpha": float(first), "epsilon": float(second or 1)}
        if name == "decay":
            number = option.rstrip("abcdefghijklmnopqrstuvwxyz")
            span = float(number) * _UNITS[option[len(number) :]]
            in_milliseconds = latest is not None and latest > _MILLISECONDS_FROM
            return {"kind": "decay", "half_life": span * (1000.0 if in_milliseconds else 1.0), "now": None}
        return {"kind": "constant", "weight": float(given)}
    except (ValueError, KeyError):
        raise ValueError(
            f"confidence is {given!r}; it must be a number, 'linear:ALPHA', 'log:ALPHA,EPSILON', 'decay:30d' "
            "or 'column'"
        ) from None


def text(params: Dict[str, Any]) -> str:
    """The parameters as the engine reads them."""
    return json.dumps(params)


def text_of(choice: Dict[str, Any]) -> str:
    """A choice of the engine's, as it is written."""
    options = ",".join(str(value) for name, value in choice.items() if name not in ("kind", "now"))
    return f"{choice['kind']}:{options}" if options else str(choice["kind"])
