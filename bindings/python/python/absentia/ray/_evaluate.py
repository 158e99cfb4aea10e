"""Metrics of a model, measured by tasks on a cluster."""

from __future__ import annotations

import os
from typing import Any, List, Sequence, Tuple, Union

import numpy as np

from .. import _core, _options, _params
from .._factorizer import Factorizer
from .._prediction import DEFAULT_METRICS, _empty_rows
from .._results import Evaluation
from ._ray import load

Path = Union[str, "os.PathLike[str]"]


def evaluate(
    model: Path,
    test: Union[Path, Sequence[Path]],
    *,
    train: Union[Path, Sequence[Path], None] = None,
    metrics: Sequence[str] = DEFAULT_METRICS,
    workers: int,
    num_threads: int = 1,
) -> Evaluation:
    """Computes metrics on test interactions over a ranking of all items, each task for some of the users.

    The values of users are those of ``Factorizer.evaluate``. What users have seen, in the files of ``train``, is not ranked;
    without ``train``, everything is. Model and files must be reachable by all nodes. Every task maps the model and reads all
    files.
    """
    if workers < 1:
        raise ValueError(f"workers is {workers}; it must be at least 1")
    ray = load()
    model = os.path.abspath(os.fspath(model))
    files, seen = _absolute(test), [] if train is None else _absolute(train)
    if not ray.is_initialized():
        ray.init(log_to_driver=False)
    task = ray.remote(_measured).options(num_cpus=num_threads, scheduling_strategy="SPREAD", max_retries=3)
    threads = _params.whole("num_threads", num_threads)
    made = [task.remote(model, files, seen, list(metrics), threads, part, workers) for part in range(workers)]
    parts = [part for part in ray.get(made) if part is not None]
    if not parts:
        raise ValueError("no test interaction is of a user of the model")
    users = np.concatenate([part[0] for part in parts])
    values = {name: np.concatenate([part[2][name] for part in parts]) for name in parts[0][2]}
    return Evaluation(users, parts[0][1], [(name, *_summary(own), own) for name, own in values.items()])


def _absolute(files: Any) -> List[str]:
    return [os.path.abspath(path) for path in _options.paths(files)]


def _summary(values: Any) -> Tuple[float, float]:
    """Mean and standard error."""
    exact = values.astype(np.float64)
    deviation = exact.std(ddof=1) if len(exact) > 1 else 0.0
    return float(exact.mean()), float(deviation / np.sqrt(len(exact)))


def _measured(
    path: str, test: List[str], train: List[str], metrics: List[str], threads: int, part: int, parts: int
) -> Any:
    """The users of one part of the model, on which candidates they were measured, and their values by metric."""
    model = Factorizer.load(path)
    core = model._fitted()
    users, items = model._convert(test).pairs()
    first, end = core.shape[0] * part // parts, core.shape[0] * (part + 1) // parts
    own = (users >= first) & (users < end)
    if not own.any():
        return None
    seen = model._convert(train).core if train else _empty_rows(core.shape)
    rows, candidates, found = _core.evaluate(core, seen, users[own], items[own], metrics, bool(train), threads)
    names = model._ids.users.names(rows.astype(np.int64))
    return names, candidates, {name: values for name, _, _, values in found}
