"""Weights on missing entries, resolved on data."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Dict, List, Optional, Tuple

import numpy as np
from numpy.typing import NDArray

from . import _core

if TYPE_CHECKING:
    from ._ids import Ids
    from .weights import Weights


class Resolved:
    """Weights on missing entries, resolved on data: ``a_u . b_i`` for every pair."""

    def __init__(self, core: _core.MissingWeights, ids: "Ids") -> None:
        self._core = core
        self._ids = ids

    @property
    def rank(self) -> int:
        """The rank Z: the number of columns of A and B."""
        return self._core.rank

    @property
    def a(self) -> NDArray[np.float32]:
        """The matrix A, one row per user."""
        return np.asarray(self._core.a)

    @property
    def b(self) -> NDArray[np.float32]:
        """The matrix B, one row per item."""
        return np.asarray(self._core.b)

    @property
    def relative_error(self) -> Optional[float]:
        """The largest relative error of an approximated term, over missing entries; ``None`` if all are exact."""
        return self._core.relative_error

    @property
    def approximations(self) -> List[str]:
        """The error of each approximated term, in words."""
        return self._core.approximations

    @property
    def may_be_negative(self) -> bool:
        """Whether A or B has a negative entry. If so, training can fail."""
        return self._core.may_be_negative

    def weight(self, user: Any, item: Any) -> float:
        """The weight that a pair has if it is missing."""
        return self._core.weight(*self._pair(user, item))

    def explain(self, user: Any, item: Any) -> "WeightExplanation":
        """The weight of a pair, term by term, with the reason."""
        total, parts, text = self._core.explain(*self._pair(user, item))
        return WeightExplanation(total, parts, text)

    def _pair(self, user: Any, item: Any) -> Tuple[int, int]:
        return int(self._ids.users.rows([user])[0]), int(self._ids.items.rows([item])[0])


class WeightExplanation:
    """The weight of a pair, explained. ``str`` gives it in sentences."""

    def __init__(
        self, total: float, parts: List[Tuple[str, float, str, Optional[float]]], text: str
    ) -> None:
        self.total = total
        names = ("scheme", "value", "reason", "relative_error")
        self.parts: List[Dict[str, Any]] = [dict(zip(names, part)) for part in parts]
        self._text = text

    def __str__(self) -> str:
        return self._text

    def __repr__(self) -> str:
        return f"WeightExplanation(total={self.total}, parts={self.parts})"


def restored(core: _core.MissingWeights) -> "Weights":
    """Weights that are the same on the same data; an approximated or estimated part is given by its A and B."""
    from .weights import Sum, of_factors

    def as_arrays(arguments: Dict[str, Any]) -> Dict[str, Any]:
        plain = (int, float, str)
        return {name: value if isinstance(value, plain) else np.array(value) for name, value in arguments.items()}

    terms = [of_factors([(name, as_arrays(arguments)) for name, arguments in factors]) for factors in core.terms()]
    return terms[0] if len(terms) == 1 else Sum(terms)
