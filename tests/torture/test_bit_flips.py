"""Every column of every table, changed by hand: what is read is true, or refused."""

from __future__ import annotations

import faulthandler
import json
import random
import sqlite3
from contextlib import closing
from typing import TYPE_CHECKING

import pytest

from antiphon.checkpoint import SqliteSaver
from antiphon.cli import main
from antiphon.errors import AntiphonError
from support.threads import config
from support.torture import rounds
from torture.damaged_files import StoreFile, columns, flip, names
from torture.stored_runs import (
    FACES,
    KEY,
    NEEDS,
    World,
    check_face,
    listed,
)

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


class Victim:
    """A file with a thread that failed and one that ended, and all that is true of them."""

    def __init__(self, path: Path, key: bytes | None, monkeypatch: pytest.MonkeyPatch) -> None:
        self.path, self.key = path, key
        if key is not None:
            monkeypatch.setenv("ANTIPHON_CHECKPOINTER_KEY", key.hex())
        with SqliteSaver.open(path, key=key) as saver:
            with pytest.raises(RuntimeError):
                World(broken=True).build(saver).invoke({"log": []}, config("failed"))
            World(broken=False).build(saver).invoke({"log": []}, config("ended"))
        self.truth = {name: face(self.copy(path.with_name("truth.db"))) for name, face in FACES}
        self.tables = columns(path)

    def copy(self, path: Path) -> StoreFile:
        """The same file once more."""
        return StoreFile(self.path, self.key).copy(path)


@pytest.fixture(params=[None, KEY], ids=["plain", "encrypted"])
def victim(
    request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Victim]:
    """Such a file. What never returns ends the process, with a trace of where it was."""
    faulthandler.dump_traceback_later(rounds(120, 3600), exit=True)
    yield Victim(tmp_path / "whole.db", request.param, monkeypatch)
    faulthandler.cancel_dump_traceback_later()


def check(victim: Victim, copy: StoreFile, what: str) -> None:
    """Reads a damaged file in every way."""
    there = names(copy.path)
    for name, face in FACES:
        # A thread without its row is one that never was.
        if not there >= NEEDS.get(name, set()):
            continue
        # A run that continues writes, and what is shown after that is what it wrote.
        one = copy.copy(copy.path.with_suffix(".one.db"))
        check_face(name, (face, one), victim.truth[name], what)


def test_a_flip_anywhere_is_refused_or_changes_nothing(victim: Victim, tmp_path: Path) -> None:
    chance = random.Random(4)
    places = [(table, column) for table, columns in victim.tables.items() for column in columns]
    assert {("thread", "last"), ("thread", "tag"), ("entry", "parent"), ("store", "tag")} <= {
        *places
    }
    for number in range(rounds(2 * len(places), 100 * len(places))):
        table, column = places[number % len(places)]
        copy = victim.copy(tmp_path / "flipped.db")
        what = flip(copy.path, table, column, chance)
        check(victim, copy, f"round {number}: {what}")


_BEFORE = "FROM entry AS e WHERE e.id = entry.id - 1"
EDITS = [
    "UPDATE entry SET parent = seq WHERE seq = (SELECT max(seq) FROM entry) AND thread = 1",
    "UPDATE entry SET parent = seq",
    "UPDATE entry SET parent = seq + 1",
    "UPDATE entry SET parent = 0",
    "UPDATE entry SET base = seq",
    "UPDATE entry SET step = 1, at = 1",
    "UPDATE entry SET id = -id",
    "UPDATE entry SET id = id + 1000",
    "UPDATE thread SET id = id + 10; UPDATE thread SET id = 13 - id",
    "UPDATE entry SET tag = x''",
    "UPDATE thread SET last = 0, tag = x''",
    "UPDATE thread SET tag = x''",
    "UPDATE thread SET last = 16",
    "UPDATE thread SET last = 16; DELETE FROM entry WHERE seq > 16",
    "DELETE FROM entry WHERE seq > 16",
    "DELETE FROM entry WHERE kind = 'run'",
    "DELETE FROM entry WHERE kind = 'end'",
    "DELETE FROM entry WHERE kind = 'end'; UPDATE thread SET last = last - 1",
    "DELETE FROM entry",
    "UPDATE thread SET tag = (SELECT tag FROM thread AS other WHERE other.id != thread.id)",
    "UPDATE thread SET name = 'x' WHERE id = 1; UPDATE thread SET name = 'failed' WHERE id = 2",
    f"UPDATE entry SET body = (SELECT body {_BEFORE}) WHERE seq > 1",
    f"UPDATE entry SET (body, tag) = (SELECT body, tag {_BEFORE}) WHERE seq > 1",
]


@pytest.mark.parametrize("edit", EDITS)
def test_an_edit_that_somebody_thought_of_is_refused(
    victim: Victim, tmp_path: Path, edit: str
) -> None:
    copy = victim.copy(tmp_path / "edited.db")
    with closing(sqlite3.connect(copy.path)) as file:
        file.executescript(edit)
    check(victim, copy, edit)


def test_a_tail_that_is_cut_off_anywhere_is_noticed(victim: Victim, tmp_path: Path) -> None:
    with closing(sqlite3.connect(victim.path)) as file:
        last = dict(file.execute("SELECT name, last FROM thread"))
        tags = dict(file.execute("SELECT seq, tag FROM entry WHERE thread = 1"))
    for number in range(1, last["failed"], rounds(5, 1)):
        for tag in (None, tags[number]):
            copy = victim.copy(tmp_path / "cut.db")
            with closing(sqlite3.connect(copy.path)) as file, file:
                file.execute("DELETE FROM entry WHERE seq > ?", (number,))
                file.execute("UPDATE thread SET last = ?, tag = coalesce(?, tag)", (number, tag))
            for name, face in FACES:
                if name in {"threads()", "runs show"}:
                    continue
                with pytest.raises(AntiphonError) as raised:
                    face(copy)
                assert raised.value.code == "checkpoint_corrupt", name
                assert raised.value.details.get("thread", "failed") in {"failed", "ended"}
            assert listed(copy) == {}


def test_what_lists_say_of_a_damaged_thread_names_it(
    victim: Victim, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    copy = victim.copy(tmp_path / "named.db")
    with closing(sqlite3.connect(copy.path)) as file, file:
        file.execute("UPDATE thread SET last = 4 WHERE name = 'failed'")
    assert main(["runs", "list", "--store", f"sqlite:{copy.path}", "--json"]) == 0
    (ended, failed) = json.loads(capsys.readouterr().out)["threads"]
    assert (ended["thread"], ended["status"]) == ("ended", "ended")
    assert (failed["thread"], failed["status"]) == ("failed", "unreadable")
    assert "failed" in failed["reason"]
