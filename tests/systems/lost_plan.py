"""A process that carries out a task in a thread, and may be killed on the way.

Arguments: the file, the journal, and at which step the process dies; 0 for never. The journal gets
a line for each request to a role, and for each call of a tool; the answer goes to standard output.
"""

from __future__ import annotations

import sys
from typing import Any

from antiphon import Tool
from antiphon.checkpoint import Saver, SqliteSaver
from antiphon.errors import ValidationError
from antiphon.systems import PlanExecute
from systems.lost_question import Journal


def task(journal: Journal, saver: Saver) -> PlanExecute:
    """Three stages with effects: two steps side by side, then one that needs both, then one."""

    def planner(brief: dict[str, Any]) -> dict[str, Any]:
        journal.note("planner", "revises" if brief["revision"] else "plans")
        both = "@{outputs.a.result_data}@{outputs.b.result_data}"
        last = "@{outputs.c.result_data}"
        stages = [[("a", "a"), ("b", "b")], [("c", both)], [("d", last)]]
        return {"stages": [[step(*one) for one in stage] for stage in stages]}

    def step(name: str, text: str) -> dict[str, Any]:
        return {
            "stepId": name,
            "assigned_agent_role": "UtilityAgent",
            "tool_name": "write",
            "sub_task_input": {"text": text},
            "narrative_step": f"write {name}",
        }

    def context_keeper(brief: dict[str, Any]) -> dict[str, Any]:
        return {"updatedSummaryOfProgress": brief["outcome"], "updatedNextObjective": "answer"}

    def synthesiser(brief: dict[str, Any]) -> dict[str, Any]:
        journal.note("synthesiser", str(len(brief.get("results", []))))
        return {"answer": f"{len(brief.get('results', []))} written"}

    def write(text: str) -> str:
        """Write a text."""
        journal.note("write", text)
        return f"{text}!"

    roles: dict[str, Any] = {
        "planner": planner,
        "context_keeper": context_keeper,
        "synthesiser": synthesiser,
        "step_executor": lambda brief: {"text": brief["prompt"]},
        "summariser": lambda brief: {"summary": brief["result"]},
    }
    tools = [Tool(write, side_effect="external")]
    settings: dict[str, Any] = {"max_revisions": 0}
    return PlanExecute(**roles, tools=tools, checkpointer=saver, durability="sync", **settings)


def main(path: str, journal: str, dies_at: str) -> None:
    """Resumes the task, or begins it."""
    with SqliteSaver.open(path) as saver:
        asked = task(Journal(journal, int(dies_at)), saver)
        try:
            result = asked.resume("q")
        except ValidationError as error:
            if error.code != "thread_empty":
                raise
            result = asked.run("Write.", thread="q")
    sys.stdout.write(result.to_json())


if __name__ == "__main__":
    main(*sys.argv[1:])
