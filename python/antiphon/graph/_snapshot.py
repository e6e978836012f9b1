"""Snapshots of threads, with LangGraph's names."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, NamedTuple

from antiphon._antiphon import select
from antiphon.graph._runtime import Interrupt

if TYPE_CHECKING:
    from antiphon.graph._runtime import RunnableConfig

METADATA = ("source", "step", "run_id")
"""The metadata of a checkpoint."""


class PregelTask(NamedTuple):
    """A task of the superstep after a checkpoint.

    Attributes:
        id: names it, the same whenever the same run comes to the same place.
        name: its node.
        path: its node, as a tuple.
        error: its failure, as text; None without one.
        interrupts: its questions; at a past checkpoint, its last ones.
        state: always None.
        result: its writes, if it ended before its superstep did.
    """

    id: str
    name: str
    path: tuple[str | int, ...]
    error: str | None = None
    interrupts: tuple[Interrupt, ...] = ()
    state: None = None
    result: Any = None


class StateSnapshot(NamedTuple):
    """A thread at a checkpoint.

    Attributes:
        values: the state.
        next: the nodes that run next.
        config: the config of the thread and checkpoint.
        metadata: ``source``: ``input``, ``loop`` or ``update``; ``step``; ``run_id``. None for a
            thread that holds nothing.
        created_at: when it was written, in ISO 8601.
        parent_config: the checkpoint before it.
        tasks: the tasks of the next superstep.
        interrupts: what they ask.
    """

    values: Any
    next: tuple[str, ...]
    config: RunnableConfig
    metadata: dict[str, Any] | None
    created_at: str | None
    parent_config: RunnableConfig | None
    tasks: tuple[PregelTask, ...]
    interrupts: tuple[Interrupt, ...]


def snapshot(thread: str, shown: dict[str, Any]) -> StateSnapshot:
    """A checkpoint as the engine shows it, as a snapshot."""
    tasks = tuple(_task(task) for task in shown["tasks"])
    parent = shown["parent"]
    return StateSnapshot(
        values=select(shown["values"], None),
        next=shown["next"],
        config=config_at(thread, shown["checkpoint"]),
        metadata={key: shown[key] for key in METADATA},
        created_at=datetime.fromtimestamp(shown["at"], UTC).isoformat(),
        parent_config=None if parent is None else config_at(thread, parent),
        tasks=tasks,
        interrupts=tuple(question for task in tasks for question in task.interrupts),
    )


def empty(thread: str) -> StateSnapshot:
    """An empty thread."""
    return StateSnapshot({}, (), config_at(thread, None), None, None, None, (), ())


def config_at(thread: str, checkpoint: int | None) -> RunnableConfig:
    """The config that leads to a checkpoint. Ids sort in the order they were written."""
    place: dict[str, Any] = {"thread_id": thread, "checkpoint_ns": ""}
    if checkpoint is not None:
        place["checkpoint_id"] = f"{checkpoint:016d}"
    return {"configurable": place}


def _task(task: dict[str, Any]) -> PregelTask:
    return PregelTask(
        id=task["id"],
        name=task["name"],
        path=(task["name"],),
        error=task["error"],
        interrupts=tuple(Interrupt(value, key) for key, _, value in task["interrupts"]),
        result=task["result"],
    )
