"""An approver decides about exactly what is called."""

from __future__ import annotations

import asyncio
import datetime as dt
import enum
import json
from typing import Any

import pytest

from antiphon import Agent, AgentContext, Orchestrator, ToolCall, tool
from antiphon._tool.approval import json_arguments
from antiphon.errors import ValidationError
from antiphon.graph import START, Command, Runtime, StateGraph
from antiphon.models import scripted

EXACT: dict[str, Any] = {
    "one": 1,
    "one as a float": 1.0,
    "a big number": 2**64 - 1,
    "text that looks like another": "p\u0430y",
    "control characters": "a\x1b[2Jb\u202ec\x00",
    "nested": {"a": [1, {"b": [True, None, "x"]}], "": {}},
}
UNSHOWABLE: dict[str, Any] = {
    "bytes": b"/etc/passwd",
    "nan": float("nan"),
    "infinity": float("-inf"),
    "a number beyond 64 bits": 2**64,
    "a set": {1, 2},
    "an object": object(),
    "half a character": "\udcff",
    "a key that is no text": {1: "x"},
    "bytes within": {"a": [1, {"b": b"x"}]},
    "a date": dt.date(2026, 1, 1),
}


class Colour(enum.Enum):
    """One of two."""

    RED = "red"
    BLUE = "blue"


class Code(enum.StrEnum):
    """A text of its own class."""

    RED = "red"


class RecordedCalls:
    """Calls a tool as an agent's own code, and says what was shown and what was called."""

    def __init__(self, approval: Any) -> None:
        self.shown: list[Any] = []
        self.called: list[Any] = []
        self.given: Any = None

        def judged(call: ToolCall) -> bool:
            self.shown.append(call.arguments["value"])
            return True

        @tool(approval=judged if approval == "function" else True)
        def act(value: Any) -> str:
            """Does it."""
            self.called.append(value)
            return "done"

        self.act = act

    def run(self, value: Any) -> None:
        """Calls it, and approves of everything that is asked."""
        calls = self

        class Caller(Agent):
            """Calls it."""

            tools = (calls.act,)

            def act(self, state: Any, ctx: AgentContext) -> str:
                return str(ctx.call("act", value=value))

        team = Orchestrator([Caller()])
        result = team.run("go")
        if result.outcome == "paused":
            self.shown.append(result.questions[0].value["arguments"]["value"])
            result = team.resume(result, True)
        if result.error is not None:
            raise result.error

    def run_in_graph(self, value: Any) -> None:
        """The same by a node of a graph."""

        def node(_: Any, runtime: Runtime[None]) -> dict[str, str]:
            runtime.call(self.act, value=value)
            return {"out": "done"}

        builder = StateGraph(dict[str, str]).add_node("node", node).add_edge(START, "node")
        graph = builder.compile("memory:")
        config: Any = {"configurable": {"thread_id": "t"}}
        came = graph.invoke({}, config)
        if asked := came.get("__interrupt__"):
            self.shown.append(asked[0].value["arguments"]["value"])
            graph.invoke(Command(resume=True), config)


@pytest.mark.parametrize("approval", ["function", "person"])
@pytest.mark.parametrize("where", ["run", "run_in_graph"])
@pytest.mark.parametrize("value", EXACT.values(), ids=EXACT)
def test_what_is_shown_is_what_is_called(approval: str, where: str, value: Any) -> None:
    calls = RecordedCalls(approval)
    getattr(calls, where)(value)
    expected = json.dumps(value)
    assert [json.dumps(shown) for shown in calls.shown] == [expected]
    assert [json.dumps(called) for called in calls.called] == [expected]


@pytest.mark.parametrize("approval", ["function", "person"])
@pytest.mark.parametrize("where", ["run", "run_in_graph"])
@pytest.mark.parametrize("value", UNSHOWABLE.values(), ids=UNSHOWABLE)
def test_what_cannot_be_shown_is_refused_before_anybody_is_asked(
    approval: str, where: str, value: Any
) -> None:
    calls = RecordedCalls(approval)
    with pytest.raises(ValidationError, match="argument `value") as refused:
        getattr(calls, where)(value)
    assert refused.value.code == "argument_unshowable"
    assert (calls.shown, calls.called) == ([], [])


def test_a_tuple_is_shown_as_the_list_that_is_called() -> None:
    calls = RecordedCalls("function")
    calls.run((1, (2,)))
    assert calls.shown == calls.called == [[1, [2]]]


def test_a_refusal_says_where_the_argument_cannot_be_shown() -> None:
    @tool(approval=True)
    def act(value: Any) -> None:
        """Does it."""

    with pytest.raises(ValidationError) as refused:
        json_arguments(act, {"value": {"a": [1, {"b": b"x"}]}})
    assert refused.value.details == {
        "tool": "act",
        "argument": "value['a'][1]['b']",
        "type": "bytes",
    }


def test_a_parameter_with_a_hint_takes_the_json_form_of_its_values() -> None:
    @tool(approval=True)
    def act(day: dt.date, raw: bytes, colour: Colour, share: float) -> None:
        """Does it."""

    shown = json_arguments(
        act, {"day": "2026-01-01", "raw": "eA==", "colour": Code.RED, "share": 0.5}
    )
    assert shown == {"day": "2026-01-01", "raw": "eA==", "colour": "red", "share": 0.5}
    assert type(shown["colour"]) is str
    with pytest.raises(ValidationError, match="argument `share`: float nan"):
        json_arguments(act, {"share": float("nan")})


@pytest.mark.parametrize("asynchronous", [False, True])
def test_nobody_changes_a_call_between_its_approval_and_the_tool(asynchronous: bool) -> None:
    files = ["a.txt"]
    called: list[Any] = []

    def approve(call: ToolCall) -> bool:
        call.arguments["paths"].append("of the approver")
        files.append("of the caller")
        return True

    async def aapprove(call: ToolCall) -> bool:
        await asyncio.sleep(0)
        return approve(call)

    @tool(approval=aapprove if asynchronous else approve)
    def remove(paths: list[str]) -> str:
        """Removes files."""
        called.append(list(paths))
        return "removed"

    class Caller(Agent):
        """Removes files."""

        tools = (remove,)

        async def act(self, state: Any, ctx: AgentContext) -> str:
            return str(await ctx.acall("remove", paths=files))

    assert Orchestrator([Caller()]).run("go").answer == "removed"
    assert called == [["a.txt"]]
    assert files == ["a.txt", "of the caller"]


def test_a_list_that_is_changed_while_a_person_decides_is_another_call() -> None:
    files = ["a.txt"]
    called: list[Any] = []

    @tool(approval=True)
    def remove(paths: list[str]) -> str:
        """Removes files."""
        called.append(list(paths))
        return "removed"

    class Caller(Agent):
        """Removes files."""

        tools = (remove,)

        def act(self, state: Any, ctx: AgentContext) -> str:
            return str(ctx.call("remove", paths=files))

    team = Orchestrator([Caller()])
    first = team.run("go")
    assert first.questions[0].value["arguments"] == {"paths": ["a.txt"]}
    # The question is the reader's own, and the list is the caller's.
    first.questions[0].value["arguments"]["paths"].append("of the reader")
    files.append("b.txt")
    again = team.resume(first, True)
    assert called == []
    assert again.questions[0].value["arguments"] == {"paths": ["a.txt", "b.txt"]}
    assert team.resume(again, True).answer == "removed"
    assert called == [["a.txt", "b.txt"]]


@pytest.mark.parametrize("approval", ["function", "person"])
def test_a_model_that_names_an_argument_twice_gets_one_of_them_shown_and_called(
    approval: str,
) -> None:
    calls = RecordedCalls(approval)
    twice = {"name": "act", "arguments": '{"value": "little", "value": "much"}'}
    model = scripted([{"tool_calls": [twice]}, "done"])
    team = Orchestrator([Agent(name="payer", instructions="Pay.", model=model, tools=[calls.act])])
    result = team.run("go")
    if result.outcome == "paused":
        calls.shown.append(result.questions[0].value["arguments"]["value"])
        result = team.resume(result, True)
    assert result.outcome == "answered"
    assert len(calls.called) == 1
    assert calls.shown == calls.called
