"""A deep research whose roles are functions, over one note about tea."""

from __future__ import annotations

import json
from typing import Any

from antiphon import tool
from antiphon.systems import DeepResearch

QUOTE = "Grüner tea steeps for two minutes at 80 degrees."
PAGES = {"notes/green.md": f"{QUOTE} " * 30}
CLASSIFIED = {
    "is_ambiguous": False,
    "complexity": "simple",
    "reasoning": "one fact",
    "recommended_depth": "light",
    "follow_up_type": "new_topic",
    "is_simple_query": False,
}
STEP = {"title": "Green", "description": "time", "step_type": "research", "needs_search": True}


@tool(side_effect="read")
def look_up(query: str, limit: int = 5) -> dict[str, Any]:
    """Search the notes."""
    found = [{"path": path, "title": "Green tea", "snippet": query} for path in PAGES]
    return {"results": found[:limit]}


@tool(side_effect="read")
def read_note(path: str) -> dict[str, Any]:
    """Read a note."""
    return {"path": path, "title": "Green tea", "text": PAGES[path]}


def researcher(brief: dict[str, Any]) -> dict[str, Any]:
    if "queries" in json.dumps(brief["schema"]):
        return {"queries": ["green tea"]}
    return {"observation": "Green tea steeps for two minutes."}


def research(report: str = "Tea steeps for two minutes [0].", **options: Any) -> DeepResearch:
    verdict = {"verdicts": [{"number": 0, "reasoning": "so it is", "verdict": "supported"}]}
    roles: dict[str, Any] = {
        "coordinator": lambda brief: CLASSIFIED,
        "background": lambda brief: {"queries": ["tea"]},
        "planner": lambda brief: {
            "title": "Tea",
            "thought": "one step",
            "has_enough_context": False,
            "steps": [STEP],
        },
        "researcher": researcher,
        "reflector": lambda brief: {"decision": "complete", "reasoning": "it is known"},
        "synthesiser": lambda brief: {"report": "Two minutes [1]."},
        "responder": lambda brief: {"response": "Hello!"},
        "passage_extractor": lambda brief: {"spans": [{"quote": QUOTE, "relevance": 1}]},
        "reporter": lambda brief: {"report": report},
        "verifier": lambda brief: verdict,
        "quick_verifier": lambda brief: verdict,
        "number_checker": lambda brief: {"answers": [], "computation": None},
        "claim_splitter": lambda brief: {"facts": []},
        "entailment_judge": lambda brief: {"scores": []},
        "reviser": lambda brief: {"sentence": ""},
    }
    return DeepResearch(tools=[look_up, read_note], **{**roles, **options})
