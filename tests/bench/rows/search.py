"""All of an agentic search that is neither a model nor a tool, and 200 searches at once."""

import asyncio
import json
import operator
from typing import Annotated, Any, TypedDict

from antiphon import tool
from antiphon.systems import AgenticSearch
from bench.engine import Engine
from bench.row import Row, Sample, awaited, sync

QUESTION = "How many stories?"
TASKS = [{"tool_name": "find", "tool_arguments": {"query": str(n), "size": 5}} for n in range(3)]
PLAN = {"reasoning": "three parts", "tasks": TASKS}
ANSWER = {"reasoning": "counted", "response_content": "<p>There are <b>3</b>.</p>"}
RUNS = 200


def find(query: str, size: int = 5) -> dict[str, Any]:
    """Finds stories."""
    return {"results": [{"title": "a", "text": f"{query} of {size}"}]}


def plan(_: Any) -> dict[str, Any]:
    """What a planner replies."""
    return PLAN


def word(_: Any) -> dict[str, Any]:
    """What a synthesiser replies."""
    return ANSWER


class State(TypedDict, total=False):
    """The same flow as a graph."""

    question: str
    tasks: list[dict[str, Any]]
    results: Annotated[list[Any], operator.add]
    steps: Annotated[list[str], operator.add]
    answer: str


def graph(engine: Engine) -> Any:
    """Plan, call the tools at the same time, answer: without checks, repairs or sanitising."""
    impl = engine.impl

    def planner(state: Any) -> State:
        tasks = json.loads(json.dumps(plan(state)))["tasks"]
        return {"tasks": tasks, "steps": [f"{len(tasks)} tasks"]}

    def execute(task: Any) -> State:
        found = find(**task["tool_arguments"])
        return {"results": [found], "steps": [f"{task['tool_name']} {found}"]}

    def answer(state: Any) -> State:
        reply = json.loads(json.dumps(word(state)))
        return {"answer": reply["response_content"], "steps": ["answered"]}

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
    compiled = graph(engine)
    return sync(lambda: compiled.invoke({"question": QUESTION}))


def many(engine: Engine) -> Sample:
    """Questions at once on one event loop."""
    ready: Any = search() if engine.ours else graph(engine)

    async def gather() -> None:
        if engine.ours:
            await asyncio.gather(*(ready.arun(QUESTION) for _ in range(RUNS)))
        else:
            asked = {"question": QUESTION}
            await asyncio.gather(*(ready.ainvoke(asked) for _ in range(RUNS)))

    return awaited(gather)


ROWS = (
    Row("search", "agentic search of 3 calls (beside: a bare graph)", "µs", 1, bare, one),
    Row(
        "search-runs",
        f"agentic search, {RUNS} questions at once",
        "µs",
        RUNS,
        bare,
        many,
        once=True,
    ),
)
