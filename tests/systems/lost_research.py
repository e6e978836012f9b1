"""A process that researches a question in a thread, and may be killed on the way.

Arguments: the file, the journal, and at which note the process dies; 0 for never. The journal gets
a line for each step that is planned, each search and each page; the result goes to standard output.
"""

from __future__ import annotations

import sys
from typing import Any

from antiphon import Tool
from antiphon.checkpoint import Saver, SqliteSaver
from antiphon.errors import ValidationError
from antiphon.systems import DeepResearch
from systems.lost_question import Journal

CITATION_ROLES = (
    "passage_extractor",
    "reporter",
    "verifier",
    "quick_verifier",
    "number_checker",
    "claim_splitter",
    "entailment_judge",
    "reviser",
)
TEAS = ("green", "black", "white", "yellow")


def research(journal: Journal, saver: Saver) -> DeepResearch:
    """Four steps, each with one search and one page."""

    def step(tea: str) -> dict[str, Any]:
        return {"title": tea, "description": "", "step_type": "research", "needs_search": True}

    def planner(brief: dict[str, Any]) -> dict[str, Any]:
        journal.note("plan", brief["question"])
        return {"title": "Teas", "thought": "", "has_enough_context": False} | {
            "steps": [step(tea) for tea in TEAS]
        }

    def researcher(brief: dict[str, Any]) -> dict[str, Any]:
        tea = brief["step"]["title"]
        if "queries" in brief["schema"]["properties"]:
            return {"queries": [tea]}
        journal.note("observe", tea)
        return {"observation": f"{tea} tea was read about."}

    def search_notes(query: str) -> dict[str, Any]:
        """Search the notes."""
        journal.note("search", query)
        return {"results": [{"path": f"{query}.md", "title": query}]}

    def read_note(path: str) -> dict[str, Any]:
        """Read a note."""
        journal.note("read", path)
        return {"path": path, "text": f"All about {path}. " * 20}

    roles: dict[str, Any] = {
        "coordinator": lambda brief: {"is_simple_query": False, "complexity": "simple"},
        "planner": planner,
        "researcher": researcher,
        "reflector": lambda brief: {"decision": "continue", "reasoning": "more"},
        "synthesiser": lambda brief: {
            "report": " ".join(
                f"{one['text']} [{one['sources'][0]}]" for one in brief["observations"]
            )
        },
        "responder": lambda brief: {"response": ""},
    }
    tools = [Tool(search_notes, side_effect="read"), Tool(read_note, side_effect="read")]
    unused: dict[str, Any] = {role: lambda brief: {} for role in CITATION_ROLES}
    return DeepResearch(
        **roles,
        **unused,
        background=lambda brief: {"queries": []},
        tools=tools,
        checkpointer=saver,
        durability="sync",
        background_investigation=False,
        light={"max_steps": len(TEAS), "min_steps": len(TEAS)},
    )


def main(path: str, journal: str, dies_at: str) -> None:
    """Resumes the research, or begins it."""
    with SqliteSaver.open(path) as saver:
        asked = research(Journal(journal, int(dies_at)), saver)
        try:
            result = asked.resume("q")
        except ValidationError as error:
            if error.code != "thread_empty":
                raise
            result = asked.run("Teas?", thread="q", verify_sources=False, research_depth="light")
    sys.stdout.write(result.to_json())


if __name__ == "__main__":
    main(*sys.argv[1:])
