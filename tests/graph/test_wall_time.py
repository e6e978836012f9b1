"""The `wall_time` of a run ends an async node that nothing runs beside."""

import asyncio
import itertools
import operator
from collections.abc import AsyncIterator
from typing import Annotated, Any, TypedDict

import pytest

from antiphon.checkpoint import MemorySaver
from antiphon.errors import BudgetError
from antiphon.graph import END, START, StateGraph
from support.waiting import atake_time, forever, reach, take_time

LIMIT = 0.05


class Log(TypedDict, total=False):
    log: Annotated[list[str], operator.add]


def graph_of(*nodes: Any, **options: Any) -> Any:
    """A chain of nodes, with a limit of time."""
    builder = StateGraph(Log)
    for node in nodes:
        builder.add_node(node.__name__, node)
    names = [START, *(node.__name__ for node in nodes), END]
    for source, target in itertools.pairwise(names):
        builder.add_edge(source, target)
    return builder.compile(limits={"wall_time": LIMIT}, **options)


async def quick(_: Log) -> Log:
    await atake_time(0)
    return {"log": ["quick"]}


async def endless(_: Log) -> Log:
    await forever()
    return {"log": ["endless"]}


async def consume(items: AsyncIterator[Any]) -> list[Any]:
    return [item async for item in items]


def is_out_of_time(error: BudgetError) -> bool:
    return error.details == {"dimension": "wall_time"}


@pytest.mark.parametrize("streams", [False, True])
def test_it_stops_a_node_that_waits(streams: bool) -> None:
    async def main() -> None:
        graph = graph_of(quick, endless)
        work = consume(graph.astream({})) if streams else graph.ainvoke({})
        with pytest.raises(BudgetError) as caught:
            await work
        assert is_out_of_time(caught.value)
        task = asyncio.current_task()
        assert task is not None
        assert task.cancelling() == 0

    asyncio.run(main())


def test_the_node_may_clean_up_and_what_it_then_returns_does_not_count() -> None:
    cleaned = []

    async def stubborn(_: Log) -> Log:
        try:
            await forever()
        except asyncio.CancelledError:
            await atake_time(0)
            cleaned.append("stubborn")
        return {"log": ["stubborn"]}

    saver = MemorySaver()
    graph = graph_of(quick, stubborn, checkpointer=saver)
    config = {"configurable": {"thread_id": "t"}}

    async def main() -> None:
        with pytest.raises(BudgetError) as caught:
            await graph.ainvoke({}, config)
        assert is_out_of_time(caught.value)

    asyncio.run(main())
    assert cleaned == ["stubborn"]
    assert graph.get_state(config).values == {"log": ["quick"]}
    assert graph.get_state(config).next == ("stubborn",)


def test_what_it_raises_while_it_is_stopped_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    async def breaks(_: Log) -> Log:
        try:
            await forever()
        except asyncio.CancelledError:
            raise ValueError("half written") from None
        return {}

    async def main() -> None:
        with pytest.raises(BudgetError):
            await graph_of(breaks).ainvoke({})

    asyncio.run(main())
    assert "half written" in caplog.text


def test_a_nested_graph_that_a_node_awaits_ends_too() -> None:
    async def asks(_: Log) -> Log:
        inner = StateGraph(Log).add_node("endless", endless).add_edge(START, "endless").compile()
        return {"log": (await inner.ainvoke({}))["log"]}

    async def main() -> None:
        with pytest.raises(BudgetError) as caught:
            await graph_of(asks).ainvoke({})
        assert is_out_of_time(caught.value)

    asyncio.run(main())


def test_a_cancellation_by_the_caller_stays_one() -> None:
    async def slow_to_leave(_: Log) -> Log:
        try:
            await forever()
        finally:
            stopped.set()
            await forever()
        return {}

    async def main() -> None:
        task = asyncio.create_task(graph_of(slow_to_leave).ainvoke({}))
        await reach(stopped.wait(), task)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert task.cancelled()

    stopped = asyncio.Event()
    asyncio.run(main())


def test_a_timeout_of_the_caller_in_the_same_instant_stays_one() -> None:
    async def waits(_: Log) -> Log:
        # The loop next runs after both the wall time and the caller's time-out.
        asyncio.get_running_loop().call_soon(take_time, 2 * LIMIT)
        await forever()
        return {}

    async def main() -> None:
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(1.5 * LIMIT):
                await graph_of(waits).ainvoke({})
        task = asyncio.current_task()
        assert task is not None
        assert task.cancelling() == 0

    asyncio.run(main())


def test_a_timeout_of_the_caller_that_is_shorter_comes_first() -> None:
    async def main() -> None:
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(LIMIT / 5):
                await graph_of(endless).ainvoke({})

    asyncio.run(main())
