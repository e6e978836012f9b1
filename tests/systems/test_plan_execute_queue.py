"""The same plan here, and over queues in memory and in a server: the same story and result."""

from __future__ import annotations

import subprocess
import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import pytest

from antiphon import Tool
from antiphon.models import scripted
from antiphon.systems import PlanExecute, PlanExecuteResult, Queue, Worker
from cli.conftest import environment
from support.nats import NatsServer

if TYPE_CHECKING:
    from collections.abc import Iterator
    from contextlib import AbstractContextManager
    from pathlib import Path

PEOPLE = {"Lyon": 520_774, "Nice": 348_085}
_DIFFERS = {"subTaskId", "sub_task_id", "timestamp", "lastUpdatedAt", "started_at", "finished_at"}
"""Ids of runs and times."""


def population(city: str) -> int:
    """Look up how many people live in a city."""
    return PEOPLE[city]


def total(numbers: list[int]) -> dict[str, Any]:
    """Add numbers."""
    return {
        "result": sum(numbers),
        "partial_errors": [{"source": "suburbs", "message": "not counted"}],
    }


def report(text: str) -> str:
    """Make a long report."""
    return f"{text} " * 500


def step(name: str, tool: str, **given: Any) -> dict[str, Any]:
    return {
        "stepId": name,
        "assigned_agent_role": "UtilityAgent",
        "tool_name": tool,
        "sub_task_input": given,
        "narrative_step": f"do {name}",
    }


def asked(*, called_here: bool, **options: Any) -> PlanExecuteResult:
    """A task whose first plan fails in its third stage, and whose second one does not."""

    def nowhere(given: dict[str, Any]) -> Any:
        raise AssertionError(f"the system has called the tool itself: {given}")

    tools = [Tool(one, side_effect="read") for one in (population, total, report)]
    if not called_here:
        tools = [
            Tool.from_schema(
                one.name,
                one.parameters,
                nowhere,
                description=one.description,
                side_effect="read",
            )
            for one in tools
        ]
    cities = [step("lyon", "population", city="Lyon"), step("nice", "population", city="Nice")]
    both = ["@{outputs.lyon.result_data}", "@{outputs.nice.result_data}"]
    known = [cities, [step("sum", "total", numbers=both)]]
    lost = [*known, [step("rome", "population", city="Rome")]]
    told = [*known, [step("told", "report", text="@{outputs.sum.result_data}")]]
    context = {"updatedSummaryOfProgress": "done", "updatedNextObjective": "answer"}
    replies = [
        {"stages": lost},
        {"stages": told},
        {"summary": "868,859, again and again."},
        context,
        {"answer": "868,859 without suburbs."},
    ]
    model = scripted([{"json": reply} for reply in replies])
    return PlanExecute(model, tools=tools, **options).run("How many people live in both?")


def plain(value: Any) -> Any:
    """The value without what differs from run to run."""
    if isinstance(value, dict):
        return {name: plain(one) for name, one in value.items() if name not in _DIFFERS}
    return [plain(one) for one in value] if isinstance(value, list | tuple) else value


def story(result: PlanExecuteResult) -> tuple[list[Any], dict[str, list[Any]]]:
    """The events of the task in their order, and those of each step: steps run side by side."""
    events = [event for event in result.events if event.kind == "custom"]
    told = [(event.name, plain(event.data)) for event in events]
    steps: dict[str, list[Any]] = {}
    for name, data in told:
        if "stepId" in data:
            steps.setdefault(data["stepId"], []).append((name, data))
    taken_over = ("EXECUTION_STEP_COMPLETED", "EXECUTION_STEP_FAILED")
    return [one for one in told if "stepId" not in one[1] or one[0] in taken_over], steps


def result_of(result: PlanExecuteResult) -> dict[str, Any]:
    kept = plain(result.to_dict())
    for name in ("run_id", "usage", "elapsed_ms", "wall_time_s"):
        kept.pop(name, None)
    return dict(kept)


@pytest.fixture(scope="module")
def here() -> PlanExecuteResult:
    return asked(called_here=True)


def test_the_task_has_something_to_tell(here: PlanExecuteResult) -> None:
    assert (here.answer, here.attempts) == ("868,859 without suburbs.", 2)
    assert [step.reused for step in here.executed_plan] == [True, True, True, False]
    names = {event.name for event in here.events}
    assert names >= {
        "EXECUTION_STEP_RESULT_ERROR",
        "EXECUTION_STEP_PARTIAL_ERRORS",
        "EXECUTION_STEP_REUSED",
        "EXECUTION_DATA_SUMMARIZATION_SUCCESS",
        "REPLANNING_SUCCESS",
    }


TOOLS = """
from antiphon import Tool
from systems.test_plan_execute_queue import population, report, total

every = [Tool(one, side_effect="read") for one in (population, total, report)]
"""


@contextmanager
def command(server: NatsServer, name: str, folder: Path) -> Iterator[None]:
    """A process that carries out the steps."""
    (folder / "its_tools.py").write_text(TOOLS)
    options = ("--queue", server.url, "--queue-name", name, "--tools", "its_tools:every")
    with subprocess.Popen(
        [sys.executable, "-m", "antiphon", "worker", *options],
        cwd=folder,
        env=environment(PYTHONPATH=":".join(sys.path)),
        stderr=subprocess.PIPE,
        text=True,
    ) as worker:
        try:
            assert worker.stderr is not None
            line = worker.stderr.readline()
            assert line.startswith("ready at nats://"), line
            yield
        finally:
            worker.kill()


@pytest.mark.parametrize("kind", ["memory", "nats", "process"])
def test_a_queue_changes_neither_the_events_nor_the_result(
    kind: str, here: PlanExecuteResult, tmp_path: Path
) -> None:
    """PE-44 of docs/systems/plan-execute.md."""
    if kind == "memory":
        queue = Queue.memory()
        with Worker(queue, tools=[population, total, report]):
            there = asked(called_here=False, queue=queue)
    else:
        with NatsServer(tmp_path / "nats") as server:
            work = Queue.connect(server.url, name="of both")
            workers: AbstractContextManager[object] = (
                Worker(work, tools=[population, total, report])
                if kind == "nats"
                else command(server, "of both", tmp_path)
            )
            with workers:
                queue = Queue.connect(server.url, name="of both")
                there = asked(called_here=False, queue=queue)
    assert story(there) == story(here)
    assert result_of(there) == result_of(here)
