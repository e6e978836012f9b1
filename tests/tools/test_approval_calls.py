"""Approved calls of an agent's own code: side by side, and in code that begins again."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from antiphon import Agent, AgentContext, Orchestrator, ToolCall, tool
from antiphon.errors import ToolError
from antiphon.graph import START, Command, Runtime, StateGraph, interrupt
from antiphon.result import Result

KEPT = pytest.mark.parametrize("kept", [False, True])


class Till:
    """Pays, and remembers what it paid."""

    def __init__(self, **options: Any) -> None:
        self.paid: list[int] = []
        self.logged = 0

        @tool(**options)
        async def pay(euros: int) -> str:
            """Pays a sum."""
            await asyncio.sleep(0)
            self.paid.append(euros)
            return f"paid {euros}"

        @tool
        async def log() -> str:
            """Writes a line."""
            for _ in range(5):
                await asyncio.sleep(0)
            self.logged += 1
            return "logged"

        self.pay, self.log = pay, log


def team(agent: Agent, *, kept: bool = False) -> Orchestrator:
    return Orchestrator([agent], checkpointer="memory:" if kept else None)


def approved(made: Orchestrator, result: Result, *, most: int = 5) -> tuple[Result, list[Any]]:
    """Says yes to every question, and returns the questions."""
    asked = []
    for _ in range(most):
        if result.outcome != "paused":
            break
        asked += [question.value["arguments"] for question in result.questions]
        result = made.resume(result, True)
    return result, asked


@KEPT
def test_calls_side_by_side_are_asked_about_one_by_one_and_made_once(kept: bool) -> None:
    till = Till(approval=True)

    class Both(Agent):
        """Pays twice at once."""

        async def act(self, state: Any, ctx: AgentContext) -> str:
            said = await asyncio.gather(
                ctx.acall(till.pay, euros=5), ctx.acall(till.pay, euros=7), ctx.acall(till.log)
            )
            return ", ".join(said)

    made = team(Both(), kept=kept)
    result, asked = approved(made, made.run("pay"))
    assert result.answer == "paid 5, paid 7, logged"
    assert asked == [{"euros": 5}, {"euros": 7}]
    assert (sorted(till.paid), till.logged) == ([5, 7], 1)


def test_calls_side_by_side_on_the_callers_loop_are_asked_about() -> None:
    till = Till(approval=True)

    class Both(Agent):
        """Pays twice at once."""

        async def act(self, state: Any, ctx: AgentContext) -> str:
            calls = [ctx.acall(till.pay, euros=euros) for euros in (5, 7)]
            return ", ".join(await asyncio.gather(*calls))

    made = team(Both())

    async def approve_all() -> Result:
        result = await made.arun("pay")
        for _ in range(2):
            result = await made.aresume(result, True)
        return result

    assert asyncio.run(approve_all()).answer == "paid 5, paid 7"
    assert sorted(till.paid) == [5, 7]


@KEPT
def test_the_same_call_twice_is_asked_about_twice(kept: bool) -> None:
    till = Till(approval=True)

    class Twice(Agent):
        """Pays the same twice at once."""

        async def act(self, state: Any, ctx: AgentContext) -> str:
            calls = [ctx.acall(till.pay, euros=5) for _ in range(2)]
            return ", ".join(await asyncio.gather(*calls))

    made = team(Twice(), kept=kept)
    result, asked = approved(made, made.run("pay"))
    assert (result.answer, asked) == ("paid 5, paid 5", [{"euros": 5}] * 2)
    assert till.paid == [5, 5]


@KEPT
def test_an_answer_goes_to_its_call_in_any_order_of_calls(kept: bool) -> None:
    till = Till(approval=True)
    orders = iter([(7, 5), (5, 7), (5, 7)])

    class Turning(Agent):
        """Comes to its calls in another order when it begins again."""

        async def act(self, state: Any, ctx: AgentContext) -> str:
            calls = [ctx.acall(till.pay, euros=euros) for euros in next(orders)]
            return ", ".join(await asyncio.gather(*calls))

    made = team(Turning(), kept=kept)
    result, asked = approved(made, made.run("pay"))
    assert (result.answer, asked) == ("paid 5, paid 7", [{"euros": 7}, {"euros": 5}])
    assert sorted(till.paid) == [5, 7]


@KEPT
def test_its_own_questions_get_their_own_answers(kept: bool) -> None:
    till = Till(approval=True)

    class Asking(Agent):
        """Asks before and after it pays."""

        async def act(self, state: Any, ctx: AgentContext) -> str:
            name = ctx.ask("name?")
            said = await ctx.acall(till.pay, euros=5)
            return f"{name}, {said}, {ctx.ask('more?')}"

    made = team(Asking(), kept=kept)
    result = made.resume(made.run("pay"), "Ada")
    result = made.resume(result, True)
    assert made.resume(result, "no").answer == "Ada, paid 5, no"
    assert till.paid == [5]


@KEPT
def test_an_attempt_after_a_failed_one_asks_again(kept: bool) -> None:
    till = Till(approval=True)
    fails = iter([True])

    class Failing(Agent):
        """Fails once after it has paid."""

        retry = 2

        def act(self, state: Any, ctx: AgentContext) -> str:
            said = ctx.call(till.pay, euros=5)
            if next(fails, False):
                raise ConnectionError
            return f"{said}, {ctx.ask('more?')}"

    made = team(Failing(), kept=kept)
    result = made.resume(made.run("pay"), True)
    assert result.questions[0].value["tool"] == "pay", "what was approved has been called"
    assert till.paid == [5]
    result, asked = approved(made, result, most=1)
    assert (result.questions[0].value, asked) == ("more?", [{"euros": 5}])
    assert made.resume(result, "no").answer == "paid 5, no"
    assert till.paid == [5, 5]


def test_a_call_that_is_left_to_nobody_asks_nobody() -> None:
    till = Till(approval=True, max_calls=1)

    class Twice(Agent):
        """Pays twice."""

        def act(self, state: Any, ctx: AgentContext) -> str:
            ctx.call(till.pay, euros=5)
            return str(ctx.call(till.pay, euros=7))

    made = team(Twice())
    result, asked = approved(made, made.run("pay"))
    assert (result.outcome, result.reason) == ("budget", "tool_calls")
    assert (asked, till.paid) == ([{"euros": 5}], [5])


@KEPT
def test_a_function_decides_about_calls_in_another_order_each_by_itself(kept: bool) -> None:
    asked: list[int] = []

    def approval(call: ToolCall) -> bool:
        asked.append(call.arguments["euros"])
        return bool(call.arguments["euros"] < 6)

    till = Till(approval=approval)
    orders = iter([(9, 8), (8, 9)])

    class Turning(Agent):
        """Comes to its calls in another order when it begins again."""

        def act(self, state: Any, ctx: AgentContext) -> str:
            said = []
            for euros in next(orders):
                try:
                    said.append(ctx.call(till.pay, euros=euros))
                except ToolError as error:
                    said.append(error.code)
            return f"{', '.join(said)}, {ctx.ask('go on?')}"

    made = team(Turning(), kept=kept)
    assert made.resume(made.run("pay"), "yes").answer == "tool_refused, tool_refused, yes"
    assert asked == [9, 8], "each is decided once"


@KEPT
def test_a_function_that_approves_cannot_change_what_is_called(kept: bool) -> None:
    called: list[list[int]] = []

    def approval(call: ToolCall) -> bool:
        call.arguments["sums"].append(5000)
        return True

    @tool(approval=approval)
    def pay(sums: list[int]) -> str:
        """Pays."""
        called.append(sums)
        return "paid"

    class Payer(Agent):
        """Pays, then asks."""

        def act(self, state: Any, ctx: AgentContext) -> str:
            return f"{ctx.call(pay, sums=[1])}, {ctx.ask('more?')}"

    made = team(Payer(), kept=kept)
    assert made.resume(made.run("pay"), "no").answer == "paid, no"
    assert called == [[1]]


def test_nodes_of_a_graph_pay_side_by_side_and_ask() -> None:
    till = Till(approval=True)

    async def pay(state: dict[str, Any], runtime: Runtime[None]) -> dict[str, Any]:
        calls = [runtime.acall(till.pay, euros=euros) for euros in (5, 5, 7)]
        said = await asyncio.gather(*calls, runtime.acall(till.log))
        return {"said": said, "more": interrupt("more?")}

    graph = StateGraph(dict).add_node("pay", pay).add_edge(START, "pay").compile("memory:")
    config: Any = {"configurable": {"thread_id": "t"}}

    async def run_all() -> list[Any]:
        came = [await graph.ainvoke({}, config)]
        answers = (True, True, True, "no")
        return came + [await graph.ainvoke(Command(resume=answer), config) for answer in answers]

    *asked, end = asyncio.run(run_all())
    sums = [came["__interrupt__"][0].value["arguments"]["euros"] for came in asked[:3]]
    assert (sums, asked[3]["__interrupt__"][0].value) == ([5, 5, 7], "more?")
    assert (end["more"], sorted(till.paid), till.logged) == ("no", [5, 5, 7], 1)


def test_a_function_knows_the_calls_of_a_graph_by_their_keys() -> None:
    keys: list[str] = []

    def approval(call: ToolCall) -> bool:
        keys.append(call.call_id)
        return True

    till = Till(approval=approval)

    def pay(state: dict[str, Any], runtime: Runtime[None]) -> dict[str, Any]:
        return {"said": [runtime.call(till.pay, euros=5) for _ in range(2)]}

    StateGraph(dict).add_node("pay", pay).add_edge(START, "pay").compile().invoke({})
    assert len({key for key in keys if key}) == 2
