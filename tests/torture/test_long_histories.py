"""A history is read as far as it is iterated, in memory that does not grow with the thread."""

from __future__ import annotations

import asyncio
import json
import operator
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypedDict

import pytest

from antiphon.checkpoint import SqliteSaver
from antiphon.errors import AntiphonError
from antiphon.graph import END, START, StateGraph
from support.torture import rounds

if TYPE_CHECKING:
    from antiphon.checkpoint import Saver
    from antiphon.graph import CompiledGraph

STEPS = rounds(3_000, 100_000)
READER = Path(__file__).with_name("history_reader.py")
BOUND = rounds(12 << 20, 256 << 20)
"""Bytes beside what the run itself took: those of some states, each with all its messages."""


def test_a_long_history_takes_no_more_memory_than_its_states(tmp_path: Path) -> None:
    command = [sys.executable, str(READER), f"sqlite:{tmp_path}/runs.db", str(STEPS)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    seen = json.loads(done.stdout)
    assert seen["steps"] == [*range(STEPS, -1, -1)]
    assert seen["lengths"] == seen["steps"]
    assert seen["grown"] < BOUND


LONG = 400
CONFIG: Any = {"configurable": {"thread_id": "t"}, "recursion_limit": LONG + 1}


class State(TypedDict):
    """Messages of two kilobytes, so that there are several snapshots of them."""

    messages: Annotated[list[str], operator.add]


def talk(saver: Saver) -> CompiledGraph:
    """A graph that takes so many steps."""
    graph = StateGraph(State).add_node("talk", lambda state: {"messages": ["x" * 2048]})
    graph.add_edge(START, "talk")
    graph.add_conditional_edges(
        "talk", lambda state: "talk" if len(state["messages"]) < LONG else END
    )
    return graph.compile(checkpointer=saver)


@pytest.fixture
def damaged(tmp_path: Path) -> Path:
    """A file with a long thread, of which nothing before the last snapshot can be read."""
    path = tmp_path / "runs.db"
    with SqliteSaver.open(path) as saver:
        talk(saver).invoke({"messages": []}, CONFIG)
    with closing(sqlite3.connect(path)) as file, file:
        last = "SELECT max(seq) FROM entry WHERE kind = 'snapshot'"
        ((seq, older),) = file.execute(f"SELECT ({last}), count(*) FROM entry WHERE seq < ({last})")
        assert older > LONG / 4
        file.execute("UPDATE entry SET body = x'00' WHERE seq < ?", [seq])
    return path


async def read(graph: CompiledGraph, into: list[int], *, plain: bool) -> None:
    """Notes how many messages each checkpoint has, newest first."""
    if plain:
        for one in graph.get_state_history(CONFIG):
            into.append(len(one.values["messages"]))  # noqa: PERF401 - it stays after an error
        return
    async for one in graph.aget_state_history(CONFIG):
        into.append(len(one.values["messages"]))  # noqa: PERF401


@pytest.mark.parametrize("plain", [True, False], ids=["plain", "await"])
def test_the_first_items_are_given_before_older_ones_are_read(damaged: Path, plain: bool) -> None:
    found: list[int] = []
    with SqliteSaver.open(damaged) as saver, pytest.raises(AntiphonError) as raised:
        asyncio.run(read(talk(saver), found, plain=plain))
    assert raised.value.code == "checkpoint_corrupt"
    assert found
    assert found == [*range(LONG, LONG - len(found), -1)]
    assert len(found) < LONG
