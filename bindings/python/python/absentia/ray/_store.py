"""Checkpoints of a run: a folder that all workers reach, local or of fsspec.

Every checkpoint is a folder ``sweep-N`` with the rows of each worker and, written last, ``manifest.json``: a checkpoint
without it is not one. Rows are found by their numbers, so that another number of workers can go on.
"""

from __future__ import annotations

import hashlib
import json
import os
from typing import Any, Dict, List, Optional, Tuple

import numpy as np
from numpy.typing import NDArray

MANIFEST = "manifest.json"
FORMAT = 2
KEPT = 2
"""Number of checkpoints that are kept: the last one, and the one before it while the last is written."""

Stored = Tuple[str, str, int, int, str]
"""Name of a file, side, first row, end of the rows, digest."""


class Folder:
    """A folder of checkpoints."""

    def __init__(self, path: str) -> None:
        self.path = path
        self._remote: Any = None
        if "://" in path:
            try:
                import fsspec  # pyright: ignore[reportMissingImports]
            except ImportError:
                raise ImportError(f"{path} is a URL, which needs fsspec; install it with: pip install fsspec") from None
            self._remote, self.path = fsspec.core.url_to_fs(path)

    def _full(self, name: str) -> str:
        return f"{self.path.rstrip('/')}/{name}"

    def write(self, name: str, data: Any) -> None:
        """Writes a file that appears all at once."""
        path = self._full(name)
        if self._remote is not None:
            self._remote.makedirs(path.rsplit("/", 1)[0], exist_ok=True)
            with self._remote.open(path, "wb") as file:
                file.write(data)
            return
        os.makedirs(os.path.dirname(path), exist_ok=True)
        unfinished = f"{path}.{os.getpid()}.part"
        with open(unfinished, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        os.replace(unfinished, path)

    def read(self, name: str) -> bytes:
        """The bytes of a file."""
        if self._remote is not None:
            return bytes(self._remote.cat_file(self._full(name)))
        with open(self._full(name), "rb") as file:
            return file.read()

    def checkpoints(self) -> List[str]:
        """Names of the complete checkpoints, the last one last."""
        try:
            if self._remote is not None:
                names = [path.rstrip("/").rsplit("/", 1)[1] for path in self._remote.ls(self.path, detail=False)]
            else:
                names = os.listdir(self.path)
        except FileNotFoundError:
            return []
        return [name for name in sorted(names) if name.startswith("sweep-") and self._has(f"{name}/{MANIFEST}")]

    def _has(self, name: str) -> bool:
        exists = os.path.exists if self._remote is None else self._remote.exists
        return bool(exists(self._full(name)))

    def drop_old(self) -> None:
        """Removes all checkpoints but the last ones."""
        for name in self.checkpoints()[:-KEPT]:
            self._drop(name)

    def _drop(self, name: str) -> None:
        path = self._full(name)
        if self._remote is not None:
            # Without its manifest it is no checkpoint, whatever becomes of the rest.
            self._remote.rm(f"{path}/{MANIFEST}")
            self._remote.rm(path, recursive=True)
            return
        import shutil

        os.remove(os.path.join(path, MANIFEST))
        shutil.rmtree(path, ignore_errors=True)


def name_of(sweep: int) -> str:
    """The name of the checkpoint after a sweep."""
    return f"sweep-{sweep:08d}"


def write_rows(folder: Folder, checkpoint: str, side: str, first: int, end: int, rows: NDArray[np.float32]) -> Stored:
    """Writes rows of one side."""
    name = f"{checkpoint}/{side}-{first:010d}-{end:010d}.f32"
    data = np.ascontiguousarray(rows, dtype="<f4").view(np.uint8).data
    folder.write(name, data)
    return (name, side, first, end, hashlib.blake2b(data, digest_size=16).hexdigest())


def read_rows(folder: Folder, files: List[Stored], side: str, first: int, end: int, factors: int) -> NDArray[np.float32]:
    """Reads the rows of one side from the files that have them."""
    rows = np.empty((end - first, factors), dtype=np.float32)
    filled = 0
    for name, of_side, start, stop, digest in files:
        low, high = max(first, start), min(end, stop)
        if of_side != side or low >= high:
            continue
        data = folder.read(name)
        if hashlib.blake2b(data, digest_size=16).hexdigest() != digest or len(data) != 4 * factors * (stop - start):
            raise ValueError(f"{folder.path}/{name}: the file is damaged; remove its checkpoint and resume from the one before it")
        stored = np.frombuffer(data, dtype="<f4").reshape(stop - start, factors)
        rows[low - first : high - first] = stored[low - start : high - start]
        filled += high - low
    if filled != end - first:
        raise ValueError(f"{folder.path}: the checkpoint has {filled} of the {side} {first} to {end}")
    return rows.reshape(-1)


def write_manifest(folder: Folder, checkpoint: str, manifest: Dict[str, Any]) -> None:
    """Makes a checkpoint of the files that were written."""
    text = json.dumps({"format": FORMAT, **manifest})
    folder.write(f"{checkpoint}/{MANIFEST}", text.encode())
    folder.drop_old()


def last_manifest(folder: Folder) -> Optional[Dict[str, Any]]:
    """The manifest of the last checkpoint, if there is one, with the path that it was read from."""
    names = folder.checkpoints()
    if not names:
        return None
    where = f"{folder.path}/{names[-1]}/{MANIFEST}"
    try:
        manifest: Dict[str, Any] = json.loads(folder.read(f"{names[-1]}/{MANIFEST}"))
    except ValueError as error:
        raise ValueError(f"{where}: not a checkpoint: {error}") from None
    if manifest.get("format") != FORMAT:
        raise ValueError(f"{where}: format {manifest.get('format')!r}; this version reads {FORMAT}")
    return {**manifest, "path": where}
