"""Every column of every table, changed by hand: what is read is true, or refused."""

from __future__ import annotations

import contextlib
import faulthandler
import io
import json
import operator
import random
import shutil
import sqlite3
import time
from contextlib import closing
from typing import TYPE_CHECKING, Annotated, Any, TypedDict

import pytest

from antiphon.checkpoint import SqliteSaver
from antiphon.cli import main
from antiphon.errors import AntiphonError
from antiphon.graph import END, START, StateGraph
from support.torture import rounds

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from antiphon.checkpoint import Saver
    from antiphon.graph import CompiledGraph

KEY = bytes(range(32))
LIMIT = 5.0
"""Seconds in which anything is read, on a machine that others use too."""
REFUSALS = {
    "checkpoint_corrupt",
    "checkpoint_encrypted",
    "checkpoint_plain",
    "checkpoint_unknown",
    "store_corrupt",
    "store_version",
    "thread_busy",
    "thread_empty",
}
"""How it is refused; a thread of another name is empty, and one that is held is busy."""
EXTREMES = (0, 1, -1, 2**31, 2**62, -(2**63))


class State(TypedDict, total=False):
    log: Annotated[list[int], operator.add]


class World:
    """A graph that pays at each step, and fails at the seventh until it is mended."""

    def __init__(self, *, broken: bool) -> None:
        self.broken = broken
        self.paid: list[int] = []

    def build(self, saver: Saver) -> CompiledGraph:
        """The graph, kept in a store."""

        def pay(state: State) -> State:
            number = len(state.get("log", []))
            if number == 6 and self.broken:
                raise RuntimeError("the bank is closed")
            self.paid.append(number)
            return {"log": [number]}

        def route(state: State) -> str:
            return "pay" if len(state["log"]) < 9 else END

        builder = StateGraph(State).add_node(pay).add_edge(START, "pay")
        builder.add_conditional_edges("pay", route)
        return builder.compile(checkpointer=saver)


def config(thread: str) -> Any:
    """How a thread is named."""
    return {"configurable": {"thread_id": thread}}


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
        self.tables = self._tables()

    def copy(self, path: Path) -> Copy:
        """The same file once more."""
        shutil.copy(self.path, path)
        for rest in ("-wal", "-shm"):
            path.with_name(path.name + rest).unlink(missing_ok=True)
        return Copy(path, self.key)

    def _tables(self) -> dict[str, list[str]]:
        """All columns by their tables, those of later versions too."""
        with closing(sqlite3.connect(self.path)) as file:
            names = "SELECT name FROM sqlite_schema WHERE type = 'table'"
            tables = [name for (name,) in file.execute(names)]
            columns = {table: file.execute(f"PRAGMA table_info({table})") for table in tables}
            return {table: [column[1] for column in found] for table, found in columns.items()}


class Copy:
    """A file that may be damaged."""

    def __init__(self, path: Path, key: bytes | None) -> None:
        self.path, self.key = path, key

    def open(self) -> SqliteSaver:
        """The store in it."""
        return SqliteSaver.open(self.path, key=self.key)


def told(saver: Saver, thread: str) -> Any:
    """A state and its past, as anybody reads them."""
    graph = World(broken=False).build(saver)
    shots = [graph.get_state(config(thread)), *graph.get_state_history(config(thread))]
    return [(shot.values, shot.next, shot.metadata, shot.created_at) for shot in shots]


def state(copy: Copy) -> Any:
    """What threads hold."""
    with copy.open() as saver:
        return told(saver, "failed")


def state_of_another(copy: Copy) -> Any:
    """What the other thread holds."""
    with copy.open() as saver:
        return told(saver, "ended")


def listed(copy: Copy) -> Any:
    """What lists say; one that says it cannot be read says nothing untrue."""
    with copy.open() as saver:
        return {
            one.thread: (one.status, one.run_id, one.graph, one.steps, one.began, one.at)
            for one in saver.threads()
            if one.status not in {"unreadable", "running"}
        }


def detail(copy: Copy) -> Any:
    """What is said of a thread by itself."""
    with copy.open() as saver:
        shown = saver.thread("failed")
        if shown.summary.status in {"unreadable", "running"}:
            raise AntiphonError("it says so", code="checkpoint_corrupt")
        return repr((shown.summary.status, shown.runs, shown.checkpoints, shown.written))


def shown(copy: Copy) -> Any:
    """The same on the command line."""
    out = io.TextIOWrapper(io.BytesIO(), encoding="utf-8")
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(io.StringIO()):
        code = main(["runs", "show", "ended", "--store", f"sqlite:{copy.path}", "--json"])
    out.seek(0)
    said = json.loads(out.read() or "{}")
    if code != 0 or said["status"] in {"unreadable", "running"}:
        raise AntiphonError("the command said so", code="checkpoint_corrupt")
    said.pop("size")
    return said


def resumed(copy: Copy) -> Any:
    """What is paid when a run goes on, and what there is then."""
    world = World(broken=False)
    with copy.open() as saver:
        done = world.build(saver).invoke(None, config("failed"))
    return done, world.paid


FACES: list[tuple[str, Callable[[Copy], Any]]] = [
    ("state", state),
    ("state of another", state_of_another),
    ("threads()", listed),
    ("thread()", detail),
    ("runs show", shown),
    ("invoke(None)", resumed),
]


@pytest.fixture(params=[None, KEY], ids=["plain", "encrypted"])
def victim(
    request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Victim]:
    """Such a file. What never returns ends the process, with a trace of where it was."""
    faulthandler.dump_traceback_later(rounds(120, 3600), exit=True)
    yield Victim(tmp_path / "whole.db", request.param, monkeypatch)
    faulthandler.cancel_dump_traceback_later()


def check(victim: Victim, copy: Copy, what: str) -> None:
    """Reads a damaged file in every way."""
    there = names(copy.path)
    for name, face in FACES:
        # A thread without its row is one that never was.
        if not there >= NEEDS.get(name, set()):
            continue
        # Whoever goes on writes, and what is shown after that is what it wrote.
        one = Copy(copy.path.with_suffix(".one.db"), copy.key)
        shutil.copy(copy.path, one.path)
        for rest in ("-wal", "-shm"):
            one.path.with_name(one.path.name + rest).unlink(missing_ok=True)
        began, refused = time.monotonic(), "thread_busy"
        try:
            found = face(one)
        except AntiphonError as error:
            found, refused = None, error.code
        took = time.monotonic() - began
        assert refused in REFUSALS, f"{name}, {what}: {refused}"
        assert took < LIMIT, f"{name}, {what}: {took:.1f} s"
        if found is None:
            continue
        if name == "threads()":
            # One that lost its name is listed under another, or not at all.
            assert found.items() <= victim.truth[name].items(), f"{name}, {what}: {found}"
        else:
            assert found == victim.truth[name], f"{name}, {what}: {found}"


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


NEEDS = {
    "state": {"failed"},
    "state of another": {"ended"},
    "thread()": {"failed"},
    "runs show": {"ended"},
    "invoke(None)": {"failed"},
}
"""The threads that are read."""


def names(path: Path) -> set[Any]:
    """The threads that a file has a row of."""
    with closing(sqlite3.connect(path)) as file:
        file.text_factory = lambda text: text.decode(errors="replace")
        return {name for (name,) in file.execute("SELECT name FROM thread")}


def flip(path: Path, table: str, column: str, chance: random.Random) -> str:
    """Changes one value, and says how."""
    with closing(sqlite3.connect(path)) as file:
        values = dict(file.execute(f"SELECT rowid, {column} FROM {table}").fetchall())
        if not values:
            return f"{table} is empty"
        row = chance.choice(list(values))
        before = values[row]
        after = changed(before, list(values.values()), chance)
        try:
            with file:
                change = f"UPDATE {table} SET {column} = ? WHERE rowid = ?"
                file.execute(change, (after, row))
        except (sqlite3.IntegrityError, OverflowError):
            return "nothing: it cannot be written"
        return f"{table}.{column} of {row} from {before!r} to {after!r}"


def changed(value: Any, others: list[Any], chance: random.Random) -> Any:
    """Another value in the place of one."""
    if chance.random() < 0.2:
        return chance.choice(others)
    if value is None:
        return chance.choice(["x", 1, 2**60, b"x"])
    if isinstance(value, int):
        near = (value - 1, value + 1, value ^ 1 << chance.randrange(48))
        return chance.choice([*near, *EXTREMES])
    if isinstance(value, str):
        place = chance.randrange(len(value) or 1)
        return chance.choice(["", value + "x", value[:place] + "\u00e9" + value[place + 1 :]])
    place = chance.randrange(len(value) or 1)
    bent = bytearray(value or b"\0")
    bent[place] ^= 1 << chance.randrange(8)
    return chance.choice([bytes(bent), bytes(bent), value[:place], value + b"\0", b""])


_BEFORE = "FROM entry AS e WHERE e.seq = entry.seq - 1 AND e.thread = entry.thread"
EDITS = [
    "UPDATE entry SET parent = seq WHERE seq = (SELECT max(seq) FROM entry) AND thread = 1",
    "UPDATE entry SET parent = seq",
    "UPDATE entry SET parent = seq + 1",
    "UPDATE entry SET parent = 0",
    "UPDATE entry SET base = seq",
    "UPDATE entry SET step = 1, at = 1",
    "UPDATE entry SET seq = -seq",
    "UPDATE entry SET seq = seq + 1000",
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
    assert "failed" in failed["detail"]
