"""What agents get of the state is theirs: what they change in it reaches nobody else."""

from __future__ import annotations

import asyncio
import copy
import threading
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, TypedDict

import pydantic
import pytest

from antiphon import Agent, AgentContext, Orchestrator, RetryPolicy, tool
from antiphon.graph import END
from antiphon.models import scripted
from antiphon.tools import ToolContext

Make = Callable[[Any, Any], Any]


class Does(Agent):
    """Does with the state what a function does."""

    def __init__(self, make: Make, name: str = "does") -> None:
        super().__init__(name=name)
        self.make = make

    def act(self, state: Any, ctx: AgentContext) -> Any:
        return self.make(state, ctx)


class Typed(TypedDict, total=False):
    """A state of declared keys."""

    d: dict[str, Any]


@dataclass
class Data:
    """The same as a dataclass."""

    question: str = ""
    d: dict[str, Any] = field(default_factory=dict)


@dataclass
class Derived(Data):
    """One that makes its own containers."""

    n: int = 0

    def __post_init__(self) -> None:
        self.d = dict(self.d)


class Model(pydantic.BaseModel):
    """The same as a pydantic model."""

    question: str = ""
    d: dict[str, Any] = {}


KINDS = [None, Typed, Data, Derived, Model]

CHANGES: list[Callable[[dict[str, Any]], object]] = [
    lambda d: d["list"].append(1),
    lambda d: d["list"][0].append(1),
    lambda d: d["list"][1].update(b=2),
    lambda d: d["list"][1]["deep"][0].add(9),
    lambda d: d["tuple"][1].append(1),
    lambda d: d["set"].add(1),
    lambda d: d["dict"].update(a=2),
    lambda d: d["dict"].pop("a"),
    lambda d: d.pop("dict"),
    lambda d: d["list"].reverse(),
]


def nested() -> dict[str, Any]:
    return {
        "list": [[0], {"deep": ({1, 2}, "x")}],
        "tuple": (0, [0]),
        "set": {0},
        "dict": {"a": 1},
    }


def d_of(state: Any) -> dict[str, Any]:
    found: dict[str, Any] = state["d"] if isinstance(state, dict) else state.d
    return found


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("change", CHANGES)
def test_a_change_at_any_depth_reaches_nobody_and_is_reported(change: Any, kind: Any) -> None:
    seen: list[Any] = []

    def changes(state: Any, ctx: Any) -> None:
        change(d_of(state))

    def looks(state: Any, ctx: Any) -> None:
        seen.append(copy.deepcopy(d_of(state)))

    given = {"question": "q", "d": nested()}
    team = Orchestrator(
        [[Does(changes, "changes"), Does(looks, "beside")], Does(looks, "after")],
        state=kind,
        checkpointer="memory:",
    )
    with pytest.warns(RuntimeWarning, match="`changes` changed its copy of `d`"):
        result = team.run(given, thread="t")
    assert seen == [nested()] * 2
    assert given["d"] == nested()
    assert d_of(result.state) == d_of(team.state("t").state) == nested()


@pytest.mark.parametrize("kind", KINDS)
def test_a_state_that_is_only_read_is_not_reported(
    kind: Any, recwarn: pytest.WarningsRecorder
) -> None:
    def reads(state: Any, ctx: Any) -> str:
        return str(copy.deepcopy(d_of(state)))

    assert Orchestrator([Does(reads)], state=kind).run({"question": "q", "d": nested()}).answer
    assert not recwarn.list


def test_a_key_that_is_deleted_is_reported() -> None:
    with pytest.warns(RuntimeWarning, match="changed its copy of `k`"):
        result = Orchestrator([Does(lambda state, _: state.pop("k") and None)]).run(
            {"question": "q", "k": 1}
        )
    assert result.state["k"] == 1


def test_a_retry_begins_with_the_state_as_it_was() -> None:
    class Fails(Agent):
        retry = RetryPolicy(initial_interval=0.001, jitter=False)

        def act(self, state: Any, ctx: AgentContext) -> str:
            state["d"]["x"].append(1)
            if ctx.attempt < 3:
                raise ConnectionError("no line")
            return str(state["d"]["x"])

    with pytest.warns(RuntimeWarning, match="changed its copy of `d`"):
        assert Orchestrator([Fails()]).run({"question": "q", "d": {"x": []}}).answer == "[1]"


def test_agents_that_run_together_see_none_of_each_others_changes() -> None:
    both = threading.Barrier(2)

    def changes(state: Any, ctx: Any) -> dict[str, Any]:
        state["d"]["x"].append(ctx.agent)
        both.wait(30)
        return {f"saw_{ctx.agent}": list(state["d"]["x"])}

    with pytest.warns(RuntimeWarning, match="changed its copy of `d`"):
        result = Orchestrator([[Does(changes, "a"), Does(changes, "b")]]).run(
            {"question": "q", "d": {"x": []}}
        )
    assert (result.state["saw_a"], result.state["saw_b"]) == (["a"], ["b"])


def test_an_async_agent_may_change_its_copy_while_others_run() -> None:
    class Changes(Agent):
        async def act(self, state: Any, ctx: AgentContext) -> dict[str, Any]:
            for _ in range(3):
                state["d"]["x"].append(ctx.agent)
                await asyncio.sleep(0)
            return {"d": state["d"]} if ctx.agent == "a" else {}

    team = Orchestrator([[Changes(name="a"), Changes(name="b")]])
    with pytest.warns(RuntimeWarning, match="agent `b` changed its copy of `d`"):
        result = asyncio.run(team.arun({"question": "q", "d": {"x": []}}))
    assert result.state["d"] == {"x": ["a"] * 3}


def test_what_is_sent_to_two_agents_is_not_shared_by_them() -> None:
    seen: list[Any] = []

    def sends(state: Any, ctx: Any) -> Any:
        payload: dict[str, Any] = {"x": []}
        return [ctx.send("works", payload), ctx.send("works", payload)]

    def works(state: Any, ctx: Any) -> None:
        state["x"].append(1)
        seen.append(list(state["x"]))

    with pytest.warns(RuntimeWarning, match="changed its copy of `x`"):
        Orchestrator(
            [Does(sends, "sends"), Does(works, "works")], flow={"sends": "works", "works": END}
        ).run("q")
    assert seen == [[1], [1]]


def test_routes_instructions_and_tools_cannot_change_the_state() -> None:
    def route(state: Any) -> str:
        state["d"]["x"].append("route")
        return "writes"

    def instructions(state: Any, ctx: Any) -> str:
        state["d"]["x"].append("instructions")
        return "Write."

    @tool
    def look(ctx: ToolContext) -> str:
        """Looks."""
        ctx.state["d"]["x"].append("tool")
        return str(ctx.state["d"]["x"])

    model = scripted([{"tool_calls": [{"name": "look", "arguments": {}}]}, "done"])
    writes = Agent(model, name="writes", instructions=instructions, tools=[look])
    given = {"question": "q", "d": {"x": []}}
    first = Does(lambda *_: None, "first")
    result = Orchestrator([first, writes], flow={"first": route, "writes": END}).run(given)
    assert (given["d"], result.state["d"], result.answer) == ({"x": []}, {"x": []}, "done")


def test_containers_that_hold_each_other_or_themselves_stay_what_they_are() -> None:
    inner: list[Any] = []
    ring: list[Any] = [inner]
    ring.append(ring)

    def looks(state: Any, ctx: Any) -> str:
        found = state["ring"]
        assert found is not ring
        assert found[1] is found
        assert state["inner"] is found[0]
        return "same"

    assert Orchestrator([Does(looks)]).run({"question": "q", "inner": inner, "ring": ring}).answer


def test_objects_and_subclasses_are_the_same_for_all() -> None:
    shared = [object(), OrderedDict(a=[1])]
    deep: Any = []
    for _ in range(100_000):
        deep = [deep]

    def looks(state: Any, ctx: Any) -> dict[str, Any]:
        return {"same": [one is two for one, two in zip(state["shared"], shared, strict=True)]}

    result = Orchestrator([Does(looks)]).run({"question": "q", "shared": shared, "deep": deep})
    assert result.state["same"] == [True, True]


def test_the_result_is_not_the_callers_input() -> None:
    given = {"question": "q", "d": {"x": [0]}}
    result = Orchestrator([Does(lambda *_: "done")]).run(given)
    result.state["d"]["x"].append(1)
    assert given["d"] == {"x": [0]}
