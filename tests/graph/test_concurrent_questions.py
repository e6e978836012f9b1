"""Questions of a node of a graph beside calls that are under way."""

from __future__ import annotations

import asyncio
import contextvars
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any, cast

import pytest

from antiphon import tool
from antiphon._node.human_input import HumanInput
from antiphon.graph import (
    START,
    Command,
    GraphInterrupt,
    Runtime,
    StateGraph,
    TimeoutPolicy,
    interrupt,
)
from support.waiting import ENOUGH

if TYPE_CHECKING:
    from collections.abc import Generator

    from antiphon._antiphon import Context

LOOP = pytest.mark.parametrize("own_loop", [False, True])


class Book:
    """Writes lines, and counts them."""

    def __init__(self) -> None:
        self.lines = 0
        self.started, self.left = threading.Event(), threading.Event()

        @tool
        async def log() -> str:
            """Writes a line."""
            for _ in range(5):
                await asyncio.sleep(0)
            self.lines += 1
            return "logged"

        @tool
        def slow() -> str:
            """Writes a line once the node is about to leave."""
            self.started.set()
            assert self.left.wait(ENOUGH)
            self.lines += 1
            return "logged"

        @tool
        async def hang() -> None:
            """Does not end."""
            await asyncio.Event().wait()

        @tool(approval=True)
        async def pay() -> str:
            """Pays."""
            return "paid"

        self.log, self.slow, self.hang, self.pay = log, slow, hang, pay


def run_with_answers(node: Any, *answers: Any, own_loop: bool) -> list[Any]:
    """What a run and its resumptions give, on the caller's loop or without one."""
    graph = StateGraph(dict).add_node("node", node).add_edge(START, "node").compile("memory:")
    config: Any = {"configurable": {"thread_id": "t"}}
    given: list[Any] = [{}, *(Command(resume=answer) for answer in answers)]

    async def run_all() -> list[Any]:
        return [await graph.ainvoke(one, config) for one in given]

    return asyncio.run(run_all()) if own_loop else [graph.invoke(one, config) for one in given]


def asked(came: Any) -> list[Any]:
    return [question.value for question in came["__interrupt__"]]


@LOOP
@pytest.mark.parametrize("turns", [0, 1, 2, 3])
def test_a_call_beside_a_question_ends_before_the_run_pauses(own_loop: bool, turns: int) -> None:
    book = Book()

    async def node(state: dict[str, Any], runtime: Runtime[None]) -> dict[str, Any]:
        call = asyncio.create_task(runtime.acall(book.log))
        for _ in range(turns):
            await asyncio.sleep(0)
        name = interrupt("name?")
        return {"said": f"{name}, {await call}"}

    paused, end = run_with_answers(node, "Ada", own_loop=own_loop)
    assert (asked(paused), end["said"], book.lines) == (["name?"], "Ada, logged", 1)


@LOOP
def test_a_call_on_a_thread_beside_a_question_ends_before_the_run_pauses(own_loop: bool) -> None:
    book = Book()

    def node(state: dict[str, Any], runtime: Runtime[None]) -> dict[str, Any]:
        pool = ThreadPoolExecutor(1)
        call = pool.submit(runtime.call, book.slow)
        pool.shutdown(wait=False)
        try:
            assert book.started.wait(ENOUGH)
            name = interrupt("name?")
        finally:
            book.left.set()
        return {"said": f"{name}, {call.result(ENOUGH)}"}

    paused, end = run_with_answers(node, "Ada", own_loop=own_loop)
    assert (asked(paused), end["said"], book.lines) == (["name?"], "Ada, logged", 1)


@LOOP
def test_a_call_in_a_group_of_tasks_waits_for_approval(own_loop: bool) -> None:
    book = Book()

    async def node(state: dict[str, Any], runtime: Runtime[None]) -> dict[str, Any]:
        async with asyncio.TaskGroup() as group:
            paid = group.create_task(runtime.acall(book.pay))
            logged = group.create_task(runtime.acall(book.log))
        return {"said": f"{paid.result()}, {logged.result()}"}

    paused, end = run_with_answers(node, True, own_loop=own_loop)
    assert asked(paused)[0]["tool"] == "pay"
    assert (end["said"], book.lines) == ("paid, logged", 1)


def test_an_interrupt_without_a_question_is_a_failure() -> None:
    async def node(state: dict[str, Any], runtime: Runtime[None]) -> dict[str, Any]:
        raise GraphInterrupt

    with pytest.raises(GraphInterrupt):
        run_with_answers(node, own_loop=False)


@pytest.mark.parametrize("asynchronous", [False, True])
def test_a_node_whose_time_is_nearly_over_asks_without_waiting(asynchronous: bool) -> None:
    book = Book()

    def node(state: Any, runtime: Runtime[None]) -> Any:
        beside.submit(runtime.call, book.slow)
        assert book.started.wait(ENOUGH)
        return {"name": interrupt("name?")}

    async def anode(state: Any, runtime: Runtime[None]) -> Any:
        return node(state, runtime)

    builder = StateGraph(dict).add_node("node", anode if asynchronous else node, timeout=2.0)
    graph = builder.add_edge(START, "node").compile("memory:")
    with ThreadPoolExecutor(1) as beside:
        try:
            came = graph.invoke({}, {"configurable": {"thread_id": "t"}})
        finally:
            book.left.set()
    assert [asked.value for asked in came["__interrupt__"]] == ["name?"]


def test_a_node_asks_before_it_has_been_idle_for_too_long() -> None:
    book = Book()

    async def node(state: Any, runtime: Runtime[None]) -> Any:
        call = asyncio.create_task(runtime.acall(book.hang))
        await asyncio.sleep(0)
        return {"name": interrupt("name?"), "call": await call}

    builder = StateGraph(dict).add_node("node", node, timeout=TimeoutPolicy(idle_timeout=1.0))
    graph = builder.add_edge(START, "node").compile("memory:")
    came = graph.invoke({}, {"configurable": {"thread_id": "t"}})
    assert [asked.value for asked in came["__interrupt__"]] == ["name?"]


def test_a_call_that_is_closed_from_outside_does_not_stay_open() -> None:
    made = HumanInput(cast("Context", None))

    def call() -> Generator[None]:
        with made.making():
            yield

    running = call()
    contextvars.copy_context().run(next, running)
    running.close()
    assert not made._open
