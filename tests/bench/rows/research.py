"""All of a deep research that is neither a model nor a tool, and 200 at once."""

import operator
import re
from collections.abc import Awaitable, Callable
from itertools import pairwise
from typing import Annotated, Any, TypedDict

from antiphon import Tool, tool
from antiphon.models import scripted
from antiphon.systems import DeepResearch
from bench.chat import Ask, chats, functions
from bench.engine import Engine
from bench.row import Row, Sample, awaited, sync
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


class State(TypedDict, total=False):
    """The same flow as a graph of LangGraph."""

    question: str
    kind: dict[str, Any]
    background: list[str]
    plan: dict[str, Any]
    step: int
    found: list[str]
    pages: Annotated[list[dict[str, Any]], operator.add]
    observations: Annotated[list[str], operator.add]
    decision: str
    evidence: Annotated[list[dict[str, Any]], operator.add]
    claims: list[dict[str, Any]]
    verdicts: Annotated[list[dict[str, Any]], operator.add]
    report: str


ENOUGH = 5
"""Steps that are researched at most."""
CITED = re.compile(r"\[(\d+)\]")


def seen(text: str, page: str) -> bool:
    """Whether a page has the text."""
    return " ".join(text.split()) in " ".join(page.split())


class ResearchNodes:
    """The nodes of LangGraph's graph, and what comes after them."""

    def __init__(self, impl: Any, ask: Ask) -> None:
        self.impl, self.ask = impl, ask

    async def coordinate(self, state: Any) -> State:
        return {"kind": await self.ask("coordinator", {"text": state["question"]})}

    async def investigate(self, state: Any) -> State:
        queries = (await self.ask("background", {"text": state["question"]}))["queries"]
        return {"background": [one["path"] for query in queries for one in find(query)["results"]]}

    async def plan(self, state: Any) -> State:
        given = {"question": state["question"], "background": state["background"]}
        given["observations"] = state.get("observations", [])
        return {"plan": await self.ask("planner", given), "step": 0}

    async def search(self, state: Any) -> State:
        step = state["plan"]["steps"][state["step"]]
        asked = {"step": step, "schema": {"properties": {"queries": {}}}}
        queries = (await self.ask("researcher", asked))["queries"]
        paths = {one["path"] for query in queries for one in find(query)["results"]}
        return {"found": sorted(paths)}

    async def page(self, task: Any) -> State:
        return {"pages": [read(task["path"])]}

    async def observe(self, state: Any) -> State:
        asked = {"pages": state["pages"], "schema": {"properties": {"observation": {}}}}
        return {"observations": [(await self.ask("researcher", asked))["observation"]]}

    async def reflect(self, state: Any) -> State:
        given = {"plan": state["plan"], "observations": state["observations"]}
        decision = (await self.ask("reflector", given))["decision"]
        return {"decision": decision, "step": state["step"] + 1}

    async def extract(self, task: Any) -> State:
        spans = (await self.ask("passage_extractor", {"text": task["text"]}))["spans"]
        evidence = [{"quote": one["quote"], "text": task["text"]} for one in spans]
        return {"evidence": [one for one in evidence if seen(one["quote"], one["text"])]}

    async def write(self, state: Any) -> State:
        evidence = [{"text": one["quote"]} for one in state["evidence"]]
        report = (await self.ask("reporter", {"evidence": evidence}))["report"]
        sentences = re.findall(r"[^.]+\.", report)
        known = range(len(evidence))
        claims = [
            {"text": one, "cited": [int(n) for n in CITED.findall(one) if int(n) in known]}
            for one in sentences
        ]
        return {"claims": claims}

    async def verify(self, task: Any) -> State:
        item = {"number": 0, "claim": task["text"], "evidence": task["evidence"]}
        verdicts = (await self.ask("verifier", {"items": [item]}))["verdicts"]
        return {"verdicts": [{"text": task["text"], "verdict": verdicts[0]["verdict"]}]}

    async def deliver(self, state: Any) -> State:
        held = [one["text"] for one in state["verdicts"] if one["verdict"] == "supported"]
        return {"report": "".join(held).strip()}

    def found(self, state: Any) -> list[Any]:
        """The pages that were found."""
        return [self.impl.Send("do_page", {"path": path}) for path in state["found"]]

    def reflected(self, state: Any) -> Any:
        """Another plan, the next step, or the passages of all pages."""
        if state["decision"] == "adjust":
            return "do_plan"
        is_last = state["step"] >= min(ENOUGH, len(state["plan"]["steps"]))
        if state["decision"] == "complete" or is_last:
            return [self.impl.Send("do_extract", page) for page in state["pages"]]
        return "do_search"

    def written(self, state: Any) -> list[Any]:
        """Each sentence with the passages that it cites."""
        quotes = [one["quote"] for one in state["evidence"]]
        claims = [one | {"evidence": [quotes[n] for n in one["cited"]]} for one in state["claims"]]
        return [self.impl.Send("do_verify", one) for one in claims]


PATHS = (
    ("coordinate", "investigate", "plan", "search"),
    ("page", "observe", "reflect"),
    ("extract", "write"),
    ("verify", "deliver"),
)
"""Nodes that follow one another."""


def graph(engine: Engine, ask: Ask) -> Any:
    """Plan, search, read and reflect for each step; passages, report, a verdict per sentence."""
    impl = engine.impl
    nodes = ResearchNodes(impl, ask)
    builder = impl.StateGraph(State).add_edge(impl.START, "do_coordinate")
    for name in (name for path in PATHS for name in path):
        builder.add_node(f"do_{name}", getattr(nodes, name))
    for name, following in (pair for path in PATHS for pair in pairwise(path)):
        builder.add_edge(f"do_{name}", f"do_{following}")
    builder.add_conditional_edges("do_search", nodes.found, ["do_page"])
    ends = ["do_plan", "do_search", "do_extract"]
    builder.add_conditional_edges("do_reflect", nodes.reflected, ends)
    return engine.compile(builder.add_conditional_edges("do_write", nodes.written, ["do_verify"]))


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
    compiled = graph(engine, functions(ROLES))
    return awaited(lambda: compiled.ainvoke({"question": QUESTION}))


def asking(engine: Engine) -> Callable[[], Awaitable[Any]]:
    """Asks one question on the event loop; the models follow a script."""
    if engine.ours:
        replies = {role: [{"json": reply}] * (2 * REPLIES) for role, reply in SAID.items()}
        ready = DeepResearch(scripted([], replies_by_agent=replies), tools=tools())
        return lambda: ready.arun(QUESTION)
    compiled = graph(engine, chats(SAID))
    return lambda: compiled.ainvoke({"question": QUESTION})


LACKS = "LangGraph: no numbers, corrections, revisions"
ROWS = (
    Row("research", f"deep research of a step ({LACKS})", "ms", 1, bare, one, scale=1e3),
    at_once("research-runs", f"deep research, {RUNS} questions at once ({LACKS})", bare, asking),
    memory("research-memory", "bench.rows.research", f"memory of one of {RUNS} researches"),
)
