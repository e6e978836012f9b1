"""Approved calls whose outcome is known when a failed run continues: nobody is asked again."""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any

import pytest

from antiphon import Agent, AgentContext, Budget, Orchestrator, tool
from antiphon.errors import ToolError
from antiphon.graph import START, Command, Runtime, StateGraph, interrupt

if TYPE_CHECKING:
    from collections.abc import Callable


STYLES = pytest.mark.parametrize("asynchronous", [False, True])
CONFIG: Any = {"configurable": {"thread_id": "t"}}


class NodeKilled(BaseException):
    """Ends a node in the middle of a call, so that nobody knows what came of the call."""


class PaymentTool:
    """A tool that pays, and then fails with each of the given errors once."""

    def __init__(self, *errors: BaseException, **options: Any) -> None:
        self.paid: list[int] = []
        self.errors = list(errors)

        @tool(**{"approval": True, **options})
        def pay(euros: int) -> str:
            """Pays a sum."""
            self.paid.append(euros)
            if self.errors:
                raise self.errors.pop()
            return f"paid {euros}"

        self.tool = pay


class PaymentRun(ABC):
    """A run of one node that pays each sum, fails `failures` times, and asks a question."""

    def __init__(
        self, payment: PaymentTool, *euros: int, asynchronous: bool = False, failures: int = 1
    ) -> None:
        self.payment, self.euros = payment, euros
        self.asynchronous, self.failures = asynchronous, failures

    @abstractmethod
    def begin(self) -> None:
        """Runs it until it asks for the first time."""

    @abstractmethod
    def resume(self, *answer: Any) -> tuple[list[Any], Any]:
        """What it asks then, and what it said at the end."""

    def finish(self, said: list[str], ask: Callable[[str], Any]) -> str:
        """The end of the node."""
        if self.failures:
            self.failures -= 1
            raise LookupError("after the call")
        return f"{', '.join(said)}, {ask('more?')}"


class GraphPayment(PaymentRun):
    """Pays in a graph."""

    def __init__(self, *given: Any, **options: Any) -> None:
        super().__init__(*given, **options)

        def node(state: dict[str, Any], runtime: Runtime[None]) -> dict[str, Any]:
            said = [runtime.call(self.payment.tool, euros=one) for one in self.euros]
            return {"said": self.finish(said, interrupt)}

        async def anode(state: dict[str, Any], runtime: Runtime[None]) -> dict[str, Any]:
            said = [await runtime.acall(self.payment.tool, euros=one) for one in self.euros]
            return {"said": self.finish(said, interrupt)}

        builder = StateGraph(dict).add_node("node", anode if self.asynchronous else node)
        self.graph = builder.add_edge(START, "node").compile("memory:")

    def begin(self) -> None:
        self.graph.invoke({}, CONFIG)

    def resume(self, *answer: Any) -> tuple[list[Any], Any]:
        command = Command(resume=answer[0]) if answer else None
        if self.asynchronous:
            state = asyncio.run(self.graph.ainvoke(command, CONFIG))
        else:
            state = self.graph.invoke(command, CONFIG)
        questions = state.get("__interrupt__", ())
        return [question.value for question in questions], state.get("said")


class TeamPayment(PaymentRun):
    """Pays in an agent of a team."""

    def __init__(self, *given: Any, **options: Any) -> None:
        super().__init__(*given, **options)
        payment = self

        class Payer(Agent):
            """Pays, then asks."""

            def act(self, state: Any, ctx: AgentContext) -> str:
                said = [ctx.call(payment.payment.tool, euros=one) for one in payment.euros]
                return payment.finish(said, ctx.ask)

        class AsyncPayer(Agent):
            """Pays, then asks."""

            async def act(self, state: Any, ctx: AgentContext) -> str:
                said = [await ctx.acall(payment.payment.tool, euros=one) for one in payment.euros]
                return payment.finish(said, ctx.ask)

        agent = AsyncPayer() if self.asynchronous else Payer()
        self.team = Orchestrator([agent], checkpointer="memory:")

    def begin(self) -> None:
        self.team.run("pay", thread="t")

    def resume(self, *answer: Any) -> tuple[list[Any], Any]:
        if self.asynchronous:
            result = asyncio.run(self.team.aresume("t", *answer))
        else:
            result = self.team.resume("t", *answer)
        return [question.value for question in result.questions], result.answer


KINDS = pytest.mark.parametrize("kind", [GraphPayment, TeamPayment])


@KINDS
@STYLES
def test_a_call_that_was_made_is_not_asked_about_again(
    kind: type[PaymentRun], asynchronous: bool
) -> None:
    run = kind(payment := PaymentTool(), 5, asynchronous=asynchronous)
    run.begin()
    with pytest.raises(LookupError):
        run.resume(True)
    assert run.resume()[0] == ["more?"]
    assert run.resume(False) == ([], "paid 5, False"), "the answer is that of the other question"
    assert payment.paid == [5]


@KINDS
@STYLES
def test_a_call_that_was_made_with_other_arguments_is_known(
    kind: type[PaymentRun], asynchronous: bool
) -> None:
    run = kind(payment := PaymentTool(), 5, asynchronous=asynchronous, failures=2)
    run.begin()
    with pytest.raises(LookupError):
        run.resume({"approve": True, "args": {"euros": 4}})
    with pytest.raises(LookupError):
        run.resume()
    assert run.resume()[0] == ["more?"]
    assert run.resume("no") == ([], "paid 4, no")
    assert payment.paid == [4]


@KINDS
@STYLES
def test_each_of_the_same_calls_is_asked_about_unless_it_was_made(
    kind: type[PaymentRun], asynchronous: bool
) -> None:
    run = kind(payment := PaymentTool(), 5, asynchronous=asynchronous)
    run.begin()
    with pytest.raises(LookupError):
        run.resume(True)
    run.euros, run.failures = (5, 5), 1
    assert [question["arguments"] for question in run.resume()[0]] == [{"euros": 5}]
    assert payment.paid == [5], "the second one is asked about"
    with pytest.raises(LookupError):
        run.resume(True)
    assert run.resume()[0] == ["more?"]
    assert payment.paid == [5, 5]


@KINDS
@STYLES
def test_a_call_that_failed_is_asked_about_before_it_is_made_again(
    kind: type[PaymentRun], asynchronous: bool
) -> None:
    run = kind(
        payment := PaymentTool(ConnectionError("down")), 5, asynchronous=asynchronous, failures=0
    )
    run.begin()
    with pytest.raises(ConnectionError):
        run.resume(True)
    assert [question["tool"] for question in run.resume()[0]] == ["pay"]
    assert run.resume(True)[0] == ["more?"]
    assert run.resume("no") == ([], "paid 5, no")
    assert payment.paid == [5, 5]


@KINDS
def test_a_call_that_may_be_made_twice_is_asked_about_before_it_is(kind: type[PaymentRun]) -> None:
    run = kind(payment := PaymentTool(idempotent=True), 5)
    run.begin()
    with pytest.raises(LookupError):
        run.resume(True)
    assert [question["tool"] for question in run.resume()[0]] == ["pay"]
    assert run.resume(True)[0] == ["more?"]
    assert payment.paid == [5, 5]


@KINDS
@STYLES
def test_a_call_of_unknown_outcome_is_not_proposed_again(
    kind: type[PaymentRun], asynchronous: bool
) -> None:
    run = kind(payment := PaymentTool(NodeKilled()), 5, asynchronous=asynchronous, failures=0)
    run.begin()
    with pytest.raises(NodeKilled):
        run.resume(True)
    for _ in range(2):
        with pytest.raises(ToolError) as raised:
            run.resume()
        assert raised.value.code == "unknown_outcome"
    assert payment.paid == [5]


@KINDS
@STYLES
def test_a_function_is_not_asked_about_a_call_that_was_made(
    kind: type[PaymentRun], asynchronous: bool
) -> None:
    verdicts = [True]
    run = kind(
        payment := PaymentTool(approval=lambda call: verdicts.pop()), 5, asynchronous=asynchronous
    )
    with pytest.raises(LookupError):
        run.begin()
    assert run.resume()[0] == ["more?"]
    assert run.resume("no") == ([], "paid 5, no")
    assert payment.paid == [5]


@KINDS
@STYLES
def test_a_function_is_asked_again_about_a_call_that_failed(
    kind: type[PaymentRun], asynchronous: bool
) -> None:
    verdicts = [False, True]
    payment = PaymentTool(ConnectionError("down"), approval=lambda call: verdicts.pop())
    run = kind(payment, 5, asynchronous=asynchronous, failures=0)
    with pytest.raises(ConnectionError):
        run.begin()
    with pytest.raises(ToolError) as raised:
        run.resume()
    assert raised.value.code == "tool_refused"
    assert payment.paid == [5]


@KINDS
@STYLES
def test_a_function_does_not_decide_again_on_a_call_of_unknown_outcome(
    kind: type[PaymentRun], asynchronous: bool
) -> None:
    verdicts = [True]
    payment = PaymentTool(NodeKilled(), approval=lambda call: verdicts.pop())
    run = kind(payment, 5, asynchronous=asynchronous, failures=0)
    with pytest.raises(NodeKilled):
        run.begin()
    with pytest.raises(ToolError) as raised:
        run.resume()
    assert raised.value.code == "unknown_outcome"
    assert payment.paid == [5]


@pytest.mark.parametrize("approval", [True, lambda call: True])
def test_looking_a_call_up_counts_no_call(approval: Any) -> None:
    """A call that was approved and failed is looked up, and then made once more."""
    payment = PaymentTool(ConnectionError("down"), approval=approval)

    class Payer(Agent):
        """Pays."""

        budget = Budget(tool_calls=2)

        def act(self, state: Any, ctx: AgentContext) -> Any:
            return ctx.call(payment.tool, euros=5)

    team = Orchestrator([Payer()], checkpointer="memory:")
    yes = (True,) if approval is True else ()
    if yes:
        team.run("pay", thread="t")
    with pytest.raises(ConnectionError):
        team.resume("t", *yes) if yes else team.run("pay", thread="t")
    result = team.resume("t")
    assert (team.resume("t", *yes) if yes else result).answer == "paid 5"
