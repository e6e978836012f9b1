"""A node that fans out: what its tasks and threads ask, and reach, is the node's."""

import asyncio
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from pathlib import Path
from typing import Any, TypedDict

import pytest

from antiphon import Agent, Orchestrator, tool
from antiphon.errors import StateError
from antiphon.graph import (
    START,
    Command,
    StateGraph,
    get_config,
    get_runtime,
    get_stream_writer,
    interrupt,
)
from support.oracle import Impl, Run
from support.states import Plain
from support.waiting import ENOUGH


class State(TypedDict, total=False):
    """What is asked about, and the answer."""

    x: str
    answer: str


def single(node: Any, **options: Any) -> Any:
    """A graph of one node."""
    return StateGraph(State).add_node("n", node).add_edge(START, "n").compile(**options)


class Asks(Agent):
    """Asks a person."""

    def act(self, state: Any, ctx: Any) -> str:
        return str(ctx.ask("may I?"))


@tool(approval=True)
def pay(euros: int) -> str:
    """Pays a sum."""
    return f"paid {euros}"


class Payer(Agent):
    """Calls what a person has to approve of."""

    def act(self, state: Any, ctx: Any) -> str:
        return str(ctx.call(pay, euros=5))


INNER = single(lambda state: {"answer": interrupt("may I?")})
MIDDLE = single(lambda state: INNER.invoke({"x": "in"}))
TEAM = Orchestrator([Asks()])
PAYERS = Orchestrator([Payer()])


async def ainner() -> str:
    """Ask in a graph that is awaited."""
    return str((await INNER.ainvoke({"x": "in"}))["answer"])


async def ateam() -> str:
    """Ask in a team that is awaited."""
    return str((await TEAM.arun("q")).answer)


def streamed() -> str:
    """Ask in a graph that is streamed."""
    return str(list(INNER.stream({"x": "in"}, stream_mode="values"))[-1]["answer"])


def watched() -> str:
    """Ask in a team whose events are watched."""
    stream = TEAM.stream("q")
    for _event in stream:
        pass
    return str(stream.result.answer)


async def asynchronous(ask: Callable[[], Any]) -> Any:
    """A node that asks, awaited."""
    made = ask()
    return await made if isinstance(made, Awaitable) else made


ASKS: dict[str, Callable[[], Any]] = {
    "interrupt": lambda: interrupt("may I?"),
    "graph": lambda: INNER.invoke({"x": "in"})["answer"],
    "graph, awaited": ainner,
    "graph, streamed": streamed,
    "graph in a graph": lambda: MIDDLE.invoke({"x": "in"})["answer"],
    "graphs, in a batch": lambda: INNER.batch([{"x": "in"}])[0]["answer"],
    "team": lambda: TEAM.run("q").answer,
    "team, awaited": ateam,
    "team, watched": watched,
    "teams, in a batch": lambda: TEAM.batch(["q"])[0].answer,
    "approval in a team": lambda: PAYERS.run("q").answer,
}


async def gathered(ask: Any) -> Any:
    """Ask in a task among others."""
    return (await asyncio.gather(asyncio.sleep(0), asynchronous(ask)))[1]


async def limited(ask: Any) -> Any:
    """Ask within a time limit, which takes a task before Python 3.12."""
    return await asyncio.wait_for(asynchronous(ask), ENOUGH)


async def tasked(ask: Any) -> Any:
    """Ask in a task."""
    return await asyncio.create_task(asynchronous(ask))


async def grouped(ask: Any) -> Any:
    """Ask in a group of tasks."""
    async with asyncio.TaskGroup() as group:
        asked = group.create_task(asynchronous(ask))
    return asked.result()


async def threaded(ask: Any) -> Any:
    """Ask on a thread."""
    made = await asyncio.to_thread(ask)
    return await made if isinstance(made, Awaitable) else made


async def parallel(ask: Any) -> Any:
    """Ask in a part of LangChain's that runs beside another."""
    core = pytest.importorskip("langchain_core.runnables")
    part = core.RunnableLambda(lambda _: None, afunc=lambda _: asynchronous(ask))
    other = core.RunnableLambda(lambda _: None)
    return (await core.RunnableParallel(one=part, two=other).ainvoke({}))["one"]


ASYNC_WAYS = [gathered, limited, tasked, grouped, threaded, parallel]


def pooled(ask: Any) -> Any:
    """Ask on a thread of a pool, with the caller's context."""
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(copy_context().run, ask).result(ENOUGH)


def tooled(ask: Any) -> Any:
    """Ask in a tool of LangChain's that is called in a batch."""
    tools = pytest.importorskip("langchain_core.tools")

    @tools.tool  # type: ignore[untyped-decorator]
    def asks(x: str) -> str:
        """Ask."""
        return str(ask())

    return asks.batch([{"x": "a"}])[0]


def executed(ask: Any) -> Any:
    """Ask in parts of LangChain's that run side by side in threads."""
    core = pytest.importorskip("langchain_core.runnables")
    part = core.RunnableLambda(lambda _: ask())
    other = core.RunnableLambda(lambda _: None)
    return core.RunnableParallel(one=part, two=other).invoke({})["one"]


SYNC_WAYS = [pooled, tooled, executed]


def node_of(way: Any, ask: Any) -> Any:
    """A node that asks in that way, and writes the answer."""
    if way in SYNC_WAYS:
        return lambda state: {"answer": str(way(ask))}

    async def node(state: Any) -> Any:
        return {"answer": str(await way(ask))}

    return node


def combinations() -> list[Any]:
    """Each way with each thing that asks; what must be awaited only where it can be."""
    pairs = [(way, ask) for way in ASYNC_WAYS for ask in ASKS]
    pairs += [(way, ask) for way in SYNC_WAYS for ask in ASKS if "awaited" not in ask]
    return [pytest.param(way, ask, id=f"{way.__name__}-{ask}") for way, ask in pairs]


def answer_to(question: Any) -> Any:
    """Yes, in the way that the question takes."""
    return True if isinstance(question, dict) else "yes"


def expected(ask: str) -> str:
    """What the answer makes the node write."""
    return "paid 5" if "approval" in ask else "yes"


@pytest.mark.only("antiphon")
@pytest.mark.parametrize(("way", "ask"), combinations())
def test_a_question_pauses_the_outermost_run(impl: Impl, way: Any, ask: str) -> None:
    del impl
    graph = single(node_of(way, ASKS[ask]), checkpointer="memory:")
    config: Any = {"configurable": {"thread_id": "t"}}
    (question,) = graph.invoke({"x": "unapproved"}, config)["__interrupt__"]
    end = graph.invoke(Command(resume=answer_to(question.value)), config)
    assert end["answer"] == expected(ask)


def paused(graph: Any, config: Any, mode: str, style: str) -> Any:
    """The questions that a stream of that mode ends with, or `invoke`."""

    async def collect() -> list[Any]:
        return [chunk async for chunk in graph.astream({"x": "u"}, config, stream_mode=mode)]

    if mode == "none":
        run = graph.invoke if style == "sync" else lambda *a: asyncio.run(graph.ainvoke(*a))
        return [one.value for one in run({"x": "u"}, config)["__interrupt__"]]
    chunks = list(graph.stream({"x": "u"}, config, stream_mode=mode))
    chunks = chunks if style == "sync" else asyncio.run(collect())
    asked = [chunk["__interrupt__"] for chunk in chunks if "__interrupt__" in chunk]
    if mode in {"tasks", "debug"}:
        news = [chunk.get("payload", chunk) for chunk in chunks]
        asked = [new["interrupts"] for new in news if new.get("interrupts")]
    values = asked[-1] if asked else ()
    return [one["value"] if isinstance(one, dict) else one.value for one in values]


@pytest.mark.only("antiphon")
@pytest.mark.parametrize("kept", ["sqlite", "memory", "nowhere"])
@pytest.mark.parametrize("mode", ["none", "updates", "values", "tasks", "debug", "custom"])
@pytest.mark.parametrize("style", ["sync", "async"])
@pytest.mark.parametrize("ask", ["interrupt", "graph, awaited", "team, awaited"])
def test_a_question_of_a_task_pauses_in_every_stream_mode(
    impl: Impl, tmp_path: Path, kept: str, mode: str, style: str, ask: str
) -> None:
    del impl
    savers = {"sqlite": f"sqlite:{tmp_path}/runs.db", "memory": "memory:", "nowhere": None}
    graph = single(node_of(gathered, ASKS[ask]), checkpointer=savers[kept])
    config: Any = {"configurable": {"thread_id": style}}
    asked = paused(graph, config, mode, style)
    assert mode == "custom" or asked == ["may I?"]
    if kept != "nowhere":
        assert graph.get_state(config).next == ("n",)
        assert graph.invoke(Command(resume="yes"), config)["answer"] == "yes"


@pytest.mark.only("antiphon")
@pytest.mark.parametrize("durability", ["sync", "async", "exit"])
@pytest.mark.parametrize("ask", ["interrupt", "graph, awaited", "team, awaited"])
def test_a_question_of_a_task_pauses_in_every_durability(
    impl: Impl, tmp_path: Path, durability: Any, ask: str
) -> None:
    del impl
    graph = single(node_of(gathered, ASKS[ask]), checkpointer=f"sqlite:{tmp_path}/runs.db")
    config: Any = {"configurable": {"thread_id": "t"}}
    asked = graph.invoke({"x": "u"}, config, durability=durability)["__interrupt__"]
    assert [question.value for question in asked] == ["may I?"]
    assert graph.invoke(Command(resume="yes"), config, durability=durability)["answer"] == "yes"


def test_a_question_of_a_graph_in_a_task_is_not_skipped(impl: Impl, run: Run) -> None:
    inner = impl.sequence(Plain, ("ask", lambda state: {"a": impl.interrupt("may I?")}))

    async def node(state: Any) -> Any:
        (came,) = await asyncio.gather(inner.ainvoke({"a": "unapproved"}))
        return {"a": came["a"]}

    saver = impl.MemorySaver()
    graph = impl.sequence(Plain, node, checkpointer=saver)
    config = {"configurable": {"thread_id": "t"}}
    if impl.name == "langgraph":  # it has no way to run an async node from `invoke`
        run = lambda *args: asyncio.run(graph.ainvoke(*args[1:]))  # noqa: E731
    (question,) = run(graph, {}, config)["__interrupt__"]
    assert question.value == "may I?"
    assert run(graph, impl.Command(resume="yes"), config)["a"] == "yes"


def write_chunk() -> str:
    """Write a chunk to the stream."""
    get_stream_writer()("written")
    return "me"


REACH: dict[str, Callable[[], Any]] = {
    "config": lambda: get_config()["configurable"]["who"],
    "runtime": lambda: get_runtime().context,
    "writer": write_chunk,
}


@pytest.mark.only("antiphon")
@pytest.mark.parametrize("reach", REACH)
@pytest.mark.parametrize("way", [*ASYNC_WAYS, *SYNC_WAYS], ids=lambda way: str(way.__name__))
def test_tasks_and_threads_reach_what_their_node_does(impl: Impl, way: Any, reach: str) -> None:
    del impl
    graph = single(node_of(way, REACH[reach]))
    config: Any = {"configurable": {"who": "me"}}
    chunks = list(graph.stream({"x": "a"}, config, context="me", stream_mode=["custom", "updates"]))
    assert chunks[-1] == ("updates", {"n": {"answer": "me"}})
    assert (("custom", "written") in chunks) == (reach == "writer")


@pytest.mark.only("antiphon")
@pytest.mark.parametrize("kept", [False, True])
@pytest.mark.parametrize("style", ["sync", "async"])
def test_graphs_under_way_beside_a_question_end_first(impl: Impl, kept: bool, style: str) -> None:
    del impl
    ended: list[str] = []

    async def slow(state: Any) -> Any:
        for _ in range(10):
            await asyncio.sleep(0)
        ended.append("slow")
        return {"answer": "slow"}

    beside = single(slow)

    async def node(state: Any) -> Any:
        asked, came = await asyncio.gather(
            asynchronous(ASKS["interrupt"]), beside.ainvoke({"x": "b"})
        )
        return {"answer": f"{asked} {came['answer']}"}

    graph = single(node, checkpointer="memory:" if kept else None)
    config: Any = {"configurable": {"thread_id": "t"}}
    first = asyncio.run(graph.ainvoke({}, config)) if style == "async" else graph.invoke({}, config)
    assert (first["__interrupt__"][0].value, ended) == ("may I?", ["slow"])
    assert graph.resume(first, "yes")["answer"] == "yes slow"


@pytest.mark.only("antiphon")
def test_a_task_that_outlives_its_node_cannot_act_for_it(impl: Impl) -> None:
    del impl
    tries: dict[str, Callable[[], Any]] = {
        **{name: ASKS[name] for name in ("interrupt", "graph", "team")},
        "config": get_config,
        "runtime": get_runtime,
    }

    async def main() -> dict[str, str]:
        over = asyncio.Event()
        left: list[asyncio.Task[Any]] = []
        codes = {}

        async def later() -> None:
            await over.wait()
            for name, ask in tries.items():
                with pytest.raises(StateError) as raised:
                    await asynchronous(ask)
                codes[name] = raised.value.code

        async def node(state: Any) -> Any:
            left.append(asyncio.create_task(later()))
            return {"answer": "done"}

        await single(node).ainvoke({})
        over.set()
        await asyncio.wait_for(left[0], ENOUGH)
        return codes

    assert asyncio.run(main()) == dict.fromkeys(tries, "node_ended")


@pytest.mark.only("antiphon")
def test_a_task_that_outlives_its_node_may_run_its_own_graphs(impl: Impl) -> None:
    del impl
    plain = single(lambda state: {"answer": "alone"})

    async def main() -> Any:
        over = asyncio.Event()
        left: list[asyncio.Task[Any]] = []

        async def later() -> Any:
            await over.wait()
            return await plain.ainvoke({})

        async def node(state: Any) -> Any:
            left.append(asyncio.create_task(later()))
            return {"answer": "done"}

        await single(node).ainvoke({})
        over.set()
        return await asyncio.wait_for(left[0], ENOUGH)

    assert asyncio.run(main()) == {"answer": "alone"}


@pytest.mark.only("antiphon")
def test_the_current_call_does_not_leave_its_node(impl: Impl) -> None:
    del impl
    graph = single(lambda state: {"answer": get_config()["configurable"]["who"]})
    assert graph.invoke({}, {"configurable": {"who": "me"}}) == {"answer": "me"}
    with pytest.raises(RuntimeError, match="no node is running here"):
        get_config()
