"""All of an agentic search that is neither a model nor a tool, and 200 searches at once."""

import operator
import re
from collections.abc import Awaitable, Callable
from inspect import signature
from typing import Annotated, Any, TypedDict

from antiphon import tool
from antiphon.models import scripted
from antiphon.systems import AgenticSearch
from bench.chat import Ask, chats, functions
from bench.engine import Engine
from bench.row import Row, Sample, awaited, sync
from bench.rows.at_once import REPLIES, RUNS, at_once, memory

QUESTION = "How many stories?"
TASKS = [{"tool_name": "find", "tool_arguments": {"query": str(n), "size": 5}} for n in range(3)]
PLAN = {"reasoning": "three parts", "tasks": TASKS}
ANSWER = {"reasoning": "counted", "response_content": "<p>There are <b>3</b>.</p>"}


def find(query: str, size: int = 5) -> dict[str, Any]:
    """Finds stories."""
    return {"results": [{"title": "a", "text": f"{query} of {size}"}]}


def plan(_: Any) -> dict[str, Any]:
    """What a planner replies."""
    return PLAN


def word(_: Any) -> dict[str, Any]:
    """What a synthesiser replies."""
    return ANSWER


UNSAFE = re.compile(r"<script.*?</script>|\bon\w+\s*=\s*(\"[^\"]*\"|'[^']*')", re.DOTALL)
ROLES = {"planner": plan, "synthesiser": word}
"""The roles as functions."""
SAID = {"planner": PLAN, "synthesiser": ANSWER}
"""What a scripted model replies in each role."""


class State(TypedDict, total=False):
    """The same flow as a graph of LangGraph."""

    question: str
    tasks: list[dict[str, Any]]
    results: Annotated[list[Any], operator.add]
    steps: Annotated[list[str], operator.add]
    answer: str


def graph(engine: Engine, ask: Ask) -> Any:
    """Plan, check the calls, make them at the same time, answer in HTML without scripts."""
    impl, tools = engine.impl, {"find": find}
    known = {name: set(signature(one).parameters) for name, one in tools.items()}

    async def planner(state: Any) -> State:
        tasks = (await ask("planner", {"question": state["question"], "tools": list(tools)}))[
            "tasks"
        ]
        fits = [one for one in tasks if one["tool_arguments"].keys() <= known[one["tool_name"]]]
        return {"tasks": fits, "steps": [f"{len(tasks)} tasks"]}

    async def execute(task: Any) -> State:
        try:
            found: Any = tools[task["tool_name"]](**task["tool_arguments"])
        except (TypeError, ValueError) as error:
            found = {"error": str(error)}
        return {"results": [found], "steps": [f"{task['tool_name']} {found}"]}

    async def answer(state: Any) -> State:
        given = {"question": state["question"], "results": state["results"]}
        said = (await ask("synthesiser", given))["response_content"]
        return {"answer": UNSAFE.sub("", said), "steps": ["answered"]}

    builder = impl.StateGraph(State).add_node("plan", planner).add_node("execute", execute)
    builder.add_node("answer", answer).add_edge(impl.START, "plan").add_edge("execute", "answer")
    sends = lambda state: [impl.Send("execute", task) for task in state["tasks"]]  # noqa: E731
    return engine.compile(builder.add_conditional_edges("plan", sends, ["execute"]))


def search() -> AgenticSearch:
    """The system; its roles are functions, so that no model costs anything."""
    return AgenticSearch(planner=plan, synthesiser=word, tools=[tool(side_effect="read")(find)])


def bare(_: Any) -> Sample:
    """The floor: the three functions."""

    def flow() -> str:
        found = [find(**task["tool_arguments"]) for task in plan(None)["tasks"]]
        return str(word(found)["response_content"])

    return sync(flow)


def one(engine: Engine) -> Sample:
    """One question."""
    if engine.ours:
        ready = search()
        return sync(lambda: ready.run(QUESTION))
    compiled = graph(engine, functions(ROLES))
    return awaited(lambda: compiled.ainvoke({"question": QUESTION}))


def asking(engine: Engine) -> Callable[[], Awaitable[Any]]:
    """Asks one question on the event loop; the models follow a script."""
    if engine.ours:
        replies = {role: [{"json": reply}] * REPLIES for role, reply in SAID.items()}
        model = scripted([], replies_by_agent=replies)
        ready = AgenticSearch(model, tools=[tool(side_effect="read")(find)])
        return lambda: ready.arun(QUESTION)
    compiled = graph(engine, chats(SAID))
    return lambda: compiled.ainvoke({"question": QUESTION})


LACKS = "LangGraph: no repairs, sources, limits"
ROWS = (
    Row("search", f"agentic search of 3 calls ({LACKS})", "µs", 1, bare, one),
    at_once("search-runs", f"agentic search, {RUNS} questions at once ({LACKS})", bare, asking),
    memory("search-memory", "bench.rows.search", f"memory of one of {RUNS} searches"),
)
