"""Lists of messages: `add_messages` and the state that uses it.

A message is a dict with ``role``, ``content`` and ``id``. Once ``langchain_core.messages`` has been
imported by anyone, messages are its objects instead, as they are in LangGraph.
"""

from __future__ import annotations

import functools
import sys
import uuid
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypedDict, overload

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

REMOVE_ALL_MESSAGES = "__remove_all__"
"""The id by which a `RemoveMessage` discards everything before it."""

_Format = Literal["langchain-openai"]
"""How `add_messages` lays messages out."""

_ROLES = {"human": "user", "ai": "assistant"}


@dataclass(frozen=True, slots=True)
class RemoveMessage:
    """Removes a message by its id.

    Attributes:
        id: the message's id, or `REMOVE_ALL_MESSAGES`.
    """

    id: str
    type: Literal["remove"] = "remove"


@overload
def add_messages(left: Any, right: Any, *, format: _Format | None = None) -> list[Any]: ...


@overload
def add_messages(*, format: _Format | None = None) -> Callable[[Any, Any], list[Any]]: ...


def add_messages(
    left: Any = None,
    right: Any = None,
    *,
    format: _Format | None = None,  # noqa: A002 - LangGraph's name
) -> list[Any] | Callable[[Any, Any], list[Any]]:
    """Merges messages into a list: a known id replaces, a new one is appended.

    Args:
        left: what is there, a list or one message.
        right: what is added, a list or one message. A message is a dict, a text (the
            user's), a pair of role and text, or a LangChain message. One without an id
            gets one. A `RemoveMessage` deletes; adding the id again in the same list
            keeps it.
        format: ``langchain-openai`` gives messages whose content is laid out as OpenAI has
            it, by LangChain. Default: as they are.

    Returns:
        A new list; without lists to merge the reducer that does so.

    Raises:
        ValueError: a message that is to be removed is not there; only one list is given; or
            the format is unknown.
        ImportError: there is a format, and LangChain is not installed.

    Example:
        >>> old = [{"role": "user", "content": "hi", "id": "1"}]
        >>> len(add_messages(old, [{"role": "user", "content": "hello", "id": "1"}]))
        1
        >>> len(add_messages(old, ("assistant", "hello")))
        2
    """
    if format not in (None, "langchain-openai"):
        raise ValueError(f"the only format of messages is `langchain-openai`, found: {format}")
    if left is None and right is None:
        return functools.partial(add_messages, format=format)
    if left is None or right is None:
        given = "right" if left is None else "left"
        raise ValueError(f"two lists of messages are merged, found only: {given}")
    merged = _merge_messages(left, right)
    return merged if format is None else _format(merged)


class MessagesState(TypedDict):
    """A state of messages; inherit from it to add keys."""

    messages: Annotated[list[Any], add_messages]


def _merge_messages(left: Any, right: Any) -> list[Any]:
    old, new = _coerce(left), _coerce(right)
    for position in range(len(new) - 1, -1, -1):
        if _is_removal(new[position]) and _id(new[position]) == REMOVE_ALL_MESSAGES:
            return new[position + 1 :]
    return _merge(old, new)


def _format(messages: list[Any]) -> list[Any]:
    """Messages with their ids, in OpenAI's layout."""
    from langchain_core.messages import convert_to_messages, convert_to_openai_messages

    made = convert_to_messages(convert_to_openai_messages(messages, include_id=True))
    return _coerce(list(made))


def _merge(old: list[Any], new: list[Any]) -> list[Any]:
    merged = old.copy()
    places = {_id(message): place for place, message in enumerate(merged)}
    removed: set[str] = set()
    for message in new:
        key = _id(message)
        place = places.get(key)
        if _is_removal(message):
            if place is None:
                raise ValueError(f"there is no message to remove with the id: {key}")
            removed.add(key)
        elif place is None:
            places[key] = len(merged)
            merged.append(message)
        else:
            removed.discard(key)
            merged[place] = message
    return [message for message in merged if _id(message) not in removed] if removed else merged


def _coerce(messages: Any) -> list[Any]:
    given: Iterable[Any] = messages if isinstance(messages, list) else [messages]
    langchain = sys.modules.get("langchain_core.messages")
    if langchain is not None:
        return [_as_object(message, langchain) for message in given]
    return [_as_dict(message) for message in given]


def _as_object(message: Any, langchain: Any) -> Any:
    """A message as LangChain has it; chunks become whole, and all have an id."""
    if isinstance(message, RemoveMessage):
        return langchain.RemoveMessage(id=message.id)
    if not isinstance(message, langchain.BaseMessage):
        (message,) = langchain.convert_to_messages([message])
    if isinstance(message, langchain.BaseMessageChunk):
        message = langchain.message_chunk_to_message(message)
    if message.id is None:
        message.id = str(uuid.uuid4())
    return message


def _as_dict(message: Any) -> Any:
    """A message as a dict with an id; removals stay as they are."""
    if isinstance(message, RemoveMessage):
        return message
    if isinstance(message, str):
        message = {"role": "user", "content": message}
    elif isinstance(message, tuple) and len(message) == 2:  # noqa: PLR2004 - a pair
        message = {"role": _ROLES.get(message[0], message[0]), "content": message[1]}
    if not isinstance(message, dict):
        raise TypeError(
            f"a message is a dict, a text, or a role and a text, found: {type(message).__name__}"
        )
    return message if message.get("id") is not None else {**message, "id": str(uuid.uuid4())}


def _id(message: Any) -> Any:
    return message["id"] if isinstance(message, dict) else message.id


def _is_removal(message: Any) -> bool:
    if isinstance(message, dict):
        return "remove" in (message.get("role"), message.get("type"))
    return getattr(message, "type", None) == "remove"
