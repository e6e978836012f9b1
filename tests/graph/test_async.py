"""Async nodes and routers, and sync nodes in async runs (rules 32, 49)."""

import asyncio
import threading
from typing import Any

import pytest

from support.oracle import Impl
from support.states import Log, Plain, Update, say


async def hello(state: Any) -> Update:
    """Suspend once, then log."""
    await asyncio.sleep(0)
    return {"log": ["hello"]}


def test_async_nodes_run_in_order(impl: Impl) -> None:
    graph = impl.sequence(Log, ("one", hello), ("two", hello))
    assert asyncio.run(graph.ainvoke({})) == {"log": ["hello", "hello"]}


def test_sync_and_async_nodes_mix(impl: Impl) -> None:
    graph = impl.sequence(Log, say("sync"), ("async", hello), say("again"))
    assert asyncio.run(graph.ainvoke({})) == {"log": ["sync", "hello", "again"]}


def test_async_nodes_of_a_step_overlap(impl: Impl) -> None:
    async def main() -> Any:
        meeting = asyncio.Barrier(3)

        async def node(state: Any) -> Update:
            await asyncio.wait_for(meeting.wait(), 10)
            return {"log": ["met"]}

        nodes = dict.fromkeys("abc", node)
        return await impl.build(Log, nodes, [("__start__", name) for name in nodes]).ainvoke({})

    assert asyncio.run(main()) == {"log": ["met"] * 3}


def test_a_router_may_be_async(impl: Impl) -> None:
    async def route(state: Log) -> str:
        await asyncio.sleep(0)
        return "b"

    builder = impl.StateGraph(Log).add_node("a", hello).add_node("b", say("b"))
    graph = builder.add_edge(impl.START, "a").add_conditional_edges("a", route).compile()
    assert asyncio.run(graph.ainvoke({})) == {"log": ["hello", "b"]}


def test_an_entry_router_may_be_async(impl: Impl) -> None:
    async def route(state: Log) -> list[Any]:
        await asyncio.sleep(0)
        return [impl.Send("n", 1), impl.Send("n", 2)]

    builder = impl.StateGraph(Log).add_node("n", lambda i: {"log": [i]})
    graph = builder.set_conditional_entry_point(route).compile()
    assert asyncio.run(graph.ainvoke({})) == {"log": [1, 2]}


def test_a_sync_node_of_an_async_run_leaves_the_loop(impl: Impl) -> None:
    threads = []
    graph = impl.sequence(Plain, ("n", lambda s: threads.append(threading.get_ident())))
    asyncio.run(graph.ainvoke({"a": 1}))
    assert threads[0] != threading.get_ident()


def test_a_blocking_sync_node_does_not_block_the_loop(impl: Impl) -> None:
    async def main() -> None:
        released = threading.Event()

        def block(state: Any) -> Update:
            assert released.wait(10)
            return {"a": "done"}

        run = asyncio.create_task(impl.sequence(Plain, block).ainvoke({"a": 1}))
        await asyncio.sleep(0)
        released.set()
        assert await run == {"a": "done"}

    asyncio.run(main())


@pytest.mark.only("antiphon")
def test_an_inline_sync_node_stays_on_the_loop(impl: Impl) -> None:
    threads = []
    builder = impl.StateGraph(Plain)
    builder.add_node("n", lambda s: threads.append(threading.get_ident()), inline=True)
    asyncio.run(builder.add_edge(impl.START, "n").compile().ainvoke({"a": 1}))
    assert threads == [threading.get_ident()]


def test_async_nodes_run_on_the_callers_loop(impl: Impl) -> None:
    loops = []

    async def node(state: Any) -> None:
        loops.append(asyncio.get_running_loop())

    async def main() -> None:
        await impl.sequence(Plain, node).ainvoke({"a": 1})
        assert loops == [asyncio.get_running_loop()]

    asyncio.run(main())


@pytest.mark.only("langgraph")
def test_an_async_node_does_not_run_under_invoke(impl: Impl) -> None:
    with pytest.raises(TypeError):
        impl.sequence(Log, ("n", hello)).invoke({})


@pytest.mark.only("antiphon")
def test_an_async_node_runs_under_invoke(impl: Impl) -> None:
    assert impl.sequence(Log, ("n", hello)).invoke({}) == {"log": ["hello"]}


def test_many_runs_of_one_graph_at_once_do_not_mix(impl: Impl) -> None:
    async def double(state: Plain) -> Update:
        await asyncio.sleep(0)
        return {"b": state["a"] * 2}

    async def main() -> Any:
        graph = impl.sequence(Plain, double, ("more", double))
        return await asyncio.gather(*(graph.ainvoke({"a": i}) for i in range(50)))

    assert [result["b"] for result in asyncio.run(main())] == [i * 2 for i in range(50)]


def test_a_run_is_an_ordinary_awaitable(impl: Impl) -> None:
    graph = impl.sequence(Log, ("n", hello))

    async def main() -> None:
        expected = {"log": ["hello"]}
        assert await graph.ainvoke({}) == expected
        assert await asyncio.create_task(graph.ainvoke({})) == expected
        assert await asyncio.wait_for(graph.ainvoke({}), 10) == expected
        assert await asyncio.shield(graph.ainvoke({})) == expected
        assert list(await asyncio.gather(graph.ainvoke({}))) == [expected]
        async with asyncio.TaskGroup() as group:
            task = group.create_task(graph.ainvoke({}))
        assert task.result() == expected

    asyncio.run(main())


def test_a_run_can_be_started_from_another_thread(impl: Impl) -> None:
    graph = impl.sequence(Log, ("n", hello))

    async def main() -> None:
        loop = asyncio.get_running_loop()

        def other() -> Any:
            return asyncio.run_coroutine_threadsafe(graph.ainvoke({}), loop).result(10)

        assert await asyncio.to_thread(other) == {"log": ["hello"]}

    asyncio.run(main())


def test_a_long_wait_in_one_node_does_not_hold_up_its_sibling(impl: Impl) -> None:
    async def main() -> Any:
        quick_ended = asyncio.Event()

        async def slow(state: Any) -> Update:
            await asyncio.wait_for(quick_ended.wait(), 10)
            return {"a": "after quick"}

        async def quick(state: Any) -> None:
            await asyncio.sleep(0)
            quick_ended.set()

        nodes = {"slow": slow, "quick": quick}
        return await impl.build(Plain, nodes, [("__start__", n) for n in nodes]).ainvoke({"b": 1})

    assert asyncio.run(main()) == {"a": "after quick", "b": 1}
