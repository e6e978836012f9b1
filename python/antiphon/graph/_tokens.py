"""The stream mode ``messages``."""

from __future__ import annotations

import sys
import uuid
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

TaskPosition = tuple[tuple[str, ...], str, int, int | None, tuple[str, ...]]
"""Where a task stands: namespace, id, superstep, number among the sends, triggers."""


class Tokens:
    """The messages that a stream has shown, so that each shows once.

    Tokens of LangChain's chat models come from a callback handler; messages that nodes return come
    from the ends of tasks.
    """

    __slots__ = ("_notes", "_seen", "_subgraphs", "_triggers")

    def __init__(self, *, subgraphs: bool) -> None:
        self._subgraphs = subgraphs
        self._seen: set[Any] = set()
        self._notes: Mapping[str, Any] = {}
        self._triggers: dict[str, tuple[str, ...]] = {}

    def begin(self, metadata: Mapping[str, Any]) -> None:
        """Sets the metadata of the run's config for all messages."""
        self._notes = metadata

    def shows(self, path: tuple[str, ...]) -> bool:
        """Whether the stream shows the tokens of the node at `path`.

        Those within a nested graph that it does not show are not shown yet: the message comes with
        the end of the graph.
        """
        return self._subgraphs or len(path) == 1

    def of_task(
        self, space: tuple[str, ...], task_event: Any
    ) -> Iterator[tuple[Any, dict[str, Any]]]:
        """The new messages of a task that has ended, with metadata."""
        step, send, news = task_event
        task = news["id"]
        if "input" in news:
            self._triggers[task] = news["triggers"]
            self._seen.update(filter(None, map(_id, _found(news["input"]))))
            return
        position = (space, task, step, send, self._triggers.pop(task, ()))
        for message in _found(news["result"]):
            if self.is_new(message):
                yield message, {**self._notes, **where(news["name"], position)}

    def is_new(self, message: Any) -> bool:
        """Whether a message has not been shown yet; from now on it has.

        One that has no id gets one, so that the state holds what was shown.
        """
        key = _id(message)
        if key in self._seen:
            return False
        if key is None:
            key = str(uuid.uuid4())
            _name(message, key)
        self._seen.add(key)
        return True


def where(node: str, position: TaskPosition) -> dict[str, Any]:
    """The metadata of a task, with LangGraph's keys."""
    space, task, step, send, triggers = position
    path = ("__pregel_pull", node) if send is None else ("__pregel_push", send, False)
    return {
        "langgraph_step": step,
        "langgraph_node": node,
        "langgraph_triggers": triggers,
        "langgraph_path": path,
        "langgraph_checkpoint_ns": "|".join((*space, f"{node}:{task}")),
    }


def _found(value: Any) -> Iterator[Any]:
    """The messages in a node's input or result: one, a list, or the values of a state."""
    if _is_message(value):
        yield value
    elif isinstance(value, list | tuple):
        yield from (item for item in value if _is_message(item))
    else:
        for held in _values(value):
            if _is_message(held):
                yield held
            elif isinstance(held, list | tuple):
                yield from (item for item in held if _is_message(item))


def _values(value: Any) -> list[Any]:
    if isinstance(value, dict):
        return list(value.values())
    names: Iterable[str] = getattr(value, "__dataclass_fields__", None) or ()
    names = names or getattr(type(value), "model_fields", ())
    return [getattr(value, name) for name in names if hasattr(value, name)]


def _is_message(value: Any) -> bool:
    """Whether a value is a message: of LangChain if it is imported, else a dict."""
    core = sys.modules.get("langchain_core.messages")
    if core is not None:
        return isinstance(value, core.BaseMessage)
    return isinstance(value, dict) and "role" in value and "content" in value


def _id(message: Any) -> Any:
    return message.get("id") if isinstance(message, dict) else message.id


def _name(message: Any, key: str) -> None:
    if isinstance(message, dict):
        message["id"] = key
    else:
        message.id = key
