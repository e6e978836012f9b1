"""A separate process that works on threads which other processes share.

Arguments: the URL of the store, a file to note things in, and what to do: `ask`, `answer` with a
name, `crash`, `hold` or `recover`. Every agent notes in the file that it begins; what came of it is
printed as JSON.
"""

import json
import os
import sys
import threading
from typing import Any

from antiphon import Agent, AgentContext, Orchestrator

CRASHED = ("lost one", "it's lost", "日本")


class Notes(Agent):
    """An agent that leaves traces."""

    def __init__(self, journal: str, *, stuck: bool = False) -> None:
        super().__init__()
        self.journal, self.stuck = journal, stuck

    def note(self, ctx: AgentContext) -> None:
        """Writes a line that survives the death of the process."""
        line = f"{ctx.agent} {ctx.thread}\n"
        file = os.open(self.journal, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
        os.write(file, line.encode())
        os.close(file)


class Plan(Notes):
    """Is done before anything can go wrong."""

    def act(self, state: Any, ctx: AgentContext) -> dict[str, Any]:
        self.note(ctx)
        return {"plan": f"greet {state['question']}"}


class Greet(Notes):
    """Asks for a name."""

    def act(self, state: Any, ctx: AgentContext) -> str:
        self.note(ctx)
        return f"{state['plan']}: hello {ctx.ask({'need': 'a name'})}"


class Work(Notes):
    """Never ends in the first process."""

    def act(self, state: Any, ctx: AgentContext) -> str:
        self.note(ctx)
        if self.stuck:
            never = threading.Event()
            # CPython misses a signal that comes just before an endless wait of the main thread.
            while not never.wait(0.1):
                pass
        return f"worked on {state['plan']}"


def asking(url: str, journal: str) -> Orchestrator:
    """A team that waits for a person."""
    agents = [Plan(journal), Greet(journal)]
    return Orchestrator(agents, checkpointer=url, name="asking")


def working(url: str, journal: str, *, stuck: bool) -> Orchestrator:
    """A team that may be killed: the step before a note of it is stored."""
    agents = [Plan(journal), Work(journal, stuck=stuck)]
    return Orchestrator(agents, checkpointer=url, durability="sync", name="working")


def summary(result: Any) -> dict[str, Any]:
    """The parts of a result that the parent process reads."""
    return {**result.to_dict(), "id": result.run_id}


def main(url: str, journal: str, command: str, *words: str) -> Any:
    """Does what is asked."""
    if command == "ask":
        return summary(asking(url, journal).run("the guest", thread="t"))
    if command == "answer":
        return summary(asking(url, journal).resume("t", words[0]))
    if command == "crash":
        team = working(url, journal, stuck=True)
        return team.batch(["x"] * len(CRASHED), threads=CRASHED)
    if command == "hold":
        return summary(working(url, journal, stuck=True).run("x", thread="held"))
    team = working(url, journal, stuck=False)
    return [summary(result) for result in team.recover()]


if __name__ == "__main__":
    print(json.dumps(main(*sys.argv[1:])))
