"""Threads: blocking nodes overlap, and one compiled graph serves many threads."""

import asyncio
import operator
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Annotated, Any, TypedDict

import pytest

from support.oracle import Impl, Run
from support.states import Log, Plain, Update
from support.waiting import take_time


class Total(TypedDict, total=False):
    """Numbers, their squares and how many steps."""

    numbers: list[int]
    squares: Annotated[list[int], operator.add]
    steps: Annotated[int, operator.add]


def squares(impl: Any) -> Any:
    """Fan out over `numbers`, square each, loop three times."""

    def fan(state: Total) -> list[Any]:
        return [impl.Send("square", n) for n in state["numbers"]]

    def again(state: Total) -> str:
        return "plan" if state["steps"] < 3 else impl.END

    builder = impl.StateGraph(Total)
    builder.add_node("plan", lambda s: {"steps": 1})
    builder.add_node("square", lambda n: {"squares": [n * n]})
    builder.add_node("join", lambda s: None, defer=True)
    builder.add_edge(impl.START, "plan").add_conditional_edges("plan", fan)
    return builder.add_edge("square", "join").add_conditional_edges("join", again).compile()


def inputs() -> list[dict[str, Any]]:
    """Eight inputs that have nothing in common."""
    return [{"numbers": list(range(k * 10, k * 10 + 5)), "squares": []} for k in range(8)]


@pytest.mark.parametrize("style", ["invoke", "ainvoke"])
def test_eight_threads_share_one_graph(impl: Impl, style: Any) -> None:
    graph = squares(impl)

    def once(given: dict[str, Any]) -> Any:
        if style == "invoke":
            return graph.invoke(given)
        return asyncio.run(graph.ainvoke(given))

    expected = [once(given) for given in inputs()]
    start = threading.Barrier(8)

    def work(given: dict[str, Any]) -> list[Any]:
        start.wait(10)
        return [once(given) for _ in range(10)]

    with ThreadPoolExecutor(8) as pool:
        results = list(pool.map(work, inputs()))
    assert results == [[one] * 10 for one in expected]


def test_blocking_nodes_of_a_step_overlap(impl: Impl, run: Run) -> None:
    meeting = threading.Barrier(4)

    def node(state: Any) -> Update:
        meeting.wait(10)
        return {"log": ["met"]}

    names = ["a", "b", "c", "d"]
    graph = impl.build(Log, dict.fromkeys(names, node), [("__start__", name) for name in names])
    assert run(graph, {}) == {"log": ["met"] * 4}


@pytest.mark.only("antiphon")
def test_sixty_four_blocking_nodes_overlap(impl: Impl, run: Run) -> None:
    meeting = threading.Barrier(64)

    def node(i: int) -> Update:
        meeting.wait(20)
        return {"log": ["met"]}

    builder = impl.StateGraph(Log).add_node("n", node)
    sends = [impl.Send("n", i) for i in range(64)]
    graph = builder.add_conditional_edges(impl.START, lambda s: sends).compile()
    assert run(graph, {}) == {"log": ["met"] * 64}


@pytest.mark.only("antiphon")
def test_a_thousand_blocking_nodes_need_no_more_than_64_threads(impl: Impl) -> None:
    threads = set()

    def node(i: int) -> None:
        threads.add(threading.get_ident())
        take_time(0.001)

    builder = impl.StateGraph(Log).add_node("n", node)
    sends = [impl.Send("n", i) for i in range(1000)]
    builder.add_conditional_edges(impl.START, lambda s: sends).compile().invoke({"log": []})
    assert 2 <= len(threads) <= 65


@pytest.mark.only("antiphon")
def test_runs_of_many_threads_do_not_starve_each_others_pool(impl: Impl) -> None:
    """Blocking nodes that invoke graphs with blocking nodes: a fixed pool would dead-lock."""

    def leaf(i: int) -> None:
        take_time(0.001)

    inner = impl.StateGraph(Log).add_node("leaf", leaf)
    inner.add_conditional_edges(impl.START, lambda s: [impl.Send("leaf", i) for i in range(4)])
    inner = inner.compile()
    outer = impl.StateGraph(Log).add_node("call", lambda i: inner.invoke({"log": []}) and None)
    outer.add_conditional_edges(impl.START, lambda s: [impl.Send("call", i) for i in range(100)])
    done = threading.Event()

    def work() -> None:
        outer.compile().invoke({"log": []})
        done.set()

    threading.Thread(target=work, daemon=True).start()
    assert done.wait(60)


def test_a_graph_may_be_compiled_in_one_thread_and_run_in_another(impl: Impl) -> None:
    graph = impl.sequence(Plain, ("n", lambda s: {"b": threading.get_ident()}))
    with ThreadPoolExecutor(1) as pool:
        assert pool.submit(graph.invoke, {"a": 1}).result(10)["a"] == 1
