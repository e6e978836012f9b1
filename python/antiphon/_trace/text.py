"""A trace as an indented tree of text."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from antiphon._text import drop_controls
from antiphon._trace.calls import AgentTrace, ModelTrace, ToolTrace

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from antiphon._trace.calls import Call


def to_text(head: str, agents: Sequence[AgentTrace], longest: int) -> str:
    """The tree below a heading, with at most `longest` characters of each text."""
    lines = [head]
    for agent in agents:
        lines += _indented(_agent(agent, longest))
    return drop_controls("\n".join(lines))


def duration(seconds: float | None) -> str:
    """Seconds as text."""
    if seconds is None:
        return "not ended"
    return f"{seconds * 1000:.0f} ms" if seconds < 1 else f"{seconds:.1f} s"


def tokens(usage: dict[str, int]) -> str:
    """Token counts as text; empty without any."""
    read, written = usage.get("input_tokens", 0), usage.get("output_tokens", 0)
    return f", {read} + {written} tokens" if read or written else ""


def value_text(value: Any) -> str:
    """A value as text."""
    if isinstance(value, str):
        return value
    if isinstance(value, list) and value and all(map(_is_part, value)):
        return content_text(value)
    return json.dumps(value, ensure_ascii=False)


def content_text(parts: list[dict[str, Any]]) -> str:
    """Content parts as text, a line each; of images and files, their kind and size."""
    return "\n".join(map(_part_text, parts))


def _is_part(value: Any) -> bool:
    if not isinstance(value, dict):
        return False
    fields: set[str] = _PART_FIELDS.get(str(value.get("type")), set())
    return not fields.isdisjoint(value)


_PART_FIELDS = {
    "text": {"text"},
    "data": {"value"},
    "image": {"bytes", "url"},
    "file": {"bytes", "url", "text"},
}
"""By type of a part: the fields of which it has one."""


def _part_text(part: dict[str, Any]) -> str:
    if part["type"] == "text":
        return str(part["text"])
    if part["type"] == "data":
        return value_text(part["value"])
    size = f"{part['bytes']:,} bytes" if "bytes" in part else None
    about = (part.get("filename"), part.get("mime_type"), part.get("url"), size)
    said = ", ".join(str(one) for one in about if one is not None)
    text = f"\n{part['text']}" if "text" in part else ""
    return f"[{part['type']}: {said}]{text}"


def arguments_text(call: ToolTrace) -> str:
    """The arguments of a call as text."""
    if isinstance(call.arguments, dict) and not call.step:
        return ", ".join(
            f"{key}={json.dumps(value, ensure_ascii=False)}"
            for key, value in call.arguments.items()
        )
    return "" if call.arguments is None else value_text(call.arguments)


def spoken(message: dict[str, Any]) -> tuple[str, str]:
    """Who says a message, and what it says, its tool calls included."""
    role, name = str(message.get("role", "")), message.get("name")
    who = f"{role} {name}" if name else role
    calls = [
        f"{call['name']}({call['arguments']})"
        for call in message.get("tool_calls", ())
        if "name" in call
    ]
    said = value_text(message.get("content") or "")
    return who, "\n".join([*([said] if said else []), *(f"calls {call}" for call in calls)])


def _agent(agent: AgentTrace, longest: int) -> Iterator[str]:
    attempt = f", attempt {agent.attempt}" if agent.attempt > 1 else ""
    yield f"{agent.name} ({duration(agent.seconds)}{attempt})"
    for call in agent.calls:
        yield from _indented(_call(call, longest))
    if agent.reply is not None:
        yield from _indented(_labelled("returned", value_text(agent.reply), longest))
    if agent.error is not None:
        yield from _indented(_labelled("failed", agent.error, longest))


def _call(call: Call, longest: int) -> Iterator[str]:
    if isinstance(call, ModelTrace):
        return _model(call, longest)
    return _agent(call, longest) if isinstance(call, AgentTrace) else _tool(call, longest)


def _model(call: ModelTrace, longest: int) -> Iterator[str]:
    again = ", recorded before" if call.replayed else ""
    yield f"model {call.model} ({duration(call.seconds)}{tokens(call.usage)}{again})"
    yield from _indented(_request(call, longest))
    if call.text:
        yield from _indented(_labelled("reply", call.text, longest))
    for asked in call.tool_calls:
        yield from _indented(_labelled("calls", f"{asked['name']}({asked['arguments']})", longest))
    for tool in call.tools_called:
        yield from _indented(_tool(tool, longest))


def _request(call: ModelTrace, longest: int) -> Iterator[str]:
    if call.earlier:
        yield f"… {call.earlier} messages as before"
    for message in call.messages:
        yield from _labelled(*spoken(message), longest)
    if call.tools:
        yield f"tools: {', '.join(call.tools)}"
    for name, value in call.parameters.items():
        yield f"{name}: {value_text(value)}"
    if call.schema is not None:
        yield from _labelled("schema", value_text(call.schema), longest)


def _tool(call: ToolTrace, longest: int) -> Iterator[str]:
    kind = "step" if call.step else "tool"
    again = ", recorded before" if call.replayed else ""
    head = f"{kind} {call.name}({_short(arguments_text(call), longest)})"
    yield f"{head} ({duration(call.seconds)}{again})"
    if call.ok is False:
        yield from _indented(_labelled("failed", call.error or value_text(call.result), longest))
    elif call.ok:
        yield from _indented(_labelled("returned", value_text(call.result), longest))


def _labelled(label: str, text: str, longest: int) -> Iterator[str]:
    """A text after its label; further lines are indented."""
    first, *rest = _short(text, longest).splitlines() or [""]
    yield f"{label}: {first}"
    yield from _indented(iter(rest))


def _indented(lines: Iterator[str]) -> Iterator[str]:
    return (f"  {line}" for line in lines)


def _short(text: str, longest: int) -> str:
    if len(text) <= longest:
        return text
    return f"{text[:longest]} … ({len(text)} characters)"
