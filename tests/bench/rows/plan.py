"""All of plan and execute that is neither a model nor a tool, and 200 tasks at once."""

import json
import operator
from collections.abc import Awaitable, Callable
from typing import Annotated, Any, TypedDict

from antiphon.models import scripted
from antiphon.systems import PlanExecute
from bench.engine import Engine
from bench.row import Row, Sample, sync
from bench.rows.at_once import REPLIES, RUNS, at_once, memory

TASK = "How many people live in both cities?"
PEOPLE = {"Lyon": 520_774, "Lille": 238_695}
SUM = "@{outputs.lyon.result_data} + @{outputs.lille.result_data}"


def population(city: str) -> int:
    """Number of inhabitants of a city."""
    return PEOPLE[city]


def step(name: str, tool: str, **given: Any) -> dict[str, Any]:
    """A step of a plan."""
    return {
        "stepId": name,
        "assigned_agent_role": "UtilityAgent",
        "tool_name": tool,
        "sub_task_input": given,
        "narrative_step": name,
    }


CITIES = [step(city.lower(), "population", city=city) for city in PEOPLE]
PLAN = {"stages": [CITIES, [step("sum", "CalculatorTool", expression=SUM)]]}
CONTEXT = {"updatedSummaryOfProgress": "The sum is known.", "updatedNextObjective": "Answer."}
ANSWER = {"answer": "759,469 people."}


class State(TypedDict, total=False):
    """The same flow as a graph."""

    task: str
    steps: list[dict[str, Any]]
    outputs: Annotated[list[int], operator.add]
    total: int
    context: dict[str, Any]
    answer: str


def graph(engine: Engine) -> Any:
    """Plan, two steps side by side, their sum, the answer: without validation or revisions."""
    impl = engine.impl

    def plan(_: Any) -> State:
        return {"steps": json.loads(json.dumps(PLAN))["stages"][0]}

    def run(task: Any) -> State:
        return {"outputs": [population(**task["sub_task_input"])]}

    def add(state: Any) -> State:
        return {"total": sum(state["outputs"])}

    def keep(_: Any) -> State:
        return {"context": json.loads(json.dumps(CONTEXT))}

    def word(_: Any) -> State:
        return {"answer": json.loads(json.dumps(ANSWER))["answer"]}

    builder = impl.StateGraph(State).add_node("plan", plan).add_node("run", run)
    builder.add_node("add", add).add_node("keep", keep).add_node("word", word)
    builder.add_edge(impl.START, "plan").add_edge("run", "add").add_edge("add", "keep")
    sends = lambda state: [impl.Send("run", one) for one in state["steps"]]  # noqa: E731
    builder.add_conditional_edges("plan", sends, ["run"])
    return engine.compile(builder.add_edge("keep", "word"))


def executor() -> PlanExecute:
    """The system; its roles are functions, so that no model costs anything."""
    return PlanExecute(
        tools=[population],
        planner=lambda _: PLAN,
        step_executor=lambda _: {"text": "?"},
        summariser=lambda _: {"summary": "?"},
        context_keeper=lambda _: CONTEXT,
        synthesiser=lambda _: ANSWER,
    )


def bare(_: Any) -> Sample:
    """The floor: the functions."""
    return sync(lambda: sum(population(**one["sub_task_input"]) for one in PLAN["stages"][0]))


def one(engine: Engine) -> Sample:
    """One task."""
    if engine.ours:
        ready = executor()
        return sync(lambda: ready.run(TASK))
    compiled = graph(engine)
    return sync(lambda: compiled.invoke({"task": TASK}))


def asking(engine: Engine) -> Callable[[], Awaitable[Any]]:
    """Has one task done on the event loop; the models follow a script."""
    if engine.ours:
        said = {"planner": PLAN, "context_keeper": CONTEXT, "synthesiser": ANSWER}
        replies = {role: [{"json": reply}] * REPLIES for role, reply in said.items()}
        ready = PlanExecute(scripted([], replies_by_agent=replies), tools=[population])
        return lambda: ready.arun(TASK)
    compiled = graph(engine)
    return lambda: compiled.ainvoke({"task": TASK})


ROWS = (
    Row("plan", "plan and execute of 3 steps (beside: a bare graph)", "µs", 1, bare, one),
    at_once("plan-runs", f"plan and execute, {RUNS} tasks at once", bare, asking),
    memory("plan-memory", "bench.rows.plan", f"memory of one of {RUNS} tasks"),
)
