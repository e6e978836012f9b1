"""A process that is going to be killed while a node of its run runs graphs and a team.

Arguments: the store's URL, the journal, the durability. Each node of the called graphs notes in
the journal that it begins, and each effect that it happens.
"""

import asyncio
import operator
import os
import random
import sys
from typing import Annotated, Any, TypedDict, cast

from antiphon import Agent, Orchestrator
from antiphon.errors import ToolError
from antiphon.graph import START, Durability, RunnableConfig, Runtime, StateGraph
from support.waiting import take_time

CONFIG: RunnableConfig = {"configurable": {"thread_id": "victim"}}
ROUNDS = 6


class Inner(TypedDict, total=False):
    """Which call it is, and what was done in it."""

    call: str
    done: Annotated[list[str], operator.add]


class Outer(TypedDict, total=False):
    """All that was done."""

    done: list[str]


class Victim:
    """The graphs and the journal."""

    def __init__(self, journal: str) -> None:
        self._journal = os.open(journal, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
        inner = StateGraph(Inner)
        names = ["one", "two", "three"]
        for name in names:
            inner.add_node(name, self.node(name))
        for source, target in zip([START, *names], names, strict=False):
            inner.add_edge(source, target)
        self.inner = inner.compile(name="inner")
        self.middle = (
            StateGraph(Inner)
            .add_node("calls", lambda state: self.inner.invoke({"call": f"{state['call']}/inner"}))
            .add_edge(START, "calls")
            .compile(name="middle")
        )
        victim = self

        class Clerk(Agent):
            """Does its work in two steps."""

            def act(self, state: Any, ctx: Any) -> str:
                victim.note("node", "team", "clerk")
                victim.paid(ctx.step, "team/first")
                return victim.paid(ctx.step, "team/second")

        self.team = Orchestrator([Clerk()])

    def note(self, *words: str) -> None:
        """Writes a line that survives the death of the process."""
        os.write(self._journal, (" ".join(words) + "\n").encode())

    def paid(self, step: Any, what: str) -> str:
        """Does something that must not happen twice."""
        try:
            step("pay", self.note, "pay", what)
        except ToolError as error:
            if error.code != "unknown_outcome":
                raise
            self.note("unknown", what)
        return what

    def node(self, name: str) -> Any:
        """A node of the called graph."""

        def run(state: Inner, runtime: Runtime[None]) -> Inner:
            self.note("node", state["call"], name)
            take_time(random.uniform(0, 0.002))
            return {"done": [self.paid(runtime.step, f"{state['call']}/{name}")]}

        return run

    async def caller(self, state: Outer) -> Outer:
        """The one node of the outermost run: calls in a row, and side by side."""
        done: list[str] = []
        for number in range(ROUNDS):
            done += (await self.inner.ainvoke({"call": f"row{number}"}))["done"]
        beside = [self.inner.ainvoke({"call": f"beside{number}"}) for number in range(3)]
        for came in await asyncio.gather(*beside):
            done += came["done"]
        done += (await asyncio.to_thread(self.middle.invoke, {"call": "deep"}))["done"]
        done.append((await self.team.arun("q")).answer)
        return {"done": done}


def main(url: str, journal: str, durability: Durability) -> None:
    """Resumes the thread, or begins it."""
    victim = Victim(journal)
    builder = StateGraph(Outer).add_node("caller", victim.caller).add_edge(START, "caller")
    graph = builder.compile(url)
    victim.note("begin")
    given: Outer | None = {} if graph.get_state(CONFIG).metadata is None else None
    done = asyncio.run(graph.ainvoke(given, CONFIG, durability=durability))
    victim.note("end", *done["done"])


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], cast("Durability", sys.argv[3]))
