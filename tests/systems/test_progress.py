"""The progress of questions, which systems describe and commands show."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any, ClassVar, cast

import pytest

from antiphon.event import Event
from antiphon.models import scripted
from antiphon.sandbox import Sandbox
from antiphon.systems import Computation, DataAnalyst, ReviewLoop, find, systems
from antiphon.systems.progress import Activity, EventReports, ProgressLine, ProgressReporter

SOURCES = Path(__file__).parents[2] / "src" / "systems" / "src"


class _VerdictProgress(ProgressReporter):
    event_reports: ClassVar[EventReports] = {
        "verdict": lambda data: [Activity("thinks"), ProgressLine(data["decision"], 2)]
    }


def _reported(reporter: ProgressReporter) -> list[tuple[str, ...]]:
    approve = {"json": {"decision": "approve"}}
    plan = {"research_steps": ["find the capital"], "expert_steps": ["name it"]}
    answer = {"reasoning_trace": "", "expert_answer": "Lima"}
    model = scripted(
        [
            {"json": plan},
            {"json": {"decision": "reject", "feedback": "vague"}},
            {"json": plan},
            approve,
            {"json": {"result": "It is Lima."}},
            approve,
            {"json": answer},
            approve,
        ]
    )
    events: list[Event] = []
    ReviewLoop(model).run("What is the capital of Peru?", watch=events.append)
    return [tuple(map(str, one)) for event in events for one in reporter.report(event)]


def test_a_review_loop_reports_steps_products_and_verdicts() -> None:
    assert _reported(ReviewLoop.progress_reporter()) == [
        ("planner plans",),
        ("plan: 1 research step, 1 expert step", "1"),
        ("research 1: find the capital", "2"),
        ("expert 1: name it", "2"),
        ("critic reviews the plan",),
        ("plan rejected: vague", "1"),
        ("retry 1 of 5: planner", "1"),
        ("planner plans",),
        ("plan: 1 research step, 1 expert step", "1"),
        ("research 1: find the capital", "2"),
        ("expert 1: name it", "2"),
        ("critic reviews the plan",),
        ("plan approved", "1"),
        ("research step 1 of 1: find the capital",),
        ("found: It is Lima.", "1"),
        ("critic reviews the research",),
        ("research 1 approved", "1"),
        ("expert works out the answer",),
        ("answer: Lima", "1"),
        ("critic reviews the answer",),
        ("answer approved", "1"),
    ]


def test_a_reporter_describes_the_events_that_it_names() -> None:
    assert _reported(_VerdictProgress())[:2] == [("thinks",), ("reject", "2")]


def test_a_research_step_whose_plan_was_made_elsewhere_is_reported_by_its_number() -> None:
    started = _event("research_started", {"index": 1, "attempt": 1})
    assert list(ReviewLoop.progress_reporter().report(started)) == [Activity("research step 2")]


def test_a_message_of_an_api_is_not_taken_for_an_event_of_the_analyst() -> None:
    said = {"event_type": "message", "agent": "api_docs", "message": "skipped", "data": {}}
    reporter = DataAnalyst.progress_reporter()
    assert list(reporter.report(_event("trace_event", said))) == []
    rejected = {"answer": "7 tonnes", "differences": ["`tonnes` is not in the data"]}
    wrong = said | {"event_type": "error", "message": "wording rejected", "data": rejected}
    (line,) = reporter.report(_event("trace_event", wrong))
    assert line.text == "api_docs: wording rejected: `tonnes` is not in the data"


def test_a_computation_reports_the_outcome_of_each_attempt() -> None:
    plan = {"json": {"reasoning": "", "python": "result = 1 / 0", "explain": ""}}
    with Sandbox() as box:
        events: list[Event] = []
        model = scripted([plan, {"json": {**plan["json"], "python": "result = 7"}}])
        computation = Computation(model, sandbox=box, summarise=False)
        computation.run("How many?", watch=events.append)
    reporter = Computation.progress_reporter()
    assert [one.text for event in events for one in reporter.report(event)] == [
        "planner writes code",
        "the code runs",
        "attempt 1: failed: python error",
        "planner writes code",
        "the code runs",
        "attempt 2: the code has run",
    ]


@pytest.mark.parametrize("name", sorted(systems().keys() - {"echo"}))
def test_every_shipped_system_describes_events_and_nodes_that_exist(name: str) -> None:
    reporter = find(name).progress_reporter
    known = [*reporter.activities, *reporter.event_reports]
    assert known, "it says nothing"
    code = "".join(path.read_text("utf-8") for path in SOURCES.rglob("*.rs"))
    assert [one for one in known if f'"{one}"' not in code] == []


def _event(name: str, data: dict[str, Any]) -> Event:
    """An event of a system, as watchers get it."""
    return cast("Event", SimpleNamespace(kind="custom", name=name, data=data, path=()))
