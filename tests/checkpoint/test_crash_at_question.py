"""Processes that die once a question is stored, and before their run has paused."""

from __future__ import annotations

import os
import signal
import threading
from pathlib import Path
from typing import Any

import pytest

from antiphon import Agent, AgentContext, Orchestrator
from antiphon.checkpoint import Saver, SqliteSaver

pytestmark = pytest.mark.skipif(
    not Path("/proc/self/stat").exists(), reason="elsewhere a thread is free only after its term"
)


class Asks(Agent):
    """Asks."""

    def act(self, state: Any, ctx: AgentContext) -> dict[str, Any]:
        return {"asked": ctx.ask("go on?")}


class Works(Agent):
    """Works beside it, and in the first process for as long as that lasts."""

    def __init__(self, *, ends: bool) -> None:
        super().__init__()
        self._ends = ends

    def act(self, state: Any, ctx: AgentContext) -> dict[str, Any]:
        if not self._ends:
            threading.Event().wait()
        return {"worked": True}


def team(saver: Saver, durability: Any, *, ends: bool) -> Orchestrator:
    return Orchestrator([[Asks(), Works(ends=ends)]], checkpointer=saver, durability=durability)


@pytest.mark.parametrize("durability", ["sync", "async", "exit"])
def test_what_a_thread_lists_can_be_answered(tmp_path: Path, durability: Any) -> None:
    path = tmp_path / "runs.db"
    child = os.fork()
    if child == 0:
        try:
            doomed = team(SqliteSaver.open(path), durability, ends=False)
            for event in doomed.stream("?", thread="t"):
                if event.kind == "interrupt":
                    os.kill(os.getpid(), signal.SIGKILL)
        finally:
            os._exit(1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == -signal.SIGKILL
    with SqliteSaver.open(path) as saver:
        later = team(saver, durability, ends=True)
        state = later.state("t")
        assert [question.value for question in state.questions] == ["go on?"]
        assert state.outcome is None, "an agent had not ended"
        result = later.resume("t", "yes")
        assert (result.outcome, result.state["asked"], result.state["worked"]) == (
            "answered",
            "yes",
            True,
        )
