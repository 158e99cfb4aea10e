"""Weights on missing entries.

Each class is a scheme: a rule that gives a weight to every missing entry ``(u, i)``. ``+`` adds schemes.
``*`` multiplies them: factors by popularity, activity, age or availability, and at most one other scheme.

Arguments are the options of the text form. Those that are not given are left to the engine, as in a text: ``Popularity()`` is
``"popularity"``.

>>> from absentia.weights import Age, Popularity, Uniform
>>> Popularity(c0=512, alpha=0.4) + Uniform(0.01)
Popularity(c0=512, alpha=0.4) + Uniform(weight=0.01)
>>> Popularity(mean=0.1, alpha=0.25) * Age()
Popularity(alpha=0.25, mean=0.1) * Age()
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, Callable, Dict, Iterable, List, Mapping, Optional, Sequence, Tuple, Type, Union

import numpy as np
from numpy.typing import ArrayLike, NDArray

from . import _core
from ._dates import unix_seconds
from ._resolved import Resolved, WeightExplanation

if TYPE_CHECKING:
    from ._ids import Ids

__all__ = [
    "Activity",
    "Age",
    "Available",
    "Dense",
    "Function",
    "Groups",
    "Learned",
    "LowRank",
    "Popularity",
    "PopularityActivity",
    "Product",
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

    def __mul__(self, other: "Weights") -> "Product":
        if not isinstance(other, Weights):
            return NotImplemented
        return Product([*_factors(self), *_factors(other)])

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
    _is_factor = False
    """Whether it is a factor by popularity, activity or time."""

    def _arrays(self, ids: "Ids") -> Dict[str, NDArray[Any]]:
        """The arguments that are arrays; the text form names them by the name of the argument."""
        return {}

    def _given(self, arrays: Iterable[str]) -> Dict[str, Any]:
        """The options that are given; those that are arrays are named by the name of the argument."""
        given = {name: value for name, value in vars(self).items() if value is not None}
        return {**given, **{name: name for name in arrays}}

    def _in_memory(self) -> bool:
        """Whether it has arguments that only this process knows."""
        return False

    def _text(self, arrays: Iterable[str] = ()) -> str:
        """The text form, as on the command line."""
        return _named(self._name, self._given(arrays))

    def _scheme(self, ids: "Ids") -> _core.Scheme:
        arrays = self._arrays(ids)
        return _core.Scheme.parse(self._text(arrays), ids.cores(), arrays)


class Uniform(Weights):
    """The same weight for every missing entry; ``implicit`` uses 1."""

    _name = "uniform"

    def __init__(self, weight: Optional[float] = None) -> None:
        self.weight = weight


class Popularity(Weights):
    """Weights by the popularity of the item: ``c0 f_i^alpha / sum_j f_j^alpha``, the paper's formula.

    ``f_i`` is the item's share of all interactions. ``mean`` instead of ``c0`` sets the mean weight of
    missing entries, which does not depend on the size of the data.
    """

    _name = "popularity"
    _is_factor = True

    def __init__(
        self, c0: Optional[float] = None, alpha: Optional[float] = None, *, mean: Optional[float] = None
    ) -> None:
        self.c0 = c0
        self.alpha = alpha
        self.mean = mean


class Activity(Weights):
    """Weights by the activity of the user: the formula of :class:`Popularity` with the user's share."""

    _name = "activity"
    _is_factor = True

    def __init__(
        self, c0: Optional[float] = None, alpha: Optional[float] = None, *, mean: Optional[float] = None
    ) -> None:
        self.c0 = c0
        self.alpha = alpha
        self.mean = mean


class PopularityActivity(Weights):
    """The product of weights by popularity (``alpha``) and by activity (``beta``)."""

    _name = "popularity*activity"
    _is_factor = True

    def __init__(
        self,
        c0: Optional[float] = None,
        alpha: Optional[float] = None,
        beta: Optional[float] = None,
        *,
        mean: Optional[float] = None,
    ) -> None:
        self.c0 = c0
        self.alpha = alpha
        self.beta = beta
        self.mean = mean


Dates = Union[str, "os.PathLike[str]", ArrayLike, Mapping[Any, Any]]


class _ByTime(Weights):
    """Weights by when items were there."""

    _is_factor = True

    def __init__(
        self,
        c0: Optional[float] = None,
        sharpness: Optional[float] = None,
        *,
        mean: Optional[float] = None,
        slices: Union[int, str, None] = None,
        withdrawn: Optional[float] = None,
        released: Optional[Dates] = None,
    ) -> None:
        self.c0 = c0
        self.sharpness = sharpness
        self.mean = mean
        self.slices = slices
        self.withdrawn = withdrawn
        self.released = released

    def _in_memory(self) -> bool:
        return not (self.released is None or isinstance(self.released, (str, os.PathLike)))

    def _arrays(self, ids: "Ids") -> Dict[str, NDArray[Any]]:
        if not self._in_memory():
            return {}
        released: Any = self.released
        if isinstance(released, Mapping):
            released = [released.get(key) for key in ids.items.all().tolist()]
        return {"released": unix_seconds(released)}


class Age(_ByTime):
    """Weights by age of the item: ``c0`` times the share of time in which it was there.

    An item that did not exist yet was not refused. Time is divided into ``slices``: a number of slices with
    equally many rows, or ``"day"``, ``"week"``, ``"month"``, ``"quarter"`` or ``"year"``. An item was certainly
    there from its first row on, and before it with a chance that falls with every slice, the faster the more rows
    it has: ``sharpness`` 0 takes every item to have been there always, 1000 takes its first row as its first day.
    ``withdrawn`` is the same for the time after its last row; with 0, items stay.

    ``released`` gives the day from which items were there: a mapping from ids, an array in the order of the rows
    with ``NaT`` where it is unknown, or the path of a table. A day is a datetime, a text such as ``"2020-01-31"`` or
    ``"2020"``, or a unix time in any unit. The data needs times.
    """

    _name = "age"


class Available(_ByTime):
    """Weights by availability: ``c0`` times the share of the user's rows at times when the item was there.

    The arguments are those of :class:`Age`. The rank is the number of slices.
    """

    _name = "available"


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

    def _in_memory(self) -> bool:
        return True

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

    def _in_memory(self) -> bool:
        return True

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
        method: Optional[str] = None,
    ) -> None:
        self.w = w
        self.rank = rank
        self.error = error
        self.method = method

    def _in_memory(self) -> bool:
        return True

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
        method: Optional[str] = None,
    ) -> None:
        self.function = function
        self.rank = rank
        self.error = error
        self.method = method

    def _in_memory(self) -> bool:
        return True

    def _scheme(self, ids: "Ids") -> _core.Scheme:
        given = {"rank": self.rank, "error": self.error, "method": self.method}
        return _core.Scheme.function(_Block(self.function), _options(given))


class Learned(Weights):
    """Estimated from the data: how likely it is that a missing entry was seen and not taken.

    The weights are rates at which users see items, of ``rank`` components, to the power ``alpha``, scaled
    to the given mean over missing entries. They are estimated alternately with the factors, ``rounds`` times;
    ``seed`` is that of the first estimate.

    >>> Learned(mean=0.01, rank=8)
    Learned(mean=0.01, rank=8)
    """

    _name = "learned"

    def __init__(
        self,
        mean: Optional[float] = None,
        rank: Optional[int] = None,
        alpha: Optional[float] = None,
        rounds: Optional[int] = None,
        seed: Optional[int] = None,
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

    def _in_memory(self) -> bool:
        return any(term._in_memory() for term in self.terms)

    def _text(self, arrays: Iterable[str] = ()) -> str:
        return " + ".join(_core.weights_text(term._text()) for term in self.terms)

    def _scheme(self, ids: "Ids") -> _core.Scheme:
        return _core.Scheme.sum([term._scheme(ids) for term in self.terms])


class Product(Weights):
    """The product of several schemes, as made by ``*``; one of them has ``c0`` or ``mean``."""

    def __init__(self, factors: Sequence[Weights]) -> None:
        self.factors = list(factors)

    def __repr__(self) -> str:
        return " * ".join(map(repr, self.factors))

    def _in_memory(self) -> bool:
        return any(factor._in_memory() for factor in self.factors)

    def _sides(self) -> List[Weights]:
        """The factors by popularity, activity or time."""
        sides = [factor for factor in self.factors if factor._is_factor]
        if not sides:
            raise ValueError("a product needs a factor by popularity, activity, age or availability")
        return sides

    def _others(self) -> List[Weights]:
        return [factor for factor in self.factors if not factor._is_factor]

    def _text_of_sides(self, arrays: Iterable[str]) -> str:
        sides = self._sides()
        options: Dict[str, Any] = {}
        for factor in sides:
            own = arrays if isinstance(factor, _ByTime) else ()
            given = factor._given(own)
            if isinstance(factor, Activity) and len(sides) > 1 and "alpha" in given:
                given["beta"] = given.pop("alpha")
            for name, value in given.items():
                if name in options and not same(options[name], value):
                    raise ValueError(f"two factors have different values of {name}: {options[name]} and {value}")
            options.update(given)
        return _named("*".join(factor._name for factor in sides), options)

    def _text(self, arrays: Iterable[str] = ()) -> str:
        # The engine spells out the options of a name alone, without which a product of products is not a text.
        texts = [self._text_of_sides(()), *(other._text() for other in self._others())]
        return " * ".join(_core.weights_text(text) for text in texts)

    def _scheme(self, ids: "Ids") -> _core.Scheme:
        arrays: Dict[str, NDArray[Any]] = {}
        for factor in self._sides():
            arrays.update(factor._arrays(ids))
        scheme = _core.Scheme.parse(self._text_of_sides(arrays), ids.cores(), arrays)
        for other in self._others():
            scheme = scheme.times(other._scheme(ids))
        return scheme


class Text(Weights):
    """Weights as on the command line, such as ``"popularity:c0=512,alpha=0.4"``; arrays are named by path."""

    def __init__(self, text: str) -> None:
        self.text = text

    def _text(self, arrays: Iterable[str] = ()) -> str:
        return self.text

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


def of_factors(factors: Sequence[Tuple[str, Dict[str, Any]]]) -> Weights:
    """Builds one term from the names and the arguments of its factors."""
    named: List[Type[Weights]] = [*Weights.__subclasses__(), Age, Available]
    kinds: Dict[str, Callable[..., Weights]] = {kind._name: kind for kind in named}
    made = [kinds[name](**arguments) for name, arguments in factors]
    return made[0] if len(made) == 1 else Product(made)


def _named(name: str, given: Mapping[str, Any]) -> str:
    """A scheme with its options; a name alone has the usual ones."""
    options = _options(given)
    return f"{name}:{options}" if options else name


def _options(given: Mapping[str, Any]) -> str:
    return ",".join(f"{name}={value}" for name, value in given.items() if value is not None)


def _factors(weights: Weights) -> List[Weights]:
    return weights.factors if isinstance(weights, Product) else [weights]


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
