"""A process that carries out a task in a thread, and may be killed on the way.

Arguments: the file, the journal, and at which of its lines in the journal the process dies; 0 for
never. The journal gets a line for each request to a role, each call of a tool, and the result; the
answer goes to standard output. One step adds to the file `notes/all.txt`.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from antiphon import Tool
from antiphon.checkpoint import Saver, SqliteSaver
from antiphon.errors import ValidationError
from antiphon.systems import PlanExecute
from antiphon.tools import files
from systems.lost_question import Journal


def task(journal: Journal, saver: Saver) -> PlanExecute:
    """Three stages with effects: two steps side by side, then one beside a file, then one."""

    def planner(brief: dict[str, Any]) -> dict[str, Any]:
        journal.note("planner", "revises" if brief["revision"] else "plans")
        both = "@{outputs.a.result_data}@{outputs.b.result_data}"
        last = "@{outputs.c.result_data}"
        stages = [[("a", "a"), ("b", "b")], [("c", both)], [("d", last)]]
        planned = [[step(*one) for one in stage] for stage in stages]
        planned[1].append(note())
        return {"stages": planned}

    def note() -> dict[str, Any]:
        params = {"filename": "all.txt", "content": "@{outputs.a.result_data}\n"}
        return {
            "stepId": "note",
            "assigned_agent_role": "Orchestrator",
            "tool_name": "FileSystemTool",
            "sub_task_input": {"operation": "append_to_file", "params": params},
            "narrative_step": "note a",
        }

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
    folder = Path("notes")
    folder.mkdir(exist_ok=True)
    tools = [Tool(write, side_effect="external"), *files(folder).tools]
    settings: dict[str, Any] = {"max_revisions": 0}
    return PlanExecute(**roles, tools=tools, checkpointer=saver, durability="sync", **settings)


def main(path: str, journal: str, dies_at: str) -> None:
    """Resumes the task, or begins it."""
    with SqliteSaver.open(path) as saver:
        kept = Journal(journal, int(dies_at))
        asked = task(kept, saver)
        try:
            result = asked.resume("q")
        except ValidationError as error:
            if error.code != "thread_empty":
                raise
            result = asked.run("Write.", thread="q")
        kept.note("result", result.outcome)
    sys.stdout.write(result.to_json())


if __name__ == "__main__":
    main(*sys.argv[1:])
