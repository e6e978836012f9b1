"""The threads of a compiled graph: reading and updating them from outside of runs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from antiphon._antiphon import Command
from antiphon._graph_errors import GraphBuildError, InvalidUpdateError, graph_errors
from antiphon._state_schema import ROOT
from antiphon._sync_async import Routine, async_method, drive, sync_method, twin
from antiphon.graph._input import counted, merge
from antiphon.graph._missing_options import refuse_missing
from antiphon.graph._snapshot import METADATA, StateSnapshot, config_at, empty, snapshot
from antiphon.graph._thread import GraphThread

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator

    from antiphon._antiphon import Engine, Run, Saver
    from antiphon.graph._plan import GraphPlan
    from antiphon.graph._runtime import RunnableConfig

_PAGE = 16
"""Checkpoints that a history reads at once."""


class Threads:
    """The threads of a compiled graph with a checkpointer.

    A config names the thread as ``{"configurable": {"thread_id": ...}}``, and one of its
    checkpoints as ``checkpoint_id`` beside it.
    """

    checkpointer: Saver | None
    _engine: Engine
    _plan: GraphPlan
    _bound: Mapping[str, Any] | None

    @sync_method
    def get_state(self, config: RunnableConfig) -> Routine[StateSnapshot]:
        """The state of a thread, now or at a checkpoint.

        Without a checkpoint, what tasks of an open superstep have written counts as merged, and
        ``next`` leaves them out.

        Raises:
            GraphBuildError: the graph has no checkpointer, or the config names no thread.
            InvalidUpdateError: the thread has no such checkpoint, or does not fit the graph.
        """
        thread = self._thread(config)
        with graph_errors():
            found = yield from self._newest(thread)
        return snapshot(thread.name, found[0]) if found else empty(thread.name)

    aget_state = refuse_missing(async_method(get_state))
    get_state = refuse_missing(get_state)

    def get_state_history(
        self,
        config: RunnableConfig,
        *,
        filter: Mapping[str, Any] | None = None,  # noqa: A002 - LangGraph's name
        before: RunnableConfig | None = None,
        limit: int | None = None,
    ) -> Iterator[StateSnapshot]:
        """The checkpoints of a thread, newest first, read as far as they are iterated.

        Args:
            config: the thread; or a checkpoint, to begin there.
            filter: only those whose metadata have these values.
            before: only those before this checkpoint.
            limit: no more than these.

        Raises:
            GraphBuildError: as `get_state`; or the limit or the filter can find nothing.
        """
        history_filter = _HistoryFilter(
            self._thread(config if before is None else before), filter, limit
        )
        history_filter.skips = before is not None
        with graph_errors():
            history = self._engine.history(history_filter.ref)
            while not history_filter.is_full and (found := history.page(history_filter.most)):
                yield from history_filter.snapshots(found)

    async def aget_state_history(
        self,
        config: RunnableConfig,
        *,
        filter: Mapping[str, Any] | None = None,  # noqa: A002
        before: RunnableConfig | None = None,
        limit: int | None = None,
    ) -> AsyncIterator[StateSnapshot]:
        """`get_state_history` on the caller's event loop."""
        history_filter = _HistoryFilter(
            self._thread(config if before is None else before), filter, limit
        )
        history_filter.skips = before is not None
        with graph_errors():
            history = self._engine.history(history_filter.ref)
            while not history_filter.is_full and (
                found := await history.apage(history_filter.most)
            ):
                for shown in history_filter.snapshots(found):
                    yield shown

    @sync_method
    def update_state(
        self, config: RunnableConfig, values: Any, as_node: str | None = None
    ) -> Routine[RunnableConfig]:
        """Writes to a thread in the name of a node, whose successors run next. Nothing runs now.

        Args:
            config: the thread; or a checkpoint, to begin a branch there.
            values: the update: a dict, or another return value of nodes.
            as_node: the node. Default: the one whose superstep was the last; updates are none.

        Returns:
            The config of the new checkpoint.

        Raises:
            InvalidUpdateError: it is not clear as which node, there is no such node, or a key
                cannot take what was written.
            GraphBuildError: as `get_state`.
        """
        thread = self._thread(config)
        with graph_errors():
            if as_node is None:
                as_node = self._writer((yield from self._last_superstep(thread)))
            run = self._edit(thread, values, as_node)
            yield drive(run)
        return config_at(thread.name, run.checkpoint)

    aupdate_state = async_method(update_state)

    def _thread(self, config: RunnableConfig) -> GraphThread:
        return GraphThread.of((self.checkpointer, self._plan), merge(self._bound, config))

    def _newest(self, thread: GraphThread) -> Routine[list[dict[str, Any]]]:
        """The newest checkpoint, or the named one, as the engine shows it."""
        if thread.checkpoint is not None:
            # The last checkpoint is read from the end of its thread, which holds its open tasks.
            tip = self._engine.history(replace(thread, checkpoint=None).ref())
            last: list[dict[str, Any]] = yield twin(tip, "page", 1)
            if last and last[0]["checkpoint"] == thread.checkpoint:
                return last
        history = self._engine.history(thread.ref(), live=thread.checkpoint is None)
        found: list[dict[str, Any]] = yield twin(history, "page", 1)
        return found

    def _last_superstep(self, thread: GraphThread) -> Routine[list[dict[str, Any]]]:
        """The newest checkpoint that no update has written, as the engine shows it."""
        found = yield from self._newest(thread)
        history = self._engine.history(thread.ref())
        while found and all(one["source"] == "update" for one in found):
            found = yield twin(history, "page", _PAGE)
        return [one for one in found if one["source"] != "update"]

    def _writer(self, found: list[dict[str, Any]]) -> str:
        """The node that wrote last."""
        wrote = set(found[0]["wrote"]) if found else {"__start__"}
        if not wrote and len(self._engine.nodes) == 1:
            return str(self._engine.nodes[0])  # the steps before are not stored
        if len(wrote) == 1:
            return str(wrote.pop())
        raise InvalidUpdateError(
            f"an update needs `as_node`, because these wrote last: {', '.join(sorted(wrote))}",
            hint="name the node that the update is to count as",
        )

    def _edit(self, thread: GraphThread, values: Any, as_node: str) -> Run:
        if ROOT in self._plan.keys and values is not None and not isinstance(values, Command):
            values = {ROOT: values}
        return self._engine.start(values, thread_ref=thread.ref(as_node))


class _HistoryFilter:
    """The wanted part of a history."""

    def __init__(
        self, thread: GraphThread, wanted: Mapping[str, Any] | None, limit: int | None
    ) -> None:
        self._check(wanted, limit)
        self.skips = False
        self._found = 0
        self.ref = thread.ref()
        self._wanted = wanted or {}
        self._limit = limit

    @staticmethod
    def _check(wanted: Any, limit: Any) -> None:
        if limit is not None:
            counted(limit, "limit")
        if wanted is not None and not isinstance(wanted, Mapping):
            raise GraphBuildError(
                f"`filter` must be a dict of metadata: {wanted!r}", code="call_invalid"
            )
        unknown = set(wanted or ()) - set(METADATA)
        if unknown:
            raise GraphBuildError(
                f"unknown metadata in `filter`: {', '.join(sorted(map(str, unknown)))}",
                code="call_invalid",
                hint=f"filter by {', '.join(METADATA)}",
            )

    @property
    def is_full(self) -> bool:
        """Whether the limit is reached."""
        return self._limit is not None and self._found >= self._limit

    @property
    def most(self) -> int:
        """How many checkpoints to read at once; a filter may skip any number of them."""
        if self._wanted or self._limit is None:
            return _PAGE
        return min(_PAGE, self._limit - self._found + int(self.skips))

    def snapshots(self, found: list[dict[str, Any]]) -> Iterator[StateSnapshot]:
        """The wanted checkpoints of a page."""
        for one in found:
            if self.skips:
                self.skips = False
                continue
            if self.is_full:
                return
            made = snapshot(self.ref.thread, one)
            metadata = made.metadata or {}
            if all(metadata.get(key) == value for key, value in self._wanted.items()):
                self._found += 1
                yield made
