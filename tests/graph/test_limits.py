"""The recursion limit (rules 46-48) and `max_concurrency`."""

import asyncio
from typing import Any

import pytest

from antiphon.errors import BudgetError
from antiphon.graph import GraphBuildError
from support.oracle import Impl, Run
from support.states import Log, say
from support.waiting import atake_time


def chain(impl: Any, length: int) -> Any:
    """A chain of `length` nodes."""
    return impl.sequence(Log, *[(f"n{i}", say(str(i))) for i in range(length)])


def forever(impl: Any, node: Any) -> Any:
    """A node that follows itself without end."""
    return impl.build(Log, {"n": node}, [("__start__", "n"), ("n", "n")])


def test_a_chain_of_n_needs_a_limit_of_n_plus_one(impl: Impl, run: Run) -> None:
    assert len(run(chain(impl, 3), {}, {"recursion_limit": 4})["log"]) == 3
    with pytest.raises(impl.GraphRecursionError):
        run(chain(impl, 3), {}, {"recursion_limit": 3})


@pytest.mark.only("antiphon")
def test_another_limit_than_that_of_supersteps_says_which_it_is(impl: Impl, run: Run) -> None:
    async def slow(_: Any) -> Any:
        await atake_time(0.1)
        return {}

    builder = impl.StateGraph(Log).add_node("n", slow).add_node("m", say("m"))
    builder.add_edge(impl.START, "n").add_edge("n", "m")
    graph = builder.compile(limits={"wall_time": 0.05})
    with pytest.raises(BudgetError, match="wall_time") as caught:
        run(graph, {})
    assert caught.value.details == {"dimension": "wall_time"}


def test_all_steps_up_to_the_limit_run_before_the_error(impl: Impl, run: Run) -> None:
    ran = []
    with pytest.raises(impl.GraphRecursionError):
        run(forever(impl, lambda s: ran.append(1)), {}, {"recursion_limit": 7})
    assert len(ran) == 7


def test_the_default_limit_is_10007(impl: Impl) -> None:
    ran = []
    with pytest.raises(impl.GraphRecursionError, match="10007"):
        forever(impl, lambda s: ran.append(1)).invoke({})
    assert len(ran) == 10007


@pytest.mark.parametrize("limit", [0, -1])
def test_a_limit_below_one_is_a_value_error(impl: Impl, run: Run, limit: Any) -> None:
    with pytest.raises(ValueError):
        run(chain(impl, 1), {}, {"recursion_limit": limit})


def test_the_error_is_a_recursion_error_and_names_the_limit_and_its_code(
    impl: Impl, run: Run
) -> None:
    with pytest.raises(RecursionError, match=r"(?s)5.*GRAPH_RECURSION_LIMIT"):
        run(forever(impl, say("n")), {}, {"recursion_limit": 5})


def test_events_before_the_limit_are_delivered(impl: Impl) -> None:
    got: list[Any] = []
    with pytest.raises(impl.GraphRecursionError):
        got.extend(forever(impl, say("n")).stream({}, {"recursion_limit": 3}))
    assert got == [{"n": {"log": ["n"]}}] * 3


def test_with_config_keeps_a_limit(impl: Impl, run: Run) -> None:
    with pytest.raises(impl.GraphRecursionError):
        run(chain(impl, 3).with_config(recursion_limit=2), {})


class Peak:
    """Counts how many nodes are inside at once."""

    def __init__(self) -> None:
        self.now = self.most = 0

    async def node(self, state: Any) -> None:
        self.now += 1
        self.most = max(self.most, self.now)
        for _ in range(5):
            await asyncio.sleep(0)
        self.now -= 1


@pytest.mark.parametrize(("limit", "most"), [(1, 1), (3, 3), (None, 8)])
def test_max_concurrency_bounds_the_async_tasks_of_a_step(
    impl: Impl, limit: Any, most: Any
) -> None:
    peak = Peak()
    builder = impl.StateGraph(Log).add_node("n", peak.node)
    builder.add_conditional_edges(impl.START, lambda s: [impl.Send("n", i) for i in range(8)])
    config = {"max_concurrency": limit} if limit else None
    asyncio.run(builder.compile().ainvoke({}, config))
    assert peak.most == most


def test_max_concurrency_of_one_runs_sync_nodes_one_at_a_time(impl: Impl) -> None:
    inside, most = [], []

    def node(n: int) -> None:
        inside.append(n)
        most.append(len(inside))
        inside.remove(n)

    builder = impl.StateGraph(Log).add_node("n", node)
    builder.add_conditional_edges(impl.START, lambda s: [impl.Send("n", i) for i in range(20)])
    builder.compile().invoke({}, {"max_concurrency": 1})
    assert most == [1] * 20


@pytest.mark.only("antiphon")
@pytest.mark.parametrize(
    ("config", "message"),
    [
        ({"recursion_limit": "many"}, "`recursion_limit` must be an integer .*'many'"),
        ({"recursion_limit": True}, "`recursion_limit` must be an integer .*True"),
        ({"max_concurrency": 0}, "`max_concurrency` must be an integer .*0"),
        ({"max_concurrency": "all"}, "`max_concurrency` must be an integer .*'all'"),
        ({"configurable": 3}, "`configurable` must be a dict, found: int"),
        ({"metadata": "m"}, "`metadata` must be a dict, found: str"),
        (3, "`config` must be a dict, found: int"),
    ],
)
def test_a_config_that_cannot_be_used_is_a_typed_error_that_names_the_setting(
    impl: Impl, run: Run, config: Any, message: str
) -> None:
    ran: list[int] = []
    graph = impl.sequence(Log, ("n", lambda s: ran.append(1)))
    with pytest.raises(GraphBuildError, match=message) as caught:
        run(graph, {}, config)
    assert caught.value.code == "call_invalid"
    assert not ran
