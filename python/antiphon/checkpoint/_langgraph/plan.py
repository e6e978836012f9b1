"""What takes several steps, written once for callers that wait and callers that await.

A plan asks for things by yielding them, and is sent the answers. What it yields otherwise is
for the caller.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from antiphon.checkpoint._langgraph.place import Found, Place

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Generator, Iterable, Iterator, Sequence

    from langchain_core.runnables import RunnableConfig
    from langgraph.checkpoint.base import CheckpointTuple

    from antiphon._antiphon import Shelves


class Ask(NamedTuple):
    """Something to be asked of the shelves.

    Attributes:
        method: a method; its twin for callers that await has an ``a`` before the name.
        args: what it takes.
    """

    method: str
    args: tuple[Any, ...]


class Query(NamedTuple):
    """Which checkpoints a list is to show.

    Attributes:
        config: a thread, and perhaps a namespace and a checkpoint; nothing for all threads.
        filter: what their metadata must say.
        before: a checkpoint that they are older than.
        limit: so many at most.
    """

    config: RunnableConfig | None
    filter: dict[str, Any] | None
    before: RunnableConfig | None
    limit: int | None


def listed(query: Query) -> Generator[Ask | CheckpointTuple, Any, None]:
    """Shows checkpoints, newest first."""
    places: list[Place] = []
    if query.config is None:
        for thread in (yield Ask("threads", ())):
            places += _places(thread, (yield Ask("marks", (thread,))))
    else:
        thread = Place.of(query.config).thread
        places += _places(thread, (yield Ask("marks", (thread,))))
    left = query.limit
    for place in sorted(filter(_chosen(query), places), key=_age, reverse=True):
        if left is not None and left <= 0:
            return
        found: Found | None = yield Ask("get", _get(place, query.filter))
        if found is not None:
            yield place.tuple(found)
            left = None if left is None else left - 1


def pruned(threads: Sequence[str], strategy: str) -> Generator[Ask, Any, None]:
    """Leaves the last checkpoint of each namespace, or nothing."""
    if strategy not in {"keep_latest", "delete"}:
        raise ValueError(f"`strategy` is keep_latest or delete, found: {strategy}")
    for thread in map(str, threads):
        if strategy == "delete":
            yield Ask("delete", (thread,))
            continue
        last = {space: name for space, name, *_ in (yield Ask("marks", (thread,)))}
        kept: set[tuple[str, str]] = set()
        for space, name in last.items():
            kept.update((yield from _with_sources(Place(thread, space, name))))
        if kept:
            yield Ask("keep", (thread, kept))


def _with_sources(place: Place) -> Generator[Ask, Any, set[tuple[str, str]]]:
    """A checkpoint, and those that LangGraph makes the values of its delta channels from."""
    kept: set[tuple[str, str]] = set()
    wanted: set[str] | None = None
    while place.id is not None:
        found: Found | None = yield Ask("get", _get(place, None))
        if found is None:
            break
        name, parent, (_, metadata), values, _ = found
        kept.add((place.space, name))
        if wanted is None:
            wanted = set(metadata.get("counters_since_delta_snapshot", ()))
        wanted -= values.keys()
        if not wanted:
            break
        place = place._replace(id=parent)
    return kept


def without_runs(run_ids: Iterable[str]) -> Generator[Ask, Any, None]:
    """Removes the checkpoints of some runs, in all threads."""
    runs = set(run_ids)
    if not runs:
        return
    for thread in (yield Ask("threads", ())):
        marks = yield Ask("marks", (thread,))
        kept = {(space, name) for space, name, _, run in marks if run not in runs}
        if not kept and marks:
            yield Ask("delete", (thread,))
        elif len(kept) < len(marks):
            yield Ask("keep", (thread, kept))


def carried_out(
    shelves: Shelves, plan: Generator[Ask | CheckpointTuple, Any, None]
) -> Iterator[CheckpointTuple]:
    """Carries a plan out, and hands on what it shows."""
    step = next(plan, None)
    while step is not None:
        if isinstance(step, Ask):
            step = _after(plan, getattr(shelves, step.method)(*step.args))
        else:
            yield step
            step = next(plan, None)


async def acarried_out(
    shelves: Shelves, plan: Generator[Ask | CheckpointTuple, Any, None]
) -> AsyncIterator[CheckpointTuple]:
    """`carried_out` for callers that await it."""
    step = next(plan, None)
    while step is not None:
        if isinstance(step, Ask):
            step = _after(plan, await getattr(shelves, f"a{step.method}")(*step.args))
        else:
            yield step
            step = next(plan, None)


def _after(plan: Generator[Any, Any, None], answer: Any) -> Any:
    try:
        return plan.send(answer)
    except StopIteration:
        return None


def _places(thread: str, marks: list[tuple[str, str, Any, Any]]) -> list[Place]:
    return [Place(thread, space, name) for space, name, *_ in marks]


def _age(place: Place) -> str:
    return place.id or ""


def _chosen(query: Query) -> Any:
    given: Any = (query.config or {}).get("configurable", {})
    space, name = given.get("checkpoint_ns"), given.get("checkpoint_id")
    before = (query.before or {}).get("configurable", {}).get("checkpoint_id")

    def is_chosen(place: Place) -> bool:
        in_space = space is None or place.space == space
        is_old = not before or _age(place) < before
        return in_space and is_old and (not name or place.id == name)

    return is_chosen


def _get(place: Place, wanted: dict[str, Any] | None) -> tuple[Any, ...]:
    where = (place.thread, (place.space, place.id))
    if not wanted:
        return where

    def is_wanted(metadata: dict[str, Any]) -> bool:
        return all(metadata.get(key) == value for key, value in wanted.items())

    return (*where, is_wanted)
