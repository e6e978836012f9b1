"""A node that fails (rules 49-54). Cancellation is in test_cancel."""

import asyncio
import threading
from typing import Any

import pytest

from support.oracle import Impl, Run
from support.states import Log, Update, say
from support.waiting import atake_time, forever, take_time


class Broken(Exception):
    """What the nodes here fail with."""


def fail(state: Any) -> Update:
    """Fail."""
    raise Broken("on purpose")


def test_the_exception_is_the_original_one(impl: Impl, run: Run) -> None:
    mine = Broken("mine")

    def node(state: Log) -> Update:
        raise mine

    with pytest.raises(Broken) as caught:
        run(impl.sequence(Log, node), {})
    assert caught.value is mine


def test_a_note_names_the_node(impl: Impl, run: Run) -> None:
    with pytest.raises(Broken) as caught:
        run(impl.sequence(Log, ("culprit", fail)), {})
    assert any("culprit" in note for note in caught.value.__notes__)


def test_nothing_runs_after_a_failure(impl: Impl, run: Run) -> None:
    ran = []
    with pytest.raises(Broken):
        run(impl.sequence(Log, fail, ("next", lambda s: ran.append(1))), {})
    assert ran == []


def test_events_before_the_failure_are_delivered(impl: Impl) -> None:
    got: list[Any] = []
    with pytest.raises(Broken):
        got.extend(impl.sequence(Log, say("a"), fail).stream({}))
    assert got == [{"a": {"log": ["a"]}}]


class BrokenBesideSlow:
    """A node that fails once while a sync node beside it runs, which outlasts the failure."""

    def __init__(self) -> None:
        self.ran: list[str] = []
        self.running, self.finished = threading.Event(), threading.Event()

    def slow(self, state: Log) -> Update:
        self.ran.append("slow")
        self.running.set()
        take_time(0.1)
        self.finished.set()
        return {"log": ["slow"]}

    def broken(self, state: Log) -> Update:
        self.ran.append("broken")
        if "broken" not in self.ran[:-1]:
            assert self.running.wait(10)
            raise Broken
        return {"log": ["repaired"]}

    def build(self, impl: Impl, **options: Any) -> Any:
        nodes = {"broken": self.broken, "slow": self.slow}
        edges = [("__start__", "broken"), ("__start__", "slow")]
        return impl.build(Log, nodes, edges, **options)


def test_a_running_sync_sibling_is_waited_for(impl: Impl) -> None:
    nodes = BrokenBesideSlow()
    with pytest.raises(Broken):
        nodes.build(impl).invoke({})
    assert nodes.finished.is_set()


def test_a_sync_sibling_that_has_finished_is_not_repeated(impl: Impl) -> None:
    nodes = BrokenBesideSlow()
    graph = nodes.build(impl, checkpointer=impl.InMemorySaver())
    config = {"configurable": {"thread_id": "t"}}
    with pytest.raises(Broken):
        graph.invoke({"log": []}, config)
    assert graph.invoke(None, config) == {"log": ["repaired", "slow"]}
    assert sorted(nodes.ran) == ["broken", "broken", "slow"]


@pytest.mark.only("antiphon")
def test_a_sync_sibling_is_waited_for_by_an_event_loop_too(impl: Impl) -> None:
    nodes = BrokenBesideSlow()

    async def main() -> None:
        with pytest.raises(Broken):
            await nodes.build(impl).ainvoke({})
        assert nodes.finished.is_set()

    asyncio.run(main())


@pytest.mark.only("antiphon")
def test_an_interrupt_does_not_wait_for_a_sync_sibling(impl: Impl) -> None:
    running, released = threading.Event(), threading.Event()

    def stuck(state: Log) -> None:
        running.set()
        assert released.wait(30)

    def interrupted(state: Log) -> None:
        assert running.wait(10)
        raise KeyboardInterrupt

    nodes = {"stuck": stuck, "interrupted": interrupted}
    graph = impl.build(Log, nodes, [("__start__", "stuck"), ("__start__", "interrupted")])
    with pytest.raises(KeyboardInterrupt):
        graph.invoke({})
    released.set()


@pytest.mark.only("antiphon")
def test_a_caller_who_cancels_does_not_wait_for_a_sync_sibling(impl: Impl) -> None:
    running, released = threading.Event(), threading.Event()

    def stuck(state: Log) -> None:
        running.set()
        assert released.wait(30)

    async def broken(state: Log) -> None:
        assert await asyncio.to_thread(running.wait, 10)
        raise Broken

    nodes = {"stuck": stuck, "broken": broken}
    graph = impl.build(Log, nodes, [("__start__", "stuck"), ("__start__", "broken")])

    async def main() -> None:
        failing = asyncio.create_task(graph.ainvoke({}))
        await asyncio.to_thread(running.wait, 10)
        await atake_time(0.05)
        assert not failing.done()
        failing.cancel()
        with pytest.raises(asyncio.CancelledError):
            await failing
        assert not released.is_set()
        released.set()

    asyncio.run(main())


def test_async_siblings_are_cancelled_by_the_first_failure(impl: Impl) -> None:
    cancelled = []

    async def slow(state: Log) -> None:
        try:
            await forever()
        except asyncio.CancelledError:
            cancelled.append("slow")
            raise

    async def broken(state: Log) -> None:
        await asyncio.sleep(0)
        raise Broken

    graph = impl.build(
        Log, {"slow": slow, "broken": broken}, [("__start__", "slow"), ("__start__", "broken")]
    )

    async def main() -> None:
        with pytest.raises(Broken):
            await graph.ainvoke({})
        await asyncio.sleep(0)
        assert cancelled == ["slow"]

    asyncio.run(main())


def test_the_first_of_two_failures_is_raised(impl: Impl) -> None:
    async def first(state: Log) -> None:
        raise Broken("first")

    async def second(state: Log) -> None:
        try:
            await forever()
        except asyncio.CancelledError:
            raise Broken("second") from None

    graph = impl.build(Log, {"b": first, "a": second}, [("__start__", "a"), ("__start__", "b")])
    with pytest.raises(Broken, match="first"):
        asyncio.run(graph.ainvoke({}))


def test_a_cancelled_error_of_user_code_becomes_a_node_error(impl: Impl) -> None:
    async def node(state: Log) -> None:
        raise asyncio.CancelledError("by the user")

    with pytest.raises(impl.NodeCancelledError) as caught:
        asyncio.run(impl.sequence(Log, ("culprit", node)).ainvoke({}))
    assert caught.value.node == "culprit"


def test_a_graph_runs_again_after_a_failure(impl: Impl, run: Run) -> None:
    broken = [True]

    def node(state: Log) -> Update:
        if broken.pop() if broken else False:
            raise Broken
        return {"log": ["fine"]}

    graph = impl.sequence(Log, node)
    with pytest.raises(Broken):
        run(graph, {})
    assert run(graph, {}) == {"log": ["fine"]}


@pytest.mark.parametrize("error", [KeyboardInterrupt, SystemExit])
def test_system_exit_and_keyboard_interrupt_pass_through(impl: Impl, error: Any) -> None:
    def node(state: Log) -> None:
        raise error

    with pytest.raises(error):
        impl.sequence(Log, node).invoke({})


@pytest.mark.parametrize("error", [StopIteration, StopAsyncIteration, GeneratorExit])
def test_iteration_exceptions_of_a_sync_node_do_not_pass_for_an_end(impl: Impl, error: Any) -> None:
    def node(state: Log) -> None:
        raise error("mine")

    with pytest.raises((error, RuntimeError)):
        impl.sequence(Log, node).invoke({})


def test_step_timeout_ends_a_step_that_takes_too_long(impl: Impl) -> None:
    async def hang(state: Log) -> None:
        await forever()

    graph = impl.sequence(Log, hang)
    graph.step_timeout = 0.02
    with pytest.raises(TimeoutError):
        asyncio.run(graph.ainvoke({}))


def test_a_step_timeout_restarts_with_each_step(impl: Impl) -> None:
    async def short(state: Log) -> None:
        await atake_time(0.3)

    graph = impl.sequence(Log, *[(f"n{i}", short) for i in range(4)])
    graph.step_timeout = 1.0
    asyncio.run(graph.ainvoke({}))


@pytest.mark.only("antiphon")
def test_step_timeout_ends_a_step_of_a_sync_node_too(impl: Impl) -> None:
    never = threading.Event()
    graph = impl.sequence(Log, ("hang", lambda s: never.wait(20) and None))
    graph.step_timeout = 0.05
    with pytest.raises(TimeoutError):
        graph.invoke({})
    never.set()
