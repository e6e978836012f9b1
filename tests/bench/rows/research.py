"""All of a deep research that is neither a model nor a tool, and 200 at once."""

import json
import operator
from collections.abc import Awaitable, Callable
from typing import Annotated, Any, TypedDict

from antiphon import Tool, tool
from antiphon.models import scripted
from antiphon.systems import DeepResearch
from bench.engine import Engine
from bench.row import Row, Sample, sync
from bench.rows.at_once import REPLIES, RUNS, at_once, memory

QUESTION = "How long does tea steep?"
PAGES = {
    "green.md": "Green tea steeps for two minutes at 80 degrees. " * 20,
    "black.md": "Black tea steeps for four minutes at 95 degrees. " * 20,
}
STEP = {"title": "tea", "description": "time", "step_type": "research", "needs_search": True}
PLAN = {"title": "Tea", "thought": "a step", "has_enough_context": False, "steps": [STEP]}
KIND = {
    "reasoning": "one fact",
    "is_simple_query": False,
    "complexity": "simple",
    "follow_up_type": "new_topic",
    "is_ambiguous": False,
    "recommended_depth": "light",
}


def find(query: str) -> dict[str, Any]:
    """Finds notes."""
    return {"results": [{"path": path, "title": path, "snippet": query} for path in PAGES]}


def read(path: str) -> dict[str, Any]:
    """Reads a note."""
    return {"path": path, "title": path, "text": PAGES[path]}


def look_up(brief: Any) -> dict[str, Any]:
    """What a researcher replies."""
    if "queries" in brief["schema"]["properties"]:
        return {"queries": ["tea"]}
    return {"observation": "Two minutes and four."}


def choose(brief: Any) -> dict[str, Any]:
    """What chooses passages."""
    return {"spans": [{"quote": brief["text"].split(". ")[0] + ".", "relevance": 1}]}


def write(brief: Any) -> dict[str, Any]:
    """What a reporter replies."""
    lines = (f"{one['text'].rstrip('.')} [{n}]." for n, one in enumerate(brief["evidence"]))
    return {"report": " ".join(lines)}


def agree(brief: Any) -> dict[str, Any]:
    """What a verifier replies."""
    said = {"reasoning": "it says so", "verdict": "supported"}
    return {"verdicts": [{"number": one["number"], **said} for one in brief["items"]]}


ROLES: dict[str, Any] = {
    "coordinator": lambda _: KIND,
    "background": lambda _: {"queries": ["tea"]},
    "planner": lambda _: PLAN,
    "researcher": look_up,
    "reflector": lambda _: {"decision": "complete", "reasoning": "it is known"},
    "synthesiser": lambda _: {"report": "?"},
    "responder": lambda _: {"response": "?"},
    "passage_extractor": choose,
    "reporter": write,
    "verifier": agree,
    "quick_verifier": agree,
    "number_checker": lambda _: {"answers": [], "computation": None},
    "claim_splitter": lambda brief: {"facts": [brief["claim"]]},
    "entailment_judge": lambda _: {"scores": []},
    "reviser": lambda brief: {"sentence": brief["sentence"]},
}
"""The roles as functions."""


class State(TypedDict, total=False):
    """The same flow as a graph."""

    question: str
    plan: dict[str, Any]
    found: list[str]
    pages: Annotated[list[dict[str, Any]], operator.add]
    spans: list[dict[str, Any]]
    report: str
    verdicts: list[dict[str, Any]]


def graph(engine: Engine) -> Any:
    """Plan, search, read side by side, choose, write, judge: without checks of what is cited."""
    impl = engine.impl

    def plan(_: Any) -> State:
        return {"plan": json.loads(json.dumps(PLAN))}

    def search(state: Any) -> State:
        found = find(state["plan"]["steps"][0]["title"])
        return {"found": [one["path"] for one in found["results"]]}

    def page(task: Any) -> State:
        return {"pages": [read(task["path"])]}

    def extract(state: Any) -> State:
        spans = [choose(one)["spans"][0] | {"title": one["title"]} for one in state["pages"]]
        return {"spans": json.loads(json.dumps(spans))}

    def report(state: Any) -> State:
        evidence = [{"text": one["quote"]} for one in state["spans"]]
        return {"report": write({"evidence": evidence})["report"]}

    def judge(state: Any) -> State:
        items = [{"number": number} for number, _ in enumerate(state["spans"])]
        return {"verdicts": agree({"items": items})["verdicts"]}

    builder = impl.StateGraph(State).add_node("plan_it", plan).add_node("search", search)
    builder.add_node("page", page).add_node("extract", extract).add_node("write_it", report)
    builder.add_node("judge", judge).add_edge(impl.START, "plan_it").add_edge("plan_it", "search")
    sends = lambda state: [impl.Send("page", {"path": one}) for one in state["found"]]  # noqa: E731
    builder.add_conditional_edges("search", sends, ["page"]).add_edge("page", "extract")
    return engine.compile(builder.add_edge("extract", "write_it").add_edge("write_it", "judge"))


SPANS = [choose({"text": text})["spans"][0] for text in PAGES.values()]
"""The passages of both pages; those of the other page are dropped."""
VERDICT = {"number": 0, "reasoning": "it says so", "verdict": "supported"}
SAID = {
    "coordinator": KIND,
    "background": {"queries": ["tea"]},
    "planner": PLAN,
    "researcher": {"queries": ["tea"], "observation": "Two minutes and four."},
    "reflector": {"decision": "complete", "reasoning": "it is known"},
    "passage_extractor": {"spans": SPANS},
    "reporter": write({"evidence": [{"text": span["quote"]} for span in SPANS]}),
    "verifier": {"verdicts": [VERDICT]},
    "quick_verifier": {"verdicts": [VERDICT]},
    "number_checker": {"answers": [], "computation": None},
}
"""What a scripted model replies in each role, whatever it is asked."""


def tools() -> list[Tool]:
    """What searches and what reads."""
    return [tool(side_effect="read")(find), tool(side_effect="read")(read)]


def research() -> DeepResearch:
    """The system; its roles are functions, so that no model costs anything."""
    return DeepResearch(tools=tools(), **ROLES)


def bare(_: Any) -> Sample:
    """The floor: the functions."""

    def flow() -> str:
        pages = [read(one["path"]) for one in find("tea")["results"]]
        evidence = [{"text": choose(page)["spans"][0]["quote"]} for page in pages]
        return str(write({"evidence": evidence})["report"])

    return sync(flow)


def one(engine: Engine) -> Sample:
    """One question."""
    if engine.ours:
        ready = research()
        return sync(lambda: ready.run(QUESTION))
    compiled = graph(engine)
    return sync(lambda: compiled.invoke({"question": QUESTION}))


def asking(engine: Engine) -> Callable[[], Awaitable[Any]]:
    """Asks one question on the event loop; the models follow a script."""
    if engine.ours:
        replies = {role: [{"json": reply}] * (2 * REPLIES) for role, reply in SAID.items()}
        ready = DeepResearch(scripted([], replies_by_agent=replies), tools=tools())
        return lambda: ready.arun(QUESTION)
    compiled = graph(engine)
    return lambda: compiled.ainvoke({"question": QUESTION})


ROWS = (
    Row(
        "research",
        "deep research of a step (beside: a bare graph)",
        "ms",
        1,
        bare,
        one,
        scale=1e3,
    ),
    at_once("research-runs", f"deep research, {RUNS} questions at once", bare, asking),
    memory("research-memory", "bench.rows.research", f"memory of one of {RUNS} researches"),
)
