"""A process of a team whose payments a person has to approve of.

Arguments: the URL of the store, the file that stands for the world, who pays, and what happens:
``begin`` runs the team until it waits, and kills the process there; an answer as JSON, for each of
the questions, resumes it. What came of it is printed as JSON.
"""

import json
import os
import signal
import sys
from typing import Any

from antiphon import Agent, AgentContext, Orchestrator, ToolContext, tool

URL, WORLD, WHO, WHAT = sys.argv[1:]


def do(action: str, key: str) -> str:
    """Changes the world."""
    world = os.open(WORLD, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    os.write(world, f"{action} {key}\n".encode())
    os.close(world)
    return f"{action} done"


@tool
def note(call: ToolContext) -> str:
    """Writes a note; nobody has to approve."""
    return do("note", call.idempotency_key)


@tool(approval=True)
def pay(cents: int, call: ToolContext) -> str:
    """Pays."""
    return do(f"pay {cents}", call.idempotency_key)


def replies(request: dict[str, Any]) -> Any:
    """A model that notes and pays twice at once, and then says what it read."""
    read = [said["content"] for said in request["messages"] if said["role"] == "tool"]
    do("model", "-")
    if read:
        return " | ".join(read)
    wanted = [("note", {}), ("pay", {"cents": 5}), ("pay", {"cents": 7})]
    return {
        "tool_calls": [
            {"id": f"c{place}", "name": name, "arguments": arguments}
            for place, (name, arguments) in enumerate(wanted)
        ]
    }


class Declared(Agent):
    """Pays as its model wants."""

    model = staticmethod(replies)
    tools = (note, pay)


class Own(Agent):
    """Notes and pays by itself."""

    tools = (note, pay)

    def act(self, state: Any, ctx: AgentContext) -> str:
        return f"{ctx.call('note')} | {ctx.call('pay', cents=5)}"


team = Orchestrator([{"declared": Declared, "own": Own}[WHO]()], checkpointer=URL)
if WHAT == "begin":
    asked = team.run("pay", thread="t").questions
    print(json.dumps([question.value for question in asked]), flush=True)
    os.kill(os.getpid(), signal.SIGKILL)
asked = team.state("t").questions
answers = json.loads(WHAT)
result = team.resume("t", {question.id: answers[n] for n, question in enumerate(asked)})
print(json.dumps({"outcome": result.outcome, "answer": result.answer}))
