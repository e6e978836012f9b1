"""Messages as a team keeps them, and as models get them."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

from antiphon._content import is_content, read_parts, text_of
from antiphon._json_values import encode_result
from antiphon._orchestrator.team_prompts import DATA_WARNING, GO_ON
from antiphon._state_schema import fields_of_state
from antiphon.errors import StateError, ToolError

if TYPE_CHECKING:
    from antiphon._orchestrator.agent_spec import Spec
    from antiphon._orchestrator.team_prompts import TeamPrompts


_ROLES = {"human": "user", "ai": "assistant", "developer": "system"}
_KNOWN = ("system", "user", "assistant", "tool")
_PAIR = 2


def said(role: str, content: Any, name: str | None = None) -> dict[str, Any]:
    """A message as the state keeps it."""
    message = {"role": role, "content": content}
    return message if name is None else {**message, "name": name}


def listed(value: Any, name: str | None = None) -> list[Any]:
    """A write to ``messages`` as a list: texts, dicts, pairs of role and text, LangChain messages.

    A bare text is a message of the agent `name`, else of the user.

    Raises:
        StateError: there is something else in it (``message_invalid``).
    """
    return [_one(item, name) for item in (value if isinstance(value, list) else [value])]


def conversation(messages: list[Any], own: str) -> list[dict[str, Any]]:
    """Messages as the agent called `own` sends them to its model.

    Its own stay the assistant's, with its tool calls and their results. What other agents said
    becomes the user's, with their name in front and without their tool calls. A call without a
    result and a result without a call, as in a list that was cut, are left out: servers refuse
    them.

    Raises:
        StateError: a role or content cannot be sent to a model (``message_invalid``).
    """
    waiting = [_wire(message) for message in messages]
    waiting.reverse()
    sent: list[dict[str, Any]] = []
    while waiting:
        message = waiting.pop()
        speaker = message.pop("name", None)
        calls = message.pop("tool_calls", [])
        results: dict[str, dict[str, Any]] = {}
        while waiting and waiting[-1]["role"] == "tool":
            result = waiting.pop()
            results[result.get("tool_call_id", "")] = result
        if message["role"] == "tool":
            continue
        calls = [call for call in calls if call["id"] in results]
        if message["role"] == "assistant" and speaker and speaker != own:
            if message["content"] or not calls:
                sent.append(said("user", f"{speaker}: {text_of(message['content'])}"))
        elif calls:
            sent += [{**message, "tool_calls": calls}, *(results[call["id"]] for call in calls)]
        else:
            sent.append(message)
    return sent


_MOST = 100_000
"""Characters of tool results that one turn of an agent adds to the conversation."""


def tool_messages(messages: list[dict[str, Any]], agent: str) -> list[dict[str, Any]]:
    """The tool calls of an agent's turn and their results, as the state keeps them.

    They have the shape of OpenAI's chat API, which LangChain reads too.
    """
    answered = {message.get("tool_call_id") for message in messages}
    kept: list[dict[str, Any]] = []
    left = _MOST
    for message in messages:
        calls = [call for call in message.get("tool_calls", ()) if call["id"] in answered]
        if calls:
            stored = [_stored_call(call) for call in calls]
            kept.append({**said("assistant", message["content"], agent), "tool_calls": stored})
        elif message["role"] == "tool":
            content, size = _cut_content(message["content"], left)
            left -= size
            kept.append({**message, "content": content})
    return kept


def _cut_content(content: Any, limit: int) -> tuple[Any, int]:
    """What a result says, its texts and data cut, and their length; images and files are whole."""
    if isinstance(content, str):
        text = _cut(content, limit)
        return text, len(text)
    parts, size = [], 0
    for part in content:
        if part["type"] not in {"text", "data"}:
            parts.append(part)
            continue
        is_text = part["type"] == "text"
        text = part["text"] if is_text else json.dumps(part["value"], ensure_ascii=False)
        cut = _cut(text, limit - size)
        size += len(cut)
        parts.append(part if cut == text else {"type": "text", "text": cut})
    return parts, size


def _cut(text: str, limit: int) -> str:
    if len(text) <= max(limit, 0):
        return text
    return f"{text[: max(limit, 0)]}\n[truncated: {max(limit, 0)} of {len(text)} characters]"


def _stored_call(call: dict[str, Any]) -> dict[str, Any]:
    arguments = call["arguments"]
    try:
        json.loads(arguments)
    except ValueError:  # servers and LangChain refuse a conversation with malformed arguments
        arguments = json.dumps({"malformed": arguments}, ensure_ascii=False)
    function = {"name": call["name"], "arguments": arguments}
    return {"id": call["id"], "type": "function", "function": function}


def _wire(message: Any) -> dict[str, Any]:
    """A message in the shape of the engine."""
    fields = message if isinstance(message, dict) else _fields(message)
    sent: dict[str, Any] = {"role": _role(fields), "content": read_parts(fields.get("content"))}
    if fields.get("name"):
        sent["name"] = str(fields["name"])
    if fields.get("tool_calls"):
        sent["tool_calls"] = [_sent_call(call) for call in fields["tool_calls"]]
    if fields.get("tool_call_id"):
        sent["tool_call_id"] = str(fields["tool_call_id"])
    return sent


def _sent_call(call: Any) -> dict[str, Any]:
    """A tool call in the shape of the engine, from that of OpenAI or LangChain."""
    function = call.get("function") or call
    arguments = function.get("arguments", function.get("args")) or {}
    if not isinstance(arguments, str):
        arguments = json.dumps(arguments, ensure_ascii=False)
    name = str(function.get("name") or "")
    return {"id": str(call.get("id") or ""), "name": name, "arguments": arguments}


def _one(item: Any, name: str | None) -> Any:
    if isinstance(item, str):
        return said("user", item) if name is None else said("assistant", item, name)
    if isinstance(item, tuple) and len(item) == _PAIR:
        item = said(*item)
    if isinstance(item, dict):
        _role(item)
        content = item.get("content")
        return {**item, "content": read_parts(content)} if is_content(content) else item
    if _is_langchain(item):
        return item
    raise StateError(
        "a message must be a string, a dict, a pair of role and text, or a LangChain message, "
        f"found: {type(item).__name__}",
        code="message_invalid",
        hint='write it as `{"role": "assistant", "content": "..."}`',
    )


def _role(fields: dict[str, Any]) -> str:
    given = fields.get("role", fields.get("type"))
    role = _ROLES.get(str(given), given)
    if role not in _KNOWN:
        raise StateError(
            f"the role of a message must be one of {', '.join(_KNOWN)}: {given}",
            code="message_invalid",
        )
    return str(role)


def is_message(item: Any) -> bool:
    """Whether it is a message as a whole, and not a part of one."""
    if isinstance(item, dict):
        return {"role", "content"} <= item.keys()
    if isinstance(item, tuple):
        return [type(half) for half in item] == [str, str]
    return _is_langchain(item)


def _is_langchain(item: Any) -> bool:
    return isinstance(getattr(item, "type", None), str) and hasattr(item, "content")


def _fields(message: Any) -> dict[str, Any]:
    """A LangChain message in the shape of the OpenAI chat wire."""
    from antiphon._model.adapters import arguments_text

    calls = [
        {"id": call.get("id") or "", "name": call["name"], "arguments": arguments_text(call)}
        for call in getattr(message, "tool_calls", None) or ()
    ]
    return {
        "role": message.type,
        "content": message.content,
        "name": getattr(message, "name", None),
        "tool_calls": calls,
        "tool_call_id": getattr(message, "tool_call_id", None),
    }


def opening(
    spec: Spec, state: Any, data: dict[str, Any], instructions: str, *, prompts: TeamPrompts
) -> list[dict[str, Any]]:
    """The messages that start an agent's conversation.

    An agent that was sent a value gets it instead of the state: a text is the question, the
    entries of a dict are data.

    Raises:
        StateError: there is nothing to answer (``conversation_empty``), or an entry cannot
            be shown (``state_key_unreadable``).
    """
    values = fields_of_state(state)
    read = {key: values[key] for key in spec.reads if values.get(key) is not None}
    blocks = [_block(key, value) for key, value in {**read, **data}.items()]
    orders = [instructions, prompts.fill(DATA_WARNING) if blocks else ""]
    system = "\n\n".join(part for part in orders if part)
    messages = [said("system", system)] if system else []
    messages += conversation(_talk(values), spec.name)
    if blocks:
        messages.append(said("user", "\n\n".join(blocks)))
    if not messages or messages[-1]["role"] == "system":
        raise StateError(
            f"no question, message or readable key for the agent: {spec.name}",
            code="conversation_empty",
            hint="set `question` or `messages` in the state, or `reads` on the agent",
        )
    if messages[-1]["role"] == "assistant":
        # Servers want the last word to be the user's.
        messages.append(said("user", prompts.fill(GO_ON)))
    shown: list[dict[str, Any]] = encode_result(messages)
    return shown


def sent(arg: Any, reads: tuple[str, ...]) -> tuple[Any, dict[str, Any]]:
    """What a declarative agent was sent, as its state and as data to show."""
    if isinstance(arg, dict):
        talk = {key: arg[key] for key in ("question", "messages") if key in arg}
        rest = {key: value for key, value in arg.items() if key not in talk and key not in reads}
        return arg, rest
    if isinstance(arg, str):
        return {"question": arg}, {}
    return {}, {"input": arg}


def _talk(values: dict[str, Any]) -> list[Any]:
    messages = values.get("messages")
    if messages:
        return listed(messages)
    question = values.get("question")
    return [said("user", str(question))] if question else []


def _block(key: str, value: Any) -> str:
    try:
        plain = encode_result(value)
    except ToolError as error:
        raise StateError(
            f"the key `{key}` of the state cannot be shown to a model: {type(value).__name__}",
            code="state_key_unreadable",
            details={"key": key},
            hint=error.hint,
        ) from error
    text = plain if isinstance(plain, str) else json.dumps(plain, ensure_ascii=False)
    # Nothing in the value may pass for the end of the block.
    text = re.sub("</(?=data)", r"<\\/", text, flags=re.IGNORECASE)
    return f'<data key="{key}">\n{text}\n</data>'
