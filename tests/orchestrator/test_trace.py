"""The trace: each request, each reply and each tool call, as a tree, bounded."""

from __future__ import annotations

import json
import pickle
from typing import Any

import pytest

from antiphon import Agent, Orchestrator, Result, tool
from antiphon.models import scripted
from antiphon.trace import AgentTrace, ModelTrace, ToolTrace

USE = {"tool_calls": [{"name": "population", "arguments": {"city": "Lyon"}}]}


@tool
def population(city: str) -> int:
    """Number of inhabitants.

    Args:
        city: the city's name.
    """
    return {"Lyon": 513_275}[city]


def geographer(*replies: Any, **options: Any) -> Agent:
    options = {"tools": [population], "instructions": "Give numbers.", **options}
    return Agent(name="geographer", model=scripted(list(replies)), **options)


def test_a_trace_holds_requests_replies_and_tool_results() -> None:
    result = Orchestrator([geographer(USE, "513275", temperature=0.5)]).run("How many in Lyon?")
    (agent,) = result.trace.agents
    first, second = agent.calls
    assert isinstance(agent, AgentTrace)
    assert isinstance(first, ModelTrace)
    assert isinstance(second, ModelTrace)
    assert [(one["role"], one["content"]) for one in first.messages] == [
        ("system", "Give numbers."),
        ("user", "How many in Lyon?"),
    ]
    assert first.parameters == {"temperature": 0.5}
    assert first.tools == ("population",)
    assert first.tool_specs[0]["description"] == "Number of inhabitants."
    assert (first.finish, first.model) == ("tool_calls", "test:scripted")
    (call,) = first.tools_called
    assert isinstance(call, ToolTrace)
    assert (call.name, call.arguments, call.result, call.ok) == (
        "population",
        {"city": "Lyon"},
        "513275",
        True,
    )
    assert (second.earlier, second.text) == (2, "513275")
    assert [one["role"] for one in second.messages] == ["assistant", "tool"]


@pytest.mark.parametrize("asynchronous", [False, True])
def test_a_result_that_no_model_can_read_is_logged_for_who_wrote_the_tool(
    asynchronous: bool, caplog: pytest.LogCaptureFixture
) -> None:
    def population(city: str) -> object:
        return object()

    async def apopulation(city: str) -> object:
        return object()

    found = tool(name="population")(apopulation if asynchronous else population)
    result = geographer(USE, "I cannot tell.", tools=[found]).run("How many?")
    assert result.outcome == "answered"
    (record,) = (one for one in caplog.records if one.name == "antiphon.tool.population")
    assert record.levelname == "WARNING"
    assert "a tool's result cannot be shown to a model: object; return" in record.getMessage()
    assert "cannot be shown to a model: object" in str(result.trace)


def test_a_failed_tool_shows_its_error_and_an_unknown_one_too() -> None:
    unknown = {"tool_calls": [{"name": "area", "arguments": {}}]}
    nice = {"tool_calls": [{"name": "population", "arguments": {"city": "Nice"}}]}
    trace = Orchestrator([geographer(nice, unknown, "sorry")]).run("Nice?").trace
    failed, denied = trace.tool_calls
    assert (failed.ok, denied.ok) == (False, False)
    assert failed.error is not None
    assert "KeyError" in failed.error
    assert denied.error is not None
    assert "no tool called" in denied.error
    assert "failed: " in trace.to_text()


def test_the_calls_of_an_agent_in_python_are_in_the_trace() -> None:
    class Reviewer(Agent):
        def act(self, state: Any, ctx: Any) -> dict[str, Any]:
            found = ctx.call(population, city="Lyon")
            ctx.step("round", round, 1.5)
            return {"said": ctx.model(f"Is {found} right?", model=scripted(["yes"]))}

    trace = Orchestrator([Reviewer()]).run("?").trace
    called, step = trace.tool_calls
    assert (called.arguments, called.result, called.step) == ({"city": "Lyon"}, 513_275, False)
    assert (step.name, step.result, step.step) == ("round", 2, True)
    (asked,) = trace.model_calls
    assert (asked.messages[0]["content"], asked.text) == ("Is 513275 right?", "yes")
    assert asked.model == "test:scripted"


def test_a_failed_run_has_a_trace() -> None:
    class Fails(Agent):
        def act(self, state: Any, ctx: Any) -> Any:
            raise LookupError("no such city")

    with pytest.raises(LookupError) as caught:
        Orchestrator([geographer("one"), Fails()]).run("?")
    found = Result.of(caught.value)
    assert found is not None
    assert found.trace.model_calls[0].text == "one"
    assert "no such city" in str(found.trace.agents[1].error)


def test_a_trace_is_text_html_and_json() -> None:
    result = Orchestrator([geographer(USE, "<b>513275</b>")]).run("Lyon <script>?")
    trace = result.trace
    text = str(trace)
    for part in ("geographer (", "system: Give numbers.", 'population(city="Lyon")', "513275"):
        assert part in text
    fields = json.loads(trace.to_json())
    (model, _) = fields["agents"][0]["calls"]
    assert (model["kind"], model["tools_called"][0]["kind"]) == ("model", "tool")
    shown = trace._repr_mimebundle_()
    assert shown["text/plain"] == text
    assert "<script>" not in shown["text/html"]
    assert "<b>513275</b>" not in shown["text/html"]
    assert "Lyon &lt;script&gt;?" in shown["text/html"]
    assert pickle.loads(pickle.dumps(result)).trace == trace


def test_texts_are_cut_and_all_of_a_run_are_bounded() -> None:
    long = "x" * 30_000
    agents = [
        Agent(name=f"a{number}", model=scripted([long]), instructions=long) for number in range(99)
    ]
    events = Orchestrator(agents, max_steps=99).run("?").events
    first = next(event for event in events if event.kind == "model_call").data["messages"][0]
    assert first["content"].endswith("[truncated: 20000 of 30000 characters]")
    assert len(json.dumps([event.to_dict() for event in events])) < 6_000_000
    last = [event for event in events if event.kind == "model_reply"][-1]
    assert last.data["text"] == "[left out: 20039 characters]"


def test_neither_a_result_as_json_nor_a_thread_holds_the_trace() -> None:
    class Forgets(Agent):
        def act(self, state: Any, ctx: Any) -> dict[str, Any]:
            ctx.model("the hidden question", model=scripted(["the hidden reply"]))
            return {"answer": "done"}

    team = Orchestrator([Forgets()], checkpointer="memory:")
    result = team.run("?", thread="t")
    assert "hidden" not in result.to_json()
    assert "hidden" not in repr(team.state("t"))
    assert "hidden" in result.trace.to_json()


def test_a_second_turn_sees_the_tool_calls_of_the_first() -> None:
    agent = geographer(USE, "513275", "still 513275")
    team = Orchestrator([agent], checkpointer="memory:")
    first = team.run("How many?", thread="t")
    call = {"name": "population", "arguments": '{"city":"Lyon"}'}
    assert first.state["messages"][1:3] == [
        {
            "role": "assistant",
            "content": "",
            "name": "geographer",
            "tool_calls": [{"id": "call_1", "type": "function", "function": call}],
        },
        {"role": "tool", "content": "513275", "tool_call_id": "call_1", "name": "population"},
    ]
    second = team.run("And now?", thread="t")
    messages = second.trace.model_calls[0].messages
    assert [one["role"] for one in messages] == [
        "system",
        "user",
        "assistant",
        "tool",
        "assistant",
        "user",
    ]
    assert messages[2]["tool_calls"] == [{"id": "call_1", **call}]


def test_another_agent_sees_what_was_said_without_the_tool_calls() -> None:
    checker = Agent(name="checker", model=scripted(["ok"]))
    result = Orchestrator([geographer(USE, "513275"), checker]).run("How many?")
    call = result.trace.agents[1].calls[0]
    assert isinstance(call, ModelTrace)
    assert [(one["role"], one["content"]) for one in call.messages] == [
        ("user", "How many?"),
        ("user", "geographer: 513275"),
    ]


def test_a_cut_conversation_is_sent_without_calls_that_lack_a_result() -> None:
    call = {"id": "c1", "name": "f", "args": {"x": 1}}
    messages = [
        {"role": "tool", "content": "lost", "tool_call_id": "c0"},
        {"role": "assistant", "content": "I look", "tool_calls": [call, {**call, "id": "c2"}]},
        {"role": "tool", "content": "found", "tool_call_id": "c1"},
        {"role": "user", "content": "go on"},
    ]
    agent = Agent(name="a", model=scripted(["done"]))
    trace = Orchestrator([agent]).run({"messages": messages}).trace
    assert list(trace.model_calls[0].messages) == [
        {
            "role": "assistant",
            "content": "I look",
            "tool_calls": [{"id": "c1", "name": "f", "arguments": '{"x": 1}'}],
        },
        {"role": "tool", "content": "found", "tool_call_id": "c1"},
        {"role": "user", "content": "go on"},
    ]


def test_tool_results_in_the_conversation_are_bounded() -> None:
    @tool
    def big() -> str:
        """Much."""
        return "x" * 20_000

    uses = [{"tool_calls": [{"name": "big", "arguments": {}}]}] * 7
    team = Orchestrator([geographer(*uses, "done", tools=[big])])
    kept = [one["content"] for one in team.run("?").state["messages"] if one["role"] == "tool"]
    assert len("".join(kept)) < 101_000
    assert kept[5].endswith("[truncated: 0 of 20000 characters]")


def test_langchain_reads_the_conversation() -> None:
    messages = pytest.importorskip("langchain_core.messages")
    result = Orchestrator([geographer(USE, "513275")]).run("How many?")
    read = messages.convert_to_messages(result.state["messages"])
    assert read[1].tool_calls[0]["args"] == {"city": "Lyon"}
    assert read[2].tool_call_id == "call_1"
