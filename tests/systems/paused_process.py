"""A process that begins questions which pause for a person, or goes on with the answers.

Arguments: the store, the journal, the question (`approval` or `clarification`), and the answer as
JSON, or `begin`. The journal gets a line for each request to a role and each call; the result goes
to standard output.
"""

from __future__ import annotations

import json
import sys
from typing import Any

from antiphon import tool
from antiphon.systems import AgenticSearch, DataAnalyst
from systems.lost_question import Journal
from systems.report_api import ENDPOINT, replying, report_tools


def analyst(journal: Journal, store: str) -> DataAnalyst:
    """A call of an API that a person has to approve."""

    nothing = replying(journal, "nothing", {})
    return DataAnalyst(
        api=report_tools(journal, approval=True),
        sandbox=False,
        planner=nothing,
        sql_writer=nothing,
        sql_reviewer=nothing,
        sql_answerer=nothing,
        api_planner=replying(journal, "api_planner", {"make_request": True, **ENDPOINT}),
        api_answerer=replying(journal, "api_answerer", {"answer": "Report 7 was made."}),
        coder=nothing,
        summariser=nothing,
        composer=replying(journal, "composer", {"answer": "It was not made."}),
        compose_single=False,
        checkpointer=store,
    )


def search(journal: Journal, store: str) -> AgenticSearch:
    """A planner that asks what the question means."""

    @tool(side_effect="read")
    def count(city: str) -> str:
        """Count the people of a city."""
        journal.note("count", city)
        return "520774"

    def planner(brief: dict[str, Any]) -> dict[str, Any]:
        journal.note("planner", str(brief["clarification"]))
        if brief["clarification"] is None:
            return {"tasks": [], "question": "Which city?"}
        return {"tasks": [{"tool_name": "count", "tool_arguments": {"city": "Lyon"}}]}

    return AgenticSearch(
        planner=planner,
        synthesiser=replying(journal, "synthesiser", {"response_content": "<p>520,774</p>"}),
        tools=[count],
        clarify=True,
        checkpointer=store,
    )


def main(store: str, path: str, what: str, answer: str) -> None:
    """Begins the question, or answers it."""
    journal = Journal(path, 0)
    system: Any = {"approval": analyst, "clarification": search}[what](journal, store)
    if answer == "begin":
        result = system.run("Make a report at the endpoint", thread="q")
    else:
        result = system.resume("q", json.loads(answer))
    questions = [question.value for question in result.questions]
    found = {"outcome": result.outcome, "answer": result.answer, "questions": questions}
    sys.stdout.write(json.dumps(found))


if __name__ == "__main__":
    main(*sys.argv[1:])
