"""A consumer that stops reading a stream: what it has seen is kept."""

import asyncio
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from support.oracle import Impl
from support.states import Log, Update, say

ONE = {"configurable": {"thread_id": "1"}}


def _is_last(mode: str, chunk: Any) -> bool:
    """Whether `a` has returned."""
    return mode == "updates" or "result" in chunk


def _app(impl: Impl, ran: list[str], *, is_async: bool) -> Any:
    def a(state: Log) -> Update:
        ran.append("a")
        return {"log": ["a"]}

    async def later(state: Log) -> Update:
        await asyncio.sleep(0)
        return a(state)

    node = ("a", later if is_async else a)
    return impl.sequence(Log, node, ("b", say("b")), checkpointer=impl.MemorySaver())


async def _leave(graph: Any, mode: str, durability: str) -> None:
    stream = graph.astream({"log": ["in"]}, ONE, stream_mode=mode, durability=durability)
    async for chunk in stream:
        if _is_last(mode, chunk):
            break
    await stream.aclose()


@pytest.mark.parametrize("durability", ["async", "sync"])
@pytest.mark.parametrize("mode", ["updates", "tasks"])
@pytest.mark.parametrize("nodes", ["sync", "async"])
@pytest.mark.parametrize("call", ["stream", "astream"])
def test_a_node_whose_update_was_seen_is_not_run_again(
    impl: Impl, call: str, nodes: str, mode: str, durability: str
) -> None:
    if (impl.name, call, nodes) == ("langgraph", "stream", "async"):
        pytest.skip("LangGraph runs no async node in a sync stream")
    ran: list[str] = []
    graph = _app(impl, ran, is_async=nodes == "async")
    if call == "astream":
        asyncio.run(_leave(graph, mode, durability))
    else:
        stream = graph.stream({"log": ["in"]}, ONE, stream_mode=mode, durability=durability)
        assert any(_is_last(mode, chunk) for chunk in stream)
        stream.close()
    asyncio.run(graph.ainvoke(None, ONE))
    assert graph.get_state(ONE).values == {"log": ["in", "a", "b"]}
    assert ran == ["a"]


@pytest.mark.only("antiphon")
def test_a_superstep_is_merged_before_its_last_update_is_shown(impl: Impl) -> None:
    graph = _app(impl, [], is_async=False)
    stream = graph.stream({"log": ["in"]}, ONE)
    assert next(stream) == {"a": {"log": ["a"]}}
    stream.close()
    state = graph.get_state(ONE)
    assert (state.values, state.next) == ({"log": ["in", "a"]}, ("b",))


KILLED = """
import sys
from antiphon.checkpoint import SqliteSaver
from antiphon.graph import START, StateGraph
from support.states import Log, say

graph = StateGraph(Log).add_node("a", say("a")).add_node("b", say("b"))
graph = graph.add_edge(START, "a").add_edge("a", "b")
graph = graph.compile(checkpointer=SqliteSaver.open(sys.argv[1]))
for chunk in graph.stream({}, {"configurable": {"thread_id": "1"}}, durability="sync"):
    print(chunk, flush=True)
    sys.stdin.read()
"""


@pytest.mark.only("antiphon")
def test_what_a_sync_stream_has_shown_survives_a_kill(impl: Impl, tmp_path: Path) -> None:
    path = tmp_path / "runs.db"
    tests = str(Path(__file__).parents[1])
    command = [sys.executable, "-c", KILLED, str(path)]
    environment = {**os.environ, "PYTHONPATH": tests}
    pipes: Any = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    with subprocess.Popen(command, env=environment, **pipes) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "{'a': {'log': ['a']}}\n"
        process.kill()
    graph = impl.sequence(Log, say("a"), say("b"), checkpointer=impl.SqliteSaver.open(path))
    state = graph.get_state(ONE)
    assert (state.values, state.next) == ({"log": ["a"]}, ("b",))
