"""The actor that holds one shard. It moves bytes; everything else is done by the engine."""

from __future__ import annotations

import os
import tempfile
from typing import Any, List, Optional, Sequence, Tuple

from .. import _core
from . import _store

SIDES = ("users", "items")


def several(values: Sequence[Any]) -> Any:
    """Several results of a method as Ray takes them."""
    return values[0] if len(values) == 1 else tuple(values)


def divided(answer: Optional[bytes], pieces: int) -> List[Optional[bytes]]:
    """An answer in pieces, which Ray sends along with the end of the call where each is short."""
    if answer is None:
        return [None] * pieces
    size = -(-len(answer) // pieces)
    return [answer[at * size : (at + 1) * size] for at in range(pieces)]


class Shard:
    """A worker of a run."""

    def __init__(self, settings: str, index: int, workers: int, memory: Optional[int]) -> None:
        self._worker = _core.ShardWorker(settings, index, workers, memory)
        self._reader = _core.PartReader(settings, index, workers)
        self._workers = workers
        self._traffic = 0

    def traffic(self) -> int:
        """Bytes of steps so far: requests, rows of others, and answers."""
        return self._traffic

    def process(self) -> Tuple[int, str]:
        """The process and the node of this worker."""
        from ._ray import load

        return os.getpid(), load().get_runtime_context().get_node_id()

    def read_all(self) -> bytes:
        """Reads the data and keeps the part of this worker."""
        return self._worker.read_all()

    def read_part(self) -> Any:
        """Reads the files of this worker."""
        return self._reader.read()

    def ids_by_range(self, side: str, borders: List[str]) -> Any:
        """Its ids for each worker."""
        return several(self._reader.ids_by_range(side, borders))

    def number(self, side: str, *parts: Any) -> Any:
        """Numbers the ids of its range: how many there are, and the places of those of each worker."""
        places = self._reader.number(side, list(parts))
        return (self._reader.range_len(side), *places)

    def renumber(self, side: str, firsts: List[int], *places: Any) -> None:
        """Gives its rows their numbers."""
        self._reader.renumber(side, firsts, list(places))

    def rows_by_chunk(self, shape: Tuple[int, int]) -> Any:
        """The number of its rows in each chunk."""
        return self._reader.rows_by_chunk(shape)

    def bundles(self, chunks: Any) -> Any:
        """Its rows for each worker."""
        return several(self._reader.bundles(chunks))

    def take(self, shape: Tuple[int, int], chunks: Any, *bundles: Any) -> Any:
        """Takes its rows; yields their numbers of entries."""
        return self._reader.take(shape, chunks, list(bundles))

    def finish(self, totals: List[float], *counts: Any) -> Any:
        """Makes its part of the problem, or yields its share of a sum that is needed first."""
        return self._reader.finish(list(counts[: self._workers]), list(counts[self._workers :]), totals)

    def take_part(self) -> bytes:
        """Keeps the part that was made."""
        return self._worker.take_part(self._reader)

    def ids(self, side: str) -> Any:
        """The ids of its range."""
        return self._worker.ids(side)

    def wanted(self, side: str, owned: List[Tuple[int, int]]) -> Any:
        """The rows that it needs of each worker."""
        return several(self._worker.wanted(side, owned))

    def set_wanted(self, side: str, *wanted: Any) -> None:
        """The rows that each worker needs of it."""
        self._worker.set_wanted(side, list(wanted))

    def rows_for(self, side: str, wave: int) -> Any:
        """The factors that each worker needs of it in a wave."""
        return several(self._worker.rows_for(side, wave))

    def whole(self, side: str) -> Any:
        """All factors and weights of its rows."""
        return self._worker.all_rows(side), self._worker.all_weights(side)

    def all_rows(self, side: str) -> Any:
        """All factors of its rows."""
        return self._worker.all_rows(side)

    def step(
        self,
        step: int,
        request: bytes,
        wave: Tuple[int, int],
        returns: Tuple[Optional[str], int],
        is_again: bool,
        whole: int,
        *parts: Any,
    ) -> Any:
        """Makes a wave of a request; yields its answer after the last one in a number of pieces, and the factors of a side
        that others need of it if they have changed. Of rows that it has read before (``is_again``), none have travelled."""
        (writes, pieces), rows = returns, parts[: len(parts) - 2 * whole]
        rest = parts[len(rows) :]
        reply = self._worker.answer(step, request, wave, list(rows), list(zip(rest[:whole], rest[whole:])))
        received = rest if is_again else parts
        self._traffic += len(request) + sum(part.nbytes for part in received) + len(reply or b"")
        changed = [] if writes is None else self._worker.rows_for(writes, 0)
        return several([*divided(reply, pieces), *changed])

    def store(self, path: str, checkpoint: str, rows: Sequence[Tuple[int, int]]) -> List[_store.Stored]:
        """Writes its rows."""
        folder = _store.Folder(path)
        return [
            _store.write_rows(folder, checkpoint, side, first, end, self._worker.all_rows(side))
            for side, (first, end) in zip(SIDES, rows)
        ]

    def restore(
        self, path: str, files: List[_store.Stored], step: int, rows: Sequence[Tuple[int, int]], factors: int
    ) -> None:
        """Goes to the rows of a checkpoint."""
        folder = _store.Folder(path)
        users, items = (
            _store.read_rows(folder, files, side, first, end, factors) for side, (first, end) in zip(SIDES, rows)
        )
        self._worker.restore(step, users, items)

    def restart(self) -> None:
        """Goes back to the rows that the run started from."""
        self._worker.restart()

    def save(self, path: str, history: str, *rows: Any) -> None:
        """Writes the model of the rows of all workers."""
        count = self._workers
        users, items, ids = rows[:count], rows[count : 2 * count], rows[2 * count :]
        self._worker.model(list(users), list(items), list(ids), history).save(path)

    def save_factors(self, folder: str) -> str:
        """Writes its rows into the folder of a model."""
        return self._worker.save_factors(folder)

    def save_folder(self, folder: str, history: str, files: List[str], *ids: Any) -> None:
        """Makes a model of the rows that all workers have written."""
        self._worker.save_folder(folder, files, list(ids), history)

    def model_bytes(self, history: str, *rows: Any) -> bytes:
        """The model file of the rows of all workers."""
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "model.absentia")
            self.save(path, history, *rows)
            with open(path, "rb") as file:
                return file.read()
