"""`AntiphonSaver` with several writers to one thread, in threads and in processes."""

from __future__ import annotations

import asyncio
import operator
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from threading import Event
from typing import TYPE_CHECKING, Annotated, Any, TypedDict

import pytest
from langgraph.checkpoint.base import empty_checkpoint
from langgraph.checkpoint.base.id import uuid6
from langgraph.graph import START, StateGraph

from antiphon.checkpoint import AntiphonSaver
from antiphon.checkpoint._langgraph import listing

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from langchain_core.runnables import RunnableConfig

pytestmark = pytest.mark.slow

WHERE: Any = {"configurable": {"thread_id": "t", "checkpoint_ns": ""}}

# Processes are forked by a process that has opened nothing.
FORKED = """
import operator, os, sys
from typing import Annotated, TypedDict
from langgraph.graph import START, StateGraph
from antiphon.checkpoint import AntiphonSaver

class State(TypedDict):
    log: Annotated[list, operator.add]

builder = StateGraph(State).add_node("node", lambda _: {"log": ["node"]}).add_edge(START, "node")
where = {"configurable": {"thread_id": "t"}}
ended = []
for place in sys.argv[1:]:
    children = []
    for name in ("one", "other"):
        children.append(os.fork())
        if children[-1] == 0:
            code = 1
            try:
                with AntiphonSaver.open(place) as saver:
                    for _ in range(5):
                        builder.compile(checkpointer=saver).invoke({"log": [name * 50]}, where)
                code = 0
            finally:
                os._exit(code)
    ended += [os.waitpid(child, 0)[1] for child in children]
assert not any(ended), ended
"""


class Log(TypedDict):
    """A list that grows."""

    log: Annotated[list[Any], operator.add]


def graph(saver: AntiphonSaver) -> Any:
    """A graph of one node."""
    builder = StateGraph(Log).add_node("node", lambda _: {"log": ["node"]})
    return builder.add_edge(START, "node").compile(checkpointer=saver)


def put(
    saver: AntiphonSaver,
    values: dict[str, Any],
    parent: RunnableConfig = WHERE,
    **metadata: Any,
) -> RunnableConfig:
    """Keeps a checkpoint with values that are all new."""
    checkpoint = {**empty_checkpoint(), "id": str(uuid6()), "channel_values": values}
    versions = dict.fromkeys(values, 1)
    stored_metadata: Any = {"source": "loop", "step": 1, **metadata}
    return saver.put(parent, checkpoint | {"channel_versions": versions}, stored_metadata, versions)  # type: ignore[arg-type]


def shown(saver: AntiphonSaver, where: RunnableConfig | None = WHERE) -> list[dict[str, Any]]:
    """The values of all checkpoints, newest first."""
    return [found.checkpoint["channel_values"] for found in saver.list(where)]


class TestWriters:
    """What was kept is unchanged, although others were writing."""

    def test_two_processes_do_not_destroy_a_thread(self, tmp_path: Path) -> None:
        places = [str(tmp_path / f"{number}.db") for number in range(20)]
        command = [sys.executable, "-c", FORKED, *places]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        for place in places:
            with AntiphonSaver.open(place) as saver:
                # Two supersteps and the input, five times, by each of them.
                assert len(list(graph(saver).get_state_history(WHERE))) == 30

    @pytest.mark.parametrize("many", ["one saver", "a saver each", "a store each"])
    def test_threads_do_not_destroy_a_thread(self, url: str, many: str) -> None:
        with AntiphonSaver.open(url) as shared, AntiphonSaver.open(url) as other:
            savers = {
                "one saver": [shared, shared],
                "a saver each": [shared, AntiphonSaver(shared._saver)],
                "a store each": [shared, other],
            }[many]

            def run(saver: AntiphonSaver) -> None:
                for _ in range(5):
                    graph(saver).invoke({"log": ["hi" * 50]}, WHERE)

            with ThreadPoolExecutor() as pool:
                list(pool.map(run, savers * 2))
            for saver in (shared, other):
                assert len(list(graph(saver).get_state_history(WHERE))) == 60

    def test_tasks_do_not_destroy_a_thread(self, url: str) -> None:
        async def run(saver: AntiphonSaver) -> None:
            for _ in range(5):
                await graph(saver).ainvoke({"log": ["hi" * 50]}, WHERE)

        async def main() -> int:
            async with AntiphonSaver.open(url) as one, AntiphonSaver.open(url) as other:
                await asyncio.gather(*(run(saver) for saver in (one, other, one, other)))
                return len([found async for found in one.alist(WHERE)])

        assert asyncio.run(main()) == 60

    def test_a_write_queued_behind_a_refused_one_is_sent_again(self, url: str) -> None:
        async def main() -> None:
            async with AntiphonSaver.open(url) as one, AntiphonSaver.open(url) as other:
                where = await asyncio.to_thread(put, one, {"text": "the beginning " * 20})
                for number in range(10):
                    put(other, {"text": f"theirs {number} " * 20}, where)
                    first, then = str(uuid6()), str(uuid6())
                    behind: Any = {
                        "configurable": {**WHERE["configurable"], "checkpoint_id": first}
                    }
                    # Both are sent before the first is refused.
                    await asyncio.gather(
                        aput(one, first, {"text": f"{number}, first " * 20}, where),
                        aput(one, then, {"text": f"{number}, then " * 20}, behind),
                    )
                assert len(shown(one)) == 31
                assert shown(one) == shown(other) == shown(AntiphonSaver(one._saver))

        asyncio.run(main())

    def test_a_thread_that_was_recreated_elsewhere_is_continued_as_it_is(self, url: str) -> None:
        with AntiphonSaver.open(url) as one, AntiphonSaver.open(url) as other:
            where = put(one, {"text": "the old thread, which is long " * 5})
            other.delete_thread("t")
            put(other, {"text": "the new thread " * 5})
            put(one, {"text": "the old thread, which is longer " * 5}, where)
            for saver in (one, other, AntiphonSaver(one._saver)):
                assert [values["text"].split()[2] for values in shown(saver)] == [
                    "thread,",
                    "thread",
                ]


async def aput(
    saver: AntiphonSaver, name: str, values: dict[str, Any], parent: RunnableConfig
) -> None:
    """`put` of a checkpoint of that id, awaited."""
    checkpoint: Any = {**empty_checkpoint(), "id": name, "channel_values": values}
    versions: Any = dict.fromkeys(values, 1)
    checkpoint["channel_versions"] = versions
    await saver.aput(parent, checkpoint, {"source": "loop", "step": 1}, versions)


class Meddled:
    """Threads, where something happens before a method is called."""

    def __init__(self, threads: Any, **before: Callable[[], Any]) -> None:
        self._threads = threads
        self.before = before
        self.calls: list[str] = []

    def __getattr__(self, name: str) -> Any:
        called = getattr(self._threads, name)

        def call(*args: Any) -> Any:
            self.calls.append(name)
            if name in self.before:
                self.before.pop(name)()
            return called(*args)

        return call


def put_deltas(saver: AntiphonSaver) -> RunnableConfig:
    """Keeps a value, and two checkpoints of other runs that a delta channel makes from it."""
    where = put(saver, {"log": ["first"]}, run_id="0")
    for number in (1, 2):
        counters = {"log": (number, number)}
        where = put(saver, {}, where, run_id=str(number), counters_since_delta_snapshot=counters)
    return where


class TestRemoving:
    """Removing takes what was there when somebody looked, and nothing that came since."""

    def test_what_comes_while_a_thread_is_pruned_stays(self, url: str) -> None:
        with AntiphonSaver.open(url) as one, AntiphonSaver.open(url) as other:
            for number in range(3):
                put(one, {"n": number})
            meddled: Any = Meddled(one._threads, remove=lambda: put(other, {"n": "new"}))
            one._threads = meddled
            one.prune(["t"])
            assert [values["n"] for values in shown(other)] == ["new", 2]
            one.prune(["t"])
            assert [values["n"] for values in shown(other)] == ["new"]

    def test_a_checkpoint_that_becomes_the_latest_while_a_thread_is_pruned_stays(
        self, url: str
    ) -> None:
        with AntiphonSaver.open(url) as one, AntiphonSaver.open(url) as other:
            for number in range(3):
                put(one, {"n": number}, run_id=str(number))
            meddled: Any = Meddled(one._threads, get=lambda: other.delete_for_runs(["2"]))
            one._threads = meddled
            one.prune(["t"])
            assert [values["n"] for values in shown(other)] == [1]

    def test_a_source_that_becomes_the_latest_while_a_thread_is_pruned_stays(
        self, url: str
    ) -> None:
        with AntiphonSaver.open(url) as one, AntiphonSaver.open(url) as other:
            put_deltas(one)

            def remove_at_next() -> None:
                meddled.before["get"] = lambda: other.delete_for_runs(["1", "2"])

            # The latest checkpoint is read, but not its source.
            meddled: Any = Meddled(one._threads, get=remove_at_next)
            one._threads = meddled
            one.prune(["t"])
            assert shown(other) == [{"log": ["first"]}]

    def test_a_thread_is_pruned_although_a_source_was_removed_before(self, url: str) -> None:
        with AntiphonSaver.open(url) as saver:
            latest = put_deltas(saver)
            saver.delete_for_runs(["1"])
            saver.prune(["t"])
            assert [found.config for found in saver.list(WHERE)] == [latest]

    def test_removing_one_thread_does_not_take_its_name_for_a_list_of_letters(
        self, url: str
    ) -> None:
        with AntiphonSaver.open(url) as saver:
            put(saver, {"n": 2}, put(saver, {"n": 1}))
            with pytest.raises(TypeError, match="found a text: 't'"):
                saver.prune("t")
            assert [values["n"] for values in shown(saver)] == [2, 1]

    def test_what_another_run_adds_meanwhile_stays(self, url: str) -> None:
        with AntiphonSaver.open(url) as one, AntiphonSaver.open(url) as other:
            put(one, {"n": 1}, run_id="a")
            meddled: Any = Meddled(one._threads, remove=lambda: put(other, {"n": 2}, run_id="b"))
            one._threads = meddled
            one.delete_for_runs(["a"])
            assert [values["n"] for values in shown(other)] == [2]
            one.delete_for_runs(["b"])
            assert shown(other) == []
            assert other._threads.threads().wait() == []

    def test_a_thread_is_copied_and_listed_while_others_prune_it(self, url: str) -> None:
        ended = Event()

        def write(saver: AntiphonSaver) -> None:
            where, number = WHERE, 0
            while not ended.is_set():
                number += 1
                where = put(saver, {"text": f"{number} " * 4_000}, where)
                if number % 9 == 0:
                    saver.prune(["t"])

        with (
            AntiphonSaver.open(url) as one,
            AntiphonSaver.open(url) as other,
            ThreadPoolExecutor() as pool,
        ):
            put(other, {"text": "first"})
            writing = pool.submit(write, one)
            try:
                for number in range(15):
                    other.copy_thread("t", f"copy {number}")
                    assert shown(other)
            finally:
                ended.set()
            writing.result()
            for number in range(15):
                where: Any = {"configurable": {"thread_id": f"copy {number}"}}
                assert all(len(set(values["text"].split())) == 1 for values in shown(one, where))


class TestLists:
    """Lists read what they show."""

    def test_a_list_of_all_threads_reads_those_it_shows(
        self, url: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(listing, "MAX_CLOCK_SKEW", 0)
        with AntiphonSaver.open(url) as saver:
            made = []
            for number in range(60):
                where: Any = {"configurable": {"thread_id": str(number % 30), "checkpoint_ns": ""}}
                made.append(put(saver, {"n": number}, where))
            meddled: Any = Meddled(saver._threads)
            saver._threads = meddled
            newest = [found.config for found in saver.list(None, limit=3)]
            assert newest == made[:-4:-1]
            assert meddled.calls.count("get") == 3
            assert meddled.calls.count("page") <= 4
            older = [found.config for found in saver.list(None, before=made[40], limit=30)]
            assert older == made[39:9:-1]
            assert [found.config for found in saver.list(None)] == made[::-1]

    def test_a_list_of_a_thread_is_read_as_it_is_shown(self, url: str) -> None:
        with AntiphonSaver.open(url) as saver:
            made = []
            where = WHERE
            for number in range(150):
                where = put(saver, {"n": number}, where, even=number % 2 == 0)
                made.append(where)
            meddled: Any = Meddled(saver._threads)
            saver._threads = meddled
            shown = saver.list(WHERE)
            assert next(shown).config == made[-1]
            assert meddled.calls == ["page", "get"]
            assert [found.config for found in shown] == made[-2::-1]
            even = saver.list(WHERE, filter={"even": True}, before=made[100], limit=2)
            assert [found.config for found in even] == [made[98], made[96]]

    def test_what_is_shown_may_be_removed_meanwhile(self, url: str) -> None:
        with AntiphonSaver.open(url) as saver:
            for number in range(80):
                put(saver, {"n": number})
            shown = saver.list(None)
            assert next(shown).checkpoint["channel_values"] == {"n": 79}
            saver.delete_thread("t")
            assert list(shown) == []

    @pytest.mark.parametrize("wanted", [None, {}, {"kind": "new"}])
    def test_what_is_pruned_before_it_is_shown_gives_way_to_what_is_new(
        self, url: str, wanted: dict[str, Any] | None
    ) -> None:
        with AntiphonSaver.open(url) as one, AntiphonSaver.open(url) as other:
            for number in range(3):
                put(one, {"n": number}, kind="new")

            def replace() -> None:
                put(other, {"n": "new"}, kind="new")
                other.prune(["t"])

            meddled: Any = Meddled(one._threads, get=replace)
            one._threads = meddled
            found = [at.checkpoint["channel_values"] for at in one.list(WHERE, filter=wanted)]
            assert found == [{"n": "new"}]

    def test_what_the_filter_leaves_out_is_read_once(self, url: str) -> None:
        with AntiphonSaver.open(url) as saver:
            for number in range(3):
                put(saver, {"n": number})
            meddled: Any = Meddled(saver._threads)
            saver._threads = meddled
            assert list(saver.list(WHERE, filter={"kind": "new"})) == []
            assert meddled.calls == ["page", "get", "get", "get"]
