"""Ctrl-C in a sync batch: agents that cannot be stopped do nothing more."""

from __future__ import annotations

import signal
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest

from antiphon import Agent, AgentContext, Orchestrator, tool
from support.waiting import ENOUGH, happens

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="a signal for one thread is POSIX")
TESTS = Path(__file__).resolve().parents[1]


class Office:
    """What agents do, and where they wait until they are let go on."""

    def __init__(self) -> None:
        self.done: list[str] = []
        self.inside = 0
        self.free = threading.Event()

    def interrupt_when_inside(self, count: int) -> None:
        """Presses Ctrl-C once as many agents wait."""

        def press() -> None:
            assert happens(lambda: self.inside == count)
            signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)

        threading.Thread(target=press).start()

    def let_go(self) -> None:
        """Lets the agents go on, and waits for the threads of the batch."""
        self.free.set()
        for thread in threading.enumerate():
            if thread.name == "antiphon-batch":
                thread.join(ENOUGH)


class BlockingAgent(Agent):
    """Waits where nothing can stop it, and makes a call then."""

    def __init__(self, office: Office, call: str, **options: Any) -> None:
        self.office = office
        self.made = call

        @tool
        def pay() -> str:
            """Pays."""
            office.done.append("paid")
            return "paid"

        super().__init__(tools=[pay], **options)

    def act(self, state: Any, ctx: AgentContext) -> str:
        self.office.inside += 1
        self.office.free.wait(ENOUGH)
        if self.made == "tool":
            ctx.call("pay")
        elif self.made == "step":
            ctx.step("pay", lambda: self.office.done.append("paid"))
        return "went on"


class NextAgent(Agent):
    """Notes that its turn has come."""

    def __init__(self, office: Office) -> None:
        super().__init__(name="next")
        self.office = office

    def act(self, state: Any, ctx: AgentContext) -> str:
        self.office.done.append("next")
        return "done"


@pytest.mark.parametrize("call", ["tool", "step", "none"])
@pytest.mark.parametrize("policy", [{}, {"on_error": "record"}, {"fallback": "next"}])
def test_agents_of_an_interrupted_batch_do_nothing_more(call: str, policy: Any) -> None:
    office = Office()
    agents = [BlockingAgent(office, call, name="blocks"), NextAgent(office)]
    team = Orchestrator(agents, checkpointer="memory:", **policy)
    office.interrupt_when_inside(2)
    with pytest.raises(KeyboardInterrupt):
        team.batch(["a", "b", "c"], concurrency=2, threads=["a", "b", "c"])
    office.let_go()
    assert (office.done, office.inside) == ([], 2)
    held = team.state("a")
    assert held.outcome == "cancelled"
    assert team.resume("a").answer == "done"


def test_a_run_within_an_agent_is_stopped_too() -> None:
    office = Office()
    inner = Orchestrator([BlockingAgent(office, "none", name="blocks"), NextAgent(office)])

    class OuterAgent(Agent):
        def act(self, state: Any, ctx: AgentContext) -> str:
            inner.run("inner")
            office.done.append("outer")
            return "outer"

    office.interrupt_when_inside(1)
    with pytest.raises(KeyboardInterrupt):
        OuterAgent().batch(["a"])
    office.let_go()
    assert "next" not in office.done


def test_agents_beside_one_whose_failure_is_raised_do_nothing_more() -> None:
    office = Office()

    class FailingAgent(BlockingAgent):
        def act(self, state: Any, ctx: AgentContext) -> str:
            if state["question"] == "fail":
                assert happens(lambda: office.inside == 1)
                raise OSError("no room")
            return super().act(state, ctx)

    team = Orchestrator([FailingAgent(office, "step", name="blocks")])
    with pytest.raises(OSError, match="no room"):
        team.batch(["a", "fail"], raise_errors=True)
    office.let_go()
    assert office.done == []


@pytest.mark.slow
def test_the_process_does_not_wait_for_agents_of_an_interrupted_batch() -> None:
    program = """
from antiphon import Agent
from support.waiting import take_time

class Blocks(Agent):
    def act(self, state, ctx):
        print("ready", flush=True)
        take_time(600)

Blocks().batch(["a"])
"""
    with subprocess.Popen(
        [sys.executable, "-c", program],
        cwd=TESTS,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        process.send_signal(signal.SIGINT)
        try:
            _, said = process.communicate(timeout=ENOUGH)
        finally:
            process.kill()
    assert "KeyboardInterrupt" in said
