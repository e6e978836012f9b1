"""Approved calls whose outcome is known when a failed run goes on: nobody is asked again."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import pytest

from antiphon import Agent, AgentContext, Budget, Orchestrator, tool
from antiphon.errors import ToolError
from antiphon.graph import START, Command, Runtime, StateGraph, interrupt

if TYPE_CHECKING:
    from collections.abc import Callable

KINDS = pytest.mark.parametrize("kind", ["graph", "agent"])
STYLES = pytest.mark.parametrize("asynchronous", [False, True])
CONFIG: Any = {"configurable": {"thread_id": "t"}}


class Stopped(BaseException):
    """Stops a node in the middle of a call, and says nothing about the call."""


class Till:
    """Pays; and fails once, in the call or after it."""

    def __init__(self, *trouble: BaseException, **options: Any) -> None:
        self.paid: list[int] = []
        self.trouble = list(trouble)

        @tool(**{"approval": True, **options})
        def pay(euros: int) -> str:
            """Pays a sum."""
            self.paid.append(euros)
            if self.trouble:
                raise self.trouble.pop()
            return f"paid {euros}"

        self.pay = pay


class Desk:
    """A graph or a team of one node that pays, fails as often as it is told to, and asks."""

    def __init__(
        self, kind: str, till: Till, *euros: int, asynchronous: bool = False, fails: int = 1
    ) -> None:
        self.kind, self.till, self.euros = kind, till, euros
        self.asynchronous, self.fails = asynchronous, fails
        self.graph = self._graph() if kind == "graph" else None
        self.team = (
            Orchestrator([self._agent()], checkpointer="memory:") if not self.graph else None
        )

    def go_on(self, *answer: Any) -> tuple[list[Any], Any]:
        """What is asked then, and what was said at the end."""
        return asyncio.run(self._ago_on(*answer)) if self.asynchronous else self._go_on(*answer)

    def _go_on(self, *answer: Any) -> tuple[list[Any], Any]:
        if self.graph is not None:
            came = self.graph.invoke(Command(resume=answer[0]) if answer else None, CONFIG)
            return _asked(came), came.get("said")
        result = self.team.resume("t", *answer)  # type: ignore[union-attr]
        return [question.value for question in result.questions], result.answer

    async def _ago_on(self, *answer: Any) -> tuple[list[Any], Any]:
        if self.graph is not None:
            came = await self.graph.ainvoke(Command(resume=answer[0]) if answer else None, CONFIG)
            return _asked(came), came.get("said")
        result = await self.team.aresume("t", *answer)  # type: ignore[union-attr]
        return [question.value for question in result.questions], result.answer

    def begin(self) -> None:
        """Runs it until it asks for the first time."""
        if self.graph is not None:
            self.graph.invoke({}, CONFIG)
        else:
            self.team.run("pay", thread="t")  # type: ignore[union-attr]

    def _fail(self, said: list[str], ask: Callable[[str], Any]) -> str:
        if self.fails:
            self.fails -= 1
            raise LookupError("after the call")
        return f"{', '.join(said)}, {ask('more?')}"

    def _graph(self) -> Any:
        def node(state: dict[str, Any], runtime: Runtime[None]) -> dict[str, Any]:
            said = [runtime.call(self.till.pay, euros=one) for one in self.euros]
            return {"said": self._fail(said, interrupt)}

        async def anode(state: dict[str, Any], runtime: Runtime[None]) -> dict[str, Any]:
            said = [await runtime.acall(self.till.pay, euros=one) for one in self.euros]
            return {"said": self._fail(said, interrupt)}

        builder = StateGraph(dict).add_node("node", anode if self.asynchronous else node)
        return builder.add_edge(START, "node").compile("memory:")

    def _agent(self) -> Agent:
        desk = self

        class Payer(Agent):
            """Pays, then asks."""

            def run(self, state: Any, ctx: AgentContext) -> str:
                said = [ctx.call(desk.till.pay, euros=one) for one in desk.euros]
                return desk._fail(said, ctx.ask)

        class AsyncPayer(Agent):
            """Pays, then asks."""

            async def run(self, state: Any, ctx: AgentContext) -> str:
                said = [await ctx.acall(desk.till.pay, euros=one) for one in desk.euros]
                return desk._fail(said, ctx.ask)

        return AsyncPayer() if self.asynchronous else Payer()


def _asked(came: dict[str, Any]) -> list[Any]:
    return [question.value for question in came.get("__interrupt__", ())]


@KINDS
@STYLES
def test_a_call_that_was_made_is_not_asked_about_again(kind: str, asynchronous: bool) -> None:
    desk = Desk(kind, till := Till(), 5, asynchronous=asynchronous)
    desk.begin()
    with pytest.raises(LookupError):
        desk.go_on(True)
    assert desk.go_on()[0] == ["more?"]
    assert desk.go_on(False) == ([], "paid 5, False"), "the answer is that of the other question"
    assert till.paid == [5]


@KINDS
@STYLES
def test_a_call_that_was_made_with_other_arguments_is_known(kind: str, asynchronous: bool) -> None:
    desk = Desk(kind, till := Till(), 5, asynchronous=asynchronous, fails=2)
    desk.begin()
    with pytest.raises(LookupError):
        desk.go_on({"approve": True, "args": {"euros": 4}})
    with pytest.raises(LookupError):
        desk.go_on()
    assert desk.go_on()[0] == ["more?"]
    assert desk.go_on("no") == ([], "paid 4, no")
    assert till.paid == [4]


@KINDS
@STYLES
def test_each_of_the_same_calls_is_asked_about_unless_it_was_made(
    kind: str, asynchronous: bool
) -> None:
    desk = Desk(kind, till := Till(), 5, asynchronous=asynchronous)
    desk.begin()
    with pytest.raises(LookupError):
        desk.go_on(True)
    desk.euros, desk.fails = (5, 5), 1
    assert [question["arguments"] for question in desk.go_on()[0]] == [{"euros": 5}]
    assert till.paid == [5], "the second one is asked about"
    with pytest.raises(LookupError):
        desk.go_on(True)
    assert desk.go_on()[0] == ["more?"]
    assert till.paid == [5, 5]


@KINDS
@STYLES
def test_a_call_that_failed_is_asked_about_before_it_is_made_again(
    kind: str, asynchronous: bool
) -> None:
    desk = Desk(kind, till := Till(ConnectionError("down")), 5, asynchronous=asynchronous, fails=0)
    desk.begin()
    with pytest.raises(ConnectionError):
        desk.go_on(True)
    assert [question["tool"] for question in desk.go_on()[0]] == ["pay"]
    assert desk.go_on(True)[0] == ["more?"]
    assert desk.go_on("no") == ([], "paid 5, no")
    assert till.paid == [5, 5]


@KINDS
def test_a_call_that_may_be_made_twice_is_asked_about_before_it_is(kind: str) -> None:
    desk = Desk(kind, till := Till(idempotent=True), 5)
    desk.begin()
    with pytest.raises(LookupError):
        desk.go_on(True)
    assert [question["tool"] for question in desk.go_on()[0]] == ["pay"]
    assert desk.go_on(True)[0] == ["more?"]
    assert till.paid == [5, 5]


@KINDS
@STYLES
def test_nobody_is_asked_about_a_call_of_which_nobody_knows_what_came(
    kind: str, asynchronous: bool
) -> None:
    desk = Desk(kind, till := Till(Stopped()), 5, asynchronous=asynchronous, fails=0)
    desk.begin()
    with pytest.raises(BaseException):  # noqa: B017, PT011 - what comes out is told elsewhere
        desk.go_on(True)
    for _ in range(2):
        with pytest.raises(ToolError) as raised:
            desk.go_on()
        assert raised.value.code == "unknown_outcome"
    assert till.paid == [5]


@KINDS
@STYLES
def test_a_function_is_not_asked_about_a_call_that_was_made(kind: str, asynchronous: bool) -> None:
    verdicts = [True]
    desk = Desk(
        kind, till := Till(approval=lambda call: verdicts.pop()), 5, asynchronous=asynchronous
    )
    with pytest.raises(LookupError):
        desk.begin()
    assert desk.go_on()[0] == ["more?"]
    assert desk.go_on("no") == ([], "paid 5, no")
    assert till.paid == [5]


@KINDS
@STYLES
def test_a_function_is_asked_again_about_a_call_that_failed(kind: str, asynchronous: bool) -> None:
    verdicts = [False, True]
    till = Till(ConnectionError("down"), approval=lambda call: verdicts.pop())
    desk = Desk(kind, till, 5, asynchronous=asynchronous, fails=0)
    with pytest.raises(ConnectionError):
        desk.begin()
    with pytest.raises(ToolError) as raised:
        desk.go_on()
    assert raised.value.code == "tool_refused"
    assert till.paid == [5]


@KINDS
@STYLES
def test_a_function_is_not_asked_about_a_call_of_which_nobody_knows_what_came(
    kind: str, asynchronous: bool
) -> None:
    verdicts = [True]
    till = Till(Stopped(), approval=lambda call: verdicts.pop())
    desk = Desk(kind, till, 5, asynchronous=asynchronous, fails=0)
    with pytest.raises(BaseException):  # noqa: B017, PT011 - what comes out is told elsewhere
        desk.begin()
    with pytest.raises(ToolError) as raised:
        desk.go_on()
    assert raised.value.code == "unknown_outcome"
    assert till.paid == [5]


@pytest.mark.parametrize("approval", [True, lambda call: True])
def test_looking_a_call_up_counts_no_call(approval: Any) -> None:
    """A call that was approved and failed is looked up, and then made once more."""
    till = Till(ConnectionError("down"), approval=approval)

    class Payer(Agent):
        """Pays."""

        budget = Budget(tool_calls=2)

        def run(self, state: Any, ctx: AgentContext) -> Any:
            return ctx.call(till.pay, euros=5)

    team = Orchestrator([Payer()], checkpointer="memory:")
    yes = (True,) if approval is True else ()
    if yes:
        team.run("pay", thread="t")
    with pytest.raises(ConnectionError):
        team.resume("t", *yes) if yes else team.run("pay", thread="t")
    result = team.resume("t")
    assert (team.resume("t", *yes) if yes else result).answer == "paid 5"
