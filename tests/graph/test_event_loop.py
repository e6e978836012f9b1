"""The event loop stays alive, and tasks of a fan-out are real tasks."""

import asyncio
import gc
from itertools import pairwise
from typing import Any

import pytest

from support.oracle import Impl
from support.states import Plain
from support.waiting import forever


def counter(impl: Any, steps: int, node: Any, **options: Any) -> Any:
    """A node that follows itself `steps` times, counting in `a`."""
    builder = impl.StateGraph(Plain).add_node("n", node, **options).add_edge(impl.START, "n")
    more = {True: "n", False: impl.END}
    return builder.add_conditional_edges("n", lambda s: s["a"] < steps, more).compile()


class CallCounter:
    """Nodes that count, and are counted."""

    def __init__(self) -> None:
        self.made = 0

    def inline(self, state: Any) -> dict[str, int]:
        """Count."""
        self.made += 1
        return {"a": state["a"] + 1}

    async def never_suspends(self, state: Any) -> dict[str, int]:
        """Count, without giving the loop a turn."""
        return self.inline(state)

    async def most_in_a_turn(self, run: Any) -> tuple[Any, int]:
        """Await `run`: its result, and the most calls made between two turns of the loop."""
        turns = [0]

        async def tick() -> None:
            while True:
                await asyncio.sleep(0)
                turns.append(self.made)

        ticker = asyncio.create_task(tick())
        await asyncio.sleep(0)
        result = await run
        ticker.cancel()
        return result, max(after - before for before, after in pairwise([*turns, self.made]))


@pytest.mark.only("antiphon")
@pytest.mark.parametrize("node", ["never_suspends", "inline"])
def test_a_long_chain_does_not_starve_the_loop(impl: Impl, node: Any) -> None:
    calls = CallCounter()
    graph = counter(impl, 10_000, getattr(calls, node), inline=node == "inline")
    run = graph.ainvoke({"a": 0}, {"recursion_limit": 20_000})
    result, most = asyncio.run(calls.most_in_a_turn(run))
    assert result == {"a": 10_000}
    assert most <= 100


@pytest.mark.only("antiphon")
def test_a_stream_that_never_has_to_wait_does_not_starve_the_loop(impl: Impl) -> None:
    calls = CallCounter()

    async def drain() -> int:
        stream = counter(impl, 10_000, calls.never_suspends).astream(
            {"a": 0}, {"recursion_limit": 20_000}
        )
        return len([chunk async for chunk in stream])

    chunks, most = asyncio.run(calls.most_in_a_turn(drain()))
    assert chunks == 10_000
    assert most <= 100


@pytest.mark.only("antiphon")
def test_a_timeout_reaches_a_chain_that_never_suspends(impl: Impl) -> None:
    graph = counter(impl, 10**9, CallCounter().never_suspends)

    async def main() -> None:
        async with asyncio.timeout(0.1):
            await graph.ainvoke({"a": 0}, {"recursion_limit": 10**9})

    with pytest.raises(TimeoutError):
        asyncio.run(main())


def fan(impl: Any, node: Any, count: int = 3) -> Any:
    """`node`, `count` times in one step."""
    builder = impl.StateGraph(Plain).add_node("n", node)
    sends = [impl.Send("n", i) for i in range(count)]
    return builder.add_conditional_edges(impl.START, lambda s: sends).compile()


def test_each_node_of_a_fan_out_has_its_own_task(impl: Impl) -> None:
    tasks = []

    async def node(i: int) -> None:
        before = asyncio.current_task()
        await asyncio.sleep(0)
        assert asyncio.current_task() is before
        tasks.append(before)

    async def main() -> None:
        await fan(impl, node).ainvoke({"a": 1})
        assert asyncio.current_task() not in tasks

    asyncio.run(main())
    assert len(set(tasks)) == 3
    assert all(isinstance(task, asyncio.Task) for task in tasks)


@pytest.mark.parametrize("count", [1, 3])
def test_a_timeout_inside_a_node_ends_that_wait_only(impl: Impl, count: Any) -> None:
    timed_out = []

    async def node(i: int) -> None:
        try:
            async with asyncio.timeout(0.02):
                await forever()
        except TimeoutError:
            timed_out.append(i)

    asyncio.run(fan(impl, node, count).ainvoke({"a": 1}))
    assert sorted(timed_out) == list(range(count))


@pytest.mark.parametrize("count", [1, 3])
def test_a_task_group_inside_a_node(impl: Impl, count: Any) -> None:
    done = []

    async def work(i: int) -> None:
        await asyncio.sleep(0)
        done.append(i)

    async def node(i: int) -> None:
        async with asyncio.TaskGroup() as group:
            group.create_task(work(i))
            group.create_task(work(i))

    asyncio.run(fan(impl, node, count).ainvoke({"a": 1}))
    assert sorted(done) == sorted([*range(count)] * 2)


@pytest.mark.parametrize("count", [1, 3])
def test_a_failing_task_group_inside_a_node_fails_the_run_with_its_group(
    impl: Impl, count: Any
) -> None:
    async def fail() -> None:
        raise ValueError("mine")

    async def node(i: int) -> None:
        async with asyncio.TaskGroup() as group:
            group.create_task(fail())
            group.create_task(forever())

    with pytest.raises(ExceptionGroup) as caught:
        asyncio.run(fan(impl, node, count).ainvoke({"a": 1}))
    assert caught.group_contains(ValueError, match="mine")


def test_a_failing_fan_out_leaves_no_unretrieved_exception(impl: Impl) -> None:
    complaints = []

    async def node(i: int) -> None:
        await asyncio.sleep(0)
        raise ValueError(i)

    async def main() -> None:
        asyncio.get_running_loop().set_exception_handler(lambda _, what: complaints.append(what))
        with pytest.raises(ValueError):
            await fan(impl, node).ainvoke({"a": 1})
        for _ in range(10):
            await asyncio.sleep(0)
        gc.collect()

    asyncio.run(main())
    assert complaints == []


@pytest.mark.only("antiphon")
def test_a_run_that_is_never_awaited_warns(impl: Impl) -> None:
    graph = fan(impl, CallCounter().never_suspends)
    with pytest.warns(RuntimeWarning, match="never awaited"):
        graph.ainvoke({"a": 1})
