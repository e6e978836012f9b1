"""The progress of a question."""

from __future__ import annotations

import json
import shutil
import threading
import time
from textwrap import wrap
from typing import TYPE_CHECKING, Any, Self, TextIO

from antiphon._cli.terminal import line

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from antiphon.event import Event

_EVERY = 0.1
_TICK = 0.5
"""Seconds after which the live line moves, also if no text arrives."""
_INDENT = "  "
_MOST_LINES = 8
"""Lines of a terminal that one message may take."""
_WORK = {
    "planner": "planner plans",
    "critic_planner": "critic reviews the plan",
    "researcher": "researcher looks things up",
    "critic_researcher": "critic reviews the research",
    "expert": "expert works out the answer",
    "critic_expert": "critic reviews the answer",
    "finalizer": "finalizer shortens the answer",
}
_BEGINS_LATER = {"researcher", "finalizer"}
"""Steps whose own events say that somebody works."""
_GIVEN_UP = {
    "answer_not_known",
    "failed",
    "limit_reached",
    "no_progress",
    "plan_not_known",
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
        self._steps: list[str] = []
        # The clock writes from another thread.
        self._lock = threading.RLock()
        self._over = threading.Event()
        self._clock: threading.Thread | None = None

    def __enter__(self) -> Self:
        if self._live:
            self._clock = threading.Thread(target=self._tick, name="antiphon-clock", daemon=True)
            self._clock.start()
        return self

    def __exit__(self, *exc: object) -> None:
        self._over.set()
        if self._clock is not None:
            self._clock.join()
        self._clear()
        self._stream.flush()

    def say(self, text: str, indent: str = "") -> None:
        """Writes a message: on a terminal in as many lines as it needs, elsewhere in one."""
        with self._lock:
            self._clear()
            # A pipe gets one line: its reader can cut it.
            room = self._width() - len(indent) if self._live else 1_000
            most = room * _MOST_LINES if self._live else room
            for one in wrap(line(text, most), room, max_lines=_MOST_LINES) or [""]:
                self._stream.write(f"{indent}{one}\n")
            self._stream.flush()

    def show(self, work: str) -> None:
        """Shows on the live line what goes on; elsewhere nothing."""
        if self._live:
            self._begin(work)

    def __call__(self, event: Event) -> None:
        """Shows an event."""
        if event.kind == "chunk":
            self._written += len(event.text)
            self._refresh()
        elif event.kind == "tool_call":
            self.say(f"tool {event.name}", _INDENT)
        elif event.kind == "node_started":
            # A plain answer needs no finalizer, and then none starts.
            if event.path and event.path[-1].partition("#")[0] == "finalizer":
                self._begin(_WORK["finalizer"])
        elif event.kind == "custom":
            self._report(event.name, event.data)

    def _report(self, name: str, data: dict[str, Any]) -> None:
        if name == "step_determined":
            is_work = data["rule"] not in _GIVEN_UP and data["to"] not in _BEGINS_LATER
            self._begin(_WORK.get(str(data["to"]), "") if is_work else "")
        elif name == "research_started" and "index" in data:
            self._research(int(data["index"]))
        elif name in _BEGINS:
            self._begin(_BEGINS[name](data))
        else:
            self._steps = list(data.get("research_steps", self._steps))
            for depth, text in _lines(name, data):
                self.say(text, _INDENT * depth)

    def _research(self, index: int) -> None:
        work = f"research step {index + 1} of {len(self._steps)}"
        if index < len(self._steps):
            work += f": {self._steps[index]}"
        self._begin(work)

    def _tick(self) -> None:
        while not self._over.wait(_TICK):
            self._refresh()

    def _begin(self, work: str) -> None:
        if not work:
            return
        if self._live:
            self._work, self._written, self._due = work, 0, 0.0
            self._refresh()
        else:
            self.say(work)

    def _refresh(self) -> None:
        with self._lock:
            now = time.monotonic()
            if not self._live or not self._work or now < self._due:
                return
            self._due = now + _EVERY
            count = f" … {self._written} characters" if self._written else ""
            text = f"{now - self._began:5.1f} s  {self._work}"
            text = line(text, self._width() - len(count)) + count
            self._stream.write("\r" + text.ljust(self._shown))
            self._shown = len(text)
            self._stream.flush()

    def _clear(self) -> None:
        if self._shown:
            self._stream.write("\r" + " " * self._shown + "\r")
            self._shown = 0

    @staticmethod
    def _width() -> int:
        return max(shutil.get_terminal_size().columns - 1, 20)


def _lines(name: str, data: dict[str, Any]) -> Iterator[tuple[int, str]]:
    """What an event says, line by line, each with its depth."""
    if name in _PLANS:
        yield from _PLANS[name](data)
    elif name in _LINES:
        text = _LINES[name](data)
        if text:
            yield 1, text


def _created(data: dict[str, Any]) -> Iterator[tuple[int, str]]:
    yield 1, _plan(data)
    for text in _steps(data):
        yield 2, text


def _plan(data: dict[str, Any]) -> str:
    if data.get("known") is False:
        return "plan: this cannot be known"
    if "tasks" in data:
        return f"plan: {_count(data['tasks'], 'task')}"
    if "steps" in data:
        return f"plan {data['iteration']}: {_count(data['steps'], 'step')}"
    research, expert = data["research_steps"], data["expert_steps"]
    return f"plan: {_count(research, 'research step')}, {_count(expert, 'expert step')}"


def _steps(data: dict[str, Any]) -> Iterator[str]:
    """The steps of a plan, numbered."""
    if "tasks" in data:
        for task in data["tasks"]:
            yield f"task {task['task_number']}: {task['tool_name']}: {task['description']}"
        return
    if "steps" in data:
        for number, step in enumerate(data["steps"], 1):
            yield f"step {number}: {step['title']}"
        return
    for kind, steps in (("research", data["research_steps"]), ("expert", data["expert_steps"])):
        for number, step in enumerate(steps, 1):
            yield f"{kind} {number}: {step}"


def _stages(data: dict[str, Any]) -> Iterator[tuple[int, str]]:
    plan = data["plan"]
    yield 1, f"plan: {_count(plan, 'stage')}"
    for number, stage in enumerate(plan, 1):
        for step in stage:
            yield 2, f"stage {number}: {step['tool_name']}: {step['narrative_step']}"


def _step(data: dict[str, Any]) -> str:
    return f"stage {data['stageIndex']}: {data['narrativeStep']}"


def _violations(data: dict[str, Any]) -> str:
    return f"wrong in the plan: {_first(data['violations'])}"


def _repairs(data: dict[str, Any]) -> str:
    return f"put right in the plan: {_first(data['repairs'])}"


def _first(items: list[str]) -> str:
    """The first one, and how many there are beside it."""
    return items[0] + (f", and {len(items) - 1} more" if len(items) > 1 else "")


def _product(message: dict[str, Any]) -> str:
    """What a researcher or the expert delivers; nothing of others."""
    if message["sender"] == "researcher":
        return f"found: {message['content']}"
    if message["sender"] == "expert":
        return f"answer: {json.loads(message['content'])['expert_answer']}"
    return ""


def _verdict(data: dict[str, Any]) -> str:
    work = _WORKS.get(str(data["target"]), str(data["target"]))
    if "index" in data:
        work += f" {int(data['index']) + 1}"
    if data["decision"] == "approve":
        return f"{work} approved"
    if data["decision"] == "not_known":
        return f"{work} is a guess: {data['feedback']}"
    return f"{work} rejected: {data['feedback']}"


def _retry(data: dict[str, Any]) -> str:
    return f"retry {data['count']} of {data['limit']}: {data['agent']}"


def _error(data: dict[str, Any]) -> str:
    return f"error in {data['component']}: {data['message']}"


def _count(items: list[Any], noun: str) -> str:
    return f"{len(items)} {noun}{'' if len(items) == 1 else 's'}"


def _task_failed(data: dict[str, Any]) -> str:
    return f"task {data['task_number']} failed: {data['error']['message']}"


_BEGINS: dict[str, Callable[[dict[str, Any]], str]] = {
    "PLANNING_STARTED": lambda _: "planner plans",
    "REPLANNING_STARTED": lambda _: "planner revises the plan",
    "EXECUTION_STEP_DISPATCHED": _step,
    "EXECUTION_STEP_ORCHESTRATOR_START": _step,
    "FINAL_SYNTHESIS_START": lambda _: "synthesiser words the answer",
}
"""What goes on after an event."""
_PLANS: dict[str, Callable[[dict[str, Any]], Iterator[tuple[int, str]]]] = {
    "plan_created": _created,
    "PLANNING_COMPLETED": _stages,
    "REPLANNING_SUCCESS": _stages,
}
_LINES: dict[str, Callable[[dict[str, Any]], str]] = {
    "task_failed": _task_failed,
    "PLAN_REPAIRED": _repairs,
    "PLAN_VALIDATION_FAILED": _violations,
    "EXECUTION_STEP_COMPLETED": lambda data: f"done: {data['narrativeStep']}",
    "EXECUTION_STEP_REUSED": lambda data: f"done before: {data['narrativeStep']}",
    "EXECUTION_STEP_FAILED": lambda data: (
        f"failed: {data['narrativeStep']}: {data['errorDetails']['message']}"
    ),
    "step_started": lambda data: f"step {data['step_index'] + 1}: {data['step_title']}",
    "reflection_decision": lambda data: f"reflection: {data['decision']}",
    "steps_skipped": lambda data: f"skipped: {', '.join(data['titles'])}",
    "error": lambda data: f"{data['error_code']}: {data['error_message']}",
    "plan_fallback": lambda data: f"no usable plan: {data['reason']}",
    "message_sent": lambda data: _product(data["message"]),
    "verdict": _verdict,
    "retry": _retry,
    "agent_error": _error,
    "retry_limit_reached": lambda data: f"given up: {data['agent']}",
    "final_answer_refused": lambda data: f"short form refused, {data['changed']}: {data['answer']}",
}
