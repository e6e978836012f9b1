"""A process whose children show questions and are killed at the moment they see one.

It reads jobs as lines of JSON, and forks for each: imports are paid for once. A child prints
nothing: what it did is in the file that stands for the world, and how it ended is its status.
"""

from __future__ import annotations

import asyncio
import json
import operator
import os
import signal
import sys
from typing import Annotated, Any, TypedDict

from antiphon import Agent, AgentContext, Orchestrator, tool
from antiphon.errors import ToolError, ValidationError
from antiphon.graph import START, Command, RunnableConfig, Runtime, StateGraph, interrupt
from support.waiting import take_time

CONFIG: RunnableConfig = {"configurable": {"thread_id": "t"}}
QUESTION = "shall I pay?"
MODES = ["values", "updates", "tasks", "debug", "messages", "custom"]


class State(TypedDict, total=False):
    """What was done."""

    out: Annotated[list[str], operator.add]


class Job:
    """One child: a face of a run, its store, and what it does there.

    Args:
        spec: what to do, as the test writes it.
    """

    def __init__(self, spec: dict[str, Any]) -> None:
        self.spec = spec
        self.world = os.open(spec["world"], os.O_WRONLY | os.O_APPEND | os.O_CREAT)

    def do(self, action: str) -> str:
        """Changes the world."""
        os.write(self.world, f"{action}\n".encode())
        return action

    def graph(self) -> Any:
        """A node with an effect, then one that asks after its own, beside one that works."""

        def first(_: State, runtime: Runtime[None]) -> State:
            return {"out": [runtime.step("first", self.do, "first")]}

        def asks(_: State, runtime: Runtime[None]) -> State:
            runtime.step("before", self.do, "before")
            return {"out": [interrupt(QUESTION)]}

        def beside(_: State, runtime: Runtime[None]) -> State:
            take_time(self.spec["pause"])
            try:
                runtime.step("beside", self.do, "beside")
            except ToolError as error:
                if error.code != "unknown_outcome":
                    raise
            return {"out": ["beside"]}

        asking: Any = asks
        if self.spec["nested"]:
            asking = StateGraph(State).add_node("asks", asks).add_edge(START, "asks").compile()
        builder = StateGraph(State).add_node("first", first).add_edge(START, "first")
        builder.add_node("asks", asking).add_edge("first", "asks")
        builder.add_node("beside", beside).add_edge("first", "beside")
        return builder.compile(self.spec["url"])

    def team(self) -> Orchestrator:
        """An agent that asks, or wants to call what somebody has to approve of."""
        job = self

        @tool
        def note() -> str:
            """Writes a note."""
            return job.do("first")

        @tool(approval=True)
        def pay(why: str) -> str:
            """Pays."""
            return job.do("paid")

        class Asks(Agent):
            """Asks by itself."""

            tools = (note,)

            def act(self, state: Any, ctx: AgentContext) -> str:
                ctx.call("note")
                return str(ctx.ask(QUESTION))

        class Calls(Agent):
            """Calls by itself."""

            tools = (note, pay)

            def act(self, state: Any, ctx: AgentContext) -> str:
                ctx.call("note")
                return str(ctx.call("pay", why=QUESTION))

        def model(request: dict[str, Any]) -> Any:
            if any(said["role"] == "tool" for said in request["messages"]):
                return "done"
            calls = [("note", {}), ("pay", {"why": QUESTION})]
            return {
                "tool_calls": [
                    {"id": name, "name": name, "arguments": given} for name, given in calls
                ]
            }

        class Declared(Agent):
            """Has a model that calls."""

            tools = (note, pay)

        Declared.model = staticmethod(model)
        agent = {"asks": Asks, "calls": Calls, "declared": Declared}[self.spec["kind"]]
        return Orchestrator(
            [agent()], checkpointer=self.spec["url"], durability=self.spec["durability"]
        )

    def asking_team(self) -> Orchestrator:
        """Two agents that ask, beside one that works."""
        job = self

        class Left(Agent):
            """Asks."""

            def act(self, state: Any, ctx: AgentContext) -> dict[str, Any]:
                return {"left": ctx.ask("left?")}

        class Right(Agent):
            """Asks later."""

            def act(self, state: Any, ctx: AgentContext) -> dict[str, Any]:
                take_time(job.spec["pause"])
                return {"right": ctx.ask("right?")}

        class Works(Agent):
            """Works beside them."""

            def act(self, state: Any, ctx: AgentContext) -> dict[str, Any]:
                take_time(job.spec["pause"] * 2)
                return {"worked": True}

        return Orchestrator(
            [[Left(), Right(), Works()]],
            checkpointer=self.spec["url"],
            durability=self.spec["durability"],
        )

    def pause(self) -> None:
        """Runs until it pauses, or until a timer of the kernel's ends it at any instant."""
        team = self.asking_team()
        signal.setitimer(signal.ITIMER_REAL, self.spec["after"])
        assert team.run("go", thread="t").outcome == "paused"

    def answer(self) -> None:
        """Answers the questions that the thread lists until the run has ended; all are accepted."""
        team = self.asking_team()
        try:
            state = team.state("t")
        except ValidationError as error:
            if error.code != "thread_empty":
                raise
            team.run("go", thread="t")
            state = team.state("t")
        self.do(f"{len(state.questions)} {state.outcome}")
        for _ in range(4):
            if state.outcome == "answered":
                break
            answers = {question.id: question.value for question in state.questions}
            result = team.resume("t", answers) if answers else team.resume("t")
            state = team.state("t")
            assert result.outcome == state.outcome, (result, state)
        found = [state.state.get(key) for key in ("left", "right", "worked")]
        assert found == ["left?", "right?", True], state

    def show(self) -> None:
        """Streams, and dies at the first item that shows the question."""
        if self.spec["face"] == "graph":
            chunks = self.graph().stream({}, CONFIG, **self._streamed())
            for chunk in chunks:
                self._see(chunk)
        elif self.spec["face"] == "team":
            for event in self.team().stream("go", thread="t"):
                self._see(event.data if event.kind == "interrupt" else None)
        else:
            asyncio.run(self._show())

    async def _show(self) -> None:
        if self.spec["face"] == "agraph":
            async for chunk in self.graph().astream({}, CONFIG, **self._streamed()):
                self._see(chunk)
        else:
            async for event in self.team().astream("go", thread="t"):
                self._see(event.data if event.kind == "interrupt" else None)

    def _streamed(self) -> dict[str, Any]:
        spec = self.spec
        return {"stream_mode": spec["modes"], "durability": spec["durability"], "subgraphs": True}

    def _see(self, item: Any) -> None:
        if QUESTION in repr(item):
            os.kill(os.getpid(), signal.SIGKILL)

    def resume(self) -> None:
        """Finds exactly this question, and answers it."""
        if self.spec["face"] in {"graph", "agraph"}:
            graph = self.graph()
            (asked,) = graph.get_state(CONFIG).interrupts
            assert asked.value == QUESTION, asked
            done = graph.invoke(Command(resume={asked.id: "yes"}), CONFIG)
            # A nested graph hands up what it was given, too.
            assert set(done["out"]) == {"beside", "first", "yes"}, done
            assert not graph.get_state(CONFIG).interrupts
            return
        team = self.team()
        state = team.state("t")
        (question,) = state.questions
        assert state.outcome == "paused", state
        assert QUESTION in repr(question.value), question
        assert team.resume("t", True).outcome == "answered"


def main() -> None:
    """Does one job after the other."""
    for line in sys.stdin:
        spec = json.loads(line)
        child = os.fork()
        if child == 0:
            try:
                getattr(Job(spec), spec["do"])()
                os._exit(0)
            except BaseException as error:  # noqa: BLE001 - the test shows it
                sys.stderr.write(f"{spec}: {type(error).__name__}: {error}\n")
                sys.stderr.flush()
                os._exit(1)
        status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        print(status, flush=True)


if __name__ == "__main__":
    main()
