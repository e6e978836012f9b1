"""What cannot be meant is refused before anything is done, and the message says what it was."""

from __future__ import annotations

import math
from datetime import timedelta
from typing import TYPE_CHECKING, Any
from uuid import UUID

import pytest

from antiphon import Agent, AgentContext, Orchestrator
from antiphon.checkpoint import MemorySaver, Saver, SqliteSaver
from antiphon.errors import ValidationError
from antiphon.graph import START, CompiledGraph, StateGraph

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

NAMES: dict[str, Any] = {
    "empty": "",
    "blank": " \t",
    "a zero": "a\0b",
    "half a character": "\ud800",
    "true": True,
    "bytes": b"x",
    "a dict": {},
    "half a number": 1.5,
}
COUNTS: dict[str, Any] = {
    "zero": 0,
    "below zero": -1,
    "true": True,
    "no number": math.nan,
    "a fraction": 1.5,
    "text": "3",
    "huge": 2**64,
}
AGES: dict[str, Any] = {
    "below zero": -1,
    "a timedelta below zero": timedelta(-1),
    "true": True,
    "no number": math.nan,
    "for ever": math.inf,
    "text": "30d",
}
CONFIG: Any = {"configurable": {"thread_id": "t"}}


class Says(Agent):
    """Answers."""

    def act(self, state: object, ctx: AgentContext) -> str:
        del state, ctx
        return "said"


def graph_on(saver: Saver) -> CompiledGraph:
    """A graph with one thread."""
    builder = StateGraph(dict[str, str]).add_node("node", lambda _: {}).add_edge(START, "node")
    graph = builder.compile(saver)
    graph.invoke({}, CONFIG)
    return graph


def refused(do: Callable[[], object], code: str, *words: str) -> None:
    """It is refused, in these words; a hint says what to do."""
    with pytest.raises(ValidationError) as raised:
        do()
    assert raised.value.code == code
    assert raised.value.hint
    for word in words:
        assert word in raised.value.message


def at(name: Any, **more: Any) -> Any:
    return {"configurable": {"thread_id": name, **more}}


@pytest.mark.parametrize("case", NAMES)
def test_an_invalid_thread_name_is_refused(case: str) -> None:
    name = NAMES[case]
    shown = type(name).__name__ if not isinstance(name, str) else repr(name).strip("'")[:2]
    with MemorySaver() as saver:
        graph = graph_on(saver)
        for do in (
            lambda: graph.invoke({}, at(name)),
            lambda: graph.get_state(at(name)),
            lambda: Orchestrator([Says()], checkpointer=saver).run("q", thread=name),
            lambda: saver.thread(name),
            lambda: saver.copy_thread(name, "u"),
            lambda: saver.copy_thread("t", name),
            lambda: saver.prune(name, keep_last=1),
            lambda: saver.delete_thread(name),
            lambda: saver.threads(after=name),
        ):
            refused(do, "thread_invalid", "thread's name", shown)
        assert [one.thread for one in saver.threads()] == ["t"]


def test_a_thread_name_that_is_too_long_is_refused() -> None:
    with MemorySaver() as saver:
        graph, long = graph_on(saver), "x" * 513
        refused(lambda: graph.invoke({}, at(long)), "thread_invalid", "512", "513")
        refused(lambda: saver.copy_thread("t", long), "thread_invalid", "512", "513")
        graph.invoke({}, at("x" * 512))


@pytest.mark.parametrize("name", ["7", 7, UUID(int=7), "späße 🎉", "a'; DROP TABLE thread; --"])
def test_any_other_text_is_a_valid_thread_name(name: Any) -> None:
    with MemorySaver() as saver:
        graph_on(saver).invoke({}, at(name))
        assert str(name) in [one.thread for one in saver.threads()]


@pytest.mark.parametrize("case", COUNTS)
def test_an_invalid_count_is_refused(tmp_path: Path, case: str) -> None:
    count: Any = COUNTS[case]
    about = "integer of at least 1"
    with MemorySaver() as saver:
        graph_on(saver)
        for name, do in (
            ("limit", lambda: saver.threads(limit=count)),
            ("limit", lambda: saver.thread("t", limit=count)),
            ("keep_last", lambda: saver.prune(keep_last=count)),
            ("keep_bytes", lambda: saver.prune(keep_bytes=count)),
            ("checkpoint", lambda: saver.copy_thread("t", "u", checkpoint=count)),
            ("keep_last", lambda: MemorySaver(keep_last=count)),
            ("keep_bytes", lambda: MemorySaver(keep_bytes=count)),
            ("max_bytes", lambda: SqliteSaver.open(tmp_path / "runs.db", max_bytes=count)),
            ("keep_last", lambda: SqliteSaver.open(tmp_path / "runs.db", keep_last=count)),
        ):
            refused(do, "call_invalid", f"`{name}`", about, repr(count))
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("case", [case for case in COUNTS if case != "text"])
def test_an_invalid_checkpoint_id_is_refused(case: str) -> None:
    with MemorySaver() as saver:
        graph, given = graph_on(saver), COUNTS[case]
        about = "`checkpoint_id` is not one of antiphon's"
        refused(
            lambda: graph.get_state(at("t", checkpoint_id=given)),
            "call_invalid",
            about,
            repr(given),
        )


@pytest.mark.parametrize("case", COUNTS)
def test_an_invalid_history_limit_is_refused(case: str) -> None:
    with MemorySaver() as saver:
        graph, limit = graph_on(saver), COUNTS[case]
        team = Orchestrator([Says()], checkpointer=saver)
        team.run("q", thread="team")
        for do in (
            lambda: list(graph.get_state_history(CONFIG, limit=limit)),
            lambda: team.history("team", limit=limit),
        ):
            with pytest.raises(ValidationError, match="`limit` must be an integer") as raised:
                do()
            assert raised.value.code == "call_invalid"


@pytest.mark.parametrize("case", AGES)
def test_an_invalid_age_is_refused(case: str) -> None:
    age: Any = AGES[case]
    with MemorySaver() as saver:
        graph_on(saver)
        for name, do in (
            ("keep_for", lambda: saver.prune(keep_for=age)),
            ("delete_after", lambda: saver.prune(delete_after=age)),
            ("keep_for", lambda: MemorySaver(keep_for=age)),
        ):
            refused(do, "call_invalid", f"`{name}`", "timedelta or seconds", repr(age))
        assert len(saver.threads()) == 1


@pytest.mark.parametrize("given", ["gone", "", 3, ["ended"]])
def test_an_invalid_status_is_refused(given: Any) -> None:
    with MemorySaver() as saver, pytest.raises(ValidationError, match="`status`") as raised:
        saver.threads(status=given)
    assert raised.value.code == "call_invalid"


@pytest.mark.parametrize("given", [[1], "source", {"origin": "loop"}, {"source": "loop", 3: 4}])
def test_an_invalid_history_filter_is_refused(given: Any) -> None:
    with MemorySaver() as saver:
        graph = graph_on(saver)
        with pytest.raises(ValidationError, match="metadata") as raised:
            list(graph.get_state_history(CONFIG, filter=given))
        assert raised.value.code == "call_invalid"
        assert list(graph.get_state_history(CONFIG, filter={"source": "loop", "step": 1}))
