"""The traceback of a user's code is kept."""

import asyncio
import traceback
from typing import Annotated, Any

import pytest

from support.oracle import Impl, Run
from support.states import Plain, typed


def innermost() -> None:
    """Fail, two frames below the node."""
    raise ValueError("mine")


def node(state: Any) -> None:
    """Fail."""
    innermost()


async def anode(state: Any) -> None:
    """Fail after a wait."""
    await asyncio.sleep(0)
    innermost()


def frames(error: BaseException) -> list[str]:
    """Names of the functions in its traceback."""
    return [frame.name for frame in traceback.extract_tb(error.__traceback__)]


def fan(impl: Any, function: Any, count: int) -> Any:
    """`count` tasks of `function`."""
    builder = impl.StateGraph(Plain).add_node("n", function)
    sends = [impl.Send("n", i) for i in range(count)]
    return builder.add_conditional_edges(impl.START, lambda s: sends).compile()


@pytest.mark.parametrize("count", [1, 3])
def test_a_sync_nodes_frames_are_there(impl: Impl, run: Run, count: Any) -> None:
    """Prove EN-21 of docs/engine.md."""
    with pytest.raises(ValueError) as caught:
        run(fan(impl, node, count), {"a": 1})
    assert frames(caught.value)[-2:] == ["node", "innermost"]


@pytest.mark.parametrize("count", [1, 3])
def test_an_async_nodes_frames_are_there(impl: Impl, count: Any) -> None:
    """Prove EN-21 of docs/engine.md."""
    with pytest.raises(ValueError) as caught:
        asyncio.run(fan(impl, anode, count).ainvoke({"a": 1}))
    assert frames(caught.value)[-2:] == ["anode", "innermost"]


def test_the_callers_frame_is_there(impl: Impl) -> None:
    with pytest.raises(ValueError) as caught:
        fan(impl, node, 1).invoke({"a": 1})
    assert frames(caught.value)[0] == "test_the_callers_frame_is_there"


def test_a_routers_frames_are_there(impl: Impl, run: Run) -> None:
    builder = impl.StateGraph(Plain).add_node("n", lambda s: None).add_edge(impl.START, "n")
    with pytest.raises(ValueError) as caught:
        run(builder.add_conditional_edges("n", node).compile(), {"a": 1})
    assert frames(caught.value)[-2:] == ["node", "innermost"]


def test_the_cause_of_an_exception_is_preserved(impl: Impl, run: Run) -> None:
    """Prove EN-21 of docs/engine.md."""

    def wrap(state: Any) -> None:
        try:
            innermost()
        except ValueError as error:
            raise KeyError("outer") from error

    with pytest.raises(KeyError) as caught:
        run(impl.sequence(Plain, wrap), {"a": 1})
    assert isinstance(caught.value.__cause__, ValueError)


def test_a_reducers_frames_are_there(impl: Impl, run: Run) -> None:
    def reduce(old: Any, new: Any) -> Any:
        return innermost()

    graph = impl.sequence(typed(a=Annotated[int, reduce]), ("n", lambda s: {"a": 1}))
    with pytest.raises(ValueError) as caught:
        run(graph, {})
    assert frames(caught.value)[-2:] == ["reduce", "innermost"]
