"""The workers of a run on Ray, as the loop of the engine sees them."""

from __future__ import annotations

import json
import logging
import time
from typing import Any, Callable, Dict, List, NamedTuple, Optional, Tuple, TypeVar

from .. import _core
from . import _store
from ._actor import SIDES, Shard
from ._ray import load
from ._reading import listed, read_parts, returning

T = TypeVar("T")
Rows = List[Tuple[Tuple[int, int], Tuple[int, int]]]

_LOG = logging.getLogger("absentia")

INLINE = 90_000
"""Bytes of a request that Ray sends along with a call, or of an answer along with its end: it does so below 100 KB. What is
longer goes through the object stores of two nodes, which takes several milliseconds."""

MOST_PIECES = 8
"""Pieces of an answer, each short enough to be sent along. Longer answers go through object stores."""


SILENCE = 30.0
"""Seconds after which a worker that makes no step and does not answer is taken for lost."""


FIRST_WAIT, LONGEST_WAIT = 10.0, 60.0
"""Seconds that workers which are started have to answer: at first, and after several tries."""


class Sent(NamedTuple):
    """The rows of a side that each worker has for each other one, as references to objects."""

    rows: List[List[Any]]
    is_read: bool


class Workers:
    """Actors with a shard each. Rows of factors go from actor to actor through Ray's object store."""

    def __init__(
        self, settings: str, count: int, cpus: float, checkpoint: Optional[str], patience: float, resources: Dict[str, float],
        spread: bool, memory: Optional[int] = None,
    ) -> None:
        self._ray = load()
        self._settings, self._count, self._patience = settings, count, patience
        self._spread, self._memory = spread, memory
        self._actor = self._ray.remote(Shard).options(
            num_cpus=cpus, resources=resources, scheduling_strategy="SPREAD", max_restarts=0, max_task_retries=0
        )
        self._folder = None if checkpoint is None else _store.Folder(checkpoint)
        self._path = checkpoint
        self._manifest: Optional[Dict[str, Any]] = None
        self.run: Any = None
        self._facts: List[bytes] = [b""] * count
        self.rows: Rows = []
        self.losses = 0
        # Seconds of the longest work so far, during which workers answer nothing else.
        self._longest = 0.0
        self._closed = False
        self._parts: Dict[str, Optional[Sent]] = {side: None for side in SIDES}
        self.actors: List[Any] = [None] * count
        # Pieces in which answers come.
        self._pieces = 1

    def start(self) -> Any:
        """Starts all workers and yields the run that they agree on."""
        while True:
            try:
                return self._start()
            except _core.LostWorkers as lost:
                self._note_loss(lost)

    def _start(self) -> Any:
        self._replace_lost()
        self._read(self.actors)
        self._exchange()
        return self.run

    def _read(self, new: List[Any]) -> None:
        """Makes the parts of new workers, and checks that all agree."""
        if self._spread:
            # Rows of a new worker are in the files of all.
            self._facts = read_parts(self.actors, self._get)
        else:
            made = iter(self._get([actor.read_all.remote() for actor in new]))
            for index, actor in enumerate(self.actors):
                if actor in new:
                    self._facts[index] = next(made)
        self.run = _core.SharedRun(self._facts)
        self.rows = self.run.rows

    def _note_loss(self, lost: BaseException) -> None:
        self.losses += 1
        if self.losses > 100:
            raise RuntimeError(f"workers were lost {self.losses} times; the last time: {lost}")
        _LOG.warning("workers are replaced: %s", lost)

    def _get(self, references: List[Any]) -> List[Any]:
        """The objects of references; a worker that died raises ``LostWorkers``."""
        began = time.monotonic()
        try:
            return self._guarded(lambda: self._ray.get(references))
        finally:
            self._longest = max(self._longest, time.monotonic() - began)

    def _guarded(self, work: Callable[[], T]) -> T:
        errors = self._ray.exceptions
        lost = (
            errors.RayActorError,
            errors.ObjectLostError,
            errors.WorkerCrashedError,
            errors.NodeDiedError,
            errors.OutOfMemoryError,
            errors.ObjectFetchTimedOutError,
        )
        try:
            return work()
        except lost as error:
            raise _core.LostWorkers(str(error).strip().splitlines()[0]) from error
        except errors.RayTaskError as error:
            if isinstance(error.cause, lost):
                raise _core.LostWorkers(str(error.cause).strip().splitlines()[0]) from error
            # What the engine said, without the stack of another process.
            if isinstance(error.cause, Exception):
                raise error.cause from error
            raise

    def _check_open(self) -> None:
        if self._closed:
            raise RuntimeError("the run is closed, and its workers have ended")

    def _replace_lost(self) -> None:
        """Starts actors in the place of those that do not answer."""
        # A run that was interrupted must not start workers again.
        self._check_open()
        self._drop_silent()
        began = time.monotonic()
        wait = FIRST_WAIT
        while not self._has_places(wait):
            wait = min(2 * wait, LONGEST_WAIT)
            if time.monotonic() - began > self._patience:
                raise RuntimeError(
                    f"{self.actors.count(None)} of {self._count} workers have no place on the cluster after "
                    f"{self._patience:.0f} s; lower workers or num_threads, or add nodes"
                )

    def _drop_silent(self) -> None:
        """Ends the actors that do not answer: they may still have a place that others need. All are asked at once. One that
        works on a step answers after it, so that more time is given than steps have taken so far."""
        asked = {actor.process.remote(): index for index, actor in enumerate(self.actors) if actor is not None}
        wait = min(self._patience, SILENCE + 3 * self._longest)
        answered, silent = self._ray.wait(list(asked), num_returns=len(asked), timeout=wait) if asked else ([], [])
        for reference in answered:
            try:
                self._ray.get(reference)
            except self._ray.exceptions.RayError:
                silent.append(reference)
        for reference in silent:
            self._ray.kill(self.actors[asked[reference]])
            self.actors[asked[reference]] = None

    def _has_places(self, wait: float) -> bool:
        """Starts the actors that are missing; those that do not answer after ``wait`` seconds are missing again: Ray may have
        sent them to a node that is dead, which it notices late."""
        for index, actor in enumerate(self.actors):
            if actor is None:
                self.actors[index] = self._actor.remote(self._settings, index, self._count, self._memory)
        places = {actor.process.remote(): index for index, actor in enumerate(self.actors)}
        waiting = list(places)
        until = time.monotonic() + min(self._patience, wait)
        while waiting and time.monotonic() < until:
            # Each is looked at by itself: one that fails must not hide behind one that waits for a node.
            done, waiting = self._ray.wait(waiting, timeout=min(5.0, wait))
            self._get(done)
        for reference in waiting:
            self._ray.kill(self.actors[places[reference]])
            self.actors[places[reference]] = None
        return not waiting

    def _exchange(self) -> None:
        """Makes known to every worker which of its rows others need."""
        count = self._count
        for at, side in enumerate(SIDES):
            owned = [rows[at] for rows in self.rows]
            wanted = [returning(actor.wanted, count).remote(side, owned) for actor in self.actors]
            wanted = [listed(references, count) for references in wanted]
            self._get(
                [
                    actor.set_wanted.remote(side, *[wanted[receiver][owner] for receiver in range(count)])
                    for owner, actor in enumerate(self.actors)
                ]
            )
            self._parts[side] = None

    def _rows_of(self, side: str, wave: int = 0) -> Sent:
        """The rows that each worker has for each other one in a wave."""
        sent = self._parts[side] if wave == 0 else None
        if sent is None:
            count = self._count
            rows = [returning(actor.rows_for, count).remote(side, wave) for actor in self.actors]
            sent = Sent([listed(references, count) for references in rows], is_read=False)
        return sent

    def _waves(self, reads: Optional[str]) -> int:
        """Number of waves of a step that reads a side: of a half-sweep of the other side."""
        return 1 if reads is None else int(self.run.waves[1 - SIDES.index(reads)])

    def ask(self, step: int, request: bytes, reads: Optional[str], whole: bool, writes: Optional[str]) -> List[bytes]:
        """Asks all workers for a step, and yields their answers."""
        everything: List[Any] = []
        if whole and reads is not None:
            pairs = [returning(actor.whole, 2).remote(reads) for actor in self.actors]
            everything = [pair[0] for pair in pairs] + [pair[1] for pair in pairs]
        # Ray sends what is small along with the call.
        packed = request if len(request) <= INLINE else self._ray.put(request)
        waves = self._waves(reads)
        # Rows for the next step come with the answer, unless that takes them in waves.
        returned = writes if self._waves(writes) == 1 else None
        replies: List[Any] = []
        for wave in range(waves):
            last = returned if wave + 1 == waves else None
            # Rows of a wave are let go before those of the next are made.
            replies = self._wave((step, packed, (wave, waves)), self._take(reads, wave, is_kept=writes is None), last, everything)
        if writes is not None and returned is None:
            self._parts[writes] = None
        return replies

    def _take(self, side: Optional[str], wave: int, is_kept: bool) -> Optional[Sent]:
        """The rows of a side for a wave. After a step that changes nothing the next one may read the same: these are kept,
        and do not travel again."""
        if side is None:
            return None
        sent = self._rows_of(side, wave)
        is_kept = is_kept and self._waves(side) == 1
        self._parts[side] = Sent(sent.rows, is_read=True) if is_kept else None
        return sent

    def _wave(self, words: Tuple[Any, ...], sent: Optional[Sent], writes: Optional[str], everything: List[Any]) -> List[Any]:
        """Asks all workers for a wave of a step."""
        count, pieces = self._count, self._pieces
        is_again = sent is not None and sent.is_read
        returned = pieces + (0 if writes is None else count)
        results = []
        for receiver, actor in enumerate(self.actors):
            rows = [] if sent is None else [sent.rows[sender][receiver] for sender in range(count)]
            call = returning(actor.step, returned)
            made = call.remote(*words, (writes, pieces), is_again, len(everything) // 2, *rows, *everything)
            results.append(listed(made, returned))
        parts = self._get([piece for result in results for piece in result[:pieces]])
        if writes is not None:
            self._parts[writes] = Sent([result[pieces:] for result in results], is_read=False)
        return self._joined([parts[at * pieces : (at + 1) * pieces] for at in range(count)])

    def _joined(self, answers: List[List[Any]]) -> List[Any]:
        """Answers from their pieces; the next ones come in as many pieces as these should have had."""
        joined = [None if answer[0] is None else b"".join(answer) for answer in answers]
        longest = max(len(answer or b"") for answer in joined)
        pieces = max(1, -(-longest // INLINE))
        self._pieces = max(self._pieces, pieces) if pieces <= MOST_PIECES else 1
        return joined

    def traffic(self) -> int:
        """Bytes of the steps of all workers so far: requests, rows of others, and answers."""
        return sum(self._get([actor.traffic.remote() for actor in self.actors]))

    def recover(self) -> None:
        """Replaces workers that are lost and brings all to the last stored state."""
        self._note_loss(RuntimeError("a worker was lost"))
        alive = list(self.actors)
        self._replace_lost()
        self._read([actor for actor, before in zip(self.actors, alive) if actor is not before])
        self._exchange()
        self.to_stored()

    def to_stored(self) -> None:
        """Brings all workers to the last stored state, or to the start if there is none."""
        self._parts = {side: None for side in SIDES}
        if self._manifest is None:
            self._get([actor.restart.remote() for actor in self.actors])
            return
        files = [tuple(file) for file in self._manifest["files"]]
        restored = [
            actor.restore.remote(self._path, files, self._manifest["step"], rows, self.run.factors)
            for actor, rows in zip(self.actors, self.rows)
        ]
        self._get(restored)

    def store(self, step: int, history: str) -> None:
        """Stores the state after a step, if there is a folder to store it in."""
        if self._folder is None:
            return
        name = _store.name_of(json.loads(history)[-1]["iteration"])
        written = self._get([actor.store.remote(self._path, name, rows) for actor, rows in zip(self.actors, self.rows)])
        manifest = {
            "step": step,
            "history": history,
            "run": self.run.record,
            "files": [file for files in written for file in files],
        }
        _store.write_manifest(self._folder, name, manifest)
        self._manifest = manifest

    def resume(self) -> Optional[Tuple[int, str]]:
        """Goes to the last checkpoint, if there is one; yields its step and its history."""
        manifest = None if self._folder is None else _store.last_manifest(self._folder)
        if manifest is None:
            return None
        self.run.check_resume(manifest["path"], manifest["run"])
        self._manifest = manifest
        try:
            self.to_stored()
        except _core.LostWorkers:
            self.recover()
        return manifest["step"], manifest["history"]

    def all_rows(self) -> List[Any]:
        """References to the rows of all workers, users first, and to their ids."""
        return [actor.all_rows.remote(side) for side in SIDES for actor in self.actors] + self._ids()

    def _ids(self) -> List[Any]:
        return [actor.ids.remote(side) for side in SIDES for actor in self.actors]

    def save_folder(self, folder: str, history: str) -> None:
        """Writes the model as a folder: every worker its rows, the first one the rest."""
        self._check_open()
        files = self._get([actor.save_factors.remote(folder) for actor in self.actors])
        self._get([self.actors[0].save_folder.remote(folder, history, files, *self._ids())])

    def on_one(self, method: str, *arguments: Any) -> Any:
        """Calls a method of the first worker with the rows of all."""
        self._check_open()
        return self._get([getattr(self.actors[0], method).remote(*arguments, *self.all_rows())])[0]

    def close(self) -> None:
        """Ends the workers."""
        self._closed = True
        for actor in self.actors:
            if actor is not None:
                self._ray.kill(actor)
        self.actors = [None] * self._count
