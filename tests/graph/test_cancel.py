"""Cancelling a run (rule 53): every node that runs is cancelled, and awaited."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from support.oracle import Impl
from support.states import Log, Plain
from support.waiting import ENOUGH, atake_time, forever, reach, until


class Patient:
    """Async nodes that wait for ever, and note how they ended."""

    def __init__(self) -> None:
        self.entered: list[str] = []
        self.arrivals: asyncio.Queue[str] = asyncio.Queue()
        self.ended: list[str] = []

    def node(self, name: str) -> Callable[[Any], Awaitable[None]]:
        async def wait(state: Any) -> None:
            self.entered.append(name)
            self.arrivals.put_nowait(name)
            try:
                await forever()
            finally:
                await atake_time(0.01)
                self.ended.append(name)

        return wait

    async def arrive(self, count: int) -> None:
        """Wait until `count` more nodes are inside."""
        for _ in range(count):
            await asyncio.wait_for(self.arrivals.get(), ENOUGH)


async def cancelled(graph: Any, patient: Patient, count: int = 1) -> None:
    """Run `graph` until `count` nodes are inside, cancel it, wait for its end."""
    run = asyncio.create_task(graph.ainvoke({}))
    await reach(patient.arrive(count), run)
    run.cancel()
    with pytest.raises(asyncio.CancelledError):
        await run
    assert run.cancelled()


def test_a_lone_node_cleans_up_before_the_run_ends(impl: Impl) -> None:
    patient = Patient()

    async def main() -> None:
        await cancelled(impl.sequence(Plain, ("n", patient.node("n"))), patient)
        assert patient.ended == ["n"]

    asyncio.run(main())


def fan(impl: Any, patient: Patient) -> Any:
    """Three nodes that wait, in one step."""
    nodes = {name: patient.node(name) for name in "abc"}
    return impl.build(Plain, nodes, [("__start__", name) for name in nodes])


def test_every_node_of_a_fan_out_is_cancelled(impl: Impl) -> None:
    patient = Patient()

    async def main() -> None:
        await cancelled(fan(impl, patient), patient, 3)
        await until(lambda: sorted(patient.ended) == ["a", "b", "c"])

    asyncio.run(main())


@pytest.mark.only("antiphon")
def test_every_node_of_a_fan_out_is_awaited(impl: Impl) -> None:
    patient = Patient()

    async def main() -> None:
        await cancelled(fan(impl, patient), patient, 3)
        assert sorted(patient.ended) == ["a", "b", "c"]
        assert asyncio.all_tasks() == {asyncio.current_task()}

    asyncio.run(main())


@pytest.mark.only("antiphon")
def test_the_siblings_of_a_failure_are_awaited(impl: Impl) -> None:
    patient = Patient()

    async def fail(state: Any) -> None:
        await patient.arrive(1)
        raise ValueError("mine")

    async def main() -> None:
        nodes = {"wait": patient.node("wait"), "fail": fail}
        graph = impl.build(Plain, nodes, [("__start__", name) for name in nodes])
        with pytest.raises(ValueError, match="mine"):
            await graph.ainvoke({})
        assert patient.ended == ["wait"]

    asyncio.run(main())


def test_a_cancel_reaches_a_subgraph(impl: Impl) -> None:
    patient = Patient()

    async def main() -> None:
        inner = impl.sequence(Plain, ("n", patient.node("n")))
        await cancelled(impl.sequence(Plain, ("inner", inner)), patient)
        assert patient.ended == ["n"]

    asyncio.run(main())


def test_a_cancel_reaches_a_graph_that_a_node_awaits(impl: Impl) -> None:
    patient = Patient()
    inner = impl.sequence(Plain, ("n", patient.node("n")))

    async def call(state: Any) -> None:
        await inner.ainvoke({})

    async def main() -> None:
        await cancelled(impl.sequence(Plain, call), patient)
        assert patient.ended == ["n"]

    asyncio.run(main())


def test_nothing_runs_after_a_cancel(impl: Impl) -> None:
    patient, ran = Patient(), []
    graph = impl.sequence(Plain, ("n", patient.node("n")), ("next", lambda s: ran.append(1)))
    asyncio.run(cancelled(graph, patient))
    assert ran == []


def test_a_cancel_is_not_retried_and_not_handled(impl: Impl) -> None:
    patient, handled = Patient(), []
    builder = impl.StateGraph(Plain).add_node(
        "n",
        patient.node("n"),
        retry_policy=impl.RetryPolicy(initial_interval=0.001, retry_on=lambda error: True),
        error_handler=lambda s: handled.append(1),
    )
    asyncio.run(cancelled(builder.add_edge(impl.START, "n").compile(), patient))
    assert patient.entered == ["n"]
    assert handled == []


def test_a_timeout_around_a_run_cancels_it(impl: Impl) -> None:
    patient = Patient()

    async def limited() -> None:
        async with asyncio.timeout(0.05):
            await impl.sequence(Plain, ("n", patient.node("n"))).ainvoke({})

    async def main() -> None:
        with pytest.raises(TimeoutError):
            await limited()
        assert patient.ended == ["n"]

    asyncio.run(main())


def test_a_failing_task_group_cancels_its_runs(impl: Impl) -> None:
    patient = Patient()

    async def fail() -> None:
        await patient.arrive(1)
        raise ValueError("mine")

    async def both() -> None:
        async with asyncio.TaskGroup() as group:
            group.create_task(impl.sequence(Plain, ("n", patient.node("n"))).ainvoke({}))
            group.create_task(fail())

    async def main() -> None:
        with pytest.raises(ExceptionGroup):
            await both()
        assert patient.ended == ["n"]

    asyncio.run(main())


def test_a_cancel_during_a_retry_pause_ends_the_run(impl: Impl) -> None:
    entered, failed = [], asyncio.Event()

    async def fail(state: Any) -> None:
        entered.append(1)
        failed.set()
        raise ConnectionError

    policy = impl.RetryPolicy(initial_interval=60, jitter=False)
    builder = impl.StateGraph(Plain).add_node("n", fail, retry_policy=policy)
    graph = builder.add_edge(impl.START, "n").compile()

    async def main() -> None:
        run = asyncio.create_task(graph.ainvoke({"a": 1}))
        await reach(failed.wait(), run)
        await asyncio.sleep(0)
        run.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asyncio.wait_for(run, 10)

    asyncio.run(main())
    assert entered == [1]


def test_a_node_that_swallows_the_cancel_still_ends_alone(impl: Impl) -> None:
    entered = asyncio.Event()

    async def stubborn(state: Any) -> dict[str, Any]:
        entered.set()
        try:
            await forever()
        except asyncio.CancelledError:
            return {"log": ["swallowed"]}
        return {}

    async def main() -> Any:
        run = asyncio.create_task(impl.sequence(Log, stubborn).ainvoke({}))
        await reach(entered.wait(), run)
        run.cancel()
        return await asyncio.wait({run}, timeout=10)

    done, pending = asyncio.run(main())
    assert (len(done), len(pending)) == (1, 0)


def test_leaving_a_stream_cancels_the_node_that_runs(impl: Impl) -> None:
    patient = Patient()

    async def main() -> None:
        graph = impl.build(
            Log,
            {"a": lambda s: {"log": ["a"]}, "n": patient.node("n")},
            [("__start__", "a"), ("__start__", "n")],
        )
        stream = graph.astream({})
        assert await anext(stream) == {"a": {"log": ["a"]}}
        await patient.arrive(1)
        await stream.aclose()
        await until(lambda: patient.ended == ["n"])

    asyncio.run(main())
