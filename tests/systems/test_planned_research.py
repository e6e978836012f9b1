"""Research steps that depend on each other, planned by a function."""

from __future__ import annotations

from typing import Any

from antiphon.systems import ReviewLoop


def loop(**roles: Any) -> ReviewLoop:
    usual: dict[str, Any] = {
        "critic": lambda _: {"decision": "approve"},
        "expert": lambda _: {"expert_answer": "3461 m", "reasoning_trace": "subtracted"},
    }
    return ReviewLoop(**usual, **roles)


def step_schema(mode: Any) -> dict[str, Any]:
    """The schema of a research step in the brief of a planner."""
    briefs: list[dict[str, Any]] = []

    def plan(brief: dict[str, Any]) -> dict[str, Any]:
        briefs.append(brief)
        return {"research_steps": [], "expert_steps": ["subtract"]}

    loop(planner=plan, researcher=lambda _: {"result": "nothing"}, research_mode=mode).run("q")
    schema: dict[str, Any] = briefs[-1]["schema"]["properties"]["research_steps"]["items"]
    return schema


def test_a_planner_that_is_a_function_reads_in_its_schema_that_steps_may_depend_on_others() -> None:
    _, after = step_schema("parallel")["anyOf"]
    assert after["required"] == ["step", "depends_on"]
    assert "anyOf" not in step_schema("sequential")


def test_a_step_sees_the_results_that_a_function_planned_for_it() -> None:
    seen: dict[int, list[Any]] = {}

    def plan(_: dict[str, Any]) -> dict[str, Any]:
        steps = ["Mont Blanc", "Ben Nevis", {"step": "the difference", "depends_on": [1, 2]}]
        return {"research_steps": steps, "expert_steps": ["name it"]}

    def research(brief: dict[str, Any]) -> dict[str, Any]:
        number = brief["step_id"]
        seen[number] = [result for result in brief["earlier_results"] if result]
        return {"result": f"result {number}"}

    result = loop(planner=plan, researcher=research, research_mode="parallel").run("q")
    assert result.outcome == "answered"
    assert "result 0" in str(seen[2])
    assert "result 1" in str(seen[2])
    assert seen[0] == []
    assert seen[1] == [], "it is researched beside the first"
