"""An event as one readable line."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from antiphon._text import counted, drop_controls

if TYPE_CHECKING:
    from collections.abc import Callable

    from antiphon._antiphon import Event

_LONGEST = 160
"""Characters of what an event says."""


def event_line(event: Event) -> str:
    """The number, the place, the kind, and what the event says."""
    where = "/".join(event.path) or "run"
    try:
        text = _SAID.get(event.kind, _fields)(event)
    except (AttributeError, KeyError, TypeError):  # an event that a caller made, of other data
        text = _fields(event)
    said = one_line(text, _LONGEST)
    return f"{event.seq:>3} {one_line(where, _LONGEST)} {event.kind} {said}".rstrip()


def one_line(text: str, longest: int) -> str:
    """A text on one line, cut, and safe for a terminal."""
    # Cut before the work too: what a tool returned may be long.
    flat = " ".join(drop_controls(text[: longest * 4]).split())
    return flat if len(flat) <= longest else f"{flat[: longest - 1]}…"


def _value(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=repr)


def _fields(event: Event) -> str:
    return " ".join(f"{key}={_value(value)}" for key, value in event.data.items())


def _custom(event: Event) -> str:
    return f"{event.name}: {_fields(event)}" if event.data else event.name


def _attempt(event: Event) -> str:
    attempt = event.data.get("attempt", 1)
    return f"attempt {attempt}" if attempt != 1 else ""


def _wrote(event: Event) -> str:
    return f"wrote {', '.join(event.data['wrote'])}" if event.data.get("wrote") else ""


def _request(event: Event) -> str:
    data = event.data
    count = len(data.get("messages", ())) + data.get("earlier", 0)
    tools = f", tools: {', '.join(data['tools'])}" if data.get("tools") else ""
    turn = f"turn {data['turn']}, " if "turn" in data else ""
    return f"{turn}{counted(count, 'message')}{tools}"


def _reply(event: Event) -> str:
    data = event.data
    calls = ", ".join(f"{call['name']}({call['arguments']})" for call in data.get("tool_calls", ()))
    said = [_value(data["text"])] if data.get("text") else []
    return f"{event.name}: {'; '.join([*said, *([f'calls {calls}'] if calls else [])])}"


def _call(event: Event) -> str:
    arguments = event.data.get("arguments")
    return f"{event.name}({'' if arguments is None else _value(arguments)})"


def _returned(event: Event) -> str:
    data = event.data
    if data.get("ok") is False:
        return f"{event.name} failed: {_value(data.get('message') or data.get('result', ''))}"
    return f"{event.name}: {_value(data['result'])}" if "result" in data else event.name


def _failed(event: Event) -> str:
    data = event.data
    code = f"[{data['code']}] " if data.get("code") else ""
    return f"{code}{data.get('message', '')}"


def _retried(event: Event) -> str:
    data = event.data
    due = f" in {data['delay_ms'] / 1000:g} s" if "delay_ms" in data else ""
    reason = f": {_failed(event)}" if data.get("message") or data.get("code") else ""
    return f"after attempt {data.get('attempt', 1)}{due}{reason}"


_SAID: dict[str, Callable[[Event], str]] = {
    "run_started": lambda event: event.name,
    "run_finished": lambda event: str(event.data.get("outcome", "")),
    "node_started": _attempt,
    "node_finished": _wrote,
    "edge_taken": lambda event: f"to {event.data.get('target', event.name)}",
    "state_updated": lambda event: ", ".join(event.data.get("changed", ())),
    "model_call": _request,
    "model_reply": _reply,
    "tool_call": _call,
    "tool_result": _returned,
    "retry": _retried,
    "error": _failed,
    "custom": _custom,
    "chunk": lambda event: event.text,
}
