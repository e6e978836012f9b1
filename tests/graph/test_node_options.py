"""Options of nodes and retry policies that are wrong, refused before anything runs."""

from __future__ import annotations

import asyncio
import math
from typing import Any, TypedDict

import pytest

from antiphon import RetryPolicy
from antiphon.errors import ValidationError
from antiphon.graph import START, GraphBuildError, StateGraph


class State(TypedDict, total=False):
    """One key."""

    text: str


def node(state: State) -> State:
    """Changes nothing."""
    return {}


@pytest.mark.parametrize("wrong", [3, "twice", [3], True])
def test_a_retry_policy_of_a_node_is_a_policy(wrong: Any) -> None:
    with pytest.raises(GraphBuildError, match="`retry_policy` of node `a` must be a `RetryPolicy`"):
        StateGraph(State).add_node("a", node, retry_policy=wrong)
    with pytest.raises(GraphBuildError, match="`retry_policy` of all nodes must be"):
        StateGraph(State).set_node_defaults(retry_policy=wrong)


def test_a_number_of_attempts_is_shown_as_a_policy() -> None:
    with pytest.raises(GraphBuildError) as caught:
        StateGraph(State).add_node("a", node, retry_policy=3)  # type: ignore[arg-type]
    assert caught.value.hint == "pass `RetryPolicy(max_attempts=3)`"


@pytest.mark.parametrize("wrong", ["3", True, math.nan, math.inf, [1]])
def test_a_timeout_of_a_node_is_a_number_of_seconds(wrong: Any) -> None:
    with pytest.raises(GraphBuildError, match="`timeout` of node `a` must be a number of seconds"):
        StateGraph(State).add_node("a", node, timeout=wrong)
    with pytest.raises(GraphBuildError, match="`timeout` of all nodes must be"):
        StateGraph(State).set_node_defaults(timeout=wrong)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"max_attempts": 0}, "`max_attempts` counts the first attempt too"),
        ({"backoff_factor": -1.0}, "`backoff_factor` must be a finite number from 0: -1"),
        ({"backoff_factor": math.nan}, "`backoff_factor` must be a finite number from 0: NaN"),
        ({"initial_interval": -1.0}, "`initial_interval` must be a non-negative number"),
    ],
)
def test_numbers_of_a_retry_policy_are_checked(options: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        RetryPolicy(**options)


def test_an_unknown_option_of_a_retry_policy_is_told_what_was_meant() -> None:
    with pytest.raises(ValidationError, match="no option of that name: max_atempts") as caught:
        RetryPolicy(max_atempts=3)  # type: ignore[arg-type]
    assert (caught.value.code, caught.value.hint) == (
        "call_invalid",
        "did you mean `max_attempts`?",
    )


def test_an_option_of_langgraph_that_there_is_not_is_told_what_takes_its_place() -> None:
    builder: Any = StateGraph(State)
    with pytest.raises(TypeError, match=r"`add_node` has no option cache_policy: keep a cache in"):
        builder.add_node("a", node, cache_policy=None)
    with pytest.raises(TypeError, match=r"`add_node` has no option defered$"):
        builder.add_node("a", node, defered=True)
    builder.add_node("a", node).add_edge(START, "a")
    with pytest.raises(TypeError, match=r"`compile` has no option store: .* `context`, see docs"):
        builder.compile(store=None)
    with pytest.raises(TypeError, match="'stor'"):
        builder.compile(stor=None)
    with pytest.raises(TypeError, match=r"`StateGraph` has no option config_schema: .*`context_sc"):
        StateGraph(State, config_schema=State)  # type: ignore[call-overload]


def test_methods_name_what_takes_the_place_of_an_option_of_langgraph() -> None:
    builder: Any = StateGraph(State)
    builder.add_node("a", node).add_edge(START, "a")
    graph: Any = builder.compile(checkpointer="memory:")
    config = {"configurable": {"thread_id": "1"}}
    guide = "see docs/guides/from-langgraph.md"
    for call, option in (
        (lambda: graph.invoke({}, config, print_mode="values"), "print_mode"),
        (lambda: graph.invoke({}, config, debug=True), "debug"),
        (lambda: graph.stream({}, config, print_mode="values"), "print_mode"),
        (lambda: graph.astream({}, config, debug=True), "debug"),
        (lambda: graph.get_graph(xray=True), "xray"),
        (lambda: graph.get_state(config, subgraphs=True), "subgraphs"),
    ):
        with pytest.raises(TypeError, match=f"has no option {option}: .*, {guide}"):
            call()  # type: ignore[no-untyped-call]
    with pytest.raises(TypeError, match=f"`ainvoke` has no option debug: .*, {guide}"):
        asyncio.run(graph.ainvoke({}, config, debug=True))
    with pytest.raises(TypeError, match=f"`aget_state` has no option subgraphs: .*, {guide}"):
        asyncio.run(graph.aget_state(config, subgraphs=True))
    for name in ("get_subgraphs", "bulk_update_state"):
        with pytest.raises(AttributeError, match=f"no attribute: {name}: .*, {guide}"):
            getattr(graph, name)
    with pytest.raises(AttributeError, match=r"no attribute: get_sub$"):
        _ = graph.get_sub
    assert list(graph.stream({}, config, subgraphs=True))
