"""Savers, and runs that share one: what is antiphon's own rather than LangGraph's."""

from __future__ import annotations

import asyncio
import gc
import operator
import os
import signal
import subprocess
import sys
import threading
from typing import TYPE_CHECKING, Annotated, Any, TypedDict

import pytest

from antiphon.checkpoint import MemorySaver, PostgresSaver, Saver, SqliteSaver
from antiphon.errors import AntiphonError, ValidationError
from antiphon.graph import (
    START,
    Command,
    CompiledGraph,
    InvalidUpdateError,
    RetryPolicy,
    StateGraph,
    interrupt,
)
from support.threads import open_saver
from support.waiting import forever

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

ONE: Any = {"configurable": {"thread_id": "1"}}


class Log(TypedDict, total=False):
    """A list that grows."""

    log: Annotated[list[Any], operator.add]
    other: Any


def graph_of(node: Callable[[Log], Any], checkpointer: Any, **options: Any) -> CompiledGraph:
    builder = StateGraph(Log).add_node("node", node, **options).add_edge(START, "node")
    return builder.compile(checkpointer)


def ask(state: Log) -> Log:
    return {"log": [interrupt("sure?")]}


class TestOpening:
    """What a checkpointer may be given as."""

    def test_a_url_is_a_checkpointer(self, url: str) -> None:
        graph = graph_of(ask, url)
        graph.invoke({}, ONE)
        assert graph.invoke(Command(resume="yes"), ONE) == {"log": ["yes"]}

    def test_memory_is_a_url_too(self) -> None:
        graph = graph_of(ask, "memory:")
        graph.invoke({}, ONE)
        assert graph.invoke(Command(resume="yes"), ONE) == {"log": ["yes"]}

    def test_a_compiled_graph_takes_one_later(self) -> None:
        graph = graph_of(ask, None)
        graph.checkpointer = "memory:"  # type: ignore[assignment]
        graph.invoke({}, ONE)
        assert graph.invoke(Command(resume="yes"), ONE) == {"log": ["yes"]}

    @pytest.mark.parametrize("url", ["", "runs.db", "memory", "sqlite:", "mysql://u:Hunter2@h"])
    def test_another_url_is_refused_and_not_quoted(self, url: str) -> None:
        with pytest.raises(ValueError, match="checkpointer") as raised:
            graph_of(ask, url)
        assert "Hunter2" not in str(raised.value)

    @pytest.mark.parametrize("given", [1, True, object()])
    def test_another_object_is_refused(self, given: Any) -> None:
        with pytest.raises(TypeError, match="checkpointer"):
            graph_of(ask, given)

    def test_what_is_no_database_is_refused(self, tmp_path: Path) -> None:
        (tmp_path / "notes.txt").write_text("no database " * 100)
        with pytest.raises(AntiphonError) as raised:
            SqliteSaver.open(tmp_path / "notes.txt")
        assert raised.value.code == "store_corrupt"

    def test_a_folder_that_is_not_there_is_an_error(self, tmp_path: Path) -> None:
        with pytest.raises(AntiphonError) as raised:
            SqliteSaver.open(tmp_path / "nowhere" / "runs.db")
        assert raised.value.code == "store_unavailable"

    @pytest.mark.parametrize("url", ["sqlite:///a/runs.db", "sqlite://a/runs.db"])
    def test_a_path_that_others_read_otherwise_is_refused(self, url: str) -> None:
        for opened in (SqliteSaver.open, SqliteSaver.from_conn_string):
            with pytest.raises(ValidationError, match=f": {url}") as raised:
                opened(url)
            assert raised.value.code == "store_setting_invalid"
            for meant in ("`sqlite:a/runs.db`", "`sqlite:/a/runs.db`"):
                assert meant in str(raised.value.hint)

    def test_four_slashes_are_absolute_everywhere(self, tmp_path: Path) -> None:
        with SqliteSaver.open(f"sqlite:///{tmp_path}/runs.db"):
            assert (tmp_path / "runs.db").exists()

    def test_the_saver_opens_by_its_own_name_and_by_langgraphs(self, tmp_path: Path) -> None:
        with SqliteSaver.from_conn_string(str(tmp_path / "runs.db")) as saver:
            assert isinstance(saver, Saver)
            assert saver.name == f"sqlite:{tmp_path}/runs.db"
            assert repr(saver) == f'SqliteSaver("{saver.name}")'

    def test_a_saver_is_an_async_context_manager_too(self, url: str) -> None:
        async def use() -> Any:
            async with open_saver(url) as saver:
                graph = graph_of(ask, saver)
                await graph.ainvoke({}, ONE)
                return await graph.ainvoke(Command(resume="yes"), ONE)

        assert asyncio.run(use()) == {"log": ["yes"]}

    def test_what_is_closed_is_not_used(self, url: str) -> None:
        with open_saver(url) as saver:
            graph = graph_of(ask, saver)
        with pytest.raises(AntiphonError) as raised:
            graph.invoke({}, ONE)
        assert raised.value.code == "store_closed"
        saver.close()

    def test_a_thread_is_deleted(self, url: str) -> None:
        saver = open_saver(url)
        graph = graph_of(ask, saver)
        graph.invoke({}, ONE)
        saver.delete_thread("1")
        assert graph.get_state(ONE).metadata is None
        asyncio.run(_delete(saver, "1"))


async def _delete(saver: Saver, thread: str) -> None:
    await saver.adelete_thread(thread)


class TestKeys:
    """Encryption at rest."""

    def test_nothing_readable_is_written(self, tmp_path: Path) -> None:
        with SqliteSaver.open(tmp_path / "runs.db", key=b"k" * 32) as saver:
            graph = graph_of(ask, saver)
            graph.invoke({"log": ["a secret word"]}, ONE)
        written = b"".join(path.read_bytes() for path in tmp_path.iterdir())
        assert b"secret" not in written
        with SqliteSaver.open(tmp_path / "runs.db", key=b"k" * 32) as saver:
            assert graph_of(ask, saver).get_state(ONE).values == {"log": ["a secret word"]}

    @pytest.mark.parametrize("key", [None, b"x" * 32])
    def test_another_key_opens_nothing(self, url: str, key: bytes | None) -> None:
        with open_saver(url, key=b"k" * 32) as saver:
            graph_of(ask, saver).invoke({}, ONE)
        with pytest.raises(AntiphonError, match="the store is encrypted"):
            open_saver(url, key=key)

    @pytest.mark.parametrize("key", [b"", b"short"])
    def test_a_key_has_32_bytes(self, url: str, key: bytes) -> None:
        with pytest.raises(ValueError, match="32 bytes"):
            open_saver(url, key=key)


@pytest.mark.parametrize("saver", [SqliteSaver, PostgresSaver])
def test_a_saver_that_is_not_opened_says_how_it_is(saver: Any) -> None:
    with pytest.raises(TypeError, match=rf"{saver.__name__}\.open"):
        saver("somewhere", key=None)


class TestUnstorable:
    """A value that cannot be stored fails at the node that wrote it."""

    def test_the_error_names_the_key_and_the_node(self) -> None:
        graph = graph_of(lambda s: {"other": {"deep": object()}}, MemorySaver())
        with pytest.raises(InvalidUpdateError, match="other") as raised:
            graph.invoke({"log": ["in"]}, ONE)
        assert raised.value.code == "value_unstorable"
        assert "deep" in str(raised.value)
        assert any("node" in note for note in raised.value.__notes__)
        assert graph.get_state(ONE).values == {"log": ["in"]}

    def test_the_retry_policy_of_the_node_applies(self) -> None:
        tries: list[int] = []

        def node(state: Log) -> Log:
            tries.append(1)
            return {"log": [object() if len(tries) == 1 else "plain"]}

        policy = RetryPolicy(initial_interval=0.0, retry_on=AntiphonError)
        graph = graph_of(node, MemorySaver(), retry_policy=policy)
        assert graph.invoke({}, ONE) == {"log": ["plain"]}

    def test_an_input_that_cannot_be_stored_is_refused(self) -> None:
        graph = graph_of(ask, MemorySaver())
        with pytest.raises(AntiphonError, match="log") as raised:
            graph.invoke({"log": [object()]}, ONE)
        assert raised.value.code == "value_unstorable"
        assert graph.invoke({"log": ["in"]}, ONE)["log"] == ["in"]

    def test_a_question_that_cannot_be_stored_is_refused(self) -> None:
        graph = graph_of(lambda s: {"log": [interrupt(object())]}, MemorySaver())
        with pytest.raises(AntiphonError, match=r"the question of node `node`.*object") as raised:
            graph.invoke({}, ONE)
        assert raised.value.code == "value_unstorable"

    def test_without_a_checkpointer_anything_goes(self) -> None:
        marker = object()
        assert graph_of(lambda s: {"other": marker}, None).invoke({})["other"] is marker


class TestSharing:
    """One writer per thread."""

    def test_a_second_run_on_a_thread_of_one_saver_is_refused(self) -> None:
        saver = MemorySaver()
        self.refuse(saver, saver)

    def test_a_second_run_on_a_thread_is_refused(self, url: str) -> None:
        self.refuse(open_saver(url), open_saver(url))

    def refuse(self, first: Saver, second: Saver) -> None:
        started, go_on = threading.Event(), threading.Event()

        def wait(state: Log) -> Log:
            started.set()
            assert go_on.wait(30)
            return {"log": ["first"]}

        runner = threading.Thread(target=lambda: graph_of(wait, first).invoke({}, ONE))
        runner.start()
        assert started.wait(30)
        other = graph_of(lambda s: {"log": ["second"]}, second)
        try:
            for use in (
                lambda: other.invoke({}, ONE),
                lambda: asyncio.run(other.ainvoke({}, ONE)),
                lambda: other.update_state(ONE, {"log": ["edit"]}, as_node="node"),
                lambda: second.delete_thread("1"),
            ):
                with pytest.raises(AntiphonError) as raised:
                    use()
                assert raised.value.code == "thread_busy"
            assert other.invoke({}, {"configurable": {"thread_id": "2"}}) == {"log": ["second"]}
        finally:
            go_on.set()
            runner.join()
        assert other.invoke({}, ONE) == {"log": ["first", "second"]}

    def test_many_threads_at_a_time(self, url: str) -> None:
        graph = graph_of(lambda s: {"log": [len(s.get("log", ()))]}, url)

        async def turns(thread: int) -> Any:
            config: Any = {"configurable": {"thread_id": str(thread)}}
            for _ in range(5):
                done = await graph.ainvoke({}, config)
            return done

        async def all_() -> list[Any]:
            return await asyncio.gather(*(turns(thread) for thread in range(40)))

        assert asyncio.run(all_()) == [{"log": [0, 1, 2, 3, 4]}] * 40

    def test_a_stream_that_is_left_frees_its_thread(self, url: str) -> None:
        graph = graph_of(lambda s: {"log": [1]}, url)
        stream: Any = graph.stream({}, ONE, stream_mode="values")
        next(stream)
        stream.close()
        assert graph.invoke({}, ONE)["log"][-1] == 1

    def test_a_failed_run_frees_its_thread(self) -> None:
        def fail(state: Log) -> None:
            raise ValueError("mine")

        graph = graph_of(fail, MemorySaver())
        for _ in range(2):
            with pytest.raises(ValueError, match="mine"):
                graph.invoke({}, ONE)

    def test_a_cancelled_run_frees_its_thread(self, url: str) -> None:
        async def cancel() -> None:
            started = asyncio.Event()

            async def wait(state: Log) -> None:
                started.set()
                await forever()

            graph = graph_of(wait, url)
            for _ in range(2):
                started.clear()
                task = asyncio.create_task(graph.ainvoke({"log": ["in"]}, ONE))
                await started.wait()
                task.cancel()
                with pytest.raises(asyncio.CancelledError):
                    await task
            assert (await graph.aget_state(ONE)).next == ("node",)

        asyncio.run(cancel())


ELSEWHERE = """
import sys
from typing import TypedDict
from antiphon.graph import START, Command, StateGraph, interrupt
State = TypedDict("State", {"text": str, "answer": str})
def ask(state):
    return {"answer": interrupt("sure?") + " " + state["text"]}
builder = StateGraph(State).add_node(ask).add_edge(START, "ask")
graph = builder.compile(sys.argv[1])
config = {"configurable": {"thread_id": "1"}}
if sys.argv[2:]:
    print(graph.invoke(Command(resume=sys.argv[2]), config)["answer"])
else:
    print(graph.invoke({"text": "there"}, config)["__interrupt__"][0].value)
"""


def test_a_question_is_answered_in_another_process(url: str) -> None:
    """Prove EN-22 of docs/engine.md."""

    def elsewhere(*answer: str) -> str:
        command = [sys.executable, "-c", ELSEWHERE, url, *answer]
        return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()

    assert elsewhere() == "sure?"
    assert elsewhere("yes") == "yes there"


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there are no forks here")
def test_a_fork_is_asked_to_open_its_own_store(url: str) -> None:
    graph = graph_of(lambda s: {"log": [1]}, url)
    graph.invoke({}, ONE)
    child = os.fork()
    if child == 0:
        signal.alarm(60)
        code = ""
        try:
            graph.invoke({}, ONE)
        except AntiphonError as error:
            code = error.code
        os._exit(0 if code == "process_forked" else 1)
    assert os.waitpid(child, 0)[1] == 0
    assert graph.invoke({}, ONE) == {"log": [1, 1]}


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there are no forks here")
def test_a_fork_does_not_let_go_of_what_its_parent_holds(tmp_path: Path) -> None:
    with SqliteSaver.open(tmp_path / "runs.db") as saver:
        graph = graph_of(lambda s: {"log": [1]}, saver)
        stream = graph.stream({"log": [0]}, ONE, stream_mode="values", durability="sync")
        next(stream)
        child = os.fork()
        if child == 0:
            signal.alarm(60)
            del stream
            gc.collect()
            os._exit(0)
        assert os.waitpid(child, 0)[1] == 0
        assert list(stream) == [{"log": [0, 1]}]


class Odd:
    """Of a type that nobody knows."""

    def __init__(self, size: int) -> None:
        self.size = size


class TestPickle:
    """Types without a stored form, where the caller asks for pickle."""

    def test_a_pickle_is_stored_with_a_key(self, url: str) -> None:
        with open_saver(url, key=b"k" * 32, pickle=True) as saver:
            graph = graph_of(lambda _: {"other": [Odd(3)]}, saver)
            graph.invoke({}, ONE)
            assert graph.get_state(ONE).values["other"][0].size == 3

    def test_pickling_needs_a_key(self, tmp_path: Path) -> None:
        with pytest.raises(ValueError, match="needs a `key`"):
            SqliteSaver.open(tmp_path / "runs.db", pickle=True)
        assert not (tmp_path / "runs.db").exists()

    def test_a_pickle_is_not_read_by_a_saver_that_did_not_ask(self, url: str) -> None:
        key = b"k" * 32
        with open_saver(url, key=key, pickle=True) as saver:
            graph_of(lambda _: {"other": Odd(3)}, saver).invoke({}, ONE)
        with open_saver(url, key=key) as saver:
            graph = graph_of(lambda _: {}, saver)
            with pytest.raises(AntiphonError, match="pickled") as caught:
                graph.get_state(ONE)
        assert caught.value.code == "checkpoint_misfit"

    def test_pickling_is_off_by_default(self, tmp_path: Path) -> None:
        with SqliteSaver.open(tmp_path / "runs.db", key=b"k" * 32) as saver:
            graph = graph_of(lambda _: {"other": Odd(3)}, saver)
            with pytest.raises(AntiphonError, match="`other` cannot be stored"):
                graph.invoke({}, ONE)
