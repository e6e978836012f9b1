"""Sync nodes that are stopped in the middle of a call: what came of it is known afterwards."""

from __future__ import annotations

import asyncio
import contextlib
import operator
import threading
from typing import TYPE_CHECKING, Annotated, Any, TypedDict

import pytest

from antiphon import ToolContext, tool
from antiphon._antiphon import Context, current_context
from antiphon.checkpoint import MemorySaver, SqliteSaver
from antiphon.errors import RunCancelled
from antiphon.graph import START, Runtime, StateGraph
from support.waiting import ENOUGH, happens

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


class State(TypedDict, total=False):
    """What nodes say."""

    came: Annotated[list[Any], operator.add]


class ChargeScenario:
    """Charges cards, and takes so long that everything else is over by then."""

    def __init__(self) -> None:
        self.charged: list[str] = []
        self.inside = threading.Event()
        self.context: Context | None = None
        self.fails = True

    def charge(self) -> str:
        """Ends once its node has been asked to stop."""
        self.inside.set()
        if self.fails:
            self.wait_for_stop()
        self.charged.append("once")
        return f"receipt {len(self.charged)}"

    def wait_for_stop(self) -> None:
        assert happens(self.is_stopped, every=0.01), "nobody stopped the node"

    def is_stopped(self) -> bool:
        assert self.context is not None
        try:
            self.context.request("model")
        except RunCancelled:
            return True
        return False

    def sells(self, state: State, runtime: Runtime[None]) -> State:
        self.context = self.context or current_context()
        return {"came": [runtime.step("charge", self.charge)]}

    async def sells_on_a_thread(self, state: State, runtime: Runtime[None]) -> State:
        self.context = self.context or current_context()
        return {"came": [await asyncio.to_thread(runtime.step, "charge", self.charge)]}

    def breaks(self, state: State) -> State:
        if self.fails:
            assert self.inside.wait(ENOUGH)
            raise KeyError("beside")
        return {"came": ["beside"]}

    def graph(self, *nodes: tuple[str, Any]) -> StateGraph:
        builder = StateGraph(State)
        for name, node in nodes:
            builder.add_node(name, node).add_edge(START, name)
        return builder


CONFIG: Any = {"configurable": {"thread_id": "t"}}


def again(graph: Any, scenario: ChargeScenario) -> list[Any]:
    """Resumes the thread; what its state holds at the end."""
    scenario.fails = False
    assert scenario.charged == ["once"]
    came: list[Any] = graph.invoke(None, CONFIG)["came"]
    assert scenario.charged == ["once"]
    return sorted(came, key=str)


def invoke(graph: Any) -> None:
    graph.invoke({}, CONFIG)


def ainvoke(graph: Any) -> None:
    asyncio.run(graph.ainvoke({}, CONFIG))


def stream(graph: Any) -> None:
    list(graph.stream({}, CONFIG, stream_mode="updates"))


@pytest.mark.parametrize("run", [invoke, ainvoke, stream])
@pytest.mark.parametrize("first", ["sells", "breaks"])
def test_a_step_beside_a_node_that_fails_is_known(
    run: Callable[[Any], None], first: str, tmp_path: Path
) -> None:
    scenario = ChargeScenario()
    names = sorted(["sells", "breaks"], key=first.__ne__)
    builder = scenario.graph(*((name, getattr(scenario, name)) for name in names))
    with SqliteSaver.from_conn_string(str(tmp_path / "t.db")) as saver:
        graph = builder.compile(checkpointer=saver)
        with pytest.raises(KeyError):
            run(graph)
        assert again(graph, scenario) == ["beside", "receipt 1"]


@pytest.mark.parametrize("run", [invoke, ainvoke])
def test_a_step_of_a_called_graph_is_known(run: Callable[[Any], None]) -> None:
    scenario = ChargeScenario()
    after: list[str] = []
    inner = scenario.graph(("sells", scenario.sells))
    inner.add_node("after", lambda s, runtime: {"came": [runtime.step("after", after.append, "a")]})
    called = inner.add_edge("sells", "after").compile()

    def calls(state: State) -> Any:
        scenario.context = current_context()
        return called.invoke({})

    builder = scenario.graph(("calls", calls), ("breaks", scenario.breaks))
    graph = builder.compile(checkpointer=MemorySaver())
    with pytest.raises(KeyError):
        run(graph)
    assert not after, "a graph whose node is being stopped makes no calls any more"
    assert again(graph, scenario) == [None, "beside", "receipt 1"]
    assert after == ["a"]


def test_a_tool_of_a_subgraph_is_known() -> None:
    scenario = ChargeScenario()

    @tool
    def charge(ctx: ToolContext) -> str:
        """Charges a card."""
        return scenario.charge()

    def sells(state: State, runtime: Runtime[None]) -> State:
        scenario.context = current_context()
        return {"came": [runtime.call(charge)]}

    nested = scenario.graph(("sells", sells), ("rests", lambda s: {})).compile()
    graph = scenario.graph(("nested", nested), ("breaks", scenario.breaks))
    compiled = graph.compile(checkpointer=MemorySaver())
    with pytest.raises(KeyError):
        invoke(compiled)
    assert again(compiled, scenario) == ["beside", "receipt 1"]


@pytest.mark.parametrize("node", ["sells", "sells_on_a_thread"])
def test_a_cancelled_run_waits_for_a_step_on_a_thread(node: str) -> None:
    scenario = ChargeScenario()
    builder = scenario.graph(("sells", getattr(scenario, node)), ("rests", lambda s: {}))
    graph = builder.compile(checkpointer=MemorySaver())

    async def main() -> None:
        run = asyncio.ensure_future(graph.ainvoke({}, CONFIG))
        await asyncio.to_thread(scenario.inside.wait, ENOUGH)
        run.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await run

    asyncio.run(main())
    assert again(graph, scenario) == ["receipt 1"]


def test_a_step_that_an_async_node_makes_on_a_thread_is_known() -> None:
    scenario = ChargeScenario()
    builder = scenario.graph(("sells", scenario.sells_on_a_thread), ("breaks", scenario.breaks))
    graph = builder.compile(checkpointer=MemorySaver())

    async def main() -> None:
        with pytest.raises(KeyError):
            await graph.ainvoke({}, CONFIG)
        scenario.fails = False
        assert scenario.charged == ["once"]
        state = await graph.ainvoke(None, CONFIG)
        assert sorted(state["came"]) == ["beside", "receipt 1"]
        assert scenario.charged == ["once"]

    asyncio.run(main())
