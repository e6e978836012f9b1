"""The words for what goes on, which systems give and commands show."""

from __future__ import annotations

from typing import ClassVar

from antiphon.event import Event
from antiphon.models import scripted
from antiphon.systems import ReviewLoop, System, find, systems
from antiphon.systems.narration import Narrator, Said, Words, Work


class _Loud(Narrator):
    words: ClassVar[Words] = {"verdict": lambda data: [Work("thinks"), Said(data["decision"], 2)]}


def _narrated(narrator: Narrator) -> list[tuple[str, ...]]:
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
    return [tuple(map(str, one)) for event in events for one in narrator.narrate(event)]


def test_a_review_loop_tells_of_steps_products_and_verdicts() -> None:
    assert _narrated(ReviewLoop.narrator())[1:] == [
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


def test_words_of_ones_own_are_said_of_the_events_that_have_them() -> None:
    assert _narrated(_Loud())[:2] == [("thinks",), ("reject", "2")]


def test_every_system_that_ships_has_words() -> None:
    shipped = [find(name) for name in systems() if name != "echo"]
    assert [one.__name__ for one in shipped if one.narrator is System.narrator] == []
