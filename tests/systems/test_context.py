"""What the code of a system's roles gets of its caller: ``context=``."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

from antiphon import Agent, AgentContext, Orchestrator, ToolContext, tool
from antiphon.checkpoint import MemorySaver
from antiphon.errors import ValidationError
from antiphon.models import scripted
from antiphon.systems import Computation, ReviewLoop

PLAN = {"research_steps": ["look it up"], "expert_steps": ["say it"]}
APPROVE = {"decision": "approve", "feedback": ""}


class Session:
    """The connection of a user."""

    def __init__(self, user: str) -> None:
        self.user = user


@tool(side_effect="read")
def whoami(call: ToolContext[Session]) -> str:
    """Names the user."""
    return call.context.user


class Expert(Agent):
    def act(self, state: Any, ctx: AgentContext[Session]) -> Any:
        return {"expert_answer": ctx.context.user, "reasoning_trace": "asked"}


def researcher() -> Any:
    return scripted([{"tool_calls": [{"name": "whoami"}]}, {"json": {"result": "found"}}])


def loop(**options: Any) -> ReviewLoop:
    roles: dict[str, Any] = {
        "planner": lambda _: PLAN,
        "critic": lambda _: APPROVE,
        "researcher": researcher(),
        "expert": Expert,
    }
    return ReviewLoop(scripted([]), **{**roles, "research_tools": [whoami], **options})


def tool_results(result: Any) -> list[Any]:
    """What tools returned."""
    return [event.data["result"] for event in result.events if event.kind == "tool_result"]


def test_tools_and_agents_of_roles_reach_the_context() -> None:
    result = loop().run("Who am I?", context=Session("ada"))
    assert (result.answer, tool_results(result)) == ("ada", ["ada"])


def test_every_way_to_ask_takes_it() -> None:
    with loop().stream("Who?", context=Session("ada")) as stream:
        assert [event for event in stream if event.kind == "run_finished"]
    assert stream.result.answer == "ada"

    async def main() -> list[Any]:
        awaited = await loop().arun("Who?", context=Session("bea"))
        async with loop().astream("Who?", context=Session("cleo")) as events:
            async for _ in events:
                pass
        return [awaited.answer, events.result.answer]

    assert asyncio.run(main()) == ["bea", "cleo"]
    (batched,) = loop().batch(["Who?"], context=Session("dora"))
    assert batched.answer == "dora"


def test_a_batch_of_a_file_takes_it(tmp_path: Any) -> None:
    questions, answers = tmp_path / "questions.jsonl", tmp_path / "answers.jsonl"
    questions.write_text(json.dumps({"task_id": "1", "question": "Who?"}), "utf-8")
    loop().batch_file(questions, answers, context=Session("eve"))
    assert json.loads(answers.read_text("utf-8"))["model_answer"] == "eve"


def test_a_function_of_a_role_takes_the_context_as_its_second_argument() -> None:
    def expert(brief: dict[str, Any], ctx: AgentContext[Session]) -> dict[str, str]:
        answer = f"{ctx.context.user} asked: {brief['question']}"
        return {"expert_answer": answer, "reasoning_trace": ctx.agent}

    result = loop(expert=expert).run("Who?", context=Session("ada"))
    assert (result.answer, result.state["expert_reasoning"]) == ("ada asked: Who?", "expert")


def test_a_tool_that_requires_a_context_is_an_error_before_anything_costs() -> None:
    asked = researcher()
    with pytest.raises(
        ValidationError, match=r"tool `whoami` of agent `researcher` requires"
    ) as of:
        loop(researcher=asked).run("Who?")
    assert of.value.code == "context_missing"
    assert asked.requests == []

    class Needs(Agent):
        tools = (whoami,)

        def act(self, state: Any, ctx: AgentContext[Session]) -> Any:
            return ctx.call("whoami")

    with pytest.raises(ValidationError, match="tool `whoami` of agent `expert`"):
        loop(expert=Needs, research_tools=()).run("Who?")


def test_the_context_is_neither_stored_nor_shown() -> None:
    saver = MemorySaver()
    system = loop(checkpointer=saver)
    result = system.run("Who?", thread="t", context=Session("secret-name"))
    result_text = result.to_json() + repr(result)
    assert "Session" not in result_text
    assert "Session" not in str(system.state("t"))
    needy = loop(checkpointer=saver)
    with pytest.raises(ValidationError, match="requires a run with a context"):
        needy.resume("t")
    assert needy.resume("t", context=Session("other")).answer == "secret-name"


def test_a_question_within_a_node_has_the_context_of_its_run() -> None:
    class Asks(Agent):
        def act(self, state: Any, ctx: AgentContext[Session]) -> str | None:
            return loop().run("Who?").answer

    class Streams(Agent):
        def act(self, state: Any, ctx: AgentContext[Session]) -> str | None:
            with loop().stream("Who?") as stream:
                list(stream)
            return stream.result.answer

    for agent in (Asks(), Streams()):
        assert Orchestrator([agent]).run("?", context=Session("ada")).answer == "ada"


def test_a_computation_takes_facts_for_the_model_and_a_context_for_code() -> None:
    def planner(brief: dict[str, Any], ctx: AgentContext[Session]) -> dict[str, str]:
        return {
            "explain": "",
            "reasoning": "",
            "python": f"result = {ctx.context.user!r} + {brief['facts']['day']!r}",
        }

    system = Computation(planner=planner, summarise=False)
    result = system.run("Who?", facts={"day": "Monday"}, context=Session("ada "))
    assert result.value == "ada Monday"
