"""Data that workers read together: ids, rows and sums go from worker to worker."""

from __future__ import annotations

from typing import Any, Callable, List

from .. import _core

Get = Callable[[List[Any]], List[Any]]


def returning(method: Any, count: int) -> Any:
    """A method of an actor with this many results."""
    return method.options(num_returns=count)


def listed(references: Any, count: int) -> List[Any]:
    """The references to the results of a call."""
    return [references] if count == 1 else list(references)


def read_parts(actors: List[Any], get: Get) -> List[bytes]:
    """Makes the part of every worker, and yields what they must agree on."""
    count = len(actors)
    opened = get([actor.read_part.remote() for actor in actors])
    user_borders, item_borders, _ = _core.borders_of(opened)
    shape = (_number(actors, "users", user_borders, get), _number(actors, "items", item_borders, get))
    rows = get([actor.rows_by_chunk.remote(shape) for actor in actors])
    chunks = _core.divided(rows, shape, count)
    bundles = [listed(returning(actor.bundles, count).remote(chunks), count) for actor in actors]
    counts = [
        returning(actor.take, 2).remote(shape, chunks[owner], *[bundles[sender][owner] for sender in range(count)])
        for owner, actor in enumerate(actors)
    ]
    entries = [own[0] for own in counts] + [own[1] for own in counts]
    totals: List[float] = []
    while True:
        shares = get([actor.finish.remote(totals, *entries) for actor in actors])
        if all(share is None for share in shares):
            return get([actor.take_part.remote() for actor in actors])
        if any(share is None for share in shares):
            raise RuntimeError("workers do not need the same sums, which is a defect")
        totals = [*totals, _core.merged_sum(shares)]


def _number(actors: List[Any], side: str, borders: List[str], get: Get) -> int:
    """Numbers the ids of a side, as one process would; yields how many there are."""
    count = len(actors)
    parts = [listed(returning(actor.ids_by_range, count).remote(side, borders), count) for actor in actors]
    numbered = [
        returning(actor.number, 1 + count).remote(side, *[parts[sender][owner] for sender in range(count)])
        for owner, actor in enumerate(actors)
    ]
    sizes = get([result[0] for result in numbered])
    firsts = [sum(sizes[:owner]) for owner in range(count)]
    get(
        [
            actor.renumber.remote(side, firsts, *[numbered[owner][1 + sender] for owner in range(count)])
            for sender, actor in enumerate(actors)
        ]
    )
    return sum(sizes)
