"""Training on a Ray cluster."""

from __future__ import annotations

import json
import logging
import os
import tempfile
from typing import Any, Dict, List, Optional, Sequence, Type, TypeVar, Union

from .. import _core, _options, _params
from .._factorizer import Factorizer
from .._progress import Callback, Progress
from .._results import Sweep
from ..weights import Weights, as_weights
from ._workers import Workers

Path = Union[str, "os.PathLike[str]"]
Self = TypeVar("Self", bound="Fit")

_LOG = logging.getLogger("absentia")

_running: List[Workers] = []
"""The workers of runs that have not ended; tests kill some of them."""


class Fit:
    """A run on a cluster. Its factors are with the workers until :meth:`close`."""

    def __init__(self, workers: Workers, history: str, stop_reason: str) -> None:
        self._workers, self._history = workers, history
        self.stop_reason = stop_reason

    @property
    def history(self) -> List[Sweep]:
        """The objective and its parts after every sweep, and the seconds of the sweep."""
        sweeps = []
        for sweep in json.loads(self._history):
            parts = sweep["objective"]
            observed, missing, penalty = parts["observed"], parts["missing"], parts["regularization"]
            total = observed + missing + penalty
            sweeps.append(Sweep(sweep["iteration"], sweep["seconds"], total, observed, missing, penalty, None))
        return sweeps

    def save(self, path: Path) -> None:
        """Writes the model as one file. The first worker writes it: the path must be one that it reaches, and the model
        must fit into its memory."""
        self._workers.on_one("save", os.path.abspath(os.fspath(path)), self._history)

    def save_folder(self, path: Path) -> None:
        """Writes the model as a folder, which every command and ``Factorizer.load`` take like a file: each worker writes its
        rows of factors, so that no machine needs memory for all of them. The path must be one that all workers reach."""
        self._workers.save_folder(os.path.abspath(os.fspath(path)), self._history)

    def model(self) -> Factorizer:
        """The model in this process, where it fits."""
        data = self._workers.on_one("model_bytes", self._history)
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "model.absentia")
            with open(path, "wb") as file:
                file.write(data)
            model = Factorizer.load(path)
        model.stop_reason_ = self.stop_reason
        return model

    def close(self) -> None:
        """Ends the workers; their factors are gone."""
        self._workers.close()

    def __enter__(self: Self) -> Self:
        return self

    def __exit__(self, *_: Any) -> None:
        self.close()


def fit(
    source: Union[Path, Sequence[Path]],
    job: Union[Factorizer, Dict[str, Any], None] = None,
    *,
    workers: int,
    num_threads: int = 1,
    resources: Optional[Dict[str, float]] = None,
    checkpoint: Optional[str] = None,
    checkpoint_every: Optional[int] = None,
    resume: bool = False,
    spread: Optional[bool] = None,
    memory: Optional[int] = None,
    patience: float = 600.0,
    callback: Optional[Callback] = None,
    show_progress: bool = False,
    **settings: Any,
) -> Fit:
    """Trains a model on the Ray cluster that this process is connected to; starts Ray on this machine if there is none.

    The result has the bits of ``absentia train`` and of ``Factorizer.fit`` on one machine with the same instruction set,
    whatever the number of workers.

    Parameters
    ----------
    source : path or list of paths
        Files or globs, which every worker must reach under the same path.
    job : Factorizer or dict, optional
        The settings: those of an estimator, or the keys of a configuration file.
    workers : int
        Number of workers, each with a shard.
    num_threads : int
        Threads and CPUs of each worker.
    resources : dict, optional
        Further resources of Ray that each worker takes.
    checkpoint : str, optional
        A folder that all workers reach, or a URL of fsspec. Without one, a run that loses a worker begins again.
    checkpoint_every : int
        Sweeps between checkpoints; as by ``absentia train`` if not given, 10.
    resume : bool
        Go on from the last checkpoint, if there is one, with any number of workers.
    spread : bool, optional
        Whether each worker reads some of the files, and rows go to those who train them; otherwise every worker reads all
        files and keeps its part. If not given, files are spread where the job allows it.
    memory : int, optional
        Bytes that each worker may take for its part and for rows of others, in its process and in Ray's object store. Rows
        of others come in waves that keep to it, which sends some rows more than once; what does not fit chunk by chunk is
        refused. If not given, half of what the worker's machine has left counts for rows of others.
    patience : float
        Seconds to wait for a place on the cluster.
    callback : callable, optional
        Called after every sweep as by ``Factorizer.fit``.
    **settings
        Further keys of a configuration file, with underscores.
    """
    keys = _keys(source, job, settings)
    keys["threads"] = _params.whole("num_threads", num_threads)
    if workers < 1:
        raise ValueError(f"workers is {workers}; it must be at least 1")
    if checkpoint_every is None:
        checkpoint_every = int(_core.default_of("train", "checkpoint-every"))
    if checkpoint_every < 1:
        raise ValueError(f"checkpoint_every is {checkpoint_every}; it must be at least 1")
    if resume and checkpoint is None:
        raise ValueError("resume needs checkpoint, the folder of the run to go on with")
    text = _params.settings(keys)
    where = None if checkpoint is None else (checkpoint if "://" in checkpoint else os.path.abspath(checkpoint))
    reason = _core.why_not_spread(text)
    if spread and reason is not None:
        raise ValueError(f"spread is True, but {reason}: every worker has to read all files, by spread=False")
    if spread is None and reason is not None:
        _LOG.warning("every worker reads all files: %s", reason)
    if memory is not None and memory < 1:
        raise ValueError(f"memory is {memory}; it must be at least 1 byte")
    is_spread = spread is not False and reason is None
    shards = Workers(text, workers, num_threads, where, patience, resources or {}, is_spread, memory)
    _running.append(shards)
    try:
        run = shards.start()
        _LOG.info("%s", plan(run))
        state = shards.resume() if resume else None
        step, history = state if state is not None else (0, None)
        with Progress(callback, show_progress, run.iterations) as progress:
            history, reason = run.fit(
                shards,
                random=not keys.get("init"),
                history=history,
                step=step,
                checkpoint_every=None if where is None else checkpoint_every,
                callback=progress.report,
            )
    except BaseException:
        shards.close()
        raise
    finally:
        _running.remove(shards)
    return Fit(shards, history, reason)


def plan(run: Any) -> str:
    """What a run needs, in words."""
    users, items = run.shape
    lines = [f"{run.entries:,} entries of {users:,} users and {items:,} items, {run.factors} factors"]
    for worker, (part, gathered, received, _, memory) in enumerate(run.needs):
        left = "" if memory is None else f"; its machine has {_size(memory)} left"
        lines.append(
            f"worker {worker}: {_size(part)} for its part, {_size(gathered)} for rows of others, "
            f"{_size(received)} received in a sweep{left}"
        )
    received, least = (sum(need[at] for need in run.needs) for at in (2, 3))
    lines.append(f"in all {_size(received)} travel in a sweep")
    users, items = run.waves
    if users > 1 or items > 1:
        lines.append(f"users in {users} waves and items in {items}, for want of memory; at once {_size(least)} would travel")
    return "\n".join(lines)


def _size(count: float) -> str:
    for unit in ("B", "KiB", "MiB", "GiB"):
        if count < 1024:
            return f"{count:.0f} {unit}" if unit == "B" else f"{count:.1f} {unit}"
        count /= 1024
    return f"{count:.1f} TiB"


def _keys(source: Any, job: Any, given: Dict[str, Any]) -> Dict[str, Any]:
    """The keys of the job."""
    keys: Dict[str, Any] = {}
    if isinstance(job, Factorizer):
        keys.update(job._settings(job.iterations))
        if job.weights is not None:
            keys["weights"] = job.weights if isinstance(job.weights, str) else _text(as_weights(job.weights))
    elif job is not None:
        keys.update({_params.key(name): value for name, value in job.items()})
    names = {"random_state": "seed", "num_threads": "threads"}
    for name, value in given.items():
        if isinstance(value, Weights):
            value = _text(value)
        keys[_params.key(names.get(name, name))] = _options._value(value)
    for name in ("init", "exposed", "exclude"):
        if keys.get(name) is not None:
            keys[name] = [os.path.abspath(path) for path in _options.paths(keys[name])]
    keys["data"] = [os.path.abspath(path) for path in _options.paths(source)]
    return keys


def _text(weights: Weights) -> str:
    """Weights as they are written; arrays in memory have no text."""
    if weights._in_memory():
        raise ValueError("weights with arrays in memory do not reach other machines; write them to files and give their paths")
    return weights._text()
