"""How a store is protected from its beginning, and how its key is changed."""

from __future__ import annotations

import asyncio
import os
import sqlite3
import stat
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from antiphon.checkpoint import AntiphonSaver, MemorySaver, PostgresSaver, SqliteSaver
from antiphon.errors import AntiphonError
from antiphon.graph import START, StateGraph
from support.states import Log
from support.threads import config

if TYPE_CHECKING:
    from collections.abc import Callable

    from antiphon.checkpoint import Saver
    from support.postgres import Server

OLD, NEW, OTHER = b"o" * 32, b"n" * 32, b"x" * 32


def add(saver: Saver, thread: str) -> list[int]:
    """Adds a number to a thread, and says what it holds then."""
    builder = StateGraph(Log).add_node("add", lambda state: {"log": [len(state.get("log", []))]})
    graph = builder.add_edge(START, "add").compile(checkpointer=saver)
    found: list[int] = graph.invoke({"log": []}, config(thread))["log"]
    return found


@pytest.fixture(params=["sqlite", "postgres"])
def opened(request: pytest.FixtureRequest, tmp_path: Path) -> Callable[..., Saver]:
    """Opens the same store again and again, with any key."""
    if request.param == "sqlite":
        return lambda key=None: SqliteSaver.open(tmp_path / "runs.db", key=key)
    server: Server = request.getfixturevalue("postgres")
    url = server.database()
    return lambda key=None: PostgresSaver.open(url, key=key)


def refused(open_it: Callable[..., Saver], key: Any) -> str:
    """Why a store is not opened with a key."""
    with pytest.raises(AntiphonError) as raised:
        open_it(key)
    assert raised.value.hint
    return raised.value.code


class TestFiles:
    """What a file is, and who may read it."""

    @pytest.mark.parametrize("path", ["", ":memory:", "sqlite:", "sqlite::memory:"])
    def test_what_would_be_lost_is_refused(self, path: str) -> None:
        with pytest.raises(AntiphonError, match="is not a file path") as raised:
            SqliteSaver.open(path)
        assert raised.value.code == "store_setting_invalid"
        assert "memory:" in (raised.value.hint or "")

    def test_memory_is_still_asked_for_by_its_names(self) -> None:
        with MemorySaver() as saver:
            assert add(saver, "t") == [0]
        with AntiphonSaver.open(":memory:") as langgraphs:
            assert list(langgraphs.list(None)) == []

    @pytest.mark.skipif(os.name != "posix", reason="rights are those of POSIX")
    def test_files_are_read_by_their_owner_alone(self, tmp_path: Path) -> None:
        with SqliteSaver.open(tmp_path / "runs.db") as saver:
            add(saver, "t")
            made = sorted(tmp_path.iterdir())
            assert [path.name for path in made] == ["runs.db", "runs.db-shm", "runs.db-wal"]
            assert {stat.S_IMODE(path.stat().st_mode) for path in made} == {0o600}

    @pytest.mark.skipif(os.name != "posix", reason="rights are those of POSIX")
    def test_rights_that_somebody_gave_stay(self, tmp_path: Path) -> None:
        path = tmp_path / "runs.db"
        path.touch()
        path.chmod(0o640)
        with SqliteSaver.open(path) as saver:
            add(saver, "t")
            assert {stat.S_IMODE(one.stat().st_mode) for one in tmp_path.iterdir()} == {0o640}


class TestProtection:
    """A store is encrypted from its beginning, or not at all."""

    def test_an_encrypted_store_takes_nothing_plain(self, opened: Callable[..., Saver]) -> None:
        opened(OLD).close()
        assert refused(opened, None) == "checkpoint_encrypted"
        assert refused(opened, OTHER) == "checkpoint_encrypted"
        assert refused(opened, [OTHER, NEW]) == "checkpoint_encrypted"
        with opened(OLD) as saver:
            assert add(saver, "t") == [0]

    def test_a_plain_store_says_that_it_is(self, opened: Callable[..., Saver]) -> None:
        opened().close()
        assert refused(opened, NEW) == "checkpoint_plain"
        with opened() as saver:
            assert add(saver, "t") == [0]

    @pytest.mark.parametrize("tag", [b"", b"x", b"0" * 16, b"0" * 60])
    def test_what_was_changed_opens_nothing(self, tmp_path: Path, tag: bytes) -> None:
        path = tmp_path / "runs.db"
        for key in (None, OLD):
            path.unlink(missing_ok=True)
            SqliteSaver.open(path, key=key).close()
            with closing(sqlite3.connect(path)) as file, file:
                file.execute("UPDATE store SET tag = ?", (tag,))
            with pytest.raises(AntiphonError) as raised:
                SqliteSaver.open(path, key=key)
            codes = {"store_corrupt", "checkpoint_encrypted", "checkpoint_plain"}
            assert raised.value.code in codes

    @pytest.mark.parametrize("key", [[], [b"short"], "k" * 32, [OLD, None], 5])
    def test_a_key_is_a_key_or_several(self, tmp_path: Path, key: Any) -> None:
        with pytest.raises((TypeError, ValueError), match="`key` must"):
            SqliteSaver.open(tmp_path / "runs.db", key=key)
        assert not list(tmp_path.iterdir())


class TestRotation:
    """From one key to the next."""

    def test_any_key_reads_and_the_first_one_writes(self, opened: Callable[..., Saver]) -> None:
        with opened(OLD) as saver:
            add(saver, "a")
        with opened([NEW, OLD]) as saver:
            assert add(saver, "a") == [0, 1]
            assert add(saver, "b") == [0]
        assert refused(opened, OLD) == "checkpoint_encrypted"
        with opened([OTHER, NEW]) as saver:
            assert add(saver, "b") == [0, 1]
            with pytest.raises(AntiphonError) as raised:
                add(saver, "a")
            assert raised.value.code == "checkpoint_corrupt"

    def test_an_old_key_is_not_needed_after_a_rekey(self, opened: Callable[..., Saver]) -> None:
        with opened(OLD) as saver:
            for thread in ("a", "b"):
                for number in range(5):
                    assert add(saver, thread) == [*range(number + 1)]
            before = [(one.thread, one.status, one.steps, one.at) for one in saver.threads()]
        with opened([NEW, OLD]) as saver:
            done = saver.rekey()
            assert (done.threads, done.busy, done.damaged) == (2, [], [])
            assert done.entries > 20
            assert asyncio.run(_arekey(saver)).entries == 0
        with opened(NEW) as saver:
            after = [(one.thread, one.status, one.steps, one.at) for one in saver.threads()]
            assert after == before
            assert len(saver.thread("a").checkpoints) > 5
            assert add(saver, "a") == [*range(6)]
        assert refused(opened, OLD) == "checkpoint_encrypted"

    def test_an_interrupted_rekey_resumes_where_it_stopped(self, tmp_path: Path) -> None:
        path = tmp_path / "runs.db"
        with SqliteSaver.open(path, key=OLD) as saver:
            for thread in ("a", "b", "c"):
                add(saver, thread)
        with closing(sqlite3.connect(path)) as file, file:
            # It ends in the midst of the second thread.
            file.execute(
                "CREATE TRIGGER stop BEFORE UPDATE OF tag ON thread WHEN new.name = 'b' "
                "BEGIN SELECT raise(ABORT, 'the disk is gone'); END"
            )
        with SqliteSaver.open(path, key=[NEW, OLD]) as saver:
            with pytest.raises(AntiphonError):
                saver.rekey()
            assert [add(saver, thread) for thread in ("a", "c")] == [[0, 1], [0, 1]]
        with closing(sqlite3.connect(path)) as file, file:
            file.execute("DROP TRIGGER stop")
        with SqliteSaver.open(path, key=[NEW, OLD]) as saver:
            done = saver.rekey()
            assert (done.busy, done.damaged) == ([], [])
        with SqliteSaver.open(path, key=NEW) as saver:
            assert [add(saver, thread) for thread in "abc"] == [[0, 1, 2], [0, 1], [0, 1, 2]]

    def test_what_cannot_be_trusted_is_not_written_anew(self, tmp_path: Path) -> None:
        path = tmp_path / "runs.db"
        with SqliteSaver.open(path, key=OLD) as saver:
            add(saver, "a")
            add(saver, "b")
        with closing(sqlite3.connect(path)) as file, file:
            file.execute("UPDATE entry SET step = 9 WHERE thread = 1")
        with SqliteSaver.open(path, key=[NEW, OLD]) as saver:
            assert saver.rekey().damaged == ["a"]
            with pytest.raises(AntiphonError) as raised:
                add(saver, "a")
            assert raised.value.code == "checkpoint_corrupt"
            assert add(saver, "b") == [0, 1]

    def test_a_store_without_keys_has_nothing_to_rekey(self) -> None:
        with MemorySaver() as saver:
            add(saver, "t")
            assert saver.rekey().entries == 0


async def _arekey(saver: Saver) -> Any:
    return await saver.arekey()
