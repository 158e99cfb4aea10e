"""A model that learns from single events."""

from __future__ import annotations

import os
import tempfile
from typing import Any, Dict, Iterable, List, Optional, Tuple, Type, TypeVar, Union

import numpy as np
from numpy.typing import NDArray

from . import _core, _options, _params
from ._data import Entries, is_files
from ._data import _floats as floats
from ._data import _times as times_of
from ._factorizer import Factorizer
from ._ids import _ids as ids_of
from ._prediction import Lists, _is_one

Path = Union[str, "os.PathLike[str]"]
Self = TypeVar("Self", bound="Online")


class Online:
    """A model that learns from single events: interactions, their removal, items that were shown and not taken.

    Each event improves the factors of its user and its item at once, at a cost that does not depend on
    the size of the data. Users and items that are new are added. ``docs/online.md`` has the mathematics.

    Parameters
    ----------
    model : Factorizer or path
        A trained model, which is copied; or a file that :meth:`save`, ``absentia stream`` or ``absentia
        train`` wrote.
    train : like the data of ``fit``, optional
        The rows that the model was trained on. They are not needed for a Factorizer that was trained in
        this process, nor for a file that holds the events. For other files they are paths, those that the
        configuration of the model names if not given.
    live : bool
        Whether weights by popularity and activity follow the counts, instead of staying as at training. A
        file that holds the events continues as it was.
    steps : int, optional
        Passes over the factors of the user and the item for each event: 1, or as saved, if not given.
    weight_of_new : float, optional
        What the weight of an entry is multiplied by if an event made it, until the next refit: 1, or as
        saved, if not given.
    num_threads : int, optional
        Number of threads of a refit; all processors if not given. The result does not depend on it.

    Examples
    --------
    >>> import absentia
    >>> log = (["ann", "ann", "bob", "bob", "cy"], ["jaws", "alien", "jaws", "alien", "up"])
    >>> online = absentia.Online(absentia.Factorizer(factors=2, weights=0.05).fit(log))
    >>> online.insert("dan", "jaws")
    2
    >>> online.recommend("dan", n=1)[0].tolist()
    ['alien']
    """

    def __init__(
        self,
        model: Union[Factorizer, Path],
        *,
        train: Any = None,
        live: bool = False,
        steps: Optional[int] = None,
        weight_of_new: Optional[float] = None,
        num_threads: Optional[int] = None,
    ) -> None:
        learning = (
            bool(live),
            _params.optional(_params.whole, "steps", steps),
            _params.optional(_params.real, "weight_of_new", weight_of_new),
        )
        self._threads = None if num_threads in (None, 0) else _params.whole("num_threads", num_threads)
        self._kinds: Tuple[Optional[str], Optional[str]] = (None, None)
        if isinstance(model, (str, os.PathLike)):
            if train is not None and not is_files(train):
                raise ValueError("train is the data of a model file, which is read from files: pass paths")
            files = [] if train is None else _options.paths(train)
            self._core = _core.Online.open(os.fspath(model), files, learning, self._threads)
            return
        trained = model._fitted()
        data = _training_rows(model, train)
        exposed = model._exposed if train is None else None
        self._kinds = (model._ids.users.kind, model._ids.items.kind)
        self._core = _core.Online.start(trained, data.core, learning, exposed, self._threads)

    @classmethod
    def load(cls: Type[Self], path: Path, **options: Any) -> Self:
        """Reads a model that :meth:`save` or ``absentia stream`` wrote: it continues with the same bits.

        ``options`` are those of the constructor.
        """
        if not isinstance(path, (str, os.PathLike)):
            raise TypeError(f"path is a {type(path).__name__}; it must be the path of a file")
        return cls(path, **options)

    def save(self, path: Path) -> None:
        """Writes the model with its events and caches. ``Factorizer.load`` and the command line read it as well.

        Examples
        --------
        >>> import absentia, os, tempfile
        >>> online = absentia.Online(absentia.Factorizer(factors=2, weights=0.5).fit((["ann", "bob"], ["jaws", "up"])))
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     online.save(os.path.join(folder, "movies.absentia"))
        ...     back = absentia.Online.load(os.path.join(folder, "movies.absentia"))
        >>> back.sequence == online.sequence
        True
        """
        self._core.save(os.fspath(path))

    def insert(self, users: Any, items: Any, *, values: Any = None, weights: Any = None, times: Any = None) -> int:
        """Learns an interaction, or several one after the other; returns the sequence number.

        ``users`` and ``items`` are ids, or sequences of ids of one length. Users and items that are new are
        added. ``values``, ``weights`` and ``times`` are those of each interaction: 1, 1 and the latest time so
        far if not given. Times are in the unit of the training data; datetimes are seconds.

        An interaction that is rejected changes nothing; those before it stay learned. The same holds for
        Ctrl-C.
        """
        return self._apply("insert", users, items, values, weights, times)

    def remove(self, users: Any, items: Any, *, times: Any = None) -> int:
        """Forgets an interaction, or several; that an item was shown if there is none. Returns the sequence number.

        ``times`` says which of several interactions of a pair; the last one that was learned if not given.
        """
        return self._apply("remove", users, items, None, None, times)

    def expose(self, users: Any, items: Any, *, weights: Any = None) -> int:
        """Learns that an item was shown to a user and not taken, or several; returns the sequence number.

        ``weights`` are those of the entries, whose target is 0; 1 if not given.
        """
        return self._apply("expose", users, items, None, weights, None)

    def erase(self, users: Any) -> int:
        """Forgets everything about a user, or several, except the id; returns the sequence number.

        Traces in the factors of items remain until the next refit.
        """
        names, _ = _names("users", users)
        return self._core.apply("erase", names, [], (None, None, None))

    def refit(self, sweeps: Optional[int] = None) -> int:
        """Trains all rows by ordinary sweeps from the present factors, 5 if not given; returns the sequence number.

        What is frozen between refits is resolved again. A refit that Ctrl-C ends changes nothing.
        """
        return self._core.refit(_params.optional(_params.whole, "sweeps", sweeps))

    def rebuild(self) -> int:
        """Recomputes the caches in double precision; returns the sequence number."""
        return self._core.rebuild()

    def recommend(self, users: Any, n: int = 10, *, deny: Optional[Iterable[Any]] = None) -> Lists:
        """Recommends the best items for one user or for each of several, with scores, as the model is now.

        Items that the user has interacted with are left out, and those in ``deny``. The arrays are those of
        :meth:`Factorizer.recommend`.
        """
        names, one = _names("users", users)
        denied = _names("deny", list(deny))[0] if deny is not None else []
        count = _params.whole("n", n)
        lists = self._core.recommend(names, count, denied)
        texts = self._kinds[1] == "texts" or not self._core.integers[1]
        if one:
            return _array(lists[0][0], texts), np.array(lists[0][1], dtype=np.float32)
        width = min(count, self.shape[1])
        scores = np.full((len(lists), width), -np.inf, dtype=np.float32)
        items: NDArray[Any] = np.full((len(lists), width), None if texts else -1, dtype=object if texts else np.int64)
        for row, (found, best) in enumerate(lists):
            items[row, : len(found)] = _array(found, texts)
            scores[row, : len(best)] = best
        return items, scores

    def to_factorizer(self) -> Factorizer:
        """The model as it is now, with its rows: for similar items, explanations and metrics.

        It is a copy, which does not learn from later events. ``copy.deepcopy(online)`` is one that does.

        Examples
        --------
        >>> import absentia
        >>> log = (["ann", "ann", "bob", "bob", "cy"], ["jaws", "alien", "jaws", "alien", "up"])
        >>> online = absentia.Online(absentia.Factorizer(factors=2, weights=0.05).fit(log))
        >>> online.to_factorizer().similar_items("jaws", n=1)[0].tolist()
        ['alien']
        """
        core, rows = self._core.snapshot()
        model = Factorizer(num_threads=self._threads)
        integers = self._core.integers
        kinds = [kind if whole else None for kind, whole in zip(self._kinds, integers)]
        model._restore(core, *kinds)
        model._train_data = _LearnedEntries(rows, model._ids) if self.sequence else Entries(rows, model._ids)
        return model

    @property
    def sequence(self) -> int:
        """The number of operations since the model was trained."""
        return self._core.state[0]

    @property
    def shape(self) -> Tuple[int, int]:
        """The number of users and of items."""
        users, items, _ = self._core.sizes
        return users, items

    @property
    def nnz(self) -> int:
        """The number of entries, exposed ones included."""
        return self._core.sizes[2]

    @property
    def steps(self) -> int:
        """Passes over the factors of the user and the item for each event. Setting it is an operation."""
        return self._core.state[1]

    @steps.setter
    def steps(self, steps: int) -> None:
        self._core.set(_params.whole("steps", steps), None)

    @property
    def weight_of_new(self) -> float:
        """What the weight of a new entry is multiplied by. Setting it is an operation."""
        return self._core.state[2]

    @weight_of_new.setter
    def weight_of_new(self, weight: float) -> None:
        self._core.set(None, _params.real("weight_of_new", weight))

    def __repr__(self) -> str:
        users, items, entries = self._core.sizes
        return f"Online({users} users, {items} items, {entries} entries, {self.sequence} operations)"

    def __getstate__(self) -> Dict[str, Any]:
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "model.absentia")
            self.save(path)
            with open(path, "rb") as file:
                return {"model": file.read(), "kinds": self._kinds, "num_threads": self._threads}

    def __setstate__(self, state: Dict[str, Any]) -> None:
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "model.absentia")
            with open(path, "wb") as file:
                file.write(state["model"])
            self._threads, self._kinds = state["num_threads"], state["kinds"]
            self._core = _core.Online.open(path, [], (False, None, None), self._threads)

    def _apply(self, operation: str, users: Any, items: Any, values: Any, weights: Any, times: Any) -> int:
        user_names, one_user = _names("users", users)
        item_names, one_item = _names("items", items)
        length = max(len(user_names), len(item_names))
        user_names = user_names * length if one_user else user_names
        item_names = item_names * length if one_item else item_names
        numbers = (
            None if values is None else floats("values", _each(values, length)),
            None if weights is None else floats("weights", _each(weights, length)),
            None if times is None else times_of(_each(times, length)),
        )
        return self._core.apply(operation, user_names, item_names, numbers)


class _LearnedEntries(Entries):
    """The rows of a copy of an ``Online``: not only those that the model was trained on."""


def _training_rows(model: Factorizer, train: Any) -> Entries:
    if train is not None:
        return model._convert(train)
    if isinstance(model._train_data, _LearnedEntries):
        raise ValueError(
            "the model is a copy of an Online that has learned events: copy.deepcopy(online) is one that goes on learning"
        )
    if model._train_data is None:
        raise ValueError("the model was loaded without its training data: pass train, or the path of its file")
    return model._train_data


def _names(what: str, given: Any) -> Tuple[List[str], bool]:
    """Ids as text, and whether it is one."""
    one = _is_one(given)
    kind, values = ids_of(what, [given] if one else given)
    return (values if kind == "texts" else [str(value) for value in values.tolist()]), one


def _each(given: Any, length: int) -> Any:
    """A column; one value is that of all."""
    return np.full(length, given) if np.ndim(given) == 0 else given


def _array(names: List[str], texts: bool) -> NDArray[Any]:
    if texts:
        return np.array(names, dtype=object)
    return np.array([int(name) for name in names], dtype=np.int64)
