"""Weights on missing entries.

Each class is a scheme: a rule that gives a weight to every missing entry ``(u, i)``. ``+`` adds schemes.

>>> from absentia.weights import Popularity, Uniform
>>> Popularity(c0=512, alpha=0.4) + Uniform(0.01)
Popularity(c0=512, alpha=0.4) + Uniform(weight=0.01)
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Callable, Dict, Iterable, List, Mapping, Optional, Sequence, Union

import numpy as np
from numpy.typing import ArrayLike, NDArray

from . import _core
from ._resolved import Resolved, WeightExplanation

if TYPE_CHECKING:
    from ._ids import Ids

__all__ = [
    "Activity",
    "Dense",
    "Function",
    "Groups",
    "Learned",
    "LowRank",
    "Popularity",
    "PopularityActivity",
    "Resolved",
    "Sum",
    "Uniform",
    "WeightExplanation",
    "Weights",
]


class Weights:
    """A scheme of weights on missing entries: the base class."""

    def __add__(self, other: "Weights") -> "Sum":
        if not isinstance(other, Weights):
            return NotImplemented
        return Sum([*_terms(self), *_terms(other)])

    def __eq__(self, other: object) -> bool:
        if type(self) is not type(other):
            return NotImplemented
        mine, theirs = vars(self), vars(other)
        return all(same(value, theirs[name]) for name, value in mine.items())

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        given = ((name, value) for name, value in vars(self).items() if value is not None)
        return f"{type(self).__name__}({', '.join(f'{name}={_short_repr(value)}' for name, value in given)})"

    def resolve(self, data: Any, *, num_threads: Optional[int] = None) -> "Resolved":
        """Resolves the scheme on data: yields its weights, their error and explanations.

        >>> import scipy.sparse as sp
        >>> weights = Popularity(c0=6, alpha=1).resolve(sp.csr_matrix([[1, 1, 0], [1, 0, 0]]))
        >>> weights.weight(1, 1)
        2.0
        """
        from ._data import prepare

        entries = prepare(data, {})
        return Resolved(self._scheme(entries.ids).resolve(entries.core, num_threads), entries.ids)

    _name = ""
    """Name of the scheme in its text form."""

    def _arrays(self, ids: "Ids") -> Dict[str, NDArray[Any]]:
        """The arguments that are arrays; the text form names them by the name of the argument."""
        return {}

    def _text(self, arrays: Iterable[str]) -> str:
        """The text form, as on the command line."""
        given = {name: value for name, value in vars(self).items() if value is not None}
        return f"{self._name}:" + _options({**given, **{name: name for name in arrays}})

    def _scheme(self, ids: "Ids") -> _core.Scheme:
        arrays = self._arrays(ids)
        return _core.Scheme.parse(self._text(arrays), ids.cores(), arrays)


class Uniform(Weights):
    """The same weight for every missing entry; ``implicit`` uses 1."""

    _name = "uniform"

    def __init__(self, weight: float = 1.0) -> None:
        self.weight = weight


class Popularity(Weights):
    """Weights by the popularity of the item: ``c0 f_i^alpha / sum_j f_j^alpha``, the paper's formula.

    ``f_i`` is the item's share of all interactions. ``mean`` instead of ``c0`` sets the mean weight of
    missing entries, which does not depend on the size of the data.
    """

    _name = "popularity"

    def __init__(
        self, c0: Optional[float] = None, alpha: float = 0.4, *, mean: Optional[float] = None
    ) -> None:
        self.c0 = c0
        self.alpha = alpha
        self.mean = mean


class Activity(Weights):
    """Weights by the activity of the user: the formula of :class:`Popularity` with the user's share."""

    _name = "activity"

    def __init__(
        self, c0: Optional[float] = None, alpha: float = 0.4, *, mean: Optional[float] = None
    ) -> None:
        self.c0 = c0
        self.alpha = alpha
        self.mean = mean


class PopularityActivity(Weights):
    """The product of weights by popularity (``alpha``) and by activity (``beta``)."""

    _name = "popularity*activity"

    def __init__(
        self,
        c0: Optional[float] = None,
        alpha: float = 0.4,
        beta: float = 0.4,
        *,
        mean: Optional[float] = None,
    ) -> None:
        self.c0 = c0
        self.alpha = alpha
        self.beta = beta
        self.mean = mean


Grouping = Union[ArrayLike, Mapping[Any, int]]


class Groups(Weights):
    """A weight for each pair of user segment and item category.

    ``table[s, c]`` is the weight. ``users`` gives the segment of each user and ``items`` the category of
    each item, as arrays in the order of the rows or as mappings from ids.
    """

    _name = "groups"

    def __init__(self, table: ArrayLike, users: Grouping, items: Grouping) -> None:
        self.table = table
        self.users = users
        self.items = items

    def _arrays(self, ids: "Ids") -> Dict[str, NDArray[Any]]:
        users = _groups("users", self.users, ids.users)
        items = _groups("items", self.items, ids.items)
        return {"table": _matrix("table", self.table), "users": users, "items": items}


class LowRank(Weights):
    """The weights ``a_u . b_i``: ``a`` has a row for each user, ``b`` a row for each item."""

    _name = "lowrank"

    def __init__(self, a: ArrayLike, b: ArrayLike) -> None:
        self.a = a
        self.b = b

    def _arrays(self, ids: "Ids") -> Dict[str, NDArray[Any]]:
        return {"a": _matrix("a", self.a), "b": _matrix("b", self.b)}


class Dense(Weights):
    """A table of all weights, approximated by a low rank.

    Give the ``rank``, or the largest ``error``, for which the smallest rank is used. ``method="svd"``
    is closer to the table; ``"nonnegative"`` never yields a negative weight.
    """

    _name = "dense"

    def __init__(
        self,
        w: ArrayLike,
        rank: Optional[int] = None,
        *,
        error: Optional[float] = None,
        method: str = "svd",
    ) -> None:
        self.w = w
        self.rank = rank
        self.error = error
        self.method = method

    def _arrays(self, ids: "Ids") -> Dict[str, NDArray[Any]]:
        return {"w": _matrix("w", self.w)}


class Function(Weights):
    """A function that gives every weight, approximated by a low rank.

    ``function(users, items)`` is called on blocks. It gets a column of user rows and a row of item rows,
    and yields the weights of all pairs. They are approximated as for :class:`Dense`.

    >>> import numpy as np, scipy.sparse as sp
    >>> near = Function(lambda u, i: np.exp(-abs(u - i) / 2), rank=2)
    >>> near.resolve(sp.eye(6, format="csr")).rank
    2
    """

    def __init__(
        self,
        function: Callable[[NDArray[np.int64], NDArray[np.int64]], ArrayLike],
        rank: Optional[int] = None,
        *,
        error: Optional[float] = None,
        method: str = "svd",
    ) -> None:
        self.function = function
        self.rank = rank
        self.error = error
        self.method = method

    def _scheme(self, ids: "Ids") -> _core.Scheme:
        given = {"rank": self.rank, "error": self.error, "method": self.method}
        return _core.Scheme.function(_Block(self.function), _options(given))


class Learned(Weights):
    """Estimated from the data: how likely it is that a missing entry was seen and not taken.

    The weights are rates at which users see items, of ``rank`` components, to the power ``alpha``, scaled
    to the given mean over missing entries. They are estimated alternately with the factors, ``rounds`` times;
    ``seed`` is that of the first estimate.

    >>> Learned(mean=0.01, rank=8)
    Learned(mean=0.01, rank=8, alpha=0.25, rounds=2, seed=0)
    """

    _name = "learned"

    def __init__(
        self, mean: float, rank: int = 4, alpha: float = 0.25, rounds: int = 2, seed: int = 0
    ) -> None:
        self.mean = mean
        self.rank = rank
        self.alpha = alpha
        self.rounds = rounds
        self.seed = seed


class Sum(Weights):
    """The sum of several schemes, as made by ``+``."""

    def __init__(self, terms: Sequence[Weights]) -> None:
        self.terms = list(terms)

    def __repr__(self) -> str:
        return " + ".join(map(repr, self.terms))

    def _scheme(self, ids: "Ids") -> _core.Scheme:
        return _core.Scheme.sum([term._scheme(ids) for term in self.terms])


class Text(Weights):
    """Weights as on the command line, such as ``"popularity:c0=512,alpha=0.4"``; arrays are named by path."""

    def __init__(self, text: str) -> None:
        self.text = text

    def _scheme(self, ids: "Ids") -> _core.Scheme:
        return _core.Scheme.parse(self.text, ids.cores())


class _Block:
    """Calls a weight function on a block and checks the result."""

    def __init__(self, function: Callable[..., ArrayLike]) -> None:
        self.function = function

    def __call__(self, u0: int, u1: int, i0: int, i1: int) -> NDArray[np.float32]:
        users, items = np.arange(u0, u1)[:, None], np.arange(i0, i1)[None, :]
        block = np.asarray(self.function(users, items), dtype=np.float32)
        try:
            return np.ascontiguousarray(np.broadcast_to(block, (u1 - u0, i1 - i0)))
        except ValueError:
            raise ValueError(
                f"the weight function yields shape {block.shape} for {u1 - u0} users and {i1 - i0} items"
            ) from None


def as_weights(given: Any) -> Weights:
    """Converts a scheme, its text form, or one number for all missing entries."""
    if isinstance(given, Weights):
        return given
    if isinstance(given, str):
        return Text(given)
    if isinstance(given, (int, float)) and not isinstance(given, bool):
        return Uniform(float(given))
    raise TypeError(
        f"weights is a {type(given).__name__}; it must be one of absentia.weights, a text or a number"
    )


def from_text(text: str, arrays: Mapping[str, Any]) -> Weights:
    """Builds one term from its text form and its arrays by name."""
    name, _, options = text.partition(":")
    kinds: Dict[str, Callable[..., Weights]] = {kind._name: kind for kind in Weights.__subclasses__()}
    kind = kinds[name]
    if arrays:
        return kind(**arrays)
    if "=" not in options:
        return kind(float(options))
    return kind(**{name: float(value) for name, value in (option.split("=") for option in options.split(","))})


def _options(given: Mapping[str, Any]) -> str:
    return ",".join(f"{name}={value}" for name, value in given.items() if value is not None)


def _terms(weights: Weights) -> List[Weights]:
    return weights.terms if isinstance(weights, Sum) else [weights]


def same(left: Any, right: Any) -> bool:
    """Whether two arguments are equal, arrays included."""
    if isinstance(left, np.ndarray) or isinstance(right, np.ndarray):
        return bool(np.array_equal(left, right))
    return bool(left == right)


def _short_repr(value: Any) -> str:
    if isinstance(value, np.ndarray):
        return f"<{value.shape} array>"
    is_long = isinstance(value, (list, tuple, Mapping)) and len(value) > 8
    return f"<{len(value)} of a {type(value).__name__}>" if is_long else repr(value)


def _matrix(name: str, given: ArrayLike) -> NDArray[np.float32]:
    array = np.ascontiguousarray(given, dtype=np.float32)
    if array.ndim != 2:
        raise ValueError(f"{name} has {array.ndim} dimensions, expected 2")
    return array


def _groups(name: str, given: Any, ids: Any) -> NDArray[np.uint32]:
    if isinstance(given, Mapping):
        try:
            given = [given[key] for key in ids.all().tolist()]
        except KeyError as error:
            raise KeyError(f"{name} has no group for {error.args[0]!r}") from None
    array = np.asarray(given)
    if array.ndim != 1 or array.dtype.kind not in "iu" or (array.size and array.min() < 0):
        raise ValueError(f"{name} must be one group number, at least 0, for each row")
    return np.ascontiguousarray(array, dtype=np.uint32)
