"""What ``antiphon runs resume`` imports in its tests."""

from __future__ import annotations

import operator
from typing import Annotated, Any, TypedDict

from antiphon import Agent, Orchestrator
from antiphon.graph import START, StateGraph, interrupt

STORE = "sqlite:runs.db"
HOSTILE = "-t\x1b[31m\n\u202ered"
"""A thread's name that looks like an option, and that a terminal would obey."""


class Greeter(Agent):
    """Asks for a name."""

    def act(self, state: Any, ctx: Any) -> str:
        return f"hello {ctx.ask('your name?')}"


class State(TypedDict, total=False):
    """A list that grows."""

    log: Annotated[list[Any], operator.add]


def ask(state: State) -> State:
    return {"log": [interrupt("\x1b[2J sure?")]}


team = Orchestrator([Greeter()], checkpointer=STORE)
graph = (
    StateGraph(State)
    .add_node("one", ask)
    .add_node("two", ask)
    .add_edge(START, "one")
    .add_edge(START, "two")
    .compile(STORE)
)
other = 7


class Holder:
    """Something with a team inside."""

    inner = team


if __name__ == "__main__":
    team.run("greet", thread="t")
    graph.invoke({"log": [1]}, {"configurable": {"thread_id": HOSTILE}})
