"""What LangGraph's checkpoints are kept in, changed by hand: what is read is true, or refused."""

from __future__ import annotations

import faulthandler
import random
import sqlite3
from contextlib import closing
from typing import TYPE_CHECKING, Any

import pytest
from langgraph.checkpoint.base import empty_checkpoint

from antiphon.checkpoint import AntiphonSaver
from antiphon.errors import StateError
from support.torture import rounds, some_ways
from torture.damaged_files import StoreFile, columns, flip, names
from torture.stored_runs import KEY, Face, check_face

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from langchain_core.runnables import RunnableConfig

    from torture.stored_runs import Damaged

CHAT, OTHER = "langgraph:chat", "langgraph:other"
"""What the threads are called in their store."""


def config(thread: str = "chat", space: str = "", **more: Any) -> RunnableConfig:
    return {"configurable": {"thread_id": thread, "checkpoint_ns": space, **more}}


def fill(saver: AntiphonSaver, where: RunnableConfig, numbers: range) -> RunnableConfig:
    """Adds checkpoints with a list that grows, large values, and what tasks wrote."""
    chance = random.Random(4)
    for number in numbers:
        values = {"log": [*range(number + 1)], "text": chance.randbytes(9_000).hex()}
        versions: Any = dict.fromkeys(values, number + 1)
        made = {**empty_checkpoint(), "id": f"{number:08}", "channel_values": values}
        made |= {"ts": "2026-01-01T00:00:00+00:00", "channel_versions": versions}
        where = saver.put(where, made, {"source": "loop", "step": number}, versions)  # type: ignore[arg-type]
        saver.put_writes(where, [("log", [number]), ("text", "written")], f"task {number}")
    return where


def last(store: Damaged) -> Any:
    """The last checkpoint."""
    with store.open() as opened:
        return AntiphonSaver(opened).get_tuple(config())


def inner(store: Damaged) -> Any:
    """The last checkpoint of a nested graph."""
    with store.open() as opened:
        return AntiphonSaver(opened).get_tuple(config(space="inner"))


def earlier(store: Damaged) -> Any:
    """One of the first checkpoints."""
    with store.open() as opened:
        return AntiphonSaver(opened).get_tuple(config(checkpoint_id=f"{1:08}"))


def history(store: Damaged) -> Any:
    """All checkpoints of a thread."""
    with store.open() as opened:
        return [*AntiphonSaver(opened).list(config())]


def other(store: Damaged) -> Any:
    """All checkpoints of the other thread."""
    with store.open() as opened:
        return [*AntiphonSaver(opened).list(config("other"))]


def listed(store: Damaged) -> Any:
    """What is listed of all threads."""
    with store.open() as opened:
        threads = opened.threads()
        return {one.thread: one.steps for one in threads if one.status == "foreign"}


def copied(store: Damaged) -> Any:
    """What a copy holds."""
    with store.open() as opened:
        saver = AntiphonSaver(opened)
        try:
            saver.copy_thread("chat", "copy")
        except StateError as error:
            # Entries that lost their thread may stand where those of the copy belong.
            error.code = "store_corrupt" if error.code == "store_failed" else error.code
            raise
        return [one.checkpoint for one in saver.list(config("copy"))]


def pruned(store: Damaged) -> Any:
    """What is left of a thread."""
    with store.open() as opened:
        saver = AntiphonSaver(opened)
        saver.prune(["chat"])
        return [*saver.list(config())]


def continued(store: Damaged) -> Any:
    """What there is when a graph continued."""
    with store.open() as opened:
        saver = AntiphonSaver(opened)
        fill(saver, config(checkpoint_id=f"{11:08}"), range(12, 13))
        return [*saver.list(config())]


FACES: list[tuple[str, str | None, Face]] = [
    ("last", CHAT, last),
    ("inner", CHAT, inner),
    ("earlier", CHAT, earlier),
    ("history", CHAT, history),
    ("other", OTHER, other),
    ("threads()", None, listed),
    ("copied", CHAT, copied),
    ("pruned", CHAT, pruned),
    ("continued", CHAT, continued),
]
"""All ways of reading, and the thread that is read."""


@pytest.fixture(params=[None, KEY], ids=["plain", "encrypted"])
def chats(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[StoreFile]:
    """A file with two threads. What never returns ends the process, with a trace."""
    faulthandler.dump_traceback_later(rounds(120, 290), exit=True)
    made = StoreFile(tmp_path / "whole.db", request.param)
    with made.open() as store:
        saver = AntiphonSaver(store)
        fill(saver, config(), range(12))
        fill(saver, config(space="inner"), range(2))
        fill(saver, config("other"), range(3))
    yield made
    faulthandler.cancel_dump_traceback_later()


def test_a_flip_in_what_langgraph_keeps_is_refused_or_changes_nothing(
    chats: StoreFile, tmp_path: Path
) -> None:
    truth = {name: face(chats.copy(tmp_path / "truth.db")) for name, _, face in FACES}
    tables = columns(chats.path)
    places = [(table, column) for table, named in tables.items() for column in named]
    chance = random.Random(5)
    reads = 0
    for number in range(rounds(1, 8) * len(places)):
        copy = chats.copy(tmp_path / "flipped.db")
        what = f"round {number}: {flip(copy.path, *places[number % len(places)], chance)}"
        there = names(copy.path)
        for name, thread, face in some_ways(FACES, 3, chance):
            # A thread without its row is one that never was.
            if thread is None or thread in there:
                read = copy.copy(tmp_path / "read.db")
                reads += check_face(name, (face, read), truth[name], what)
    assert 0 < reads < number * len(FACES)


def test_what_langgraph_keeps_has_a_snapshot_and_more_after_it(chats: StoreFile) -> None:
    with chats.open() as store:
        assert {one.thread for one in store.threads(status="foreign")} == {CHAT, OTHER}
    with closing(sqlite3.connect(chats.path)) as file:
        kinds = [kind for (kind,) in file.execute("SELECT kind FROM entry WHERE thread = 1")]
    assert 0 < kinds.index("snapshot") < len(kinds) - 1
