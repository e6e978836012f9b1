"""A process that searches for one answer in a thread, and may be killed on the way.

Arguments: the file, the journal, at which step the process dies, 0 for never, and then, if given,
after how many seconds it dies, and when steps are stored (`sync`). The journal gets a line for each
request to a role, and for each call of a tool; the answer goes to standard output.
"""

from __future__ import annotations

import sys
from typing import Any

from antiphon import Tool
from antiphon.checkpoint import Saver, SqliteSaver
from antiphon.errors import ValidationError
from antiphon.systems import AgenticSearch
from systems.lost_question import Journal, die_after


def search(journal: Journal, saver: Saver, durability: Any) -> AgenticSearch:
    """Three tasks: two at once, and one that needs the first; all of them have effects."""

    def planner(brief: dict[str, Any]) -> dict[str, Any]:
        journal.note("planner", str(len(brief["tools"])))
        arguments = [{"text": "a"}, {"text": "b"}, {"text": "{{task_1}}"}]
        return {"tasks": [{"tool_name": "write", "tool_arguments": one} for one in arguments]}

    def synthesiser(brief: dict[str, Any]) -> dict[str, Any]:
        journal.note("synthesiser", str(len(brief["results"])))
        failed = len(brief["failed"])
        return {"response_content": f"<p>{len(brief['results'])} written, {failed} lost</p>"}

    def write(text: str) -> str:
        """Write a text."""
        journal.note("write", text)
        return f"{text}!"

    roles: dict[str, Any] = {"planner": planner, "synthesiser": synthesiser}
    tools = [Tool(write, side_effect="external")]
    return AgenticSearch(**roles, tools=tools, checkpointer=saver, durability=durability)


def main(path: str, journal: str, dies_at: str, after: str = "0", durability: str = "sync") -> None:
    """Resumes the question, or begins it."""
    with SqliteSaver.open(path) as saver:
        asked = search(Journal(journal, int(dies_at)), saver, durability)
        die_after(float(after))
        try:
            result = asked.resume("q")
        except ValidationError as error:
            if error.code != "thread_empty":
                raise
            result = asked.run("Write.", thread="q")
    sys.stdout.write(result.to_json())


if __name__ == "__main__":
    main(*sys.argv[1:])
