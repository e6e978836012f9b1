"""Where a checkpoint is: what LangGraph's configs say, and back."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from langgraph.checkpoint.base import CheckpointTuple

if TYPE_CHECKING:
    from langchain_core.runnables import RunnableConfig

Found = tuple[str, str | None, tuple[dict[str, Any], Any], dict[str, Any], list[Any]]
"""A checkpoint as the store returns it: id, parent's id, head, values, writes."""


class Place(NamedTuple):
    """A thread, a namespace, and perhaps a checkpoint.

    Attributes:
        thread: the thread's id.
        space: the namespace; empty for that of the outermost graph.
        id: the checkpoint's id, if one is named.
    """

    thread: str
    space: str
    id: str | None = None

    @classmethod
    def of(cls, config: RunnableConfig) -> Place:
        """The place that a config names.

        Raises:
            KeyError: it names no thread.
        """
        given = config["configurable"]
        space = given.get("checkpoint_ns") or ""
        return cls(str(given["thread_id"]), space, given.get("checkpoint_id") or None)

    def config(self) -> RunnableConfig:
        """A config that names this place."""
        return {
            "configurable": {
                "thread_id": self.thread,
                "checkpoint_ns": self.space,
                "checkpoint_id": self.id,
            }
        }

    def tuple(self, found: Found) -> CheckpointTuple:
        """What was found here, as LangGraph knows it."""
        name, parent, (rest, metadata), values, writes = found
        checkpoint: Any = {**rest, "id": name, "channel_values": values}
        return CheckpointTuple(
            config=self._replace(id=name).config(),
            checkpoint=checkpoint,
            metadata=metadata,
            parent_config=None if parent is None else self._replace(id=parent).config(),
            pending_writes=writes,
        )
