"""Questions of an agent's own code beside calls that are under way."""

from __future__ import annotations

import asyncio
import threading
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import TYPE_CHECKING, Any

import pytest

from antiphon import Agent, AgentContext, Orchestrator, tool
from antiphon.errors import ToolError
from antiphon.result import Result
from support.waiting import ENOUGH

if TYPE_CHECKING:
    from collections.abc import Callable

KEPT = pytest.mark.parametrize("kept", [False, True])
LOOP = pytest.mark.parametrize("own_loop", [False, True])


class Book:
    """Writes lines, and counts them."""

    def __init__(self, **options: Any) -> None:
        self.lines = 0

        @tool(**options)
        async def log() -> str:
            """Writes a line."""
            for _ in range(5):
                await asyncio.sleep(0)
            self.lines += 1
            return "logged"

        self.log = log


def team(agent: Agent, *, kept: bool = False) -> Orchestrator:
    return Orchestrator([agent], checkpointer="memory:" if kept else None)


def answered(made: Orchestrator, *answers: Any, own_loop: bool) -> list[Result]:
    """What a run and its resumptions come to, on the caller's loop or without one."""

    async def run_all() -> list[Result]:
        came = [await made.arun("q")]
        for answer in answers:
            came.append(await made.aresume(came[-1], answer))
        return came

    if own_loop:
        return asyncio.run(run_all())
    came = [made.run("q")]
    for answer in answers:
        came.append(made.resume(came[-1], answer))
    return came


class Beside(Agent):
    """Asks beside a call, before or after it."""

    def __init__(self, book: Book, *, first: bool) -> None:
        super().__init__()
        self.book, self.first = book, first

    async def act(self, state: Any, ctx: AgentContext) -> str:
        async def ask() -> str:
            return str(ctx.ask("name?"))

        calls = [ask(), ctx.acall(self.book.log), ctx.astep("time", lambda: "noon")]
        said = await asyncio.gather(*(calls if self.first else reversed(calls)))
        return ", ".join(sorted(said))


@KEPT
@LOOP
@pytest.mark.parametrize("first", [False, True])
def test_calls_beside_a_question_end_before_the_run_pauses(
    kept: bool, own_loop: bool, first: bool
) -> None:
    book = Book()
    paused, end = answered(team(Beside(book, first=first), kept=kept), "Ada", own_loop=own_loop)
    assert ([question.value for question in paused.questions], book.lines) == (["name?"], 1)
    assert end.answer == "Ada, logged, noon"


@LOOP
def test_calls_that_follow_upon_one_under_way_are_made_before_the_pause(own_loop: bool) -> None:
    book = Book()

    class Chain(Agent):
        """Calls twice in a row, beside a question."""

        async def act(self, state: Any, ctx: AgentContext) -> str:
            async def twice() -> str:
                return f"{await ctx.acall(book.log)} {await ctx.acall(book.log)}"

            calls = asyncio.create_task(twice())
            name = ctx.ask("name?")
            return f"{name}, {await calls}"

    paused, end = answered(team(Chain(), kept=True), "Ada", own_loop=own_loop)
    assert (paused.outcome, end.answer, book.lines) == ("paused", "Ada, logged logged", 2)


@LOOP
def test_a_question_beside_a_call_that_needs_approval_is_asked_apart(own_loop: bool) -> None:
    book = Book(approval=True)
    came = answered(team(Beside(book, first=True), kept=True), "Ada", True, own_loop=own_loop)
    assert [question.value for question in came[0].questions] == ["name?"]
    assert came[1].questions[0].value["tool"] == "log"
    assert (came[2].answer, book.lines) == ("Ada, logged, noon", 1)


@KEPT
@LOOP
def test_a_question_leaves_a_group_of_tasks(kept: bool, own_loop: bool) -> None:
    book = Book(idempotent=True)

    class Group(Agent):
        """Asks in a task of a group."""

        async def act(self, state: Any, ctx: AgentContext) -> str:
            async def ask() -> str:
                return str(ctx.ask("name?"))

            async with asyncio.TaskGroup() as inner, asyncio.TaskGroup() as group:
                called = inner.create_task(ctx.acall(book.log))
                asked = group.create_task(ask())
            return f"{called.result()}, {asked.result()}"

    paused, end = answered(team(Group(), kept=kept), "Ada", own_loop=own_loop)
    assert (paused.questions[0].value, end.answer) == ("name?", "logged, Ada")


def test_a_failure_in_a_group_of_tasks_counts_for_more_than_a_question() -> None:
    class Group(Agent):
        """Fails and asks at once."""

        async def act(self, state: Any, ctx: AgentContext) -> None:
            async def ask() -> None:
                ctx.ask("name?")

            async def fail() -> None:
                raise LookupError("broken")

            async with asyncio.TaskGroup() as group:
                group.create_task(ask())
                group.create_task(fail())

    with pytest.raises(BaseExceptionGroup) as raised:
        team(Group()).run("q")
    assert raised.group_contains(LookupError)


def test_a_caller_that_leaves_does_not_wait_for_calls_beside_a_question() -> None:
    async def main() -> None:
        started, left, never = asyncio.Event(), asyncio.Event(), asyncio.Event()

        @tool
        async def hang() -> None:
            """Never ends."""
            started.set()
            await never.wait()

        class Hanging(Agent):
            """Asks beside a call that does not end."""

            async def act(self, state: Any, ctx: AgentContext) -> None:
                async def ask() -> None:
                    ctx.ask("name?")

                # `gather` drops a cancellation that arrives together with an exception.
                try:
                    await asyncio.gather(ctx.acall(hang), ask())
                finally:
                    left.set()

        asking = asyncio.create_task(team(Hanging()).arun("q"))
        await asyncio.wait_for(started.wait(), ENOUGH)
        await asyncio.wait_for(left.wait(), ENOUGH)
        asking.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asyncio.wait_for(asking, ENOUGH)

    asyncio.run(main())


class Slow:
    """A call that ends only once the node is about to leave."""

    def __init__(self, **options: Any) -> None:
        self.started, self.left = threading.Event(), threading.Event()
        self.lines = 0

        @tool(**options)
        def log() -> str:
            """Writes a line."""
            self.started.set()
            assert self.left.wait(ENOUGH)
            self.lines += 1
            return "logged"

        @tool(approval=True)
        def pay(euros: int) -> str:
            """Pays a sum."""
            return f"paid {euros}"

        self.log, self.pay = log, pay

    def late(self, ctx: AgentContext) -> str:
        """Pays while the other call is under way."""
        assert self.started.wait(ENOUGH)
        return str(ctx.call(self.pay, euros=5))

    def asked(self, ctx: AgentContext) -> str:
        """Asks while the other call is under way."""
        assert self.started.wait(ENOUGH)
        return str(ctx.ask("name?"))


class Threads(Agent):
    """Calls from threads, and asks from another."""

    def __init__(self, slow: Slow, asks: Callable[[AgentContext], str]) -> None:
        super().__init__()
        self.slow, self.asks = slow, asks

    async def act(self, state: Any, ctx: AgentContext) -> str:
        calls = asyncio.to_thread(ctx.call, self.slow.log), asyncio.to_thread(self.asks, ctx)
        try:
            return ", ".join(await asyncio.gather(*calls))
        finally:
            self.slow.left.set()


class Pool(Threads):
    """The same, from a ``run`` that blocks and leaves its threads alone."""

    def act(self, state: Any, ctx: AgentContext) -> str:  # type: ignore[override]
        pool = ThreadPoolExecutor(1)
        call = pool.submit(ctx.call, self.slow.log)
        try:
            asked = self.asks(ctx)
        finally:
            self.slow.left.set()
            pool.shutdown(wait=False)
        return f"{call.result(ENOUGH)}, {asked}"


@KEPT
@LOOP
@pytest.mark.parametrize("kind", [Threads, Pool])
@pytest.mark.parametrize("asks", [Slow.late, Slow.asked])
def test_a_call_on_a_thread_ends_before_the_run_pauses(
    kept: bool, own_loop: bool, kind: type[Threads], asks: Any
) -> None:
    slow = Slow()
    made = team(kind(slow, partial(asks, slow)), kept=kept)
    paused, end = answered(made, True, own_loop=own_loop)
    assert (paused.outcome, slow.lines) == ("paused", 1)
    assert end.answer in {"logged, paid 5", "logged, True"}


@pytest.mark.parametrize("idempotent", [False, True])
def test_a_call_on_a_thread_that_a_cancelled_run_has_left_is_repeated_only_if_it_may_be(
    idempotent: bool,
) -> None:
    slow = Slow(idempotent=idempotent)
    ended = threading.Event()

    class Leaving(Agent):
        """Leaves a thread alone in its call."""

        async def act(self, state: Any, ctx: AgentContext) -> str:
            def call() -> str:
                try:
                    return str(ctx.call(slow.log))
                finally:
                    ended.set()

            return await asyncio.to_thread(call)

    made = team(Leaving(), kept=True)

    async def main() -> None:
        running = asyncio.create_task(made.arun("q", thread="t"))
        assert await asyncio.to_thread(slow.started.wait, ENOUGH)
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running
        slow.left.set()
        assert await asyncio.to_thread(ended.wait, ENOUGH)

    asyncio.run(main())
    if idempotent:
        assert (made.resume("t").answer, slow.lines) == ("logged", 2)
        return
    with pytest.raises(ToolError) as raised:
        made.resume("t")
    assert (raised.value.code, slow.lines) == ("unknown_outcome", 1)


@KEPT
@LOOP
def test_steps_side_by_side_that_both_ask_do_not_wait_for_each_other(
    kept: bool, own_loop: bool
) -> None:
    @tool(approval=True)
    async def pay(amount: int) -> str:
        """Pays."""
        return f"paid {amount}"

    class Twice(Agent):
        """Pays in two steps at once."""

        async def act(self, state: Any, ctx: AgentContext) -> str:
            async def inner(amount: int) -> str:
                return str(await ctx.acall(pay, amount=amount))

            steps = ctx.astep("one", inner, 1), ctx.astep("two", inner, 2)
            return ", ".join(await asyncio.gather(*steps))

    *asked, end = answered(team(Twice(), kept=kept), True, True, own_loop=own_loop)
    amounts = {result.questions[0].value["arguments"]["amount"] for result in asked}
    assert (amounts, end.answer) == ({1, 2}, "paid 1, paid 2")
