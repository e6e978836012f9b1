"""A compiled graph's threads: reading what they hold, and writing to them from outside."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from antiphon._antiphon import Command
from antiphon._graph_errors import GraphBuildError, InvalidUpdateError, as_graph_error
from antiphon._state_schema import ROOT
from antiphon.errors import AntiphonError
from antiphon.graph._input import counted, merge
from antiphon.graph._snapshot import METADATA, StateSnapshot, config_at, empty, snapshot
from antiphon.graph._thread_ref import ThreadRef

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator

    from antiphon._antiphon import Engine, History, Run, Saver
    from antiphon.graph._plan import Plan
    from antiphon.graph._runtime import RunnableConfig

__all__ = ["Threads"]

_PAGE = 16
"""Checkpoints that a history reads at once."""


class Threads:
    """What a compiled graph with a checkpointer can do with its threads.

    A config names the thread as ``{"configurable": {"thread_id": ...}}``, and one of its
    checkpoints as ``checkpoint_id`` beside it.
    """

    checkpointer: Saver | None
    _engine: Engine
    _plan: Plan
    _bound: Mapping[str, Any] | None

    def get_state(self, config: RunnableConfig) -> StateSnapshot:
        """What a thread holds now, or held at a checkpoint.

        Without a checkpoint, what tasks of an open superstep have written counts as merged, and
        ``next`` leaves them out.

        Raises:
            GraphBuildError: the graph has no checkpointer, or the config names no thread.
            InvalidUpdateError: the thread has no such checkpoint, or does not fit the graph.
        """
        ref = self._thread_ref(config)
        try:
            found = self._newest(ref).page(1)
        except AntiphonError as error:
            raise as_graph_error(error) from error.__cause__
        return snapshot(ref.thread, found[0]) if found else empty(ref.thread)

    async def aget_state(self, config: RunnableConfig) -> StateSnapshot:
        """`get_state` on the caller's event loop."""
        ref = self._thread_ref(config)
        try:
            found = await self._newest(ref).apage(1)
        except AntiphonError as error:
            raise as_graph_error(error) from error.__cause__
        return snapshot(ref.thread, found[0]) if found else empty(ref.thread)

    def get_state_history(
        self,
        config: RunnableConfig,
        *,
        filter: Mapping[str, Any] | None = None,  # noqa: A002 - LangGraph's name
        before: RunnableConfig | None = None,
        limit: int | None = None,
    ) -> Iterator[StateSnapshot]:
        """What a thread held at its checkpoints, newest first, read as far as it is iterated.

        Args:
            config: the thread; or a checkpoint, to begin there.
            filter: only those whose metadata have these values.
            before: only those before this checkpoint.
            limit: no more than these.

        Raises:
            GraphBuildError: as `get_state`; or the limit or the filter can find nothing.
        """
        past = _Past(self._thread_ref(config if before is None else before), filter, limit)
        past.skips = before is not None
        try:
            history = self._engine.history(past.ref)
            while not past.is_full and (found := history.page(past.most)):
                yield from past.snapshots(found)
        except AntiphonError as error:
            raise as_graph_error(error) from error.__cause__

    async def aget_state_history(
        self,
        config: RunnableConfig,
        *,
        filter: Mapping[str, Any] | None = None,  # noqa: A002
        before: RunnableConfig | None = None,
        limit: int | None = None,
    ) -> AsyncIterator[StateSnapshot]:
        """`get_state_history` on the caller's event loop."""
        past = _Past(self._thread_ref(config if before is None else before), filter, limit)
        past.skips = before is not None
        try:
            history = self._engine.history(past.ref)
            while not past.is_full and (found := await history.apage(past.most)):
                for shown in past.snapshots(found):
                    yield shown
        except AntiphonError as error:
            raise as_graph_error(error) from error.__cause__

    def update_state(
        self, config: RunnableConfig, values: Any, as_node: str | None = None
    ) -> RunnableConfig:
        """Writes to a thread as if a node had: its edges say what comes next. Nothing runs.

        Args:
            config: the thread; or a checkpoint, to begin a branch there.
            values: what is written: a dict, or what else a node may return.
            as_node: the node. Default: the one whose superstep was the last.

        Returns:
            The config of the new checkpoint.

        Raises:
            InvalidUpdateError: it is not clear as which node, there is no such node, or a key
                cannot take what was written.
            GraphBuildError: as `get_state`.
        """
        ref = self._thread_ref(config)
        try:
            if as_node is None:
                as_node = self._writer(self._newest(ref).page(1))
            run = self._edit(ref, values, as_node)
            run.drain()
        except AntiphonError as error:
            raise as_graph_error(error) from error.__cause__
        return config_at(ref.thread, run.checkpoint)

    async def aupdate_state(
        self, config: RunnableConfig, values: Any, as_node: str | None = None
    ) -> RunnableConfig:
        """`update_state` on the caller's event loop."""
        ref = self._thread_ref(config)
        try:
            if as_node is None:
                as_node = self._writer(await self._newest(ref).apage(1))
            run = self._edit(ref, values, as_node)
            await run
        except AntiphonError as error:
            raise as_graph_error(error) from error.__cause__
        return config_at(ref.thread, run.checkpoint)

    def _thread_ref(self, config: RunnableConfig) -> ThreadRef:
        return ThreadRef.of((self.checkpointer, self._plan), merge(self._bound, config))

    def _newest(self, ref: ThreadRef) -> History:
        """A history whose first page shows a thread as it is now, unless a checkpoint is named."""
        return self._engine.history(ref.native(), live=ref.checkpoint is None)

    def _writer(self, found: list[dict[str, Any]]) -> str:
        """The node that wrote last."""
        nodes = self._engine.nodes
        if len(nodes) == 1:
            return nodes[0]
        wrote = set(found[0]["wrote"]) if found else {"__start__"}
        if len(wrote) == 1:
            return str(wrote.pop())
        raise InvalidUpdateError(
            f"an update needs `as_node`, because these wrote last: {', '.join(sorted(wrote))}",
            hint="name the node that the update is to count as",
        )

    def _edit(self, ref: ThreadRef, values: Any, as_node: str) -> Run:
        if ROOT in self._plan.keys and values is not None and not isinstance(values, Command):
            values = {ROOT: values}
        return self._engine.start(values, place=ref.native("sync", as_node))


class _Past:
    """What somebody wants to see of a history."""

    def __init__(self, ref: ThreadRef, wanted: Mapping[str, Any] | None, limit: int | None) -> None:
        self._check(wanted, limit)
        self.skips = False
        self._found = 0
        self.ref = ref.native()
        self._wanted = wanted or {}
        self._limit = limit

    @staticmethod
    def _check(wanted: Any, limit: Any) -> None:
        if limit is not None:
            counted(limit, "limit")
        if wanted is not None and not isinstance(wanted, Mapping):
            raise GraphBuildError(
                f"`filter` takes a dict of metadata, found: {wanted!r}", code="call_invalid"
            )
        unknown = set(wanted or ()) - set(METADATA)
        if unknown:
            raise GraphBuildError(
                f"no checkpoint has such metadata: {', '.join(sorted(map(str, unknown)))}",
                code="call_invalid",
                hint=f"filter by {', '.join(METADATA)}",
            )

    @property
    def is_full(self) -> bool:
        """Whether all that are wanted were found."""
        return self._limit is not None and self._found >= self._limit

    @property
    def most(self) -> int:
        """How many checkpoints to read at once: a filter may pass over any number of them."""
        if self._wanted or self._limit is None:
            return _PAGE
        return min(_PAGE, self._limit - self._found + int(self.skips))

    def snapshots(self, found: list[dict[str, Any]]) -> Iterator[StateSnapshot]:
        """Those of a page that are wanted."""
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
