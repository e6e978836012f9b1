"""Sync calls within async code, whose loop runs nothing until they return."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from typing import Any, TypedDict

import pytest

from antiphon import Agent, Orchestrator, Toolset, tool
from antiphon.graph import END, START, StateGraph
from antiphon.models import scripted
from antiphon.systems import ReviewLoop
from antiphon.tools import ToolContext
from systems.test_review_loop import model


class Later(Agent):
    """Answers after the event loop has turned."""

    async def act(self, state: Any, ctx: Any) -> str:
        await asyncio.to_thread(int)
        return "later"


class Slow(Later):
    """Takes a thread, so that another drives the run meanwhile."""

    def act(self, state: Any, ctx: Any) -> str:  # type: ignore[override]
        return ""


class Counts(TypedDict, total=False):
    count: int


def of_tool() -> str:
    @tool
    async def look() -> str:
        """Look."""
        return str(Later().run("?").answer)

    call = {"tool_calls": [{"name": "look", "arguments": {}}]}
    return str(Agent(scripted([call, "looked"]), name="looking", tools=[look]).run("?").answer)


def of_team() -> str:
    return str(Orchestrator([Slow(), [Later(name="one"), Slow(name="two")]]).run("?").answer)


def of_stream() -> str:
    stream = Later().stream("?")
    assert [event.kind for event in stream][-1] == "run_finished"
    return str(stream.result.answer)


def of_batch() -> str:
    return ", ".join(str(one.answer) for one in Later().batch(["?", "?"]))


def of_system() -> str:
    async def research(brief: Any) -> dict[str, str]:
        await asyncio.to_thread(int)
        return {"result": "Lima, says the atlas"}

    return str(ReviewLoop(model(), researcher=research).run("?").answer)


def of_system_stream() -> str:
    async def research(brief: Any) -> dict[str, str]:
        await asyncio.to_thread(int)
        return {"result": "Lima, says the atlas"}

    stream = ReviewLoop(model(), researcher=research).stream("?")
    assert list(stream)
    return str(stream.result.answer)


def of_graph() -> str:
    async def count(state: Counts) -> Counts:
        await asyncio.to_thread(int)
        return {"count": 1}

    graph = StateGraph(Counts)
    graph.add_node("count", count)
    graph.add_edge(START, "count")
    graph.add_edge("count", END)
    return str(graph.compile().invoke({"count": 0}))


def of_graph_stream() -> str:
    async def count(state: Counts) -> Counts:
        await asyncio.to_thread(int)
        return {"count": 1}

    counting = StateGraph(Counts).add_node("count", count).add_edge(START, "count").compile()

    def nested(state: Counts) -> Counts:
        counting.invoke({"count": 0})
        return {}

    graph = StateGraph(Counts)
    for name in ("one", "two"):
        graph.add_node(name, nested).add_edge(START, name)
    return str(sorted(graph.compile().stream({"count": 0}), key=str))


@pytest.mark.parametrize(
    "inner",
    [of_tool, of_team, of_stream, of_batch, of_system, of_system_stream, of_graph, of_graph_stream],
)
def test_async_code_may_call_sync_verbs_whose_code_is_async(inner: Callable[[], str]) -> None:
    class Outer(Agent):
        async def act(self, state: Any, ctx: Any) -> str:
            return inner()

    expected = inner()
    assert Outer().run("?").answer == expected
    assert asyncio.run(Outer().arun("?")).answer == expected
    assert Orchestrator([[Outer(name="one"), Later(name="two")]]).run("?").outcome == "answered"


def test_loops_are_used_again() -> None:
    class Outer(Agent):
        async def act(self, state: Any, ctx: Any) -> str:
            return str(Later().run("?").answer)

    def loops() -> int:
        return sum(one.name == "antiphon-loop" for one in threading.enumerate())

    Outer().run("?")
    before = loops()
    answers = Outer().batch(["?"] * 20, concurrency=8)
    assert {one.answer for one in answers} == {"later"}
    assert loops() == before


@asynccontextmanager
async def pump() -> AsyncIterator[asyncio.Queue[asyncio.Future[str]]]:
    """Answers futures on the loop that opened it, as clients of services do."""
    inbox: asyncio.Queue[asyncio.Future[str]] = asyncio.Queue()

    async def answer() -> None:
        while True:
            (await inbox.get()).set_result("pumped")

    task = asyncio.create_task(answer())
    try:
        yield inbox
    finally:
        task.cancel()


@tool
async def use(context: ToolContext) -> str:
    """Use the pump."""
    answer = asyncio.get_running_loop().create_future()
    await context.resource.put(answer)
    return str(await answer)


class Using(Agent):
    """Calls a tool whose resource belongs to a loop."""

    async def act(self, state: Any, ctx: Any) -> str:
        call = {"tool_calls": [{"name": "use", "arguments": {}}]}
        model = scripted([call, "used"])
        inner = Agent(model, name="inner", tools=[Toolset([use], lifespan=pump)])
        answer = inner.run("?").answer
        assert model.requests[1]["messages"][-1]["content"] == "pumped"
        return str(answer)


def test_a_run_stays_on_its_loop_while_others_block_theirs() -> None:
    def ask(number: int) -> str:
        if number % 2:
            return str(Using().run("?").answer)
        call = {"tool_calls": [{"name": "use", "arguments": {}}]}
        tools = [Toolset([use], lifespan=pump)]
        return str(Agent(scripted([call, "used"]), name="plain", tools=tools).run("?").answer)

    with ThreadPoolExecutor(8) as threads:
        assert set(threads.map(ask, range(40))) == {"used"}
