"""LangGraph's checkpoints in antiphon's stores, as what is different from one to the next."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, Self

from langgraph.checkpoint.base import (
    WRITES_IDX_MAP,
    BaseCheckpointSaver,
    get_checkpoint_metadata,
)

from antiphon._antiphon import LangGraphThreads, MemorySaver, Saver, SqliteSaver
from antiphon._thread_store import saver_of
from antiphon.checkpoint._langgraph.checkpoint_ref import CheckpointRef
from antiphon.checkpoint._langgraph.listing import CheckpointQuery, list_checkpoints
from antiphon.checkpoint._langgraph.removal import delete_runs, prune_threads
from antiphon.checkpoint._langgraph.serde import Serializer, registry_of
from antiphon.checkpoint._langgraph.steps import aiterate, arun, iterate, run

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Collection, Iterable, Iterator, Sequence

    from langchain_core.runnables import RunnableConfig
    from langgraph.checkpoint.base import (
        ChannelVersions,
        Checkpoint,
        CheckpointMetadata,
        CheckpointTuple,
    )
    from langgraph.checkpoint.serde.base import SerializerProtocol

    from antiphon._antiphon import PendingResult


class AntiphonSaver(BaseCheckpointSaver[Any]):
    """A checkpointer for LangGraph that keeps small files.

    LangGraph hands over the whole state after each superstep. What is stored of it is what
    is different: of a list that grows its new items, of a large value the bytes that have
    changed. One object serves graphs that are invoked and graphs that are awaited, and any
    number of threads and processes may share a file.

    Values are stored by their exact types, of a closed list: plain ones, those of the standard
    library that are data, LangChain's messages, LangGraph's own, arrays and tables. Types of
    yours join it by `types` or by `antiphon.checkpoint.register`; a value of any other type is
    an error where it is saved, which names its channel. Stored bytes never
    cause an import or a call.

    Of a channel with a reducer that list items were added to, what was there before is taken
    as it was stored: a node that changes an item in place must return it.

    Args:
        saver: where checkpoints are kept: a saver of `antiphon.checkpoint`. It stays open.
        serde: a serializer of LangGraph's, for values. It is the caller's to see that bytes are
            safe with it. Default: the closed list of types.
        types: schemas whose types may be stored: the state of the graph, mostly. Ignored by a
            `serde`.

    Raises:
        TypeError: `saver` is none: `open` takes files and URLs.

    Example:
        >>> from langgraph.graph import START, MessagesState, StateGraph
        >>> builder = StateGraph(MessagesState)
        >>> builder = builder.add_node("echo", lambda state: {"messages": "hello"})
        >>> with AntiphonSaver.open("memory:") as saver:
        ...     graph = builder.add_edge(START, "echo").compile(checkpointer=saver)
        ...     state = graph.invoke({"messages": "hi"}, {"configurable": {"thread_id": "1"}})
        >>> [message.content for message in state["messages"]]
        ['hi', 'hello']
    """

    def __init__(
        self,
        saver: Saver,
        *,
        serde: SerializerProtocol | None = None,
        types: Iterable[Any] = (),
    ) -> None:
        if not isinstance(saver, Saver):
            # A URL may hold a password: it is not quoted.
            raise TypeError(
                "`saver` of AntiphonSaver takes a saver of antiphon.checkpoint, such as "
                f'SqliteSaver.open("x.db"), found: {type(saver).__name__}; a file or a URL is '
                'opened by AntiphonSaver.open("x.db")'
            )
        if serde is not None and types:
            raise ValueError("a `serde` knows its types itself: `types`")
        registry = registry_of(types)
        super().__init__(serde=serde or Serializer(registry))
        self._saver = saver
        self._registry = registry
        self._is_owner = False
        self._clones: dict[frozenset[tuple[str, ...]], AntiphonSaver] = {}
        self._threads = self._open_threads(serde is not None)

    @classmethod
    def open(
        cls,
        target: Saver | str | os.PathLike[str],
        *,
        serde: SerializerProtocol | None = None,
        types: Iterable[Any] = (),
    ) -> Self:
        """Opens a store.

        Args:
            target: a file, a URL of a store, ``:memory:``, or a saver that is open already: with
                a key, say, ``SqliteSaver.open(path, key=key)``.
            serde: a serializer of LangGraph's, for values. Default: antiphon's own.
            types: schemas whose types may be stored.

        Returns:
            The saver: a context manager, sync and async, that closes what it has opened.

        Raises what the `open` of the store's saver does.
        """
        saver = cls(_open(target), serde=serde, types=types)
        saver._is_owner = saver._saver is not target
        return saver

    @classmethod
    def from_conn_string(cls, conn_string: str) -> Self:
        """`open` under the name that LangGraph gives it."""
        return cls.open(conn_string)

    def close(self) -> None:
        """Closes the store, if it was opened here."""
        if self._is_owner:
            self._saver.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_error: object) -> None:
        self.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_error: object) -> None:
        self.close()

    def get_tuple(self, config: RunnableConfig) -> CheckpointTuple | None:
        """The checkpoint that a config names, or the last one of its namespace."""
        ref = CheckpointRef.of(config)
        found = self._threads.get(ref.thread, ref.key).wait()
        return None if found is None else ref.tuple(found)

    async def aget_tuple(self, config: RunnableConfig) -> CheckpointTuple | None:
        """`get_tuple`, awaited."""
        ref = CheckpointRef.of(config)
        found = await self._threads.get(ref.thread, ref.key)
        return None if found is None else ref.tuple(found)

    def list(
        self,
        config: RunnableConfig | None,
        *,
        filter: dict[str, Any] | None = None,  # noqa: A002  # LangGraph's name
        before: RunnableConfig | None = None,
        limit: int | None = None,
    ) -> Iterator[CheckpointTuple]:
        """Checkpoints, newest first.

        Args:
            config: a thread, and perhaps a namespace and a checkpoint. Nothing for all threads.
            filter: what their metadata must say, key by key. Keys and values are compared and
                never become a query.
            before: a checkpoint that they are older than.
            limit: so many at most.
        """
        return iterate(
            list_checkpoints(self._threads, CheckpointQuery(config, filter, before, limit))
        )

    def alist(
        self,
        config: RunnableConfig | None,
        *,
        filter: dict[str, Any] | None = None,  # noqa: A002  # as above
        before: RunnableConfig | None = None,
        limit: int | None = None,
    ) -> AsyncIterator[CheckpointTuple]:
        """`list`, awaited."""
        return aiterate(
            list_checkpoints(self._threads, CheckpointQuery(config, filter, before, limit))
        )

    def put(
        self,
        config: RunnableConfig,
        checkpoint: Checkpoint,
        metadata: CheckpointMetadata,
        new_versions: ChannelVersions,
    ) -> RunnableConfig:
        """Keeps a checkpoint; it is durable when this returns.

        Raises:
            StateError: ``value_unstorable``, if the type of a value is not on the list.
        """
        stored, pending = self._put(config, checkpoint, metadata, new_versions)
        pending.wait()
        return stored

    async def aput(
        self,
        config: RunnableConfig,
        checkpoint: Checkpoint,
        metadata: CheckpointMetadata,
        new_versions: ChannelVersions,
    ) -> RunnableConfig:
        """`put`, awaited."""
        stored, pending = self._put(config, checkpoint, metadata, new_versions)
        await pending
        return stored

    def put_writes(
        self,
        config: RunnableConfig,
        writes: Sequence[tuple[str, Any]],
        task_id: str,
        task_path: str = "",
    ) -> None:
        """Keeps what a task wrote at a checkpoint.

        Raises what `put` does.
        """
        self._put_writes(config, writes, (task_id, task_path)).wait()

    async def aput_writes(
        self,
        config: RunnableConfig,
        writes: Sequence[tuple[str, Any]],
        task_id: str,
        task_path: str = "",
    ) -> None:
        """`put_writes`, awaited."""
        await self._put_writes(config, writes, (task_id, task_path))

    def delete_thread(self, thread_id: str) -> None:
        """Removes a thread with all it holds; nothing happens if there is none."""
        self._threads.delete(str(thread_id)).wait()

    async def adelete_thread(self, thread_id: str) -> None:
        """`delete_thread`, awaited."""
        await self._threads.delete(str(thread_id))

    def delete_for_runs(self, run_ids: Sequence[str]) -> None:
        """Removes the checkpoints of some runs, with what tasks wrote there, in all threads."""
        run(delete_runs(self._threads, run_ids))

    async def adelete_for_runs(self, run_ids: Sequence[str]) -> None:
        """`delete_for_runs`, awaited."""
        await arun(delete_runs(self._threads, run_ids))

    def copy_thread(self, source_thread_id: str, target_thread_id: str) -> None:
        """Adds all checkpoints of a thread, with their writes, to another one."""
        if str(source_thread_id) != str(target_thread_id):
            self._threads.copy(str(source_thread_id), str(target_thread_id)).wait()

    async def acopy_thread(self, source_thread_id: str, target_thread_id: str) -> None:
        """`copy_thread`, awaited."""
        if str(source_thread_id) != str(target_thread_id):
            await self._threads.copy(str(source_thread_id), str(target_thread_id))

    def prune(self, thread_ids: Sequence[str], *, strategy: str = "keep_latest") -> None:
        """Removes checkpoints that are not needed to continue.

        Args:
            thread_ids: the threads.
            strategy: ``keep_latest`` keeps the last checkpoint of each namespace, and those that
                its delta channels are made from; ``delete`` keeps nothing.

        Raises:
            ValueError: there is no such strategy.
            TypeError: `thread_ids` is one name, and not several.
        """
        run(prune_threads(self._threads, thread_ids, strategy))

    async def aprune(self, thread_ids: Sequence[str], *, strategy: str = "keep_latest") -> None:
        """`prune`, awaited."""
        await arun(prune_threads(self._threads, thread_ids, strategy))

    def get_next_version(self, current: Any, channel: None) -> Any:
        """The version of a channel after another one, in the format of that one."""
        if not isinstance(current, str):
            return super().get_next_version(current, channel)
        number, dot, rest = current.partition(".")
        return f"{int(number) + 1:032}{dot}{rest}"

    def with_allowlist(self, extra_allowlist: Collection[tuple[str, ...]]) -> AntiphonSaver:
        """This saver, which also stores the types that LangGraph found in a graph."""
        if isinstance(self.serde, Serializer):
            self._registry.adopt_named(extra_allowlist)
            return self
        key = frozenset(extra_allowlist)
        if key not in self._clones:
            # What a clone has read of threads is worth keeping.
            clone: Any = super().with_allowlist(extra_allowlist)
            if clone is not self:
                clone._threads = clone._open_threads(is_foreign=True)  # noqa: SLF001 - its own
            self._clones[key] = clone
        return self._clones[key]

    def _open_threads(self, is_foreign: bool) -> LangGraphThreads:  # noqa: FBT001
        return LangGraphThreads(self._saver, self._registry, self.serde if is_foreign else None)

    def _put(
        self,
        config: RunnableConfig,
        checkpoint: Checkpoint,
        metadata: CheckpointMetadata,
        new_versions: ChannelVersions,
    ) -> tuple[RunnableConfig, PendingResult]:
        parent, name = CheckpointRef.of(config), checkpoint["id"]
        rest: dict[str, Any] = {**checkpoint}
        values = rest.pop("channel_values")
        del rest["id"]
        stored_metadata: dict[str, Any] = {**get_checkpoint_metadata(config, metadata)}
        run_id, step = stored_metadata.get("run_id"), stored_metadata.get("step")
        pending = self._threads.put(
            parent.thread,
            (parent.namespace, name, parent.id),
            (rest, stored_metadata),
            (values, set(new_versions)),
            (
                run_id if isinstance(run_id, str) else None,
                step if isinstance(step, int) and step > 0 else 0,
            ),
        )
        return parent._replace(id=name).config(), pending

    def _put_writes(
        self,
        config: RunnableConfig,
        writes: Sequence[tuple[str, Any]],
        task: tuple[str, str],
    ) -> PendingResult:
        ref = CheckpointRef.of(config)
        entries = []
        for index, (channel, value) in enumerate(writes):
            as_repr = isinstance(value, BaseException) and isinstance(self.serde, Serializer)
            # LangGraph stores an exception as what it looks like.
            entries.append(
                (WRITES_IDX_MAP.get(channel, index), channel, repr(value) if as_repr else value)
            )
        return self._threads.put_writes(ref.thread, (ref.namespace, ref.id or "", *task), entries)

    def __repr__(self) -> str:
        return f"AntiphonSaver({self._saver.name!r})"


def _open(target: Saver | str | os.PathLike[str]) -> Saver:
    if isinstance(target, Saver):
        return target
    path = os.fspath(target)
    if path in {":memory:", "memory:"}:
        return MemorySaver()
    is_url = "://" in path or path.startswith("sqlite:")
    given = saver_of(path) if is_url else None
    return given or SqliteSaver.open(path)
