"""A graph invoked where a loop runs already, or inside itself, deeply."""

import asyncio
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from support.oracle import Impl
from support.states import Plain, Update

TESTS = Path(__file__).resolve().parents[1]


async def suspend(state: Any) -> Update:
    """Suspend once."""
    await asyncio.sleep(0)
    return {"b": "async"}


def test_invoke_of_sync_nodes_works_inside_a_running_loop(impl: Impl) -> None:
    graph = impl.sequence(Plain, ("n", lambda s: {"b": 1}))

    async def main() -> Any:
        return graph.invoke({})

    assert asyncio.run(main()) == {"b": 1}


@pytest.mark.only("antiphon")
def test_invoke_of_async_nodes_works_inside_a_running_loop(impl: Impl) -> None:
    graph = impl.sequence(Plain, ("n", suspend))

    async def main() -> Any:
        return graph.invoke({}), list(graph.stream({}))

    assert asyncio.run(main()) == ({"b": "async"}, [{"n": {"b": "async"}}])


@pytest.mark.only("antiphon")
def test_a_failure_of_a_nested_run_is_raised_in_the_node(impl: Impl) -> None:
    async def fail(state: Any) -> None:
        await asyncio.sleep(0)
        raise ValueError("mine")

    async def main() -> Any:
        return impl.sequence(Plain, fail).invoke({})

    with pytest.raises(ValueError, match="mine"):
        asyncio.run(main())


def nest(impl: Any, depth: int) -> Any:
    """A graph whose node invokes the graph, `depth` times."""
    graphs: list[Any] = []

    def node(state: Plain) -> Update:
        left = state["a"]
        return {"b": graphs[0].invoke({"a": left - 1})["b"] + 1 if left else 1}

    graphs.append(impl.sequence(Plain, node))
    return graphs[0].invoke({"a": depth - 1})["b"]


def test_twenty_levels_of_invoke_are_fine(impl: Impl) -> None:
    assert nest(impl, 20) == 20


@pytest.mark.only("antiphon")
def test_the_hundred_and_first_level_is_a_clear_error(impl: Impl) -> None:
    assert nest(impl, 100) == 100
    with pytest.raises(Exception, match=r"(?i)nest.*100"):
        nest(impl, 101)


@pytest.mark.only("antiphon")
def test_deep_ainvoke_is_a_clear_error(impl: Impl) -> None:
    graphs: list[Any] = []

    async def node(state: Plain) -> Update:
        await graphs[0].ainvoke({"a": 1})
        return {}

    graphs.append(impl.sequence(Plain, node))
    with pytest.raises(Exception, match=r"(?i)nest"):
        asyncio.run(graphs[0].ainvoke({"a": 1}))


PROGRAM = """
import sys
from support.oracle import Impl
from support.states import Plain
from graph.test_nested_runs import nest

impl = Impl("antiphon")
try:
    {line}
    print("fine")
except Exception as error:
    print("clear" if "nest" in str(error).lower() else error)
"""

TOO_DEEP = {
    "invoke in invoke": ("sys.setrecursionlimit(1_000_000); nest(impl, 100_000)", ["clear"]),
    "graph in graph": (
        """
    graph = impl.sequence(Plain, ("n", lambda s: {"b": 1}))
    for _ in range(5000):
        graph = impl.sequence(Plain, ("n", graph))
    graph.invoke({"a": 1})
""",
        ["clear", "fine"],
    ),
}


@pytest.mark.only("antiphon")
@pytest.mark.parametrize("case", TOO_DEEP)
def test_no_depth_crashes_the_process(impl: Impl, case: str) -> None:
    line, endings = TOO_DEEP[case]
    program = PROGRAM.format(line=line.strip())
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=TESTS, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr[-2000:]
    assert done.stdout.strip() in endings


@pytest.mark.only("antiphon")
def test_a_hundred_graphs_inside_each_other_are_fine(impl: Impl) -> None:
    graph = impl.sequence(Plain, ("n", lambda s: {"b": s["a"]}))
    for _ in range(99):
        graph = impl.sequence(Plain, ("n", graph))
    assert graph.invoke({"a": 1}) == {"a": 1, "b": 1}


VALUES = """
from antiphon import Agent, Orchestrator, tool
from antiphon import models
from antiphon.models import scripted
from antiphon.systems import ReviewLoop

deep = {}
for _ in range(200_000):
    deep = {"d": deep}
ring = []
ring.append(ring)

class Endless(dict):
    def keys(self):
        return ["d"]

    def values(self):
        return [Endless(d=1)]

    def __getitem__(self, name):
        return Endless(d=1)

class Says(Agent):
    def act(self, state, ctx):
        ctx.emit(state["value"])
        return "said"

def emitted(value):
    result = Orchestrator([Says()]).run({"question": "q", "value": value})
    print([event.kind for event in result.events].count("custom"))

try:
    VALUE_LINE
except Exception as error:
    print(getattr(error, "code", error))
"""

DEEP_VALUES = {
    "emitted": ("emitted(deep)", "1"),
    "emitted, in itself": ("emitted(ring)", "1"),
    "a body": ('models.get("ollama:x", extra_body={"x": deep})', "invalid_value"),
    "a body, in itself": ('models.get("ollama:x", extra_body={"x": ring})', "invalid_value"),
    "a body that says other than it holds": (
        'models.get("ollama:x", extra_body=Endless(d=1))',
        "invalid_value",
    ),
    "an output": (
        'Orchestrator([Agent(name="a", model=scripted([]), output={"type": "object", "x": deep})])',
        "invalid_value",
    ),
    "a setting": ("ReviewLoop(scripted([]), temperature=deep)", "invalid_value"),
    "a question": ("ReviewLoop(scripted([])).run([deep])", "question_malformed"),
    "a model's request": ('scripted(["x"]).call({"messages": ring})', "invalid_value"),
}


@pytest.mark.only("antiphon")
@pytest.mark.parametrize("case", DEEP_VALUES)
def test_no_depth_of_a_value_crashes_the_process(impl: Impl, case: str) -> None:
    del impl
    line, printed = DEEP_VALUES[case]
    done = subprocess.run(
        [sys.executable, "-c", VALUES.replace("VALUE_LINE", line)],
        cwd=TESTS,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    assert done.stdout.strip() == printed
