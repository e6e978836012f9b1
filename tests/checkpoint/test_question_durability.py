"""A question that somebody sees is in the store, by any way of showing it and any durability."""

from __future__ import annotations

import asyncio
import operator
from typing import Annotated, Any, TypedDict, cast

import pytest
from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.runnables import RunnableLambda

from antiphon import Agent, AgentContext, Orchestrator, tool
from antiphon.checkpoint import MemorySaver, SqliteSaver
from antiphon.errors import StateError
from antiphon.graph import START, GraphInterrupt, RunnableConfig, StateGraph, interrupt

CONFIG: RunnableConfig = {"configurable": {"thread_id": "t"}}
QUESTION = "shall I send it?"
MODES = ["values", "updates", "tasks", "debug", "messages", "custom"]
DURABILITIES = ["sync", "async", "exit"]


class State(TypedDict, total=False):
    out: Annotated[list[str], operator.add]


def asks(_: State) -> State:
    return {"out": [interrupt(QUESTION)]}


def graph(checkpointer: Any, *, nested: bool = False) -> Any:
    """A node that asks, beside one that does not and after another one; or within a node."""
    builder = StateGraph(State)
    builder.add_node("first", lambda _: {"out": ["first"]}).add_edge(START, "first")
    builder.add_node("beside", lambda _: {"out": ["beside"]}).add_edge("first", "beside")
    inner = StateGraph(State).add_node("asks", asks).add_edge(START, "asks").compile()
    builder.add_node("asks", inner if nested else asks).add_edge("first", "asks")
    return builder.compile(checkpointer)


@pytest.fixture(params=["memory", "sqlite", "postgres"])
def stores(request: pytest.FixtureRequest, tmp_path: Any) -> tuple[Any, Any]:
    """The checkpointer of a run, and one of somebody else who looks into the same store."""
    if request.param == "memory":
        shared = MemorySaver()
        return shared, shared
    url = f"sqlite:{tmp_path}/runs.db"
    if request.param == "postgres":
        url = request.getfixturevalue("postgres").database()
    return url, url


@pytest.mark.parametrize("durability", DURABILITIES)
@pytest.mark.parametrize("modes", ["tasks", "debug", MODES], ids=["tasks", "debug", "all"])
@pytest.mark.parametrize("nested", [False, True], ids=["plain", "nested"])
def test_a_graph_shows_a_question_that_is_stored(
    stores: tuple[Any, Any], durability: Any, modes: Any, nested: bool
) -> None:
    mine, others = stores
    reader, seen = graph(others, nested=nested), 0
    chunks = graph(mine, nested=nested).stream(
        {}, CONFIG, stream_mode=modes, durability=durability, subgraphs=True
    )
    for chunk in chunks:
        if QUESTION in repr(chunk):
            seen += 1
            stored = [one.value for one in reader.get_state(CONFIG).interrupts]
            assert stored == [QUESTION], f"shown too early: {chunk}"
    assert seen >= 1


@pytest.mark.parametrize("durability", DURABILITIES)
def test_a_graph_that_a_node_calls_leaves_its_question_to_that_node(
    stores: tuple[Any, Any], durability: Any
) -> None:
    mine, others = stores
    inner = StateGraph(State).add_node("asks", asks).add_edge(START, "asks").compile()

    def calls(_: State) -> State:
        return {"out": [inner.invoke({})["out"][-1]]}

    def outer(checkpointer: Any) -> Any:
        return StateGraph(State).add_node(calls).add_edge(START, "calls").compile(checkpointer)

    reader, seen = outer(others), set()
    streamed: Any = {"stream_mode": MODES, "durability": durability, "subgraphs": True}
    for chunk in outer(mine).stream({}, CONFIG, **streamed):
        if QUESTION in repr(chunk):
            seen.add(chunk[1])
            (stored,) = reader.get_state(CONFIG).interrupts
            # Under the one id that takes an answer.
            assert (stored.value, stored.id in repr(chunk)) == (QUESTION, True), chunk
    assert seen == {"tasks", "debug", "updates", "values"}


@pytest.mark.parametrize("durability", DURABILITIES)
def test_a_graph_on_an_event_loop_shows_a_question_that_is_stored(
    stores: tuple[Any, Any], durability: Any
) -> None:
    mine, others = stores

    async def main() -> int:
        reader, seen = graph(others), 0
        chunks = graph(mine).astream({}, CONFIG, stream_mode=MODES, durability=durability)
        async for chunk in chunks:
            if QUESTION in repr(chunk):
                seen += 1
                state = await reader.aget_state(CONFIG)
                assert [one.value for one in state.interrupts] == [QUESTION], chunk
        return seen

    assert asyncio.run(main()) >= 3


class Listener(BaseCallbackHandler):
    """Notes which questions are stored when it is notified of one.

    Args:
        reader: a graph that looks into the same store.
    """

    def __init__(self, reader: Any) -> None:
        self.reader = reader
        self.stored: list[list[str]] = []

    def on_chain_error(self, error: BaseException, **about: Any) -> None:
        self.note(error, about)

    def on_chain_end(self, outputs: Any, **about: Any) -> None:
        self.note(outputs, about)

    def on_tool_error(self, error: BaseException, **about: Any) -> None:
        self.note(error, about)

    def note(self, *reported: Any) -> None:
        carried = [one for one in reported if isinstance(one, GraphInterrupt) and one.args != ((),)]
        if carried or QUESTION in repr(reported):
            found = self.reader.get_state(CONFIG).interrupts
            self.stored.append([one.value for one in found])


def runnable(_: State, config: RunnableConfig) -> State:
    """Asks in a part of LangChain's."""
    return RunnableLambda(asks).invoke({}, cast("Any", config))


def calling(called: Any) -> Any:
    """A graph whose node calls another."""
    builder = StateGraph(State).add_node("calls", lambda _: {"out": called.invoke({})["out"][-1:]})
    return builder.add_edge(START, "calls").compile()


CALLED = StateGraph(State).add_node("asks", asks).add_edge(START, "asks").compile()
ASKERS: dict[str, Any] = {
    "node": asks,
    "nested graph": CALLED,
    "called graph": lambda _: {"out": CALLED.invoke({})["out"][-1:]},
    "graph called in a graph": lambda _: {"out": calling(CALLED).invoke({})["out"][-1:]},
    "runnable": runnable,
}


@pytest.mark.parametrize("durability", DURABILITIES)
@pytest.mark.parametrize("kind", ASKERS)
def test_a_callback_receives_a_question_only_after_it_is_stored(
    stores: tuple[Any, Any], durability: Any, kind: str
) -> None:
    mine, others = stores

    def outer(checkpointer: Any) -> Any:
        builder = StateGraph(State).add_node("n", ASKERS[kind]).add_edge(START, "n")
        return builder.compile(checkpointer)

    listener = Listener(outer(others))
    config = {**CONFIG, "callbacks": [listener]}
    assert outer(mine).invoke({}, config, durability=durability)["__interrupt__"]
    assert listener.stored
    assert all(stored == [QUESTION] for stored in listener.stored), listener.stored


@tool(approval=True)
def send(text: str) -> str:
    """Sends it."""
    return f"sent {text}"


class Asking(Agent):
    """Asks by itself."""

    def act(self, state: Any, ctx: AgentContext) -> str:
        return str(ctx.ask(QUESTION))


class Calling(Agent):
    """Calls by itself what a person has to approve of."""

    tools = (send,)

    def act(self, state: Any, ctx: AgentContext) -> str:
        return str(ctx.call("send", text=QUESTION))


def wants_to_send(request: dict[str, Any]) -> Any:
    """A model that wants to send something, twice at once."""
    if any(said["role"] == "tool" for said in request["messages"]):
        return "sent"
    calls = [{"id": f"c{n}", "name": "send", "arguments": {"text": QUESTION}} for n in range(2)]
    return {"tool_calls": calls}


class Declared(Agent):
    """Has a model that calls what a person has to approve of."""

    model = staticmethod(wants_to_send)
    tools = (send,)


TEAMS: dict[str, tuple[type[Agent], int]] = {
    "asks": (Asking, 1),
    "calls": (Calling, 1),
    "declared": (Declared, 2),
}


@pytest.mark.parametrize("durability", DURABILITIES)
@pytest.mark.parametrize("kind", TEAMS)
def test_a_team_shows_a_question_that_is_stored(
    stores: tuple[Any, Any], durability: Any, kind: str
) -> None:
    mine, others = stores
    agent, count = TEAMS[kind]
    team = Orchestrator([agent()], checkpointer=mine, durability=durability)
    reader = Orchestrator([agent()], checkpointer=others)
    numbers, asked = [], []
    for event in team.stream("go", thread="t"):
        numbers.append(event.seq)
        if event.kind == "interrupt":
            asked.append(event.data["id"])
            stored = [question.id for question in reader.state("t").questions]
            assert set(asked) <= set(stored), f"shown too early: {event}"
    assert len(asked) == count
    assert numbers == list(range(1, len(numbers) + 1))
    assert [question.id for question in reader.state("t").questions] == asked


@pytest.mark.parametrize("durability", DURABILITIES)
def test_a_team_on_an_event_loop_shows_a_question_that_is_stored(
    stores: tuple[Any, Any], durability: Any
) -> None:
    mine, others = stores

    async def main() -> int:
        seen = 0
        team = Orchestrator([Asking()], checkpointer=mine, durability=durability)
        reader = Orchestrator([Asking()], checkpointer=others)
        async for event in team.astream("go", thread="t"):
            if event.kind == "interrupt":
                seen += 1
                state = await reader.astate("t")
                assert [question.id for question in state.questions] == [event.data["id"]]
        return seen

    assert asyncio.run(main()) == 1


@pytest.mark.parametrize("durability", DURABILITIES)
def test_a_question_that_cannot_be_stored_is_not_shown(tmp_path: Any, durability: Any) -> None:
    store = SqliteSaver.open(tmp_path / "runs.db", max_bytes=100_000)
    team = Orchestrator([Big()], checkpointer=store, durability=durability)
    stream = team.stream("go", thread="t")
    events: list[Any] = []
    with pytest.raises(StateError) as failed:
        events.extend(stream)
    assert failed.value.code == "store_full"
    assert [event.seq for event in events] == list(range(1, len(events) + 1))
    assert events[-1].kind == "run_finished"
    assert not [event for event in events if event.kind == "interrupt"]


class Big(Agent):
    """Asks for more than there is room for."""

    def act(self, state: Any, ctx: AgentContext) -> str:
        return str(ctx.ask("?" * 200_000))
