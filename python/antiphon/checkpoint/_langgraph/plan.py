"""What takes several steps, written once for callers that wait and callers that await.

A plan asks for things by yielding them, and is sent the answers. What it yields otherwise is
for the caller.
"""

from __future__ import annotations

import heapq
from collections import deque
from typing import TYPE_CHECKING, Any, NamedTuple
from uuid import UUID

from antiphon.checkpoint._langgraph.place import Found, Place

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Generator, Iterable, Iterator, Sequence

    from langchain_core.runnables import RunnableConfig
    from langgraph.checkpoint.base import CheckpointTuple

    from antiphon._antiphon import LangGraphThreads


class Ask(NamedTuple):
    """Something to be asked of the threads.

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
    """Shows checkpoints, newest first; what comes behind the last one is not read.

    Those that were pruned while they were looked for are left out. If these were all, younger ones
    have taken their place.
    """
    for _ in range(TRIES):
        shown, gone = yield from _shown(query)
        if shown or not gone:
            return


def _shown(query: Query) -> Generator[Ask | CheckpointTuple, Any, tuple[int, int]]:
    """Shows them; says how many were shown, and how many were there and could not be read."""
    order = AcrossThreads(query)
    shown = gone = 0
    if query.config is None:
        for name, at in (yield Ask("threads", ())):
            order.wait_for(name, at)
    else:
        yield from order.read(Place.of(query.config).thread)
    while query.limit is None or shown < query.limit:
        place: Place | None = yield from order.next()
        if place is None:
            break
        found: Found | None = yield Ask("get", _get(place, query.filter))
        if found is not None:
            yield place.tuple(found)
            shown += 1
        elif query.filter is None:
            gone += 1
    return shown, gone


TRIES = 10
"""So often a thread is pruned at most, from end to end, while it is looked at."""


class AcrossThreads:
    """The checkpoints of threads in the order of their ids, a page of each thread at a time.

    Threads that wait are read once one of theirs could be the next: no checkpoint is younger
    than what was last written to its thread.

    Args:
        query: which checkpoints are wanted.
    """

    PAGE = 64

    def __init__(self, query: Query) -> None:
        given: Any = (query.config or {}).get("configurable", {})
        before: Any = (query.before or {}).get("configurable", {})
        space, name = given.get("checkpoint_ns"), given.get("checkpoint_id")
        self._chosen = (space, name or None, before.get("checkpoint_id") or None)
        self._page = self.PAGE if query.limit is None else min(query.limit, self.PAGE)
        self._waiting: deque[tuple[str, int]] = deque()
        self._pages: dict[str, deque[Place]] = {}
        self._heads: list[tuple[_Latest, str]] = []
        # Threads of which a page was full, and the last one that was told of such a page.
        self._more: set[str] = set()
        self._last: Place | None = None

    def wait_for(self, thread: str, at: int) -> None:
        """Takes note of a thread that was last written to then; the latest comes first."""
        self._waiting.append((thread, at))

    def read(self, thread: str, last: Place | None = None) -> Generator[Ask, Any, None]:
        """Reads some of a thread's checkpoints, the first or those after another one."""
        after = None if last is None else (last.space, last.id)
        found = yield Ask("places", (thread, self._chosen, (after, self._page)))
        if len(found) == self._page:
            self._more.add(thread)
        else:
            self._more.discard(thread)
        # Whoever asks for another page asks for all, mostly.
        self._page = self.PAGE
        if found:
            self._pages[thread] = deque(Place(thread, space, name) for space, name in found)
            self._put_back(thread)

    def next(self) -> Generator[Ask, Any, Place | None]:
        """The next checkpoint of all; none if there is none."""
        if self._last is not None:
            yield from self.read(self._last.thread, self._last)
            self._last = None
        while self._waiting and not self._is_sure():
            yield from self.read(self._waiting.popleft()[0])
        if not self._heads:
            return None
        _, thread = heapq.heappop(self._heads)
        place = self._pages[thread].popleft()
        if self._pages[thread]:
            self._put_back(thread)
        else:
            del self._pages[thread]
            self._last = place if thread in self._more else None
        return place

    def _put_back(self, thread: str) -> None:
        heapq.heappush(self._heads, (_Latest(self._pages[thread][0]), thread))

    def _is_sure(self) -> bool:
        """Whether none of the threads that wait has the next one."""
        if not self._heads:
            return False
        made = _made(self._heads[0][0].place)
        return made is not None and made > self._waiting[0][1] + CLOCKS


class _Latest(NamedTuple):
    """Puts what has the greatest id first."""

    place: Place

    def __lt__(self, other: Any) -> bool:
        return _age(self.place) > _age(other.place)


CLOCKS = 50_000
"""So far clocks of writers may be apart, in microseconds."""

_EPOCH = 0x01B21DD213814000
"""1970 as UUIDs count: in tenths of a microsecond, since 1582."""

_TIMED = 6
"""The version of UUIDs that begin with a time, and that LangGraph uses."""


def _made(place: Place) -> int | None:
    """When an id was made, in microseconds since 1970, if it tells."""
    try:
        name = UUID(place.id)
    except (TypeError, ValueError):
        return None
    if name.version != _TIMED:
        return None
    high, low = name.int >> 80, (name.int >> 64) & 0xFFF
    return ((high << 12 | low) - _EPOCH) // 10


def pruned(threads: Sequence[str], strategy: str) -> Generator[Ask, Any, None]:
    """Leaves the last checkpoint of each namespace, or nothing."""
    if strategy not in {"keep_latest", "delete"}:
        raise ValueError(f"`strategy` is keep_latest or delete, found: {strategy}")
    if isinstance(threads, str):
        raise TypeError(f"`thread_ids` is a list of names, found a text: {threads!r}")
    for thread in map(str, threads):
        if strategy == "delete":
            yield Ask("delete", (thread,))
            continue
        marks = yield Ask("marks", (thread,))
        last = {space: name for space, name, *_ in marks}
        kept: set[tuple[str, str]] = set()
        for space, name in last.items():
            kept.update((yield from _with_sources(Place(thread, space, name))))
        # What others have added since is none of these.
        gone = {(space, name) for space, name, *_ in marks} - kept
        if gone:
            yield Ask("remove", (thread, gone))


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
    for thread, _ in (yield Ask("threads", ())):
        marks = yield Ask("marks", (thread,))
        gone = {(space, name) for space, name, _, run in marks if run in runs}
        if gone:
            yield Ask("remove", (thread, gone))


def carried_out(
    threads: LangGraphThreads, plan: Generator[Ask | CheckpointTuple, Any, None]
) -> Iterator[CheckpointTuple]:
    """Carries a plan out, and hands on what it shows."""
    step = next(plan, None)
    while step is not None:
        if isinstance(step, Ask):
            step = _after(plan, getattr(threads, step.method)(*step.args))
        else:
            yield step
            step = next(plan, None)


async def acarried_out(
    threads: LangGraphThreads, plan: Generator[Ask | CheckpointTuple, Any, None]
) -> AsyncIterator[CheckpointTuple]:
    """`carried_out` for callers that await it."""
    step = next(plan, None)
    while step is not None:
        if isinstance(step, Ask):
            step = _after(plan, await getattr(threads, f"a{step.method}")(*step.args))
        else:
            yield step
            step = next(plan, None)


def _after(plan: Generator[Any, Any, None], answer: Any) -> Any:
    try:
        return plan.send(answer)
    except StopIteration:
        return None


def _age(place: Place) -> str:
    return place.id or ""


def _get(place: Place, wanted: dict[str, Any] | None) -> tuple[Any, ...]:
    where = (place.thread, (place.space, place.id))
    if not wanted:
        return where

    def is_wanted(metadata: dict[str, Any]) -> bool:
        return all(metadata.get(key) == value for key, value in wanted.items())

    return (*where, is_wanted)
