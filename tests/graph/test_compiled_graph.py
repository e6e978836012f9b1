"""What the graph API does beside running: drawing, batches, bare states, messages, Runnables."""

from __future__ import annotations

import asyncio
import copy
import operator
import subprocess
import sys
import threading
import warnings
from contextlib import nullcontext
from typing import Annotated, Any, Literal, TypedDict
from xml.etree import ElementTree as ET

import pytest

from antiphon.graph import END, START, Command, CompiledGraph, RetryPolicy, StateGraph, append
from support.states import Log


def double(state: dict[str, Any]) -> dict[str, Any]:
    return {"log": state["log"]}


def doubling() -> CompiledGraph:
    return StateGraph(Log).add_node(double).add_edge(START, "double").compile()


class TestDrawing:
    def builder(self) -> StateGraph:
        def leap(state: Log) -> Command[Literal["c"]]:
            return Command(goto="c")

        def route(state: Log) -> Literal["leap", "__end__"]:
            return "leap"

        builder = StateGraph(Log).add_node("a", double, metadata={"k": "v"}).add_node(leap)
        builder.add_node("c", double, defer=True).add_edge(START, "a")
        return builder.add_conditional_edges("a", route)

    def test_mermaid_shows_edges_branches_commands_and_notes(self) -> None:
        text = self.builder().compile().get_graph().draw_mermaid()
        for line in (
            "\t__start__ --> a;",
            "\ta -.-> leap;",
            "\ta -.-> __end__;",
            "\tleap -.-> c;",
            "\tc --> __end__;",
            "\ta(a<hr/><small><em>k = v</em></small>)",
        ):
            assert line in text.splitlines()

    def test_a_graph_shows_itself_in_a_notebook_as_an_image_that_needs_nothing_else(self) -> None:
        bundle = self.builder().compile()._repr_mimebundle_()
        root = ET.fromstring(bundle["image/svg+xml"])
        texts = [element.text for element in root.iter("{http://www.w3.org/2000/svg}text")]
        assert {"start", "a", "leap", "c", "end"} <= set(texts)
        assert "http" not in bundle["image/svg+xml"].replace("http://www.w3.org/2000/svg", "")

    @pytest.mark.parametrize("name", ["draw_mermaid_png", "draw_png", "draw_ascii", "print_ascii"])
    def test_what_needs_a_service_or_a_package_names_what_does_not(self, name: str) -> None:
        diagram = self.builder().compile().get_graph()
        expected = f"no attribute: {name}, which needs .*; call `draw_(svg|mermaid)\\(\\)`"
        with pytest.raises(AttributeError, match=expected):
            getattr(diagram, name)
        assert not hasattr(diagram, name)

    def test_a_diagram_is_copied_and_has_no_other_names(self) -> None:
        diagram = self.builder().compile().get_graph()
        assert copy.deepcopy(diagram) == diagram
        with pytest.raises(AttributeError, match=r"a diagram has no attribute: nodse$"):
            getattr(diagram, "nodse")  # noqa: B009 - mypy knows that there is none

    def test_names_cannot_break_the_image(self) -> None:
        builder = StateGraph(Log).add_node("<b>&", double).add_edge(START, "<b>&")
        assert ET.fromstring(builder.compile().get_graph().draw_svg()) is not None

    def test_json_holds_nodes_and_edges(self) -> None:
        drawn = doubling().get_graph().to_json()
        assert [node["id"] for node in drawn["nodes"]] == [START, "double", END]
        assert drawn["edges"][0] == {"source": START, "target": "double"}


class TestBatch:
    def test_results_keep_the_order_of_the_inputs(self) -> None:
        inputs = [{"log": [n]} for n in range(20)]
        expected = [{"log": [n, n]} for n in range(20)]
        assert doubling().batch(inputs) == expected
        assert asyncio.run(doubling().abatch(inputs)) == expected

    def test_runs_overlap(self) -> None:
        meeting = threading.Barrier(3)

        def meet(state: Log) -> None:
            meeting.wait(10)

        graph = StateGraph(Log).add_node(meet).add_edge(START, "meet").compile()
        assert len(graph.batch([{"log": [1]}] * 3)) == 3

    def test_failures_are_raised_or_handed_back(self) -> None:
        inputs = [{"log": [1]}, 3]
        with pytest.raises(Exception, match="int"):
            doubling().batch(inputs)
        good, bad = asyncio.run(doubling().abatch(inputs, return_exceptions=True))
        assert good == {"log": [1, 1]}
        assert isinstance(bad, Exception)

    def test_a_list_of_configs_must_fit(self) -> None:
        with pytest.raises(ValueError, match="2"):
            doubling().batch([{}, {}], [{}])

    def test_nothing_gives_nothing(self) -> None:
        assert doubling().batch([]) == []
        assert asyncio.run(doubling().abatch([])) == []


class TestBareState:
    def graph(self) -> CompiledGraph:
        builder = StateGraph(Annotated[int, operator.add])
        builder.add_node("n", lambda value: value + 1)
        builder.add_node("m", lambda _: Command(update=5, goto="k"))
        builder.add_node("k", lambda _: None)
        return builder.add_edge(START, "n").add_edge("n", "m").compile()

    def test_nodes_take_and_return_the_value_itself(self) -> None:
        assert self.graph().invoke(1) == 8
        assert asyncio.run(self.graph().ainvoke(1)) == 8

    def test_streams_show_the_value_itself(self) -> None:
        assert list(self.graph().stream(1, stream_mode=["values", "updates"])) == [
            ("values", 1),
            ("updates", {"n": 2}),
            ("values", 3),
            ("updates", {"m": 5}),
            ("values", 8),
            ("updates", {"k": None}),
        ]


def test_append_adds_one_element() -> None:
    class State(TypedDict):
        items: Annotated[list[Any], append]

    builder = StateGraph(State).add_node("n", lambda _: {"items": ["b"]})
    graph = builder.add_edge(START, "n").compile()
    assert graph.invoke({"items": "a"}) == {"items": ["a", ["b"]]}


def test_an_async_router_may_wait() -> None:
    async def route(state: Log) -> str:
        await asyncio.sleep(0)
        return "double"

    builder = StateGraph(Log).add_node(double).add_conditional_edges(START, route)
    graph = builder.compile()
    assert graph.invoke({"log": [1]}) == {"log": [1, 1]}
    assert asyncio.run(graph.ainvoke({"log": [1]})) == {"log": [1, 1]}


def test_a_graph_with_its_own_schemas_is_a_node_too() -> None:
    class Wide(Log, total=False):
        inner: int

    builder = StateGraph(Wide, input_schema=Log, output_schema=Log).add_node(double)
    inner = builder.add_edge(START, "double").compile()
    outer = StateGraph(Log).add_node("inner", inner).add_edge(START, "inner").compile()
    assert outer.invoke({"log": [1]}) == {"log": [1, 1, 1]}
    assert asyncio.run(outer.ainvoke({"log": [1]})) == {"log": [1, 1, 1]}


def fresh(code: str) -> str:
    """What `code` prints in a separate interpreter."""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return done.stdout.strip()


def test_without_langchain_messages_are_dicts() -> None:
    code = """
from antiphon.graph import MessagesState, RemoveMessage, START, StateGraph
def say(state):
    (first,) = state["messages"]
    return {"messages": [RemoveMessage(first["id"]), ("ai", "hello")]}
graph = StateGraph(MessagesState).add_node(say).add_edge(START, "say").compile()
(message,) = graph.invoke({"messages": "hi"})["messages"]
print(message["role"], message["content"], len(message["id"]) > 0)
import sys; print("langchain_core" in sys.modules)
"""
    assert fresh(code).split() == ["assistant", "hello", "True", "False"]


def test_with_langchain_a_graph_is_a_runnable() -> None:
    runnables = pytest.importorskip("langchain_core.runnables")
    graph = doubling()
    assert isinstance(graph, runnables.Runnable)
    piped = runnables.RunnableLambda(lambda n: {"log": [n]}) | graph | (lambda state: state["log"])
    assert piped.invoke(1) == [1, 1]
    assert asyncio.run(piped.ainvoke(1)) == [1, 1]
    assert piped.batch([1, 2]) == [[1, 1], [2, 2]]


def test_a_graph_is_a_tool_of_langchain() -> None:
    pytest.importorskip("langchain_core")
    builder = StateGraph(Log).add_node("n", lambda s: {"log": [f"{s['log'][0]}!"]})
    graph: Any = builder.add_edge(START, "n").compile()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # LangChain calls this a beta
        tool = graph.as_tool(name="shout", description="Shouts.", arg_types={"log": list[str]})
    assert (tool.name, tool.description) == ("shout", "Shouts.")
    assert tool.invoke({"log": ["hey"]}) == {"log": ["hey", "hey!"]}


def test_a_runnable_is_a_node() -> None:
    runnables = pytest.importorskip("langchain_core.runnables")
    node = runnables.RunnableLambda(lambda state: {"log": [len(state["log"])]}, name="count")
    graph = StateGraph(Log).add_node(node).add_edge(START, "count").compile()
    assert graph.invoke({"log": ["x"]}) == {"log": ["x", 1]}


@pytest.mark.parametrize("name", ["store", "cache"])
def test_a_setting_that_nobody_reads_is_refused(name: str) -> None:
    graph = doubling()
    with pytest.raises(AttributeError, match=name):
        setattr(graph, name, 1)
    graph.stream_mode = "values"
    assert list(graph.stream({"log": []})) == [{"log": []}] * 2


@pytest.mark.parametrize(("error", "calls"), [(TimeoutError, 2), (ValueError, 1)])
def test_a_timeout_is_retried_unless_the_policy_says_otherwise(error: Any, calls: int) -> None:
    attempts: list[int] = []

    def fail_once(state: Log) -> Log:
        attempts.append(1)
        if len(attempts) == 1:
            raise error
        return {"log": ["done"]}

    policy = RetryPolicy(initial_interval=0.001, jitter=False)
    builder = StateGraph(Log).add_node(fail_once, retry_policy=policy)
    graph = builder.add_edge(START, "fail_once").compile()
    with nullcontext() if calls > 1 else pytest.raises(error):
        graph.invoke({"log": []})
    assert len(attempts) == calls
