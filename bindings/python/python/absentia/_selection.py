"""Models measured, compared and chosen."""

from __future__ import annotations

import copy
import csv
import logging
import os
import tempfile
from typing import Any, Dict, List, Mapping, NamedTuple, Optional, Sequence, Tuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from . import _core
from ._data import _floats, _times, is_files
from ._factorizer import Factorizer
from ._ids import Ids, Side, intern
from ._options import paths
from ._prediction import DEFAULT_METRICS
from ._program import objects_of
from ._results import Evaluation
from ._tables import Columns, columns_of, labels_of

_LOG = logging.getLogger("absentia")

_TRAIN, _VALID, _TEST, _FOLD_IN = range(4)


def evaluate(model: Factorizer, test: Any, metrics: Sequence[str] = DEFAULT_METRICS, **options: Any) -> Evaluation:
    """Computes metrics of a model on test interactions: :meth:`Factorizer.evaluate` as a function."""
    return model.evaluate(test, metrics, **options)


def compare(
    models: Mapping[str, Factorizer], train: Any, test: Any, metrics: Sequence[str] = DEFAULT_METRICS, **fit: Any
) -> Dict[str, Evaluation]:
    """Trains copies of several models on the same data and measures them on the same test interactions.

    Further arguments go to :meth:`Factorizer.fit`.

    Examples
    --------
    >>> import absentia
    >>> log = (["ann", "ann", "bob", "bob", "cy"], ["jaws", "alien", "jaws", "alien", "jaws"])
    >>> models = {"eals": absentia.Factorizer(2, 0.05), "popularity": absentia.Factorizer(solver="popularity")}
    >>> found = absentia.compare(models, log, (["cy"], ["alien"]), ["hr@1"])
    >>> {name: result["hr@1"] for name, result in found.items()}
    {'eals': 1.0, 'popularity': 1.0}
    """
    return {name: _unfitted(model).fit(train, **fit).evaluate(test, metrics) for name, model in models.items()}


def split(
    data: Any,
    by: str = "leave-one-out",
    *,
    pick: Optional[str] = None,
    seed: int = 0,
    columns: Optional[Mapping[str, Any]] = None,
) -> Tuple[Any, ...]:
    """Divides data in memory into parts of the same kind: training and test, or training, validation and test.

    ``by`` is as for ``absentia split --by``: ``"leave-one-out[,valid]"``, ``"last:N"``, ``"ratio:0.2[,0.1]"``,
    ``"share:0.1"``, ``"time:2020-01-31"``, ``"time:0.1"``, ``"cold-items:0.2"`` and others. ``pick`` says which
    rows of a user are held out: ``"latest"`` (the default if there are times), ``"random"`` or ``"drift"``. All
    rows of a pair of user and item are in the same part.

    Examples
    --------
    >>> import absentia
    >>> log = (["ann", "ann", "bob", "bob"], ["jaws", "alien", "jaws", "up"])
    >>> train, test = absentia.split(log, "leave-one-out")
    >>> len(train[0]), len(test[0])
    (2, 2)
    """
    if by.startswith("users:"):
        raise ValueError("by holds out whole users, who have to be folded in: use `absentia split` on a file")
    entries = _entries(data, columns)
    parts = _parts(entries, by, pick, seed)
    wanted = [_TRAIN, _VALID, _TEST] if (parts == _VALID).any() else [_TRAIN, _TEST]
    return tuple(_taken(data, parts == part) for part in wanted)


def cross_validate(
    model: Factorizer,
    data: Any,
    metrics: Sequence[str] = DEFAULT_METRICS,
    *,
    folds: int = 5,
    seed: int = 0,
    columns: Optional[Mapping[str, Any]] = None,
    **fit: Any,
) -> Dict[str, NDArray[np.float64]]:
    """Trains copies of a model on all folds but one, in turn, and measures each on that one; yields the metrics of
    each fold.

    Pairs of user and item are dealt to the folds at random, those of a user evenly. Further arguments go to
    :meth:`Factorizer.fit`.

    Examples
    --------
    >>> import absentia
    >>> log = ([user for user in range(6) for _ in range(4)], [0, 1, 2, 3] * 6)
    >>> model = absentia.Factorizer(factors=2, weights=0.05, regularization=0.01)
    >>> absentia.cross_validate(model, log, ["recall@4"], folds=2)["recall@4"].tolist()
    [1.0, 1.0]
    """
    if folds < 2:
        raise ValueError(f"folds is {folds}; it must be at least 2")
    pairs = _pairs(_entries(data, columns))
    fold = _dealt(pairs.users, folds, seed)[pairs.of_row]
    found: Dict[str, List[float]] = {name: [] for name in metrics}
    for number in range(folds):
        train, test = _taken(data, fold != number), _taken(data, fold == number)
        trained = _unfitted(model).fit(train, columns=columns, **fit)
        for name, value in trained.evaluate(test, metrics).items():
            found[name].append(value)
    return {name: np.array(values) for name, values in found.items()}


class Tuned(NamedTuple):
    """The result of :func:`tune`."""

    model: Factorizer
    """The best model, trained on all data; its arguments are the best settings."""
    score: float
    """The metric of the best trial on held-out rows."""
    trials: List[Dict[str, Any]]
    """Every trial, as ``absentia tune --json`` prints it."""
    config: str
    """The settings as a configuration file for ``absentia train``; without files if the data was in memory."""

    def __repr__(self) -> str:
        return f"Tuned({self.model!r}; score {self.score:.4f}, the best of {len(self.trials)} trials)"


def tune(
    data: Any,
    *,
    trials: Optional[int] = None,
    budget: Optional[str] = None,
    metric: Optional[str] = None,
    seed: int = 0,
    columns: Optional[Mapping[str, Any]] = None,
    **options: Any,
) -> Tuned:
    """Searches good settings, as ``absentia tune`` does, and trains a model with the best of them.

    Either ``trials`` or a time ``budget`` such as ``"10m"`` limits the search. Further arguments are flags of
    ``absentia tune``, with underscores: ``max_factors=64``, ``search="popularity"``, ``split="last:1"``.

    The search runs in a process of its own; data in memory is written to a temporary file for it. Without ``trials``
    and ``budget`` it takes ten minutes. The logger ``absentia`` gets its warnings, and each trial at the level ``INFO``.
    """
    with tempfile.TemporaryDirectory() as folder:
        out, saved = os.path.join(folder, "tuned.toml"), os.path.join(folder, "tuned.absentia")
        sides = None
        if is_files(data):
            files = paths(data)
        else:
            files, entries = [os.path.join(folder, "data.csv")], _entries(data, columns)
            sides = _written(entries, files[0])
        flags = {"trials": trials, "budget": budget, "metric": metric, "seed": seed, **options}
        line = ["tune", *files, "--out", out, "--model", saved]
        for name, value in flags.items():
            flag = f"--{name.replace('_', '-')}"
            if value is True:
                line.append(flag)
            elif value is not None and value is not False:
                line.extend([flag, str(value)])
        lines = objects_of(line, _log_trial)
        with open(out, encoding="utf-8") as file:
            # A file for data in memory ends with this call.
            config = "".join(text for text in file if sides is None or not text.startswith("data = "))
        model = Factorizer.load(saved)
    if sides is not None:
        model._ids = Ids(Side(model._ids.users.core, sides[0]), Side(model._ids.items.core, sides[1]))
    model._columns = dict(columns or {})
    model._kept_pairs = model._convert(data)
    best = [line for line in lines if "best" in line][-1]
    return Tuned(model, float(best["score"]), [line for line in lines if "best" not in line], config)


def _log_trial(line: Dict[str, Any]) -> None:
    """Logs a trial of a search; its last line, which has the result, is none."""
    if "best" not in line:
        score = "no score" if line["score"] is None else f"{line['score']:.4f}"
        _LOG.info("trial %d: %s with %d factors", line["number"] + 1, score, line["params"]["factors"])


def _unfitted(model: Factorizer) -> Factorizer:
    """A model with the same arguments."""
    return type(model)(**copy.deepcopy(model.get_params()))


class _Pairs(NamedTuple):
    """Pairs of user and item, each once."""

    users: NDArray[np.uint32]
    items: NDArray[np.uint32]
    of_row: NDArray[np.int64]
    """The pair of each row."""
    row: NDArray[np.int64]
    """The last row of each pair."""


def _entries(data: Any, columns: Optional[Mapping[str, Any]]) -> Columns:
    """Data in memory as columns."""
    if is_files(data):
        raise TypeError("data is a path; divide files with `absentia split`, or read the file first")
    if sp.issparse(data):
        matrix = data.tocoo()
        return Columns(matrix.row, matrix.col, matrix.data)
    return columns_of(data, dict(columns or {}))


def _pairs(entries: Columns) -> _Pairs:
    _, users = intern("users", entries.users)
    _, items = intern("items", entries.items)
    keys = users.astype(np.int64) << 32 | items
    # The last row of a pair is the first from behind.
    unique, first, of_row = np.unique(keys[::-1], return_index=True, return_inverse=True)
    row = len(keys) - 1 - first
    return _Pairs(
        (unique >> 32).astype(np.uint32), (unique & 0xFFFFFFFF).astype(np.uint32), of_row.reshape(-1)[::-1], row
    )


def _parts(entries: Columns, by: str, pick: Optional[str], seed: int) -> NDArray[np.uint8]:
    """The part of each row."""
    pairs = _pairs(entries)
    times = None if entries.times is None else np.ascontiguousarray(_times(entries.times)[pairs.row])
    values = None if entries.values is None else np.ascontiguousarray(_floats("values", entries.values)[pairs.row])
    parts = _core.split(pairs.users, pairs.items, times, values, by, pick, seed)
    return parts[pairs.of_row]


def _dealt(users: NDArray[np.uint32], folds: int, seed: int) -> NDArray[np.int64]:
    """The fold of each pair: those of a user, in a random order, are dealt one after the other."""
    order = np.lexsort((np.random.default_rng(seed).random(len(users)), users))
    starts = np.flatnonzero(np.diff(users[order], prepend=np.uint32(0xFFFFFFFF)))
    place = np.arange(len(users)) - np.repeat(starts, np.diff(np.append(starts, len(users))))
    fold = np.empty(len(users), dtype=np.int64)
    fold[order] = (place + users[order]) % folds
    return fold


def _taken(data: Any, keep: NDArray[np.bool_]) -> Any:
    """Some rows of data, in the form that it has."""
    if sp.issparse(data):
        matrix = data.tocoo()
        kept = (matrix.data[keep], (matrix.row[keep], matrix.col[keep]))
        return sp.csr_matrix(kept, shape=matrix.shape)
    if isinstance(data, Columns):
        return Columns(*(None if column is None else np.asarray(column)[keep] for column in data))
    if labels_of(data) is not None:
        return data.loc[keep] if hasattr(data, "loc") else data.filter(keep)
    if isinstance(data, list) and len(data) == len(keep):
        return [row for row, kept in zip(data, keep) if kept]
    return tuple(np.asarray(column)[keep] for column in data)


def _written(entries: Columns, path: str) -> Tuple[str, str]:
    """Writes columns as a file, and yields the kinds of the ids."""
    kinds = tuple(intern(what, ids)[0].kind for what, ids in (("users", entries.users), ("items", entries.items)))
    named = {
        "user": entries.users,
        "item": entries.items,
        "rating": entries.values,
        "time": None if entries.times is None else _times(entries.times),
        "weight": entries.weights,
    }
    given = {name: np.asarray(column).tolist() for name, column in named.items() if column is not None}
    with open(path, "w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(given)
        writer.writerows(zip(*given.values()))
    return kinds[0], kinds[1]
