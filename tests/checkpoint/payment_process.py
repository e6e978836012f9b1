"""A process that does something to the world and may die right after it, before it is known.

Arguments: the URL of the store, the file that stands for the world, what runs, the durability, and
the action after which the process kills itself, or nothing. What came of it is printed as JSON.
"""

import asyncio
import json
import os
import signal
import sys
from pathlib import Path
from typing import Any, TypedDict, cast

from antiphon import Agent, AgentContext, Orchestrator, ToolContext, tool
from antiphon.errors import AntiphonError
from antiphon.graph import START, Durability, RunnableConfig, Runtime, StateGraph

URL, WORLD, WHAT, DURABILITY, DIES = sys.argv[1:]


def do(action: str, key: str) -> str:
    """Changes the world, and dies if it is time to."""
    world = os.open(WORLD, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    os.write(world, f"{action} {key}\n".encode())
    os.close(world)
    if action == DIES:
        os.kill(os.getpid(), signal.SIGKILL)
    return f"{action} done"


@tool
def pay(cents: int, call: ToolContext) -> str:
    """Pays."""
    return do(f"pay {cents}", call.idempotency_key)


@tool(idempotent=True)
def send(call: ToolContext) -> str:
    """Sends a receipt, which may be sent twice."""
    return do("send", call.idempotency_key)


def act(action: str, idempotency_key: str) -> str:
    """A step of a graph's node."""
    return do(action, idempotency_key)


async def aact(action: str, idempotency_key: str) -> str:
    """The same, async."""
    await asyncio.sleep(0)
    return do(action, idempotency_key)


class State(TypedDict, total=False):
    """What came of it all."""

    came: list[str]


def steps(state: State, runtime: Runtime[None]) -> State:
    """Three steps, of which the second may be repeated."""
    came = [
        runtime.step("one", act, "one"),
        runtime.step("two", act, "two", idempotent=True),
        runtime.step("three", act, "three"),
    ]
    return {"came": came}


async def asteps(state: State, runtime: Runtime[None]) -> State:
    """The same, of which the first two are taken side by side, and may be repeated."""
    came = await asyncio.gather(
        runtime.astep("one", aact, "one", idempotent=True),
        runtime.astep("two", aact, "two", idempotent=True),
    )
    return {"came": [*came, await runtime.astep("three", aact, "three")]}


class Cashier(Agent):
    """Pays twice, and sends a receipt."""

    tools = (pay, send)

    def act(self, state: Any, ctx: AgentContext) -> str:
        first = ctx.call("pay", cents=1)
        asked = ctx.model("what now?", model=lambda request: do("model", "-"))
        return f"{first}, {asked}, {ctx.call('pay', cents=2)}, {ctx.call('send')}"


class Careful(Cashier):
    """Finds out what nobody knows."""

    def act(self, state: Any, ctx: AgentContext) -> str:
        try:
            return super().act(state, ctx)
        except AntiphonError as error:
            if error.code != "unknown_outcome":
                raise
            with Path(WORLD).open() as world:
                actions = [line.split()[-1] for line in world]
            done = error.details["idempotency_key"] in actions
            return f"{error.details['tool']}: {'done' if done else 'not done'}"


def replies(request: dict[str, Any]) -> Any:
    """A model that pays, then sends, then reports both."""
    said = [message for message in request["messages"] if message["role"] == "assistant"]
    do(f"model {len(said)}", "-")
    wanted = [("pay", {"cents": 5}), ("send", {})]
    if len(said) == len(wanted):
        return {"text": request["messages"][-1]["content"]}
    name, arguments = wanted[len(said)]
    return {"tool_calls": [{"id": f"c{len(said)}", "name": name, "arguments": arguments}]}


class Declared(Agent):
    """Pays and sends as its model wants."""

    model = staticmethod(replies)
    tools = (pay, send)


def of_graph(action: Any) -> Any:
    """Resumes the graph of one node, or begins it."""
    builder = StateGraph(State)
    builder.add_node("acts", action)
    builder.add_edge(START, "acts")
    graph = builder.compile(URL)
    config: RunnableConfig = {"configurable": {"thread_id": "t"}}
    given: State | None = {} if graph.get_state(config).metadata is None else None
    durability = cast("Durability", DURABILITY)
    if action is asteps:
        return asyncio.run(graph.ainvoke(given, config, durability=durability))["came"]
    return graph.invoke(given, config, durability=durability)["came"]


def of_team(agent: type[Agent]) -> Any:
    """Resumes the team of one agent, or begins it."""
    team = Orchestrator(
        agents=[agent()], checkpointer=URL, durability=cast("Durability", DURABILITY)
    )
    result = team.resume("t") if Path(WORLD).exists() else team.run("pay", thread="t")
    return result.raise_for_outcome().answer


WHATS = {"steps": steps, "asteps": asteps}
AGENTS = {"cashier": Cashier, "careful": Careful, "declared": Declared}
try:
    answer = of_graph(WHATS[WHAT]) if WHAT in WHATS else of_team(AGENTS[WHAT])
    print(json.dumps({"answer": answer}))
except AntiphonError as failed:
    print(json.dumps({"code": failed.code, "details": failed.details}))
