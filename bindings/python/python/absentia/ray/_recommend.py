"""Lists for all users of a model, made by tasks on a cluster."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import Any, List, Sequence, Union

from .. import _core, _options, _params
from ._ray import load

Path = Union[str, "os.PathLike[str]"]


def recommend_all(
    model: Path,
    folder: Path,
    *,
    train: Union[Path, Sequence[Path], None] = None,
    top: int = 10,
    workers: int,
    num_threads: int = 1,
) -> List[str]:
    """Writes the best items of every user as parquet files, one for each worker; yields their paths.

    The lists are those of ``absentia recommend --all``. Model and folder must be reachable by all nodes. What users have
    seen, in the files of ``train``, is left out; without ``train``, nothing is. Every worker maps the model and reads all
    files of ``train``.
    """
    if workers < 1:
        raise ValueError(f"workers is {workers}; it must be at least 1")
    ray = load()
    model, folder = os.path.abspath(os.fspath(model)), os.path.abspath(os.fspath(folder))
    seen = [] if train is None else [os.path.abspath(path) for path in _options.paths(train)]
    if not ray.is_initialized():
        ray.init(log_to_driver=False)
    task = ray.remote(_lists).options(num_cpus=num_threads, scheduling_strategy="SPREAD", max_retries=3)
    threads = _params.whole("num_threads", num_threads)
    length = _params.whole("top", top)
    made = [task.remote(model, folder, seen, length, threads, part, workers) for part in range(workers)]
    return [path for path in ray.get(made) if path is not None]


def _lists(model: str, folder: str, train: List[str], top: int, threads: int, part: int, parts: int) -> Any:
    """Writes the lists of one part of the users; a task that is made again writes the same file."""
    ids = _core.Model.load(model).user_ids
    first, end = len(ids) * part // parts, len(ids) * (part + 1) // parts
    if first == end:
        return None
    os.makedirs(folder, exist_ok=True)
    users = os.path.join(folder, f".users-{part:05d}-{os.getpid()}.txt")
    path = os.path.join(folder, f"part-{part:05d}.parquet")
    try:
        with open(users, "w", encoding="utf-8") as file:
            file.writelines(f"{name}\n" for name in ids.texts()[first:end])
        seen = [word for files in train for word in ("--train", files)] if train else ["--allow-seen"]
        words = ["recommend", model, "--users-file", users, "--top", str(top), "--out", path, "--threads", str(threads), *seen]
        # A process of its own: Ray's have their own handling of signals.
        done = subprocess.run([sys.executable, "-m", "absentia", *words], capture_output=True, text=True)
        if done.returncode != 0:
            raise RuntimeError(f"absentia {' '.join(words)}: {done.stderr.strip()}")
    finally:
        os.remove(users)
    return path
