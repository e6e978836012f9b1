"""What is kept of threads, and for how long; and what can be said of them without their graphs."""

from __future__ import annotations

import asyncio
import operator
from collections import UserString
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Annotated, Any, TypedDict

import pytest

from antiphon.checkpoint import (
    MemorySaver,
    PostgresSaver,
    PruneReport,
    Saver,
    SqliteSaver,
    ThreadSummary,
    register,
)
from antiphon.errors import StateError, ValidationError
from antiphon.graph import END, START, Command, CompiledGraph, StateGraph, interrupt

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

LARGE = "x" * 5_000


MADE: list[object] = []
"""The loud texts that were made."""


class Loud(UserString):
    """A text that notes that it was made."""

    def __init__(self, text: object) -> None:
        MADE.append(self)
        super().__init__(text)


@dataclass
class Point:
    """A registered type."""

    x: int


register(Loud, name="retention-loud", pack=str, unpack=Loud)
register(Point, name="retention-point")


class Log(TypedDict, total=False):
    """A list that grows, a limit, and anything."""

    log: Annotated[list[Any], operator.add]
    until: int
    other: Any


def growing(saver: Saver) -> CompiledGraph:
    """A graph that adds to the list until it is long enough, and each time replaces a text."""
    builder = StateGraph(Log).add_node("add", lambda state: {"log": [1], "other": LARGE})
    builder.add_edge(START, "add").add_conditional_edges(
        "add", lambda state: "add" if len(state["log"]) < state["until"] else END
    )
    return builder.compile(saver)


def grow(saver: Saver, thread: str = "t", until: int = 300, durability: Any = "async") -> None:
    growing(saver).invoke({"until": until}, config(thread), durability=durability)


def config(thread: str = "t") -> Any:
    return {"configurable": {"thread_id": thread}, "recursion_limit": 10_000}


def asking(saver: Saver) -> CompiledGraph:
    builder = StateGraph(Log).add_node("ask", lambda state: {"log": [interrupt({"sure": "?"})]})
    return builder.add_edge(START, "ask").compile(saver)


@pytest.fixture(params=["memory", "sqlite", "postgres"])
def saver(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Saver]:
    with _opened(request, tmp_path) as opened:
        yield opened


def _opened(request: pytest.FixtureRequest, folder: Path) -> Saver:
    if request.param == "memory":
        return MemorySaver()
    if request.param == "sqlite":
        return SqliteSaver.open(folder / "runs.db")
    return PostgresSaver.open(request.getfixturevalue("postgres").database())


def checkpoints(saver: Saver, thread: str = "t") -> int:
    return len(saver.thread(thread, limit=10_000).checkpoints)


class TestPrune:
    """Removing what nobody wants to keep."""

    def test_the_last_checkpoints_stay_and_lead_on(self, saver: Saver) -> None:
        grow(saver)
        before = saver.thread("t").summary
        removed = saver.prune(keep_last=3)
        after = saver.thread("t").summary
        assert (removed.threads, removed.deleted, removed.busy) == (1, 0, [])
        assert removed.size == before.size - after.size > before.size * 0.9
        assert 3 <= checkpoints(saver) < 20
        history = list(growing(saver).get_state_history(config()))
        assert len(history) == checkpoints(saver)
        assert history[-1].parent_config is None
        assert [len(shot.values["log"]) for shot in history[:3]] == [300, 299, 298]
        growing(saver).invoke({"until": 310}, config())
        assert len(growing(saver).get_state(config()).values["log"]) == 310

    def test_a_checkpoint_that_went_is_unknown(self, saver: Saver) -> None:
        grow(saver)
        first = list(growing(saver).get_state_history(config()))[-1].config
        saver.prune("t", keep_last=1)
        with pytest.raises(StateError) as raised:
            growing(saver).get_state(first)
        assert raised.value.code == "checkpoint_unknown"

    def test_a_dry_run_says_the_same_and_removes_nothing(self, saver: Saver) -> None:
        grow(saver)
        report = saver.prune(keep_last=1, dry_run=True)
        assert checkpoints(saver) == 301
        assert saver.prune(keep_last=1) == report
        assert saver.prune(keep_last=1).entries == 0

    def test_pruning_removes_old_entries_and_those_beyond_the_size_limit(
        self, saver: Saver
    ) -> None:
        grow(saver)
        assert saver.prune(keep_for=timedelta(hours=1)).entries == 0
        weight = saver.thread("t").summary.size
        assert saver.prune(keep_bytes=weight).entries == 0
        assert saver.prune(keep_bytes=weight - 1).entries > 0
        assert saver.prune(keep_for=0).entries > 0

    def test_threads_without_recent_writes_are_deleted(self, saver: Saver) -> None:
        grow(saver, "a", 3)
        asking(saver).invoke({}, config("b"))
        assert saver.prune(delete_after=60).deleted == 0
        assert saver.prune("a", delete_after=0).deleted == 1
        assert saver.prune(delete_after=timedelta(0), dry_run=True).deleted == 1
        assert [one.thread for one in saver.threads()] == ["b"]
        assert saver.prune(delete_after=0).deleted == 1
        assert saver.threads() == []

    def test_a_thread_that_is_written_to_is_left_alone(self, saver: Saver) -> None:
        reports: list[PruneReport] = []

        def node(state: Log) -> Log:
            reports.append(saver.prune(keep_last=1, delete_after=0))
            return {}

        graph = StateGraph(Log).add_node("node", node).add_edge(START, "node").compile(saver)
        graph.invoke({}, config())
        assert (reports[0].busy, reports[0].entries, reports[0].deleted) == (["t"], 0, 0)

    def test_without_any_rule_nothing_is_pruned(self, saver: Saver) -> None:
        with pytest.raises(ValidationError) as raised:
            saver.prune()
        assert raised.value.code == "call_invalid"

    def test_an_unknown_thread_is_an_error(self, saver: Saver) -> None:
        with pytest.raises(ValidationError) as raised:
            saver.prune("nowhere", keep_last=1)
        assert raised.value.code == "thread_empty"

    def test_pruning_can_be_awaited(self, saver: Saver) -> None:
        grow(saver)
        assert asyncio.run(_pruned(saver)).entries > 0


async def _pruned(saver: Saver) -> PruneReport:
    removed: PruneReport = await saver.aprune(keep_last=1)
    await saver.acompact()
    return removed


class TestKept:
    """What a saver was opened with."""

    @pytest.mark.parametrize("durability", ["sync", "async", "exit"])
    def test_threads_stay_small_while_they_are_written_to(
        self, tmp_path: Path, durability: str
    ) -> None:
        with SqliteSaver.open(tmp_path / "runs.db", keep_last=3) as saver:
            for until in range(20, 420, 20):
                grow(saver, until=until, durability=durability)
            state = growing(saver).get_state(config()).values
            assert (len(state["log"]), state["other"]) == (400, LARGE)
            size = saver.threads()[0].size
            assert 3 <= checkpoints(saver) < 20 or durability == "exit"
        with SqliteSaver.open(tmp_path / "all.db") as saver:
            for until in range(20, 420, 20):
                grow(saver, until=until, durability=durability)
            assert size < saver.threads()[0].size / 2

    def test_prune_without_limits_goes_by_them(self, tmp_path: Path) -> None:
        with SqliteSaver.open(tmp_path / "runs.db") as saver:
            grow(saver)
        with SqliteSaver.open(tmp_path / "runs.db", keep_last=2) as saver:
            assert saver.prune().entries > 0
        with MemorySaver(keep_for=0) as saver:
            grow(saver)
            assert checkpoints(saver) < 20

    def test_a_file_gives_its_room_back(self, tmp_path: Path) -> None:
        def size() -> int:
            return sum(file.stat().st_size for file in tmp_path.glob("runs.db*") if file.is_file())

        with SqliteSaver.open(tmp_path / "runs.db") as saver:
            grow(saver, until=600)
            saver.delete_thread("t")
            grow(saver, "u", 3)
            before = size()
            saver.compact()
            assert size() < before / 20
            assert not (tmp_path / "runs.db-wal").stat().st_size
            assert len(growing(saver).get_state(config("u")).values["log"]) == 3


class TestThreads:
    """What lists say."""

    def test_each_thread_says_what_became_of_it(self, saver: Saver) -> None:
        began = datetime.now(UTC)
        grow(saver, "done", 3)
        asking(saver).invoke({}, config("asks"))
        builder = StateGraph(Log).add_node("fail", lambda state: {"until": 1 // 0})
        failing = builder.add_edge(START, "fail").compile(saver)
        with pytest.raises(ZeroDivisionError):
            failing.invoke({}, config("failed"))
        found = {one.thread: one for one in saver.threads()}
        assert list(found) == ["asks", "done", "failed"]
        statuses = {name: (one.status, one.outcome) for name, one in found.items()}
        assert statuses == {
            "asks": ("paused", None),
            "done": ("ended", "completed"),
            "failed": ("failed", "failed"),
        }
        assert found["asks"].questions == 1
        assert "division" in found["failed"].reason
        assert found["done"].steps == 3
        assert began <= found["done"].began <= found["done"].at <= datetime.now(UTC)
        assert found["done"].graph == "graph"
        assert repr(found["done"]).startswith('ThreadSummary("done", ended, ')

    def test_threads_are_filtered_and_paged(self, saver: Saver) -> None:
        for name in ("a", "b", "c"):
            grow(saver, name, 2)
        asking(saver).invoke({}, config("d"))

        def names(**wanted: Any) -> list[str]:
            return [one.thread for one in saver.threads(**wanted)]

        assert names(limit=2) == ["a", "b"]
        assert names(limit=2, after="b") == ["c", "d"]
        assert names(status="paused") == ["d"]
        assert names(graph="graph", status="ended", after="a") == ["b", "c"]
        for hostile in ("' OR 1=1 --", "%", "\0", '"', "graph\0"):
            assert names(graph=hostile) == []
            if "\0" not in hostile:
                assert names(after=hostile) in (["a", "b", "c", "d"], ["d"], [])
        with pytest.raises(ValidationError, match="status"):
            names(status="'; DROP TABLE thread; --")
        with pytest.raises(ValidationError, match="limit"):
            names(limit=0)

    def test_a_thread_is_shown_with_what_was_written_last(self, saver: Saver) -> None:
        graph = asking(saver)
        graph.invoke({"log": [1], "until": 7}, config())
        detail = saver.thread("t")
        assert [(path, value) for _, path, value in detail.questions] == [(["ask"], {"sure": "?"})]
        assert detail.written == {"log": [1], "until": 7}
        graph.invoke(Command(resume="yes"), config())
        graph.update_state(config(), {"until": 8})
        detail = saver.thread("t")
        assert detail.written == {"log": ["yes"], "until": 8}
        assert [one.source for one in detail.checkpoints] == ["update", "step", "input"]
        assert [one.ran for one in detail.checkpoints] == [[], ["ask"], []]
        assert [one.status for one in detail.runs] == ["ended", "ended"]
        assert asyncio.run(_shown(saver)) == repr(detail)

    def test_objects_of_other_types_stay_unread(self, saver: Saver) -> None:
        MADE.clear()
        other = [Loud("hello"), Point(3), {1, 2}, ValueError("bad"), datetime(2020, 1, 1)]  # noqa: DTZ001
        graph = StateGraph(Log).add_node("n", lambda state: {}).add_edge(START, "n").compile(saver)
        graph.invoke({"other": other}, config())
        MADE.clear()
        loud, point, numbers, error, moment = saver.thread("t").written["other"]
        assert MADE == []
        assert (repr(loud), repr(point)) == (
            "<retention-loud: 'hello'>",
            "<retention-point: {'x': 3}>",
        )
        assert numbers == {1, 2}
        assert "bad" in repr(error)
        assert not isinstance(error, Exception)
        assert moment == datetime(2020, 1, 1)  # noqa: DTZ001

    def test_an_unknown_thread_is_an_error(self, saver: Saver) -> None:
        with pytest.raises(ValidationError) as raised:
            saver.thread("nowhere")
        assert raised.value.code == "thread_empty"


async def _shown(saver: Saver) -> str:
    assert await saver.athreads() == saver.threads()
    return repr(await saver.athread("t"))


class TestCopy:
    """A separate thread, copied from another one."""

    def test_a_copy_and_its_original_continue_independently(self, saver: Saver) -> None:
        graph = asking(saver)
        graph.invoke({"log": [1]}, config())
        saver.copy_thread("t", "u")
        assert graph.invoke(Command(resume="yes"), config("u")) == {"log": [1, "yes"]}
        assert graph.invoke(Command(resume="no"), config()) == {"log": [1, "no"]}
        one, two = saver.threads()
        assert one.run_id != two.run_id

    def test_a_copy_ends_at_the_given_checkpoint(self, saver: Saver) -> None:
        grow(saver, until=5)
        history = list(growing(saver).get_state_history(config()))
        third = history[2].config["configurable"]["checkpoint_id"]
        saver.copy_thread("t", "u", checkpoint=int(third))
        copied = growing(saver).get_state_history(config("u"))
        assert [one.values for one in copied] == [one.values for one in history[2:]]
        (summary,) = [one for one in saver.threads() if one.thread == "u"]
        assert (summary.status, summary.outcome, summary.reason) == ("ended", "cancelled", "forked")
        assert len(growing(saver).invoke(None, config("u"))["log"]) == 5

    def test_a_copy_is_readable_with_the_key_alone(self, tmp_path: Path) -> None:
        with SqliteSaver.open(tmp_path / "runs.db", key=b"k" * 32) as saver:
            grow(saver, until=3)
            saver.copy_thread("t", "u")
            saver.prune(keep_last=1)
            assert len(growing(saver).get_state(config("u")).values["log"]) == 3
        with pytest.raises(StateError, match="encrypted") as raised:
            SqliteSaver.open(tmp_path / "runs.db")
        assert raised.value.code == "checkpoint_encrypted"

    def test_a_copy_is_refused_a_name_that_is_taken(self, saver: Saver) -> None:
        grow(saver, "t", 2)
        for source, code in (("t", "thread_taken"), ("nowhere", "thread_empty")):
            with pytest.raises(ValidationError) as raised:
                saver.copy_thread(source, "t")
            assert raised.value.code == code
        with pytest.raises(StateError) as unknown:
            asyncio.run(_copied(saver, 99))
        assert unknown.value.code == "checkpoint_unknown"
        assert [one.thread for one in saver.threads()] == ["t"]


async def _copied(saver: Saver, checkpoint: int) -> None:
    await saver.acopy_thread("t", "u", checkpoint=checkpoint)


def test_a_summary_is_a_value(saver: Saver) -> None:
    grow(saver, until=2)
    (one,) = saver.threads()
    assert isinstance(one, ThreadSummary)
    assert one == saver.threads()[0]
    with pytest.raises(AttributeError):
        one.thread = "other"  # type: ignore[misc]
