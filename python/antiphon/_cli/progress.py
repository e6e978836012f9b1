"""The progress of a question."""

from __future__ import annotations

import shutil
import time
from typing import TYPE_CHECKING, Any, Self, TextIO

from antiphon._cli.terminal import line

if TYPE_CHECKING:
    from collections.abc import Callable

    from antiphon.event import Event

_EVERY = 0.1
_INDENT = "  "
_WORK = {
    "planner": "planner plans",
    "critic_planner": "critic reviews the plan",
    "researcher": "researcher looks things up",
    "critic_researcher": "critic reviews the research",
    "expert": "expert works out the answer",
    "critic_expert": "critic reviews the answer",
    "finalizer": "finalizer words the answer",
}
_GIVEN_UP = {
    "failed",
    "limit_reached",
    "no_progress",
    "result_missing",
    "unknown_step",
    "verdict_missing",
}
"""Rules that end the question: what follows is no work."""
_WORKS = {"planner": "plan", "researcher": "research", "expert": "answer"}


class ProgressView:
    """Shows the events of a question: a live last line on a terminal, plain lines elsewhere."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._live = stream.isatty()
        self._began = time.monotonic()
        self._work = ""
        self._written = 0
        self._due = 0.0
        self._shown = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        self._clear()
        self._stream.flush()

    def say(self, text: str, indent: str = "") -> None:
        """Writes a line."""
        self._clear()
        # A pipe gets more of the line: its reader can cut it.
        width = self._width() if self._live else 1_000
        self._stream.write(indent + line(text, width - len(indent)) + "\n")
        self._stream.flush()

    def __call__(self, event: Event) -> None:
        """Shows an event."""
        if event.kind == "chunk":
            self._written += len(event.text)
            self._refresh()
        elif event.kind == "tool_call":
            self.say(f"tool {event.name}", _INDENT)
        elif event.kind == "custom":
            self._report(event.name, event.data)

    def _report(self, name: str, data: dict[str, Any]) -> None:
        if name == "step_determined":
            self._begin("" if data["rule"] in _GIVEN_UP else str(data["to"]))
        elif name in _LINES:
            self.say(_LINES[name](data), _INDENT)

    def _begin(self, step: str) -> None:
        work = _WORK.get(step, "")
        if not work:
            return
        if self._live:
            self._work, self._written, self._due = work, 0, 0.0
            self._refresh()
        else:
            self.say(work)

    def _refresh(self) -> None:
        now = time.monotonic()
        if not self._live or not self._work or now < self._due:
            return
        self._due = now + _EVERY
        told = f"{now - self._began:5.1f} s  {self._work}"
        if self._written:
            told += f" … {self._written} characters"
        told = line(told, self._width())
        self._stream.write("\r" + told.ljust(self._shown))
        self._shown = len(told)
        self._stream.flush()

    def _clear(self) -> None:
        if self._shown:
            self._stream.write("\r" + " " * self._shown + "\r")
            self._shown = 0

    @staticmethod
    def _width() -> int:
        return max(shutil.get_terminal_size().columns - 1, 20)


def _plan(data: dict[str, Any]) -> str:
    research, expert = data["research_steps"], data["expert_steps"]
    return f"plan: {_count(research, 'research step')}, {_count(expert, 'expert step')}"


def _verdict(data: dict[str, Any]) -> str:
    work = _WORKS.get(str(data["target"]), str(data["target"]))
    if "index" in data:
        work += f" {int(data['index']) + 1}"
    if data["decision"] == "approve":
        return f"{work} approved"
    return f"{work} rejected: {data['feedback']}"


def _retry(data: dict[str, Any]) -> str:
    return f"retry {data['count']} of {data['limit']}: {data['agent']}"


def _error(data: dict[str, Any]) -> str:
    return f"error in {data['component']}: {data['message']}"


def _count(items: list[Any], noun: str) -> str:
    return f"{len(items)} {noun}{'' if len(items) == 1 else 's'}"


_LINES: dict[str, Callable[[dict[str, Any]], str]] = {
    "plan_created": _plan,
    "verdict": _verdict,
    "retry": _retry,
    "agent_error": _error,
    "retry_limit_reached": lambda data: f"given up: {data['agent']}",
}
