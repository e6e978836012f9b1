"""A process that begins questions which pause for a person, or goes on with the answers.

Arguments: the store, the journal, the question (`approval` or `clarification`), and the answer as
JSON, or `begin`. The journal gets a line for each request to a role and each call; the result goes
to standard output.
"""

from __future__ import annotations

import json
import sys
from typing import Any

from antiphon import Tool, tool
from antiphon.systems import AgenticSearch, DataAnalyst
from systems.lost_question import Journal

ENDPOINT = {"method": "POST", "path": "/v1/reports"}


def role(journal: Journal, name: str, reply: dict[str, Any]) -> Any:
    """A role that always replies the same."""

    def answer_brief(brief: dict[str, Any]) -> dict[str, Any]:
        journal.note(name, brief["question"])
        return reply

    return answer_brief


def analyst(journal: Journal, store: str) -> DataAnalyst:
    """A call of an API that a person has to approve."""

    def api_endpoints(question: str) -> dict[str, Any]:
        """Find endpoints."""
        return {"endpoints": [ENDPOINT | {"description": question}]}

    def api_read(method: str) -> dict[str, Any]:
        """Read."""
        return {"status": 200, "data": method}

    def api_write(
        method: str,
        path: str,
        path_parameters: dict[str, Any],
        query: dict[str, Any],
        headers: dict[str, Any],
    ) -> dict[str, Any]:
        """Write."""
        journal.note("write", f"{method} {path} {json.dumps(query)}")
        return {"status": 201, "data": {"id": 7, **path_parameters, **headers}}

    nothing = role(journal, "nothing", {})
    return DataAnalyst(
        api=[api_endpoints, api_read, Tool(api_write, approval=True)],
        sandbox=False,
        planner=nothing,
        sql_writer=nothing,
        sql_reviewer=nothing,
        sql_answerer=nothing,
        api_planner=role(journal, "api_planner", {"make_request": True, **ENDPOINT}),
        api_answerer=role(journal, "api_answerer", {"answer": "Report 7 was made."}),
        coder=nothing,
        summariser=nothing,
        composer=role(journal, "composer", {"answer": "It was not made."}),
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
        synthesiser=role(journal, "synthesiser", {"response_content": "<p>520,774</p>"}),
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
