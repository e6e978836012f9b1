"""Calls of tools that somebody has to approve of, as users see it."""

from __future__ import annotations

import asyncio
import datetime as dt
import json
from typing import TYPE_CHECKING, Any

import pytest

from antiphon import Agent, AgentContext, Orchestrator, ToolCall, tool
from antiphon.checkpoint import MemorySaver
from antiphon.errors import ToolError, ValidationError
from antiphon.graph import START, Command, Runtime, StateGraph
from antiphon.models import scripted
from antiphon.systems import ReviewLoop

if TYPE_CHECKING:
    from collections.abc import Callable

    from antiphon import Tool
    from antiphon.result import Result


class Till:
    """Pays, and remembers what it paid."""

    def __init__(self, **options: Any) -> None:
        self.paid: list[int] = []
        self.noted = 0

        @tool(**options)
        def pay(euros: int) -> str:
            """Pays a sum.

            Args:
                euros: how much.
            """
            self.paid.append(euros)
            return f"paid {euros}"

        @tool
        def note() -> str:
            """Writes a note."""
            self.noted += 1
            return "noted"

        self.tools: list[Tool] = [pay, note]


def wants(*calls: tuple[str, dict[str, Any]]) -> dict[str, Any]:
    """A reply that asks for these calls."""
    made = [
        {"id": f"c{place}", "name": name, "arguments": arguments}
        for place, (name, arguments) in enumerate(calls)
    ]
    return {"tool_calls": made}


def model(*turns: Any) -> tuple[Callable[[dict[str, Any]], Any], list[list[str]]]:
    """A model of these replies, and what it has read of its tools each time."""
    read: list[list[str]] = []

    def reply(request: dict[str, Any]) -> Any:
        messages = request["messages"]
        read.append([said["content"] for said in messages if said["role"] == "tool"])
        return turns[sum(said["role"] == "assistant" for said in messages)]

    return reply, read


def team(till: Till, *turns: Any, **options: Any) -> tuple[Orchestrator, list[list[str]]]:
    """A cashier with that till."""
    reply, read = model(*turns)

    class Cashier(Agent):
        """Pays."""

    return Orchestrator([Cashier(model=reply, tools=till.tools)], **options), read


PAY = ("pay", {"euros": 70})
ANSWERS = [
    (True, [70], "paid 70"),
    ("approve", [70], "paid 70"),
    (False, [], 'error: this call of "pay" was not approved, and it was not called.'),
    (
        {"approve": False, "reason": "too dear"},
        [],
        'error: this call of "pay" was not approved, and it was not called: too dear',
    ),
    ({"approve": True, "args": {"euros": 7}}, [7], "paid 7"),
]


@pytest.mark.parametrize("kept", [False, True])
@pytest.mark.parametrize(("answer", "paid", "read"), ANSWERS)
def test_a_run_resumes_after_a_person_decides(
    answer: Any, paid: list[int], read: str, kept: bool
) -> None:
    till = Till(approval=True)
    options = {"checkpointer": "memory:"} if kept else {}
    made, seen = team(till, wants(PAY), "done", **options)
    result = made.run("pay")
    assert result.outcome == "paused"
    assert till.paid == []
    (question,) = result.questions
    assert question.agent == "cashier"
    assert question.value["tool"] == "pay"
    assert question.value["arguments"] == {"euros": 70}
    assert "approved" in question.value["why"]
    assert json.loads(json.dumps(question.value)) == question.value
    asked = [event for event in result.events if event.kind == "interrupt"]
    assert [event.data["value"]["tool"] for event in asked] == ["pay"]
    result = made.resume(result, answer)
    assert (result.answer, till.paid) == ("done", paid)
    assert seen[-1][0].endswith(read)


@pytest.mark.parametrize("kept", [False, True])
@pytest.mark.parametrize(
    "answer",
    ["yes", 1, None, [], {"approve": True, "args": {"euros": "many"}}, {"approve": 1}, object()],
)
def test_an_answer_that_decides_nothing_leaves_the_pause(answer: Any, kept: bool) -> None:
    till = Till(approval=True)
    made, _ = team(till, wants(PAY), "done", **({"checkpointer": "memory:"} if kept else {}))
    result = made.run("pay")
    with pytest.raises(ValidationError, match="`pay`") as caught:
        made.resume(result, answer)
    assert caught.value.code == "approval_invalid"
    assert till.paid == []
    assert made.resume(result, True).answer == "done"
    assert till.paid == [70]


@pytest.mark.parametrize("kept", [False, True])
def test_several_calls_are_answered_together_or_not_at_all(kept: bool) -> None:
    till = Till(approval=True)
    turn = wants(("note", {}), PAY, ("pay", {"euros": 30}))
    made, read = team(till, turn, "done", **({"checkpointer": "memory:"} if kept else {}))
    result = made.run("pay")
    assert till.noted == 1
    first, second = (question.id for question in result.questions)
    with pytest.raises(ValidationError, match="neither approves nor rejects"):
        made.resume(result, {first: True, second: "perhaps"})
    assert till.paid == []
    with pytest.raises(ValidationError, match="several questions"):
        made.resume(result, True)
    result = made.resume(result, {first: False, second: True})
    assert result.answer == "done"
    assert (till.paid, till.noted, len(read)) == ([30], 1, 2)


@pytest.mark.parametrize("kept", [False, True])
def test_what_is_not_answered_is_asked_again(kept: bool) -> None:
    till = Till(approval=True)
    turn = wants(PAY, ("pay", {"euros": 30}))
    made, _ = team(till, turn, "done", **({"checkpointer": "memory:"} if kept else {}))
    result = made.run("pay")
    first, second = result.questions
    result = made.resume(result, {first.id: True})
    assert till.paid == [70]
    assert [question.id for question in result.questions] == [second.id]
    assert made.resume(result, True).answer == "done"
    assert till.paid == [70, 30]


def test_a_thread_shows_what_it_waits_for() -> None:
    till = Till(approval=True)
    made, _ = team(till, wants(PAY, PAY), "done", checkpointer="memory:")
    result = made.run("pay", thread="t")
    state = made.state("t")
    assert state.outcome == "paused"
    assert [question.id for question in state.questions] == [one.id for one in result.questions]
    assert made.orphans() == []
    answers = dict.fromkeys([one.id for one in result.questions], True)
    assert made.resume("t", answers).answer == "done"
    assert till.paid == [70, 70]


def small(call: ToolCall) -> bool | str:
    """Sums under 100."""
    return call.arguments["euros"] < 100 or "only sums under 100"


async def asmall(call: ToolCall) -> bool | str:
    """The same, async."""
    await asyncio.sleep(0)
    return small(call)


def later(call: ToolCall) -> Any:
    """The same, as an awaitable that comes unannounced."""
    return asmall(call)


@pytest.mark.parametrize("approval", [small, asmall, later])
@pytest.mark.parametrize("awaited", [False, True])
def test_a_function_decides_at_once(approval: Any, awaited: bool) -> None:
    till = Till(approval=approval, max_calls=1)
    made, read = team(till, wants(("pay", {"euros": 100})), wants(PAY), "done")
    result: Result = asyncio.run(made.arun("pay")) if awaited else made.run("pay")
    assert result.answer == "done"
    assert till.paid == [70], "what was refused does not count for `max_calls`"
    assert read[1][0].endswith(": only sums under 100")


def test_a_function_is_asked_about_arguments_that_fit_alone() -> None:
    asked: list[ToolCall] = []

    def approval(call: ToolCall) -> bool:
        asked.append(call)
        return True

    till = Till(approval=approval)
    made, _ = team(till, wants(("pay", {"euros": "much"})), wants(("pay", {"euros": "8"})), "done")
    assert made.run("pay").answer == "done"
    assert [(call.name, dict(call.arguments), call.call_id) for call in asked] == [
        ("pay", {"euros": 8}, "c0")
    ]
    assert till.paid == [8]


@pytest.mark.parametrize("wrong", [None, 1, {"approve": True}])
def test_a_function_that_decides_nothing_ends_the_run_before_the_call(wrong: Any) -> None:
    till = Till(approval=lambda call: wrong)
    made, _ = team(till, wants(PAY), "done")
    with pytest.raises(ToolError) as caught:
        made.run("pay")
    assert caught.value.code == "approval_failed"
    assert till.paid == []


def test_what_a_function_raises_is_raised_from_the_run() -> None:
    def broken(call: ToolCall) -> bool:
        raise LookupError(call.name)

    till = Till(approval=broken)
    made, _ = team(till, wants(PAY), "done")
    with pytest.raises(LookupError, match="pay"):
        made.run("pay")
    assert till.paid == []


@pytest.mark.parametrize("wrong", [None, 1, "yes", Till])
def test_an_approval_is_true_false_or_a_function(wrong: Any) -> None:
    with pytest.raises(ValidationError, match="approval") as caught:
        Till(approval=wrong)
    assert caught.value.code == "tool_option"


class Teller(Agent):
    """Pays by itself."""

    till: Any = None

    def act(self, state: Any, ctx: AgentContext) -> str:
        try:
            first = ctx.call(self.till.tools[0], euros=70)
        except ToolError as error:
            return f"{error.code}: {error.details.get('reason')}"
        return f"{first}, {ctx.call('note')}"


def teller(till: Till, **options: Any) -> Orchestrator:
    agent = Teller(tools=till.tools)
    agent.till = till
    return Orchestrator([agent], **options)


@pytest.mark.parametrize("kept", [False, True])
@pytest.mark.parametrize(
    ("answer", "said", "paid"),
    [
        (True, "paid 70, noted", [70]),
        ({"approve": True, "args": {"euros": 7}}, "paid 7, noted", [7]),
        ({"approve": False, "reason": "no"}, "tool_refused: no", []),
    ],
)
def test_a_call_of_an_agents_own_code_waits_for_a_person(
    answer: Any, said: str, paid: list[int], kept: bool
) -> None:
    till = Till(approval=True)
    made = teller(till, **({"checkpointer": "memory:"} if kept else {}))
    result = made.run("pay")
    assert result.questions[0].value["arguments"] == {"euros": 70}
    with pytest.raises(ValidationError, match="neither approves nor rejects"):
        made.resume(result, "perhaps")
    result = made.resume(result, answer)
    assert (result.answer, till.paid) == (said, paid)


def test_a_function_decides_about_a_call_of_an_agents_own_code_once() -> None:
    asked: list[ToolCall] = []

    class Asking(Agent):
        """Pays, then asks."""

        async def act(self, state: Any, ctx: AgentContext) -> str:
            said = await ctx.acall(till.tools[0], euros=70)
            try:
                await ctx.acall(till.tools[0], euros=100)
            except ToolError as error:
                said += f", {error.details['reason']}"
            return f"{said}, {ctx.ask('go on?')}"

    def approval(call: ToolCall) -> bool | str:
        asked.append(call)
        return small(call)

    till = Till(approval=approval)
    made = Orchestrator([Asking()])
    result = made.resume(made.run("pay"), "yes")
    assert result.answer == "paid 70, only sums under 100, yes"
    assert till.paid == [70]
    assert [call.arguments["euros"] for call in asked] == [70, 100], "not again after the pause"


def dear(call: ToolCall) -> bool | str:
    """Sums above 70."""
    return call.arguments["euros"] > 70 or "no"


@pytest.mark.parametrize("kept", [False, True])
def test_what_a_person_decided_about_one_call_is_not_taken_for_another(kept: bool) -> None:
    till, made = fickle(True, kept=kept)
    paused = made.resume(made.run("pay"), True)
    assert [asked.value["arguments"] for asked in paused.questions] == [{"euros": 700}]
    assert till.paid == []


@pytest.mark.parametrize("kept", [False, True])
def test_a_function_decides_about_another_call_by_itself(kept: bool) -> None:
    till, made = fickle(dear, kept=kept)
    assert made.resume(made.run("pay"), "yes").answer == "paid 700, yes"
    assert till.paid == [700]


def fickle(approval: Any, *, kept: bool) -> tuple[Till, Orchestrator]:
    """A team that wants another sum each time it begins."""
    sums = iter([70, 700])
    till = Till(approval=approval)

    class Fickle(Agent):
        """Pays, then asks."""

        def act(self, state: Any, ctx: AgentContext) -> str:
            try:
                said = ctx.call(till.tools[0], euros=next(sums))
            except ToolError:
                said = "refused"
            return f"{said}, {ctx.ask('go on?')}"

    return till, Orchestrator([Fickle()], checkpointer="memory:" if kept else None)


def test_max_calls_holds_for_calls_of_an_agents_own_code() -> None:
    class Twice(Agent):
        """Pays twice."""

        def act(self, state: Any, ctx: AgentContext) -> str:
            ctx.call(till.tools[0], euros=1)
            return str(ctx.call(till.tools[0], euros=2))

    till = Till(max_calls=1)
    result = Orchestrator([Twice()]).run("pay")
    assert (result.outcome, result.reason) == ("budget", "tool_calls")
    assert till.paid == [1]


def test_a_node_of_a_graph_waits_for_a_person() -> None:
    till = Till(approval=True)

    def pay(state: dict[str, Any], runtime: Runtime[None]) -> dict[str, Any]:
        return {"said": runtime.call(till.tools[0], euros=70)}

    builder = StateGraph(dict)
    builder.add_node("pay", pay)
    builder.add_edge(START, "pay")
    graph = builder.compile(MemorySaver())
    config: Any = {"configurable": {"thread_id": "t"}}
    paused = graph.invoke({}, config)
    assert paused["__interrupt__"][0].value["tool"] == "pay"
    with pytest.raises(ValidationError, match="neither approves nor rejects"):
        graph.invoke(Command(resume="perhaps"), config)
    assert graph.invoke(Command(resume={"approve": True, "args": {"euros": 5}}), config)
    assert till.paid == [5]


def test_arguments_that_json_lacks_are_shown_and_kept() -> None:
    days: list[dt.date] = []

    @tool(approval=True)
    def book(day: dt.date) -> str:
        """Books a day."""
        days.append(day)
        return "booked"

    class Booker(Agent):
        """Books."""

        def act(self, state: Any, ctx: AgentContext) -> str:
            return str(ctx.call(book, day="2026-11-21"))

    made = Orchestrator([Booker()])
    paused = made.run("book")
    assert paused.questions[0].value["arguments"] == {"day": "2026-11-21"}
    assert made.resume(paused, True).answer == "booked"
    assert days == [dt.date(2026, 11, 21)]


@pytest.mark.parametrize("approved", [True, False])
def test_a_ready_system_pauses_for_a_person(approved: bool) -> None:
    till = Till(approval=True)
    approve = {"json": {"decision": "approve", "feedback": ""}}
    replies: list[Any] = [
        {"json": {"research_steps": [], "expert_steps": ["pay"]}},
        approve,
        wants(("pay", {"euros": 3})),
        {"json": {"expert_answer": "done", "reasoning_trace": ""}},
        approve,
        {"json": {"final_answer": "done", "final_reasoning_trace": ""}},
    ]
    with MemorySaver() as saver:
        loop = ReviewLoop(scripted(replies), expert_tools=till.tools, checkpointer=saver)
        paused = loop.run("pay 3 euros", thread="t")
        (question,) = paused.questions
        assert (paused.outcome, till.paid) == ("paused", [])
        assert (question.value["tool"], question.value["arguments"]) == ("pay", {"euros": 3})
        result = loop.resume("t", approved)
    assert (result.outcome, result.answer) == ("answered", "done")
    assert till.paid == ([3] if approved else [])
