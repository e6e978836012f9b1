"""Threads that are read while they are written to, pruned and deleted are never called damaged."""

from __future__ import annotations

import itertools
import threading
from collections.abc import Callable
from typing import Annotated, Any, TypedDict

import pytest

from antiphon.checkpoint import Saver
from antiphon.errors import AntiphonError
from antiphon.graph import START, StateGraph
from support.threads import open_saver
from support.torture import rounds

READINGS = rounds(60, 1_500)
"""Of each kind, over each store."""
CONFIG: Any = {"configurable": {"thread_id": "t"}}
FINE = {"checkpoint_unknown", "thread_empty", "thread_taken", "thread_busy"}
"""What reading a thread may come to that is pruned and deleted meanwhile."""


class State(TypedDict):
    items: Annotated[list[str], lambda old, new: [*old, *new][-20:]]


def graph_over(saver: Saver) -> Any:
    graph = StateGraph(State)
    for name in "abc":
        graph.add_node(name, lambda state: {"items": ["x" * 300]})
    graph.add_edge(START, "a").add_edge("a", "b").add_edge("b", "c")
    return graph.compile(checkpointer=saver)


def readings(saver: Saver) -> list[Callable[[], Any]]:
    app = graph_over(saver)

    def copy() -> None:
        saver.copy_thread("t", "copy")
        saver.delete_thread("copy")

    return [
        lambda: saver.thread("t"),
        saver.threads,
        lambda: app.get_state(CONFIG),
        lambda: [one.values for one in app.get_state_history(CONFIG)],
        copy,
    ]


class Writer(threading.Thread):
    """Writes turns to the thread, prunes it and deletes it, until it is asked to stop."""

    def __init__(self, url: str, keep_last: int | None) -> None:
        super().__init__()
        self._about = (url, keep_last)
        self.over = threading.Event()
        self.failed: BaseException | None = None

    def run(self) -> None:
        try:
            self._write()
        except BaseException as error:  # noqa: BLE001 - reported by the test's own thread
            self.failed = error

    def _write(self) -> None:
        url, keep_last = self._about
        with open_saver(url, keep_last=keep_last) as saver:
            app = graph_over(saver)
            for turn in itertools.count(1):
                if self.over.is_set():
                    return
                app.invoke({"items": ["y"]}, CONFIG)
                if turn % 5 == 0:
                    saver.prune(keep_last=1)
                if turn % 17 == 0:
                    saver.delete_thread("t")


@pytest.mark.parametrize("keep_last", [None, 2])
def test_a_thread_is_read_while_it_changes(url: str, keep_last: int | None) -> None:
    writer = Writer(url, keep_last)
    writer.start()
    try:
        with open_saver(url) as saver:
            for reading in readings(saver) * READINGS:
                try:
                    found = reading()
                except AntiphonError as error:
                    if error.code not in FINE:
                        raise
                    continue
                if isinstance(found, tuple | list):
                    assert "unreadable" not in {getattr(one, "status", "") for one in found}
    finally:
        writer.over.set()
        writer.join()
    assert writer.failed is None
