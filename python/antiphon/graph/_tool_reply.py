"""What a tool returned, as messages and commands that answer the call of a model."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from langchain_core.messages import ToolMessage

from antiphon._antiphon import Command, Overwrite
from antiphon._messages import REMOVE_ALL_MESSAGES
from antiphon.graph._tool_commands import CommandOutput

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    _Reply = ToolMessage | Command[Any]

_BLOCKS = frozenset({"text", "image_url", "image", "json", "search_result", "document", "file"})


def failed(call: Mapping[str, Any], content: str) -> list[_Reply]:
    """The reply that tells a model what is wrong."""
    return [ToolMessage(content, name=call["name"], tool_call_id=call["id"], status="error")]


def replies_of(call: Mapping[str, Any], value: Any, key: str | None) -> list[_Reply]:
    """The result of a tool as messages and commands.

    Args:
        call: what the model asked for.
        value: what the tool returned.
        key: the key of the state with the messages; ``None`` if the state is their list.

    Raises:
        ValueError: a command for this graph, or a list, does not answer the call.
    """
    value = value.value if isinstance(value, CommandOutput) else value
    if isinstance(value, list) and any(isinstance(one, Command | ToolMessage) for one in value):
        replies = [_reply(call, one) for one in value]
        count = sum(_answers(call, reply, key) for reply in replies)
        if count != 1:
            message = f"the list that the tool `{call['name']}` returned needs one ToolMessage for"
            raise ValueError(f"{message} the call `{call['id']}`, found: {count}")
        return replies
    reply = _reply(call, value)
    if isinstance(reply, Command) and not _is_enough(call, reply, key):
        message = f"the command that the tool `{call['name']}` returned has no answer for the model"
        known = f'ToolMessage("done", tool_call_id={call["id"]!r})'
        update = f"[{known}]" if key is None else f'{{"{key}": [{known}]}}'
        raise ValueError(f"{message}: return Command(update={update}), found: {reply.update!r}")
    return [reply]


def _reply(call: Mapping[str, Any], value: Any) -> _Reply:
    if isinstance(value, ToolMessage):
        value.content = _content(value.content)
        return value
    if isinstance(value, Command):
        return value
    return ToolMessage(_content(value), name=call["name"], tool_call_id=call["id"])


def _content(value: Any) -> Any:
    """A value as content of a message: texts and blocks stay, other values become JSON."""
    if isinstance(value, str):
        return value
    if isinstance(value, list) and all(
        isinstance(block, dict) and block.get("type") in _BLOCKS for block in value
    ):
        return value
    try:
        return json.dumps(value, ensure_ascii=False)
    except (TypeError, ValueError):
        return str(value)


def _is_enough(call: Mapping[str, Any], command: Command[Any], key: str | None) -> bool:
    """Whether the history is complete after a command that is all that a tool returned."""
    if command.update is None:
        return True
    count = _answers(call, command, key)
    if count or command.graph is not None:
        return True
    written = _written(call, command.update, key)
    return any(getattr(one, "id", None) == REMOVE_ALL_MESSAGES for one in written)


def _answers(call: Mapping[str, Any], reply: _Reply, key: str | None) -> int:
    """How many messages of a reply answer the call; in commands, they get the tool's name."""
    if isinstance(reply, ToolMessage):
        return int(reply.tool_call_id == call["id"])
    found = [one for one in _written(call, reply.update, key) if _answered(one) == call["id"]]
    for one in found:
        if isinstance(one, ToolMessage):
            one.name = call["name"]
    return len(found)


def _answered(message: Any) -> Any:
    """The id of the call that a message answers."""
    if isinstance(message, dict):
        is_tool = "tool" in (message.get("role"), message.get("type"))
        return message.get("tool_call_id") if is_tool else None
    return message.tool_call_id if isinstance(message, ToolMessage) else None


def _written(call: Mapping[str, Any], update: Any, key: str | None) -> Sequence[Any]:
    """The messages in the update of a command.

    Raises:
        ValueError: the update does not fit the state.
    """
    if update is None:
        return ()
    is_list = isinstance(update, list | tuple)
    pairs = is_list and all(isinstance(one, tuple) for one in update)
    if key is None and isinstance(update, dict):
        message = "the state is a list of messages, which a command updates with a list"
        raise ValueError(f"{message}, but the tool `{call['name']}` wrote: {update!r}")
    if key is not None and is_list and not pairs:
        message = f"the state has keys, and a command updates its messages with {{{key!r}: [...]}}"
        raise ValueError(f"{message}, but the tool `{call['name']}` wrote: {update!r}")
    if key is None:
        written: Any = update
    elif pairs:
        written = [one for name, value in update if name == key for one in _listed(value)]
    else:
        written = update.get(key) if isinstance(update, dict) else getattr(update, key, None)
    return _listed(written)


def _listed(value: Any) -> Sequence[Any]:
    value = value.value if isinstance(value, Overwrite) else value
    if value is None:
        return ()
    return value if isinstance(value, list | tuple) else [value]
