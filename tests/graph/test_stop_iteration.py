"""Code of a run that raises what would end an iteration (PEP 479): the run fails, and says so."""

import asyncio
import operator
from collections.abc import Callable
from typing import Annotated, Any, TypedDict

import pytest

from antiphon import Agent, Orchestrator, server
from antiphon.graph import START, CompiledStateGraph, StateGraph
from support.http_client import ask, events, send


class Log(TypedDict, total=False):
    out: Annotated[list[str], operator.add]


def stopped(_: Any) -> Any:
    return next(iter([]))


async def stopped_async(_: Any) -> Any:
    async def nothing() -> Any:
        return
        yield

    return await anext(nothing())


def second(_: Any) -> Log:
    return {"out": ["second"]}


def graph(node: Any) -> CompiledStateGraph:
    builder = StateGraph(Log).add_node("first", node).add_node("second", second)
    return builder.add_edge(START, "first").add_edge("first", "second").compile()


def routed() -> CompiledStateGraph:
    builder = StateGraph(Log).add_node("second", second).add_edge(START, "second")
    return builder.add_conditional_edges("second", stopped).compile()


async def astreamed(compiled: CompiledStateGraph) -> list[Any]:
    return [chunk async for chunk in compiled.astream({"out": []})]


WAYS: dict[str, Callable[[CompiledStateGraph], Any]] = {
    "invoke": lambda compiled: compiled.invoke({"out": []}),
    "ainvoke": lambda compiled: asyncio.run(compiled.ainvoke({"out": []})),
    "stream": lambda compiled: list(compiled.stream({"out": []})),
    "astream": lambda compiled: asyncio.run(astreamed(compiled)),
    "batch": lambda compiled: compiled.batch([{"out": []}]),
    "abatch": lambda compiled: asyncio.run(compiled.abatch([{"out": []}])),
}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("made", [lambda: graph(stopped), routed], ids=["node", "router"])
def test_a_graph_fails(made: Callable[[], CompiledStateGraph], way: str) -> None:
    with pytest.raises(RuntimeError, match="raised StopIteration"):
        WAYS[way](made())


@pytest.mark.parametrize("way", ["ainvoke", "astream", "abatch"])
def test_a_graph_with_an_async_node_fails(way: str) -> None:
    with pytest.raises(RuntimeError, match="raised StopAsyncIteration"):
        WAYS[way](graph(stopped_async))


class Stopping(Agent):
    def act(self, state: Any, ctx: Any) -> Any:
        return stopped(state)


def test_a_team_fails() -> None:
    team = Orchestrator([Stopping()], name="desk")
    with pytest.raises(RuntimeError, match="raised StopIteration"):
        asyncio.run(team.arun("?"))
    with pytest.raises(RuntimeError, match="raised StopIteration"):
        list(team.stream("?"))
    assert asyncio.run(Orchestrator([Stopping()], on_error="record").arun("?")).outcome == "error"


def test_a_server_reports_the_failure_and_goes_on() -> None:
    with server.start(Stopping(name="desk")) as running:
        assert ask(running.url, "?").status == 500
        with events(running.url, "/runs", {"question": "?"}) as stream:
            assert list(stream)[-1].name == "error"
        assert send(running.url, "GET", "/health").status == 200
