"""All of plan and execute that is neither a model nor a tool, and 200 tasks at once."""

import json
import operator
import re
from collections.abc import Awaitable, Callable
from typing import Annotated, Any, TypedDict

from antiphon.models import scripted
from antiphon.systems import PlanExecute
from bench.chat import Ask, chats, functions
from bench.engine import Engine
from bench.row import Row, Sample, awaited, sync
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
ROLES: dict[str, Callable[[Any], Any]] = {
    "planner": lambda _: PLAN,
    "context_keeper": lambda _: CONTEXT,
    "synthesiser": lambda _: ANSWER,
}
"""The roles as functions."""
SAID = {"planner": PLAN, "context_keeper": CONTEXT, "synthesiser": ANSWER}
"""What a scripted model replies in each role."""


REFERENCE = re.compile(r"@\{outputs\.(\w+)\.result_data\}")
REVISIONS = 2


class State(TypedDict, total=False):
    """The same flow as a graph of LangGraph."""

    task: str
    stages: list[list[dict[str, Any]]]
    stage: int
    revisions: int
    explained: int
    outputs: Annotated[dict[str, Any], operator.or_]
    failures: Annotated[list[dict[str, Any]], operator.add]
    context: dict[str, Any]
    answer: str


def calculate(expression: str) -> int:
    """Add numbers."""
    return sum(map(int, expression.split("+")))


WORKERS: dict[str, Callable[..., Any]] = {"population": population, "CalculatorTool": calculate}


def checked(stages: list[list[dict[str, Any]]]) -> list[list[dict[str, Any]]]:
    """The plan, if its steps have ids of their own, known tools and earlier sources."""
    known: set[str] = set()
    for stage in stages:
        ids = {one["stepId"] for one in stage}
        sources = set(REFERENCE.findall(json.dumps([one["sub_task_input"] for one in stage])))
        tools = {one["tool_name"] for one in stage}
        if len(ids) < len(stage) or ids & known or sources - known or tools - WORKERS.keys():
            raise ValueError(stage)
        known |= ids
    return stages


def resolved(value: Any, outputs: dict[str, Any]) -> Any:
    """The input of a step with the outputs that it refers to."""
    if isinstance(value, dict):
        return {name: resolved(one, outputs) for name, one in value.items()}
    return REFERENCE.sub(lambda found: str(outputs[found[1]]), str(value))


class PlanNodes:
    """The nodes of LangGraph's graph, and what comes after them."""

    def __init__(self, impl: Any, ask: Ask) -> None:
        self.impl, self.ask = impl, ask

    async def plan(self, state: Any) -> State:
        given = {name: state.get(name) for name in ("task", "stages", "failures")}
        stages = checked((await self.ask("planner", given))["stages"])
        revisions, explained = state.get("revisions", -1) + 1, len(state.get("failures", ()))
        return {"stages": stages, "stage": 0, "revisions": revisions, "explained": explained}

    async def run(self, task: Any) -> State:
        step = task["step"]
        try:
            given = resolved(step["sub_task_input"], task["outputs"])
            return {"outputs": {step["stepId"]: WORKERS[step["tool_name"]](**given)}}
        except (KeyError, ValueError) as error:
            return {"failures": [{"step": step, "error": str(error)}]}

    async def collect(self, state: Any) -> State:
        return {"stage": state["stage"] + 1}

    async def keep(self, state: Any) -> State:
        return {"context": await self.ask("context_keeper", {"outputs": state["outputs"]})}

    async def word(self, state: Any) -> State:
        given = {name: state.get(name) for name in ("task", "outputs", "failures", "context")}
        return {"answer": (await self.ask("synthesiser", given))["answer"]}

    def stage(self, state: Any) -> list[Any]:
        """All steps of the stage."""
        outputs, steps = state.get("outputs", {}), state["stages"][state["stage"]]
        return [self.impl.Send("run", {"step": one, "outputs": outputs}) for one in steps]

    def after(self, state: Any) -> Any:
        """The next stage, another plan after a failure, or the end."""
        if len(state.get("failures", ())) > state["explained"]:
            return "plan" if state["revisions"] < REVISIONS else "keep"
        return self.stage(state) if state["stage"] < len(state["stages"]) else "keep"


def graph(engine: Engine, ask: Ask) -> Any:
    """Plan, check, stages of parallel steps, another plan after a failure, context, answer."""
    impl = engine.impl
    nodes = PlanNodes(impl, ask)
    builder = impl.StateGraph(State)
    for name in ("plan", "run", "collect", "keep", "word"):
        builder.add_node(name, getattr(nodes, name))
    builder.add_edge(impl.START, "plan").add_conditional_edges("plan", nodes.stage, ["run"])
    builder.add_edge("run", "collect").add_edge("keep", "word")
    following = ["run", "plan", "keep"]
    return engine.compile(builder.add_conditional_edges("collect", nodes.after, following))


def executor() -> PlanExecute:
    """The system; its roles are functions, so that no model costs anything."""
    roles: dict[str, Any] = ROLES | {
        "step_executor": lambda _: {"text": "?"},
        "summariser": lambda _: {"summary": "?"},
    }
    return PlanExecute(tools=[population], **roles)


def bare(_: Any) -> Sample:
    """The floor: the functions."""
    return sync(lambda: sum(population(**one["sub_task_input"]) for one in PLAN["stages"][0]))


def one(engine: Engine) -> Sample:
    """One task."""
    if engine.ours:
        ready = executor()
        return sync(lambda: ready.run(TASK))
    compiled = graph(engine, functions(ROLES))
    return awaited(lambda: compiled.ainvoke({"task": TASK}))


def asking(engine: Engine) -> Callable[[], Awaitable[Any]]:
    """Has one task done on the event loop; the models follow a script."""
    if engine.ours:
        replies = {role: [{"json": reply}] * REPLIES for role, reply in SAID.items()}
        ready = PlanExecute(scripted([], replies_by_agent=replies), tools=[population])
        return lambda: ready.arun(TASK)
    compiled = graph(engine, chats(SAID))
    return lambda: compiled.ainvoke({"task": TASK})


LACKS = "LangGraph: no repairs, limits, journal"
ROWS = (
    Row("plan", f"plan and execute of 3 steps ({LACKS})", "µs", 1, bare, one),
    at_once("plan-runs", f"plan and execute, {RUNS} tasks at once ({LACKS})", bare, asking),
    memory("plan-memory", "bench.rows.plan", f"memory of one of {RUNS} tasks"),
)
