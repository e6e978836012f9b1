"""A process that is stopped for longer than its thread is kept for it, and then continues."""

from __future__ import annotations

import os
import signal
import sqlite3
import subprocess
import sys
from contextlib import closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from antiphon.checkpoint import Saver
from antiphon.errors import StateError
from antiphon.graph import START, StateGraph
from support.states import Log
from support.threads import open_saver

if TYPE_CHECKING:
    from collections.abc import Iterator

    from support.postgres import Server

TESTS = Path(__file__).parents[1]
CONFIG: Any = {"configurable": {"thread_id": "t"}}

pytestmark = pytest.mark.skipif(not hasattr(signal, "SIGSTOP"), reason="nothing can be stopped")


def expire(url: str, request: pytest.FixtureRequest) -> None:
    """As if the time that threads are kept for had passed."""
    if url.startswith("sqlite:"):
        with closing(sqlite3.connect(url.removeprefix("sqlite:"), timeout=30)) as file:
            assert file.execute("UPDATE thread SET until = 0").rowcount == 1
            file.commit()
    else:
        server: Server = request.getfixturevalue("postgres")
        server.ask("UPDATE antiphon.thread SET until = now()", url.rpartition("/")[2])


@contextmanager
def stopped(url: str, durability: str, act: str) -> Iterator[subprocess.Popen[str]]:
    """The process, once it has stopped."""
    command = [sys.executable, "-m", "checkpoint.suspended_process", url, durability, act]
    with subprocess.Popen(command, cwd=TESTS, stdout=subprocess.PIPE, text=True) as sleeper:
        try:
            _, status = os.waitpid(sleeper.pid, os.WUNTRACED)
            assert os.WIFSTOPPED(status)
            yield sleeper
        finally:
            sleeper.kill()


def go_on(sleeper: subprocess.Popen[str]) -> list[str]:
    """What it says from here on."""
    sleeper.send_signal(signal.SIGCONT)
    said, _ = sleeper.communicate(timeout=60)
    return said.split()


def other(saver: Saver) -> Any:
    """Somebody else's work on the thread."""
    builder = StateGraph(Log).add_node("first", lambda _: {"log": ["other"]})
    return builder.add_edge(START, "first").compile(saver)


@pytest.mark.parametrize("act", ["return", "step"])
@pytest.mark.parametrize("durability", ["sync", "async", "exit"])
def test_a_process_that_was_stopped_too_long_does_not_write(
    url: str, durability: str, act: str, request: pytest.FixtureRequest
) -> None:
    with stopped(url, durability, act) as sleeper, open_saver(url) as saver:
        graph = other(saver)
        with pytest.raises(StateError) as busy:
            graph.invoke({}, CONFIG)
        assert busy.value.code == "thread_busy"
        expire(url, request)
        saver.delete_thread("t")
        graph.invoke({}, CONFIG)
        before = [found.config for found in graph.get_state_history(CONFIG)]
        said = go_on(sleeper)
        # Nothing is written down of a call before the end, so that it is made.
        assert said == (["paid"] if act == "step" and durability == "exit" else []) + [
            "thread_conflict"
        ]
        assert graph.get_state(CONFIG).values == {"log": ["other"]}
        assert [found.config for found in graph.get_state_history(CONFIG)] == before
        # The thread is free.
        assert graph.invoke({}, CONFIG) == {"log": ["other", "other"]}


def test_a_process_that_was_stopped_too_long_does_not_write_while_another_does(
    url: str, request: pytest.FixtureRequest
) -> None:
    said: list[str] = []

    with stopped(url, "sync", "step") as sleeper, open_saver(url) as saver:
        expire(url, request)

        def wake(state: Log) -> Log:
            del state
            said.extend(go_on(sleeper))
            return {"log": ["woken"]}

        builder = StateGraph(Log).add_node("first", lambda _: {"log": ["other"]})
        builder.add_node("second", wake).add_node("third", lambda _: {"log": ["third"]})
        builder.add_edge(START, "first").add_edge("first", "second").add_edge("second", "third")
        graph = builder.compile(saver)
        # Resumes where the other one was stopped.
        done = graph.invoke(None, CONFIG)
        assert graph.get_state(CONFIG).values == done
    assert said == ["thread_conflict"]
    assert done == {"log": ["first", "woken", "third"]}


def test_a_process_that_was_stopped_continues_if_nobody_else_came(
    url: str, request: pytest.FixtureRequest
) -> None:
    with stopped(url, "sync", "step") as sleeper, open_saver(url) as saver:
        expire(url, request)
        assert go_on(sleeper) == ["paid", "ended"]
        assert saver.thread("t").written["log"] == ["third"]
        assert saver.threads()[0].status == "ended"
