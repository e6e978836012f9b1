"""Nothing is kept alive that nobody holds."""

import asyncio
import contextvars
import gc
import typing
import weakref
from typing import Annotated, Any

import pytest

from antiphon import Agent, Orchestrator
from antiphon.graph import get_config
from support.oracle import Impl, Run
from support.states import Plain, Update, typed
from support.waiting import forever, happens, reach


def gone(dead: weakref.ref[Any]) -> bool:
    """Whether it dies: a thread of the pool may hold it for a moment after its answer."""

    def is_dead() -> bool:
        gc.collect()
        return dead() is None

    return happens(is_dead, seconds=10)


class Canary:
    """Something whose death can be watched."""


def closed_over(impl: Any) -> weakref.ref[Canary]:
    """A graph whose node closes over the graph and a canary; only the canary's ref is kept."""
    canary = Canary()
    graphs: list[Any] = []

    def node(state: Plain) -> Update:
        return {"b": (canary is not None, len(graphs))}

    graphs.append(impl.sequence(Plain, node))
    graphs[0].invoke({"a": 1})
    asyncio.run(graphs[0].ainvoke({"a": 1}))
    return weakref.ref(canary)


def test_the_cycle_of_graph_and_closure_is_collected(impl: Impl) -> None:
    dead = closed_over(impl)
    assert gone(dead)


def test_the_cycle_through_a_router_and_a_reducer_is_collected(impl: Impl) -> None:
    dead = routed_and_reduced(impl)
    for forget in typing._cleanups:  # type: ignore[attr-defined]  # `Annotated` is cached there
        forget()
    assert gone(dead)


def routed_and_reduced(impl: Impl) -> weakref.ref[Canary]:
    """As `closed_over`, but a reducer and a router close over the graph."""
    canary = Canary()
    graphs: list[Any] = []

    def reduce(old: int, new: int) -> int:
        return old + new + 0 * len(graphs)

    def route(state: Any) -> list[Any]:
        return [canary, *graphs][:0]

    builder = impl.StateGraph(typed(a=Annotated[int, reduce]))
    builder.add_node("n", lambda s: {"a": 1}).add_edge(impl.START, "n")
    graphs.append(builder.add_conditional_edges("n", route).compile())
    graphs[0].invoke({"a": 1})
    return weakref.ref(canary)


def test_the_state_of_a_run_is_freed_with_its_result(impl: Impl, run: Run) -> None:
    class Value:
        pass

    def node(state: Plain) -> Update:
        return {"b": Value()}

    graph = impl.sequence(Plain, node)
    dead = weakref.ref(run(graph, {"a": Value()})["b"])
    assert gone(dead)


def test_a_failed_run_is_freed_with_its_exception(impl: Impl, run: Run) -> None:
    value = Canary()

    def node(state: Plain) -> Update:
        raise ValueError("mine")

    with pytest.raises(ValueError):
        run(impl.sequence(Plain, node), {"a": value})
    dead = weakref.ref(value)
    del value
    assert gone(dead)


def test_a_stream_that_was_left_is_freed(impl: Impl) -> None:
    value = Canary()
    stream = impl.sequence(Plain, ("a", lambda s: {"b": 1}), ("b", lambda s: {})).stream(
        {"a": value}
    )
    next(stream)
    dead = weakref.ref(value)
    del value, stream
    assert gone(dead)


def leave_parked(impl: Impl, value: Canary, told: Any) -> None:
    """Run a node that tells that it waits, and cancel it then."""
    parked = asyncio.Event()

    async def park(state: Plain) -> None:
        told()
        parked.set()
        await forever()

    async def main() -> None:
        task = asyncio.create_task(impl.sequence(Plain, park).ainvoke({"a": value}))
        await reach(parked.wait(), task)
        task.cancel()
        await asyncio.wait({task})

    asyncio.run(main())


def test_a_run_parked_in_a_node_is_freed_when_its_loop_ends(impl: Impl) -> None:
    value = Canary()
    leave_parked(impl, value, lambda: None)
    dead = weakref.ref(value)
    del value
    assert gone(dead)


@pytest.mark.only("antiphon")
def test_kept_variables_of_a_node_that_has_asked_for_its_config_do_not_keep_the_run(
    impl: Impl, run: Run
) -> None:
    kept: list[contextvars.Context] = []

    def node(state: Plain) -> None:
        assert get_config()
        kept.append(contextvars.copy_context())

    value = Canary()
    run(impl.sequence(Plain, node), {"a": value})
    dead = weakref.ref(value)
    del value
    assert gone(dead)


@pytest.mark.only("antiphon")
def test_kept_variables_of_a_cancelled_node_do_not_keep_the_run(impl: Impl) -> None:
    kept: list[contextvars.Context] = []

    def told() -> None:
        assert get_config()
        kept.append(contextvars.copy_context())

    value = Canary()
    leave_parked(impl, value, told)
    dead = weakref.ref(value)
    del value
    assert gone(dead)


@pytest.mark.only("antiphon")
def test_kept_variables_of_a_node_whose_loop_is_gone_do_not_keep_the_run(impl: Impl) -> None:
    kept: list[contextvars.Context] = []

    async def main(value: Canary) -> None:
        parked = asyncio.Event()

        async def park(state: Plain) -> None:
            assert get_config()
            kept.append(contextvars.copy_context())
            parked.set()
            await asyncio.get_running_loop().create_future()

        task = asyncio.ensure_future(impl.sequence(Plain, park).ainvoke({"a": value}))
        await reach(parked.wait(), task)

    value = Canary()
    loop = asyncio.new_event_loop()
    loop.run_until_complete(main(value))
    loop.close()
    dead = weakref.ref(value)
    del value, loop
    assert gone(dead)


def objects_after(work: Any, times: int) -> int:
    """How many tracked objects there are after `times` calls of `work`."""
    for _ in range(times):
        work()
    gc.collect()
    return len(gc.get_objects())


@pytest.mark.only("antiphon")
@pytest.mark.parametrize("style", ["invoke", "ainvoke", "stream"])
def test_many_runs_leave_no_objects_behind(impl: Impl, style: Any) -> None:
    def echo(i: Any) -> Update:
        return {"b": [i]}

    builder = impl.StateGraph(Plain).add_node("n", echo)
    graph = builder.add_edge(impl.START, "n").compile()
    runner = asyncio.Runner()

    async def arun() -> Any:
        return await graph.ainvoke({"a": 1})

    work = {
        "invoke": lambda: graph.invoke({"a": 1}),
        "ainvoke": lambda: runner.run(arun()),
        "stream": lambda: list(graph.stream({"a": 1})),
    }[style]
    with runner:
        before = objects_after(work, 100)
        assert objects_after(work, 2000) - before < 50


@pytest.mark.only("antiphon")
def test_many_runs_do_not_grow_the_process(impl: Impl) -> None:
    resource = pytest.importorskip("resource")

    def work() -> None:
        graph.invoke({"a": "x" * 100_000})

    graph = impl.sequence(Plain, ("n", lambda s: {"b": s["a"] + "y"}))
    objects_after(work, 200)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    objects_after(work, 2000)
    grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    assert grown < 50_000, f"kilobytes grown in 2,000 runs of 200 kB: {grown}"


@pytest.mark.only("antiphon")
def test_a_failed_agent_that_held_its_context_is_freed(impl: Impl) -> None:
    class Fails(Agent):
        def act(self, state: Any, ctx: Any) -> Any:
            raise ValueError("mine")

    def work() -> None:
        with pytest.raises(ValueError, match="mine"):
            team.run("go")

    team = Orchestrator([Fails()])
    before = objects_after(work, 20)
    assert objects_after(work, 100) - before < 50


@pytest.mark.only("antiphon")
def test_a_failed_run_whose_state_leads_back_to_it_is_freed(impl: Impl) -> None:
    def node(state: Any) -> Any:
        error = ValueError("mine")
        raise error

    def work() -> None:
        box: list[Any] = []
        try:
            impl.sequence(Plain, node).invoke({"a": box})
        except ValueError as error:
            box.append(error)

    before = objects_after(work, 20)
    assert objects_after(work, 100) - before < 50


def fan(impl: Impl, node: Any, width: int = 1000) -> Any:
    """A graph with `width` async nodes side by side."""
    builder = impl.StateGraph(Plain)
    for place in range(width):
        builder.add_node(f"n{place}", node).add_edge(impl.START, f"n{place}")
    return builder.compile()


@pytest.mark.only("antiphon")
@pytest.mark.parametrize("enabled", [True, False])
def test_the_collector_rests_while_many_tasks_are_started_and_then_as_before(
    impl: Impl, enabled: bool
) -> None:
    collections: list[int] = []
    states: set[bool] = set()

    async def node(state: Plain) -> None:
        collections.append(gc.get_stats()[0]["collections"])
        states.add(gc.isenabled())

    async def main() -> None:
        graph = fan(impl, node)
        gc.collect()
        before = gc.get_stats()[0]["collections"]
        await graph.ainvoke({})
        collections[:] = [count - before for count in collections]

    try:
        if not enabled:
            gc.disable()
        asyncio.run(main())
        states.add(gc.isenabled())
    finally:
        gc.enable()
    assert states == {enabled}
    assert collections[0] <= 5, "a thousand tasks are ten thousand objects"


@pytest.mark.only("antiphon")
def test_a_factory_of_tasks_of_ones_own_runs_beside_the_collector(impl: Impl) -> None:
    states: set[bool] = set()

    def factory(loop: Any, coroutine: Any, **options: Any) -> Any:
        states.add(gc.isenabled())
        return asyncio.Task(coroutine, loop=loop, **options)

    async def node(state: Plain) -> None: ...

    async def main() -> None:
        asyncio.get_running_loop().set_task_factory(factory)
        await fan(impl, node).ainvoke({})

    asyncio.run(main())
    assert states == {True}


@pytest.mark.only("antiphon")
def test_the_collector_runs_again_where_a_task_cannot_be_started(impl: Impl) -> None:
    class Full(asyncio.SelectorEventLoop):
        """A loop that refuses its hundredth task."""

        left = 100

        def create_task(self, *given: Any, **options: Any) -> Any:
            self.left -= 1
            if self.left == 0:
                given[0].close()
                raise RuntimeError("too many tasks")
            return super().create_task(*given, **options)

    async def node(state: Plain) -> None: ...

    with asyncio.Runner(loop_factory=Full) as runner:
        with pytest.raises(RuntimeError, match="too many tasks"):
            runner.run(fan(impl, node).ainvoke({}))
        assert gc.isenabled()
