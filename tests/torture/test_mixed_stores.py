"""Two stores with threads of the same name: what is moved from one to the other is refused."""

from __future__ import annotations

import operator
import sqlite3
from contextlib import closing
from typing import TYPE_CHECKING, Annotated, Any, TypedDict

import pytest

from antiphon.checkpoint import SqliteSaver
from antiphon.errors import AntiphonError
from antiphon.graph import END, START, StateGraph
from support.threads import config
from support.torture import rounds
from torture.damaged_files import StoreFile
from torture.stored_runs import KEY

if TYPE_CHECKING:
    from pathlib import Path

    from antiphon.checkpoint import Saver
    from antiphon.graph import CompiledGraph

STEPS = rounds(5, 40)
COLUMNS = "id, parent, base, kind, step, at, tag, body"
MOVE = (
    "DELETE FROM entry WHERE {which}; "
    f"INSERT INTO entry ({COLUMNS}) SELECT {COLUMNS} FROM other.entry WHERE {{which}}"
)
HEAD = "UPDATE thread SET (last, tag) = (SELECT last, tag FROM other.thread)"


class State(TypedDict, total=False):
    """What was paid."""

    paid: Annotated[list[int], operator.add]


def build(saver: Saver, amount: int) -> CompiledGraph:
    """A graph that pays the same amount at each step."""
    builder = StateGraph(State).add_node("pay", lambda _: {"paid": [amount]})
    builder.add_edge(START, "pay")
    builder.add_conditional_edges("pay", lambda s: "pay" if len(s["paid"]) < STEPS else END)
    return builder.compile(checkpointer=saver)


@pytest.fixture(params=[KEY], ids=["encrypted"])
def stores(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[StoreFile, StoreFile]:
    """Two stores that differ in what was paid."""
    own, other = (StoreFile(tmp_path / f"{name}.db", request.param) for name in ("own", "other"))
    for store, amount in ((own, 1), (other, 1_000)):
        with store.open() as saver:
            build(saver, amount).invoke({"paid": []}, config("t"), durability="sync")
    return own, other


def read(store: StoreFile) -> list[Any]:
    """A thread's state, and its history."""
    with SqliteSaver.open(store.path, key=store.key) as saver:
        graph = build(saver, 0)
        shots = [graph.get_state(config("t")), *graph.get_state_history(config("t"))]
        return [(shot.values, shot.next) for shot in shots]


def edits(last: int) -> list[str]:
    """Single entries, ends and beginnings of the thread, with its head or without."""
    one = [MOVE.format(which=f"seq = {seq}") for seq in range(1, last + 1)]
    ends = [MOVE.format(which=f"seq >= {seq}") for seq in range(2, last + 1)]
    beginnings = [MOVE.format(which=f"seq <= {seq}") for seq in range(1, last)]
    moved = [*one, *ends, *beginnings]
    return [HEAD, *moved, *(f"{edit}; {HEAD}" for edit in moved)]


def test_what_comes_from_another_store_is_refused_or_changes_nothing(
    stores: tuple[StoreFile, StoreFile], tmp_path: Path
) -> None:
    own, other = stores
    truth = read(own.copy(tmp_path / "truth.db"))
    with closing(sqlite3.connect(own.path)) as file:
        ((last,),) = file.execute("SELECT last FROM thread")
    accepted, refused = [], set()
    for edit in edits(last):
        mixed = own.copy(tmp_path / "mixed.db")
        with closing(sqlite3.connect(mixed.path, isolation_level=None)) as file:
            file.execute("ATTACH ? AS other", (str(other.path),))
            file.executescript(edit)
        try:
            found = read(mixed)
        except AntiphonError as error:
            refused.add(error.code)
            continue
        if found != truth:
            accepted.append(edit)
    assert not accepted
    assert refused == {"checkpoint_corrupt"}
