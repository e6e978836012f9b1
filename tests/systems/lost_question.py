"""A process that answers one question in a thread, and may be killed on the way.

Arguments: the file, the journal, the kind of roles, and at which call of a role the process dies;
0 for never. The journal gets a line for each call of a role; the answer goes to standard output.
"""

import json
import os
import signal
import sys
from typing import Any

from antiphon import Agent
from antiphon.checkpoint import SqliteSaver
from antiphon.errors import ValidationError
from antiphon.systems import ReviewLoop

PLAN = {"research_steps": ["r1", "r2"], "expert_steps": ["e1"]}
SOLVED = {"expert_answer": "x", "reasoning_trace": "why"}
WORDED = {"final_answer": "x", "final_reasoning_trace": "t"}
ROLES = {"plan": "planner", "verdict": "critic", "finding": "researcher"}
ROLES |= {"answer": "expert", "final": "finalizer"}


class Journal:
    """What the roles were asked, kept although the process may die.

    Args:
        path: the file.
        dies_at: at which call of this process it dies.
    """

    def __init__(self, path: str, dies_at: int) -> None:
        self._file = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
        self._left = dies_at

    def note(self, role: str, about: str) -> None:
        """One call of a role."""
        os.write(self._file, f"{role} {about}\n".encode())
        self._left -= 1
        if self._left == 0:
            os.kill(os.getpid(), signal.SIGKILL)


def die_after(seconds: float) -> None:
    """Has this process killed by the system's clock, wherever it is then; 0 for never."""
    signal.setitimer(signal.ITIMER_REAL, seconds)


def reply(role: str, about: str) -> dict[str, Any]:
    """What each role says: RL-01 of the acceptance list."""
    match role:
        case "planner":
            return PLAN
        case "critic":
            return {"decision": "approve", "feedback": ""}
        case "researcher":
            return {"result": "a" if "r1" in about else "b"}
        case "expert":
            return SOLVED
        case _:
            return WORDED


def functions(journal: Journal) -> dict[str, Any]:
    """Roles that are functions."""

    def role_function(role: str) -> Any:
        def called(brief: dict[str, Any]) -> dict[str, Any]:
            about = brief["instruction"]
            journal.note(role, str(brief["step_id"]))
            return reply(role, about)

        return called

    return {role: role_function(role) for role in ROLES.values()}


def agents(journal: Journal) -> dict[str, Any]:
    """Roles that are agents with their own code."""

    def role_agent(role: str) -> Agent:
        class ScriptedAgent(Agent):
            """Answers as a role does."""

            async def act(self, state: dict[str, Any], ctx: Any) -> dict[str, Any]:
                """Does it."""
                ctx.emit({"role": role})
                journal.note(role, str(state["index"]))
                return reply(role, state["instruction"])

        return ScriptedAgent()

    return {role: role_agent(role) for role in ROLES.values()}


def models(journal: Journal) -> dict[str, Any]:
    """Roles that are models, with the prompts of the system."""

    def ask(request: dict[str, Any]) -> str:
        role = ROLES[request["schema"]["name"]]
        # The researcher's material holds its own step alone.
        about = request["messages"][-1]["content"].rpartition("\n")[2]
        index = "None" if role != "researcher" else "0" if "r1" in about else "1"
        journal.note(role, index)
        return json.dumps(reply(role, about))

    class ScriptedAgent(Agent):
        """Answers as a role does."""

        model = ask

    return {role: ScriptedAgent() for role in ROLES.values()}


def main(path: str, journal: str, kind: str, dies_at: str) -> None:
    """Resumes the question, or begins it."""
    make_roles = {"functions": functions, "agents": agents, "models": models}[kind]
    roles = make_roles(Journal(journal, int(dies_at)))
    with SqliteSaver.open(path) as saver:
        loop = ReviewLoop(**roles, checkpointer=saver, durability="sync")
        try:
            result = loop.resume("q1")
        except ValidationError as error:
            if error.code != "thread_empty":
                raise
            result = loop.run("q", thread="q1")
    sys.stdout.write(result.to_json())


if __name__ == "__main__":
    main(*sys.argv[1:])
