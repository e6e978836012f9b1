"""Plan and execute from Python."""

from __future__ import annotations

import asyncio
from datetime import datetime
from typing import TYPE_CHECKING, Any

import pytest

from antiphon import Agent, Tool
from antiphon.checkpoint import MemorySaver
from antiphon.errors import ValidationError
from antiphon.models import scripted
from antiphon.systems import PlanExecute, PlanExecuteResult, find, systems
from antiphon.tools import calculator, files

if TYPE_CHECKING:
    from pathlib import Path

CONTEXT = {"json": {"updatedSummaryOfProgress": "done", "updatedNextObjective": "answer"}}


def population(city: str) -> int:
    """Look up how many people live in a city."""
    return {"Lyon": 520_774, "Nice": 348_085}[city]


def step(name: str, tool: str, role: str = "UtilityAgent", **given: Any) -> dict[str, Any]:
    return {
        "stepId": name,
        "assigned_agent_role": role,
        "tool_name": tool,
        "sub_task_input": given,
        "narrative_step": f"do {name}",
    }


def plan(*stages: list[dict[str, Any]]) -> dict[str, Any]:
    return {"json": {"stages": list(stages)}}


def words(answer: str) -> dict[str, Any]:
    return {"json": {"answer": answer}}


def asked(*replies: Any, tools: Any = (population,), **options: Any) -> PlanExecuteResult:
    return PlanExecute(scripted(replies), tools=tools, **options).run("How many people?")


def test_a_result_has_the_answer_the_plan_and_its_steps() -> None:
    stages = [step("a", "population", city="Lyon")], [step("b", "population", city="Nice")]
    result = asked(plan(*stages), CONTEXT, words("520,774 and 348,085."))
    assert (result.outcome, result.status, result.success) == ("answered", "COMPLETED", True)
    assert result.answer == result.final_answer == "520,774 and 348,085."
    assert (result.plan_source, result.final_answer_source) == ("llm", "synthesized")
    assert result.plan_json == [list(stage) for stage in stages]
    first, second = result.executed_plan
    assert (first.result, second.result) == (520_774, 348_085)
    assert (first.stage_index, second.stage_index, second.status) == (1, 2, "COMPLETED")
    assert isinstance(first.started_at, datetime)
    assert result.current_working_context["keyFindings"][0]["data"] == 520_774
    assert (result.attempts, result.warnings, result.error_summary) == (1, (), None)
    plain = result.to_dict()
    assert plain["executed_plan"][0]["step"]["step_id"] == "a"
    shown = result._repr_mimebundle_()
    assert "do a (population): completed" in shown["text/plain"]
    assert "2 steps" in shown["text/html"]


def test_a_failed_step_is_explained() -> None:
    stages = plan([step("a", "population", city="Paris")])
    result = asked(stages, CONTEXT, words("Paris is not known."), max_revisions=0)
    assert (result.outcome, result.status, result.answer) == (
        "retry_limit",
        "FAILED_EXECUTION",
        None,
    )
    assert result.final_answer == "Paris is not known."
    (failed,) = result.executed_plan
    assert failed.error is not None
    assert failed.error.type == "ToolError"
    assert result.error_summary is not None
    assert result.error_summary["failedStep"]["stepId"] == "a"
    shown = result._repr_mimebundle_()
    assert all("Paris is not known." in text for text in shown.values())


def test_a_calculation_needs_neither_a_planner_nor_a_tool_of_the_caller() -> None:
    system = PlanExecute(scripted([CONTEXT, words("14")]))
    result = system.run("calculate 2*(3+4)")
    assert (result.plan_source, result.answer) == ("template", "14")
    assert result.executed_plan[0].result == 14


def test_native_tools_have_the_names_that_plans_know(tmp_path: Path) -> None:
    note = {"operation": "create_file", "params": {"filename": "a.txt", "content": "n = "}}
    more = {
        "operation": "append_to_file",
        "params": {"filename": "a.txt", "content": "@{outputs.sum.result_data}"},
    }
    steps = (
        [
            step("sum", "CalculatorTool", expression="6 * 7"),
            step("note", "FileSystemTool", "Orchestrator", **note),
        ],
        [step("more", "FileSystemTool", "Orchestrator", **more)],
    )
    tools = [calculator(), files(tmp_path)]
    result = asked(plan(*steps), CONTEXT, words("Written."), tools=tools)
    assert result.status == "COMPLETED", result
    assert result.executed_plan[0].result == 42
    assert (tmp_path / "a.txt").read_text(encoding="utf-8") == "n = 42"


def test_a_plan_is_made_first_and_executed_later() -> None:
    saver = MemorySaver()
    model = scripted([plan([step("a", "population", city="Lyon")]), CONTEXT, words("520,774.")])
    system = PlanExecute(model, tools=[population], checkpointer=saver)
    planned = system.run("How many?", mode="PLAN_ONLY", thread="t")
    assert (planned.status, planned.success, planned.answer) == ("PLAN_GENERATED", True, None)
    done = system.run(mode="EXECUTE_PLANNED_TASK", thread="t")
    assert (done.answer, done.original_task, done.plan_source) == ("520,774.", "How many?", "saved")
    other = PlanExecute(scripted([CONTEXT, words("The same.")]), tools=[population])
    again = other.run("How many?", mode="EXECUTE_PLANNED_TASK", plan=planned.plan_json)
    assert again.answer == "The same."


def test_a_person_approves_a_plan() -> None:
    model = scripted([plan([step("a", "population", city="Lyon")]), CONTEXT, words("520,774.")])
    saver = MemorySaver()
    system = PlanExecute(model, tools=[population], approve_plan=True, checkpointer=saver)
    paused = system.run("How many?", thread="t")
    assert paused.outcome == "paused"
    (question,) = paused.questions
    assert question.value["arguments"]["stages"] == paused.plan_json
    changed = {"stages": [[step("b", "population", city="Nice")]]}
    done = system.resume("t", {"approve": True, "args": changed})
    assert (done.outcome, done.executed_plan[0].result) == ("answered", 348_085)


def test_roles_are_functions_and_agents() -> None:
    def planner(brief: dict[str, Any]) -> dict[str, Any]:
        assert "population" in brief["tools"]
        return {"stages": [[step("w", "LLMStepExecutor", "Orchestrator", prompt="Say it.")]]}

    result = PlanExecute(
        scripted([CONTEXT, words("It was said.")]),
        tools=[population],
        planner=planner,
        step_executor=lambda brief: {"text": f"said: {brief['prompt']}"},
    ).run("Say it.")
    assert result.executed_plan[0].result == "said: Say it."
    with pytest.raises(ValidationError, match="makes more than one request as the planner"):
        PlanExecute(scripted([]), planner=Agent(scripted([]), tools=[population]))


def test_workers_claim_tools_and_the_settings_are_checked() -> None:
    workers = {"Statistician": {"description": "knows cities", "tools": ["population"]}}
    stages = plan([step("a", "population", "Statistician", city="Lyon")])
    result = asked(stages, CONTEXT, words("520,774."), workers=workers)
    assert result.status == "COMPLETED"
    with pytest.raises(ValidationError, match="gives Statistician a tool") as caught:
        PlanExecute(scripted([]), workers=workers)
    assert caught.value.code == "system_setting_invalid"
    with pytest.raises(ValidationError, match="pages_to_explore"):
        PlanExecute(scripted([]), pages_to_explore=11)


def test_a_task_is_streamed_and_awaited() -> None:
    async def both() -> tuple[list[str], str | None]:
        replies = [plan([step("a", "population", city="Lyon")]), CONTEXT, words("520,774.")]
        system = PlanExecute(scripted(replies * 2), tools=[Tool(population)])
        stream = system.astream("How many?")
        names = [event.name async for event in stream if event.kind == "custom"]
        return names, (await system.arun("How many?")).answer

    names, answer = asyncio.run(both())
    assert answer == "520,774."
    assert names[0] == "TASK_RECEIVED"
    assert names[-1] == "TASK_COMPLETED_SUCCESSFULLY"


def test_inputs_that_make_no_sense_are_refused() -> None:
    system = PlanExecute(scripted([]))
    with pytest.raises(ValidationError, match="the task is blank"):
        system.run(" ")
    with pytest.raises(ValidationError, match="only taken with the mode"):
        system.run("How many?", plan=[])
    assert system.run(mode="SYNTHESIZE_ONLY").outcome == "error"


def test_the_system_is_found_by_its_name() -> None:
    assert "plan_execute" in systems()
    assert find("plan_execute") is PlanExecute
