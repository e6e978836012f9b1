"""Keys of a state that the graph computes: `RemainingSteps` and `IsLastStep`."""

import asyncio
from dataclasses import dataclass, field
from typing import Annotated, Any, TypedDict

import pytest
from pydantic import BaseModel

import antiphon
from antiphon.errors import ValidationError
from support.oracle import Impl, Run

LIMIT = {"recursion_limit": 5}


def counting(impl: Impl) -> type:
    class State(TypedDict):
        log: Annotated[list[Any], lambda old, new: old + new]
        left: impl.RemainingSteps  # type: ignore[name-defined]
        last: impl.IsLastStep  # type: ignore[name-defined]

    return State


def look(state: Any) -> Any:
    return {"log": [(state["left"], state["last"])]}


async def alook(state: Any) -> Any:
    return look(state)


@pytest.mark.parametrize("node", [look, alook])
def test_nodes_see_how_many_steps_are_left(impl: Impl, node: Any) -> None:
    graph = impl.sequence(counting(impl), *[(name, node) for name in "abcd"])
    state = asyncio.run(graph.ainvoke({"log": []}, LIMIT))
    assert state == {"log": [(4, False), (3, False), (2, False), (1, True)]}


def test_routers_see_them_too(impl: Impl, run: Run) -> None:
    seen: list[int] = []

    def route(state: Any) -> Any:
        seen.append(state["left"])
        return impl.END if state["last"] else "n"

    builder = impl.StateGraph(counting(impl)).add_node("n", look)
    builder.add_conditional_edges(impl.START, route).add_conditional_edges("n", route)
    assert len(run(builder.compile(), {"log": []}, LIMIT)["log"]) == 4
    assert seen == [5, 4, 3, 2, 1]


def test_a_payload_that_is_sent_stays_as_it_is(impl: Impl, run: Run) -> None:
    def show(state: Any) -> Any:
        return {"log": [state]}

    builder = impl.StateGraph(counting(impl)).add_node("n", show)
    builder.add_conditional_edges(impl.START, lambda _: [impl.Send("n", {"x": 1})], ["n"])
    assert run(builder.compile(), {"log": []}) == {"log": [{"x": 1}]}


def test_nobody_writes_them(impl: Impl, run: Run) -> None:
    def write(state: Any) -> Any:
        return {"left": 99, "log": [state["left"]]}

    graph = impl.sequence(counting(impl), ("a", write), ("b", write))
    assert run(graph, {"log": [], "left": 77}, LIMIT) == {"log": [4, 3]}


def test_a_node_may_see_them_alone(impl: Impl, run: Run) -> None:
    class Steps(TypedDict):
        left: impl.RemainingSteps  # type: ignore[name-defined]

    builder = impl.StateGraph(counting(impl))
    builder.add_node("n", lambda state: {"log": [state]}, input_schema=Steps)
    graph = builder.add_edge(impl.START, "n").compile()
    assert run(graph, {"log": []}, LIMIT) == {"log": [{"left": 4}]}


@pytest.mark.parametrize("kind", ["dataclass", "pydantic"])
def test_an_instance_of_the_schema_holds_them(impl: Impl, run: Run, kind: str) -> None:
    if kind == "dataclass":

        @dataclass
        class State:
            log: list[Any] = field(default_factory=list)
            left: impl.RemainingSteps = 25  # type: ignore[name-defined]

    else:

        class State(BaseModel):  # type: ignore[no-redef]
            log: list[Any] = []
            left: impl.RemainingSteps = 25  # type: ignore[name-defined]

    def show(state: Any) -> Any:
        return {"log": [type(state).__name__, state.left]}

    graph = impl.sequence(State, ("n", show))
    assert run(graph, {"log": []}, LIMIT)["log"] == ["State", 4]


def test_the_answer_of_a_person_finds_what_is_left(impl: Impl, run: Run) -> None:
    def ask(state: Any) -> Any:
        impl.interrupt("may I?")
        return {"log": [isinstance(state["left"], int)]}

    graph = impl.sequence(counting(impl), ("n", ask), checkpointer=impl.MemorySaver())
    config = {"configurable": {"thread_id": "1"}, **LIMIT}
    run(graph, {"log": []}, config)
    assert run(graph, impl.Command(resume="yes"), config) == {"log": [True]}
    assert graph.get_state(config).values == {"log": [True]}


@pytest.mark.only("antiphon")
def test_a_graph_that_is_a_node_shares_the_limit(impl: Impl, run: Run) -> None:
    inner = impl.sequence(counting(impl), ("a", look), ("b", look))
    graph = impl.sequence(counting(impl), ("z", look), ("g", inner))
    state = run(graph, {"log": []}, {"recursion_limit": 9})
    assert state["log"][-2:] == [(6, False), (5, False)]


def test_a_state_of_an_agent_is_inherited_from(impl: Impl, run: Run) -> None:
    class State(impl.AgentState):  # type: ignore[name-defined,misc]
        left: int

    def count(state: Any) -> Any:
        return {"left": state["remaining_steps"]}

    graph = impl.sequence(State, ("n", count))
    assert run(graph, {"messages": "hi"}, LIMIT)["left"] == 4


@pytest.mark.only("antiphon")
def test_a_team_has_no_such_keys(impl: Impl) -> None:
    with pytest.raises(ValidationError, match=r"only graphs compute .*: left, last"):
        antiphon.Orchestrator([antiphon.Agent("openai:none", name="a")], state=counting(impl))
