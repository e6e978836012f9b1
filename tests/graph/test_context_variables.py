"""Context variables: a node sees the caller's, and what it sets stays inside."""

import asyncio
import contextvars
import ctypes
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from antiphon.errors import StateError
from antiphon.graph import get_config
from support.oracle import Impl, Run
from support.states import Plain, Update

REQUEST: contextvars.ContextVar[str] = contextvars.ContextVar("request", default="unset")
OTHERS = [contextvars.ContextVar[str](f"other{n}") for n in range(40)]
"""As many as make a tree of several levels behind a context."""


def look(state: Any) -> Update:
    """Report the variable, then set it."""
    seen = REQUEST.get()
    REQUEST.set("leaked")
    return {"b": [seen]}


async def alook(state: Any) -> Update:
    """As `look`, with a wait between the two and one after."""
    seen = REQUEST.get()
    await asyncio.sleep(0)
    assert REQUEST.get() == seen
    REQUEST.set("leaked")
    await asyncio.sleep(0)
    assert REQUEST.get() == "leaked"
    return {"b": [seen]}


@pytest.fixture(autouse=True)
def request_variable() -> Iterator[None]:
    """Each test is a caller with its own value."""
    token = REQUEST.set("caller")
    yield
    REQUEST.reset(token)


class Seen:
    """Wraps a node to keep what each call reported."""

    def __init__(self) -> None:
        self.values: list[str] = []

    def keep(self, state: Any) -> None:
        self.values += look(state)["b"]

    async def akeep(self, state: Any) -> None:
        self.values += (await alook(state))["b"]


def graph(impl: Any, node: Any, *, count: int, **options: Any) -> Any:
    """START -> `count` tasks of `node` in one step -> `node` once more."""
    builder = impl.StateGraph(Plain)
    builder.add_node("n", node, **options).add_node("z", node, **options).add_edge("n", "z")
    sends = [impl.Send("n", i) for i in range(count)]
    return builder.add_conditional_edges(impl.START, lambda s: sends).compile()


@pytest.mark.parametrize("count", [1, 4])
def test_sync_nodes_of_a_sync_run(impl: Impl, count: Any) -> None:
    seen = Seen()
    graph(impl, seen.keep, count=count).invoke({"a": 1})
    assert seen.values == ["caller"] * (count + 1)
    assert REQUEST.get() == "caller"


@pytest.mark.parametrize("count", [1, 4])
@pytest.mark.parametrize("kind", ["keep", "akeep"])
def test_nodes_of_an_async_run(impl: Impl, count: Any, kind: Any) -> None:
    seen = Seen()

    async def main() -> None:
        await graph(impl, getattr(seen, kind), count=count).ainvoke({"a": 1})
        assert REQUEST.get() == "caller"

    asyncio.run(main())
    assert seen.values == ["caller"] * (count + 1)


@pytest.mark.only("antiphon")
@pytest.mark.parametrize("count", [1, 4])
@pytest.mark.parametrize("style", ["invoke", "ainvoke"])
def test_inline_nodes_see_the_context_variables_of_the_caller(
    impl: Impl, count: Any, style: Any
) -> None:
    seen = Seen()
    compiled = graph(impl, seen.keep, count=count, inline=True)

    async def main() -> None:
        await compiled.ainvoke({"a": 1})
        assert REQUEST.get() == "caller"

    asyncio.run(main()) if style == "ainvoke" else compiled.invoke({"a": 1})
    assert seen.values == ["caller"] * (count + 1)
    assert REQUEST.get() == "caller"


@pytest.mark.only("antiphon")
def test_async_nodes_of_a_sync_run(impl: Impl) -> None:
    seen = Seen()
    graph(impl, seen.akeep, count=3).invoke({"a": 1})
    assert seen.values == ["caller"] * 4
    assert REQUEST.get() == "caller"


@pytest.mark.only("antiphon")
def test_a_node_that_leaves_another_context_entered_fails(impl: Impl) -> None:
    other = contextvars.copy_context()

    def enter(state: Any) -> None:
        ctypes.pythonapi.PyContext_Enter(ctypes.py_object(other))

    compiled = graph(impl, enter, count=1, inline=True)
    # On a thread that ends: nobody can leave the node's own context any more.
    with ThreadPoolExecutor(1) as pool:
        failed = pool.submit(compiled.invoke, {"a": 1}).exception()
    assert isinstance(failed, RuntimeError)
    assert "context" in str(failed)


@pytest.mark.parametrize("style", ["invoke", "ainvoke"])
def test_a_node_that_raises_leaves_its_variables(impl: Impl, style: str) -> None:
    def fail(state: Any) -> None:
        REQUEST.set("leaked")
        raise ValueError("no")

    compiled = graph(impl, fail, count=1)

    async def main() -> None:
        with pytest.raises(ValueError, match="no"):
            await compiled.ainvoke({"a": 1})
        assert REQUEST.get() == "caller"

    if style == "ainvoke":
        asyncio.run(main())
    else:
        with pytest.raises(ValueError, match="no"):
            compiled.invoke({"a": 1})
    assert REQUEST.get() == "caller"


def test_each_attempt_starts_from_the_callers_context(impl: Impl, run: Run) -> None:
    seen = []

    def flaky(state: Any) -> None:
        seen.append(REQUEST.get())
        REQUEST.set("leaked")
        if len(seen) < 3:
            raise ConnectionError

    policy = impl.RetryPolicy(initial_interval=0.001, jitter=False)
    builder = impl.StateGraph(Plain).add_node("n", flaky, retry_policy=policy)
    run(builder.add_edge(impl.START, "n").compile(), {"a": 1})
    assert REQUEST.get() == "caller"
    if impl.name == "antiphon":
        assert seen == ["caller"] * 3


def test_nodes_of_a_subgraph(impl: Impl, run: Run) -> None:
    seen = Seen()
    inner = impl.sequence(Plain, ("n", seen.keep), ("z", seen.keep))
    run(impl.sequence(Plain, ("inner", inner), ("last", seen.keep)), {"a": 1})
    assert seen.values == ["caller"] * 3
    assert REQUEST.get() == "caller"


def test_a_router_sees_the_callers_context(impl: Impl, run: Run) -> None:
    seen = []

    def route(state: Plain) -> list[str]:
        seen.append(REQUEST.get())
        return []

    builder = impl.StateGraph(Plain).add_node("n", lambda s: None).add_edge(impl.START, "n")
    run(builder.add_conditional_edges("n", route).compile(), {"a": 1})
    assert seen == ["caller"]


def test_a_stream_consumed_piece_by_piece(impl: Impl) -> None:
    seen = Seen()
    compiled = impl.sequence(Plain, ("a", seen.keep), ("b", seen.keep))
    for _ in compiled.stream({"a": 1}):
        assert REQUEST.get() == "caller"
    assert seen.values == ["caller"] * 2


def reset(state: Any) -> None:
    """Set a variable and take that back: the variables are equal, and not the same."""
    REQUEST.reset(REQUEST.set("for a moment"))


def copied() -> contextvars.Context:
    """The variables as they are."""
    return contextvars.copy_context()


def changed() -> contextvars.Context:
    """The variables with another one among them."""
    REQUEST.set("changed")
    return contextvars.copy_context()


def changed_itself() -> contextvars.Context:
    """A copy with another variable: it shares all else with what it is a copy of."""
    copy = contextvars.copy_context()
    copy.run(OTHERS[0].set, "changed")
    return copy


def moved() -> contextvars.Context:
    """The same values in another context, as `asgiref` takes them from thread to thread."""
    other = contextvars.Context()
    for variable, value in contextvars.copy_context().items():
        other.run(variable.set, value)
    return other


@pytest.mark.only("antiphon")
@pytest.mark.parametrize("keep", [copied, changed, changed_itself, moved])
@pytest.mark.parametrize("style", ["invoke", "ainvoke"])
@pytest.mark.parametrize("variables", [1, 5, 12, 40])
def test_what_keeps_the_variables_of_a_node_stays_that_nodes(
    impl: Impl, keep: Any, style: str, variables: int
) -> None:
    kept: list[contextvars.Context] = []
    codes: list[str] = []

    def first(state: Any) -> Update:
        kept.append(keep())
        return {}

    def ask(state: Any) -> Update:
        with pytest.raises(StateError) as raised:
            kept[0].run(get_config)
        codes.append(raised.value.code)
        return {}

    builder = impl.StateGraph(Plain).add_sequence(
        [("first", first), ("reset", reset), ("ask", ask)]
    )
    graph = builder.add_edge(impl.START, "first").compile()
    config: Any = {"configurable": {"who": "me"}}
    caller = contextvars.copy_context()
    for other in OTHERS[:variables]:
        caller.run(other.set, "caller")
    if style == "invoke":
        caller.run(graph.invoke, {"a": 1}, config)
    else:
        caller.run(asyncio.run, graph.ainvoke({"a": 1}, config))
    assert codes == ["node_ended"]
