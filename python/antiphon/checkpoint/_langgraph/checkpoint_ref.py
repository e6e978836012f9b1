"""The checkpoint that a config of LangGraph names, and what LangGraph gets of it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from langgraph.checkpoint.base import CheckpointTuple

if TYPE_CHECKING:
    from langchain_core.runnables import RunnableConfig

FoundCheckpoint = tuple[str, str | None, tuple[dict[str, Any], Any], dict[str, Any], list[Any]]
"""A checkpoint as the store returns it: id, parent's id, head, values, writes."""


class CheckpointRef(NamedTuple):
    """A thread, a namespace, and perhaps a checkpoint.

    Attributes:
        thread: the thread's id.
        namespace: the namespace; empty for that of the outermost graph.
        id: the checkpoint's id; none for the latest one.
    """

    thread: str
    namespace: str
    id: str | None = None

    @classmethod
    def of(cls, config: RunnableConfig) -> CheckpointRef:
        """The checkpoint that a config names.

        Raises:
            KeyError: it names no thread.
        """
        given = config["configurable"]
        namespace = given.get("checkpoint_ns") or ""
        return cls(str(given["thread_id"]), namespace, given.get("checkpoint_id") or None)

    @property
    def key(self) -> tuple[str, str | None]:
        """What it is called within its thread."""
        return self.namespace, self.id

    def config(self) -> RunnableConfig:
        """A config that names this checkpoint."""
        return {
            "configurable": {
                "thread_id": self.thread,
                "checkpoint_ns": self.namespace,
                "checkpoint_id": self.id,
            }
        }

    def tuple(self, found: FoundCheckpoint) -> CheckpointTuple:
        """What the store has returned for it, in LangGraph's form."""
        name, parent, (rest, metadata), values, writes = found
        checkpoint: Any = {**rest, "id": name, "channel_values": values}
        return CheckpointTuple(
            config=self._replace(id=name).config(),
            checkpoint=checkpoint,
            metadata=metadata,
            parent_config=None if parent is None else self._replace(id=parent).config(),
            pending_writes=writes,
        )
