"""Messages as a team keeps them, and as models get them."""

from __future__ import annotations

from typing import Any

from antiphon.errors import StateError

_ROLES = {"human": "user", "ai": "assistant", "developer": "system"}
_KNOWN = ("system", "user", "assistant", "tool")
_PAIR = 2


def said(role: str, content: str, name: str | None = None) -> dict[str, Any]:
    """A message as the state keeps it."""
    message = {"role": role, "content": content}
    return message if name is None else {**message, "name": name}


def listed(value: Any, name: str | None = None) -> list[Any]:
    """What is written to ``messages``, as a list.

    Args:
        value: a text, a message as a dict, a pair of role and text, a LangChain message, or
            a list of those.
        name: the agent that writes a bare text; none for the person.

    Raises:
        StateError: there is something else in it (``message_invalid``).
    """
    return [_one(item, name) for item in (value if isinstance(value, list) else [value])]


def wire(message: Any, own: str) -> dict[str, Any]:
    """A message as the agent called `own` sees it.

    Its own stay the assistant's; what other agents said becomes the user's, with their name
    in front.

    Raises:
        StateError: its role or content cannot be sent to a model (``message_invalid``).
    """
    fields = message if isinstance(message, dict) else _fields(message)
    role = _role(fields)
    sent: dict[str, Any] = {"role": role, "content": _text(fields.get("content"))}
    speaker = fields.get("name")
    if role == "assistant" and speaker and speaker != own:
        return {"role": "user", "content": f"{speaker}: {sent['content']}"}
    for key in ("tool_calls", "tool_call_id"):
        if fields.get(key):
            sent[key] = fields[key]
    return sent


def _one(item: Any, name: str | None) -> Any:
    if isinstance(item, str):
        return said("user", item) if name is None else said("assistant", item, name)
    if isinstance(item, tuple) and len(item) == _PAIR:
        item = said(*item)
    if isinstance(item, dict):
        _role(item)
        return item
    if _is_langchain(item):
        return item
    raise StateError(
        f"a message is a text, a dict, a pair of role and text, or a LangChain message, "
        f"found: {type(item).__name__}",
        code="message_invalid",
        hint='write it as `{"role": "assistant", "content": "..."}`',
    )


def _role(fields: dict[str, Any]) -> str:
    given = fields.get("role", fields.get("type"))
    role = _ROLES.get(str(given), given)
    if role not in _KNOWN:
        raise StateError(
            f"a message has a role that is none of {', '.join(_KNOWN)}: {given}",
            code="message_invalid",
        )
    return str(role)


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


def _text(content: Any) -> str:
    if content is None or isinstance(content, str):
        return content or ""
    if isinstance(content, list):
        parts = [part if isinstance(part, str) else _part(part) for part in content]
        return "".join(parts)
    raise StateError(
        f"a message's content has to be text: {type(content).__name__}", code="message_invalid"
    )


def _part(part: Any) -> str:
    if isinstance(part, dict) and part.get("type") == "text":
        return str(part["text"])
    kind = part.get("type") if isinstance(part, dict) else type(part).__name__
    raise StateError(
        f"a part of a message's content has to be text: {kind}", code="message_invalid"
    )
