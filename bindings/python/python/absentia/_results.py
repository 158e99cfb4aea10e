"""The types of an estimator's results."""

from __future__ import annotations

from typing import Any, Dict, Iterator, List, Mapping, NamedTuple, Optional, Tuple

import numpy as np
from numpy.typing import NDArray


class NotFittedError(ValueError, AttributeError):
    """A method was called that needs a trained model."""


class Sweep(NamedTuple):
    """One sweep of a run: the objective after it, its three parts, and the metric on held-out rows if it was measured."""

    iteration: int
    seconds: float
    objective: float
    observed: float
    missing: float
    regularization: float
    validation: Optional[float] = None


class Explanation(NamedTuple):
    """A score explained: how much each of the user's entries adds, largest first, and the remainder."""

    score: float
    contributions: List[Tuple[Any, float]]
    remainder: float


class FoldedIn(NamedTuple):
    """Users and new items that were folded in: their ids, and a row of factors each."""

    users: NDArray[Any]
    user_factors: NDArray[np.float32]
    items: NDArray[Any]
    item_factors: NDArray[np.float32]


class Evaluation(Mapping[str, float]):
    """Metrics by name; ``stderr`` and ``per_user`` have the same keys."""

    def __init__(
        self, users: NDArray[Any], candidates: str, metrics: List[Tuple[str, float, float, NDArray[np.float32]]]
    ) -> None:
        self.users = users
        self.candidates = candidates
        self._means = {name: mean for name, mean, _, _ in metrics}
        self.stderr: Dict[str, float] = {name: stderr for name, _, stderr, _ in metrics}
        self.per_user: Dict[str, NDArray[np.float32]] = {name: values for name, _, _, values in metrics}

    def __getitem__(self, name: str) -> float:
        return self._means[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._means)

    def __len__(self) -> int:
        return len(self._means)

    def __repr__(self) -> str:
        shown = ", ".join(f"{name}: {mean:.4f}" for name, mean in self._means.items())
        return f"Evaluation({shown}; {len(self.users)} users, {self.candidates})"
