"""Lists of checkpoints, newest first, of a thread or across all of them."""

from __future__ import annotations

import heapq
from collections import deque
from typing import TYPE_CHECKING, Any, NamedTuple
from uuid import UUID

from antiphon.checkpoint._langgraph.checkpoint_ref import CheckpointRef, FoundCheckpoint

if TYPE_CHECKING:
    from collections.abc import Generator

    from langchain_core.runnables import RunnableConfig
    from langgraph.checkpoint.base import CheckpointTuple

    from antiphon._antiphon import LangGraphThreads, PendingResult
    from antiphon.checkpoint._langgraph.steps import ListingSteps, Steps


class CheckpointQuery(NamedTuple):
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

    def is_wanted(self) -> _MetadataFilter | None:
        """Whether metadata is what the filter says; nothing if there is no filter."""
        return _MetadataFilter(self.filter) if self.filter else None


class _MetadataFilter:
    """Tells whether the metadata of one checkpoint is wanted, and remembers a no.

    A checkpoint that is gone is not asked about, so that it differs from one that is not wanted.
    """

    def __init__(self, wanted: dict[str, Any]) -> None:
        self._wanted = wanted
        self.has_refused = False

    def __call__(self, metadata: dict[str, Any]) -> bool:
        is_wanted = all(metadata.get(key) == value for key, value in self._wanted.items())
        self.has_refused = not is_wanted
        return is_wanted


MAX_PRUNED = 10
"""How often a thread may be pruned, from end to end, while its checkpoints are listed."""


def list_checkpoints(threads: LangGraphThreads, query: CheckpointQuery) -> ListingSteps:
    """Yields checkpoints, newest first; what comes behind the last one is not read.

    Those that were pruned while they were looked for are left out. If these were all, younger ones
    have taken their place.
    """
    for _ in range(MAX_PRUNED):
        found, missing = yield from _list_once(threads, query)
        if found or not missing:
            return


def _list_once(
    threads: LangGraphThreads, query: CheckpointQuery
) -> Generator[PendingResult | CheckpointTuple, Any, tuple[int, int]]:
    """Yields them; returns how many were found, and how many are gone."""
    order = ThreadMerge(threads, query)
    found = missing = 0
    if query.config is None:
        for thread, written_at in (yield threads.threads()):
            order.add_unread(thread, written_at)
    else:
        yield from order.read_page(CheckpointRef.of(query.config).thread)
    while query.limit is None or found < query.limit:
        ref: CheckpointRef | None = yield from order.next()
        if ref is None:
            break
        is_wanted = query.is_wanted()
        checkpoint: FoundCheckpoint | None = yield threads.get(ref.thread, ref.key, is_wanted)
        if checkpoint is not None:
            yield ref.tuple(checkpoint)
            found += 1
        elif is_wanted is None or not is_wanted.has_refused:
            missing += 1
    return found, missing


class ThreadMerge:
    """The checkpoints of threads in the order of their ids, a page of each thread at a time.

    A thread is read once one of its checkpoints could be the next: no checkpoint is younger than
    what was last written to its thread.

    Args:
        threads: the threads.
        query: which checkpoints are wanted.
    """

    PAGE = 64

    def __init__(self, threads: LangGraphThreads, query: CheckpointQuery) -> None:
        given: Any = (query.config or {}).get("configurable", {})
        before: Any = (query.before or {}).get("configurable", {})
        namespace, name = given.get("checkpoint_ns"), given.get("checkpoint_id")
        self._threads = threads
        self._filter = (namespace, name or None, before.get("checkpoint_id") or None)
        self._page = self.PAGE if query.limit is None else min(query.limit, self.PAGE)
        # Threads that are not read yet, and when each was written to.
        self._unread: deque[tuple[str, int]] = deque()
        self._pages: dict[str, deque[CheckpointRef]] = {}
        # The next checkpoint of each thread that is read.
        self._heads: list[tuple[_NewestFirst, str]] = []
        self._with_more_pages: set[str] = set()
        # The last checkpoint of a page, if another page follows.
        self._page_end: CheckpointRef | None = None

    def add_unread(self, thread: str, written_at: int) -> None:
        """Adds a thread that was last written to then; the latest comes first."""
        self._unread.append((thread, written_at))

    def read_page(self, thread: str, after: CheckpointRef | None = None) -> Steps[None]:
        """Reads some of a thread's checkpoints, the first or those after another one."""
        last = None if after is None else (after.namespace, after.id or "")
        found = yield self._threads.page(thread, self._filter, (last, self._page))
        if len(found) == self._page:
            self._with_more_pages.add(thread)
        else:
            self._with_more_pages.discard(thread)
        # A caller that asks for a second page mostly asks for all.
        self._page = self.PAGE
        if found:
            self._pages[thread] = deque(CheckpointRef(thread, *key) for key in found)
            self._push_head(thread)

    def next(self) -> Steps[CheckpointRef | None]:
        """The next checkpoint of all; none if there is none."""
        if self._page_end is not None:
            yield from self.read_page(self._page_end.thread, self._page_end)
            self._page_end = None
        while self._unread and not self._has_next():
            yield from self.read_page(self._unread.popleft()[0])
        if not self._heads:
            return None
        _, thread = heapq.heappop(self._heads)
        ref = self._pages[thread].popleft()
        if self._pages[thread]:
            self._push_head(thread)
        else:
            del self._pages[thread]
            self._page_end = ref if thread in self._with_more_pages else None
        return ref

    def _push_head(self, thread: str) -> None:
        heapq.heappush(self._heads, (_NewestFirst(self._pages[thread][0]), thread))

    def _has_next(self) -> bool:
        """Whether no thread that is not read yet can have the next one."""
        if not self._heads:
            return False
        created = _created_at(self._heads[0][0].ref)
        return created is not None and created > self._unread[0][1] + MAX_CLOCK_SKEW


class _NewestFirst(NamedTuple):
    """Orders checkpoints by their ids, the greatest first."""

    ref: CheckpointRef

    def __lt__(self, other: Any) -> bool:
        return (self.ref.id or "") > (other.ref.id or "")


MAX_CLOCK_SKEW = 50_000
"""How far the clocks of writers may be apart, in microseconds."""

_EPOCH = 0x01B21DD213814000
"""1970 as UUIDs count: in tenths of a microsecond, since 1582."""

_TIMED = 6
"""The version of UUIDs that begin with a time, and that LangGraph uses."""


def _created_at(ref: CheckpointRef) -> int | None:
    """When an id was made, in microseconds since 1970, if it tells."""
    try:
        name = UUID(ref.id)
    except (TypeError, ValueError):
        return None
    if name.version != _TIMED:
        return None
    high, low = name.int >> 80, (name.int >> 64) & 0xFFF
    return ((high << 12 | low) - _EPOCH) // 10
