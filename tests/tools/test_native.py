"""Native tools: the handle, the `Tool` around it, and their calls in runs."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import pytest

from antiphon import Agent, Image, Orchestrator, RetryPolicy, Tool, ToolCall, ToolContext, Toolset
from antiphon._antiphon import open_tools, tool_families
from antiphon._builtin_tools.opening import open_family, open_tool
from antiphon._tool.native import NativeBody
from antiphon.errors import AntiphonError, InternalError, RunTimeout, ToolError, ValidationError
from antiphon.models import Model, scripted
from antiphon.systems import ReviewLoop

if TYPE_CHECKING:
    from collections.abc import Sequence

    from antiphon import AgentContext, Event


@pytest.fixture(scope="module", autouse=True)
def has_test_tools() -> None:
    if all(family["name"] != "echo" for family in tool_families()):
        pytest.skip("this build has no `echo`: it is of the kind that is published")


def opened(name: str, settings: dict[str, Any] | None = None) -> Tool:
    return next(tool for tool in open_family("echo", settings) if tool.name == name)


def called(name: str, arguments: dict[str, Any] | str, *, number: str = "c1") -> dict[str, Any]:
    return {"tool_calls": [{"id": number, "name": name, "arguments": arguments}]}


def read_by_model(
    tools: Sequence[Any], *calls: dict[str, Any], **options: Any
) -> tuple[list[Any], list[Event]]:
    """What the model reads of the results of its calls, and the events."""
    model = scripted([*calls, "Done."])
    result = Orchestrator([Agent(name="clerk", model=model, tools=tools)]).run("?", **options)
    assert result.answer == "Done."
    messages = model.requests[-1]["messages"]
    return [one["content"] for one in messages if one["role"] == "tool"], list(result.events)


def test_a_family_is_opened_by_name_and_settings() -> None:
    [handle, *_] = open_tools("echo", {"prefix": "> "})
    assert (handle.name, handle.description) == ("echo", "Repeats a text.")
    assert handle.spec["side_effect"] == "none"
    assert handle.spec["timeout"] is None
    assert handle.call({"text": "a"}) == "> a"
    assert repr(handle) == 'NativeTool("echo")'
    [family] = [one for one in tool_families() if one["name"] == "echo"]
    assert "prefix" in family["settings_schema"]["properties"]


def test_wrong_settings_are_refused_by_name() -> None:
    with pytest.raises(ValidationError, match="prefix") as caught:
        open_tools("echo", {"prefix": 3})
    assert caught.value.code == "tool_setting_invalid"
    with pytest.raises(ValidationError, match="prefix") as caught:
        open_tools("echo", {"prefix": object()})
    assert caught.value.code == "tool_setting_invalid"
    with pytest.raises(ValidationError, match="ecko") as caught:
        open_tools("ecko", {})
    assert caught.value.code == "tool_family_unknown"
    with pytest.raises(ValidationError, match="one tool"):
        open_tool("echo")


def test_a_direct_call_gets_defaults_and_safe_conversions() -> None:
    echo = opened("echo")
    assert echo.call({"text": "ab"}) == "ab"
    assert echo.call({"text": "ab", "times": "2"}) == "abab"
    with pytest.raises(ValidationError, match="/times") as caught:
        echo.call({"text": "ab", "times": "many"})
    assert caught.value.code == "invalid_value"
    with pytest.raises(ValidationError, match="/text"):
        echo.check({"times": 2})


def test_a_call_can_be_awaited() -> None:
    async def ask() -> Any:
        return await opened("echo").acall({"text": "ab"})

    assert asyncio.run(ask()) == "ab"


def test_a_call_ends_with_its_time_out() -> None:
    hang = opened("hang").with_options(timeout=0.01)
    with pytest.raises(RunTimeout) as caught:
        hang.call({})
    assert caught.value.code == "tool_timeout"
    with pytest.raises(RunTimeout):
        asyncio.run(hang.acall({}))


def test_a_cancelled_task_drops_its_call() -> None:
    async def cancel() -> None:
        task = asyncio.create_task(opened("hang").acall({}))
        await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(cancel())


def test_faults_are_the_exceptions_of_the_package() -> None:
    fail = opened("fail")
    with pytest.raises(ToolError, match="the archive is closed") as caught:
        fail.call({"kind": "refused"})
    assert caught.value.code == "tool_failed"
    with pytest.raises(InternalError, match="fail") as panicked:
        fail.call({"kind": "panic"})
    assert panicked.value.code == "tool_panicked"


def test_an_image_is_an_image_and_stays_one_for_the_model() -> None:
    text, table, image = opened("plot").call({})
    assert text == "a plot"
    assert table == {"row_count": 1, "columns": ["city", "people"], "rows": [["Lyon", 520774]]}
    assert isinstance(image, Image)
    [content], _ = read_by_model([opened("plot")], called("plot", {}))
    assert [part["type"] for part in content] == ["text", "data", "image"]
    retried = opened("plot").with_options(retry=2)
    assert read_by_model([retried], called("plot", {}))[0] == [content]


def test_an_agent_calls_it_without_python(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(NativeBody, "invoke", None)
    echo = opened("echo", {"prefix": "> "}).with_options(name="say")
    [content], events = read_by_model([echo], called("say", {"text": "ab", "times": "2"}))
    assert content == "> abab"
    ends = [event for event in events if event.kind == "tool_result"]
    assert [event.name for event in ends] == ["say"]


def test_an_agent_reads_failures_and_goes_on() -> None:
    tools = open_family("echo")
    hang = opened("hang").with_options(name="slow", timeout=0.01)
    contents, _ = read_by_model(
        [*tools, hang],
        called("fail", {"kind": "refused"}),
        called("fail", {"kind": "panic"}),
        called("echo", {"times": 1}),
        called("slow", {}),
    )
    expected = ["the archive is closed", "panicked", "`/text`", "in seconds: 0.01"]
    assert all(part in content for part, content in zip(expected, contents, strict=True))


def test_a_call_in_a_run_knows_its_id_and_key() -> None:
    tool = opened("about_call").with_options(timeout=5)
    [content], _ = read_by_model([tool], called("about_call", {}, number="c7"))
    assert '"call_id":"c7"' in content
    assert '"has_deadline":true' in content
    assert '"idempotency_key":null' not in content


def test_a_function_in_python_approves_its_calls() -> None:
    asked: list[Any] = []

    async def decide(call: ToolCall) -> bool | str:
        asked.append(dict(call.arguments))
        return call.arguments["times"] < 3 or "too often"

    echo = opened("echo").with_options(approval=decide)
    contents, _ = read_by_model(
        [echo],
        called("echo", {"text": "a", "times": 3}),
        called("echo", {"text": "a"}),
    )
    assert asked == [{"text": "a", "times": 3}, {"text": "a", "times": 1}]
    assert "too often" in contents[0]
    assert contents[1] == "a"


def test_a_person_approves_its_calls() -> None:
    echo = opened("echo").with_options(approval=True)
    model = scripted([called("echo", {"text": "a"}), "Done."])
    team = Orchestrator([Agent(name="clerk", model=model, tools=[echo])])
    paused = team.run("?")
    assert paused.questions[0].value["arguments"] == {"text": "a", "times": 1}
    assert team.resume(paused, {"approve": True, "args": {"text": "b"}}).answer == "Done."


def test_a_run_that_is_stopped_stops_its_call() -> None:
    model = scripted([called("hang", {}), "Done."])
    team = Orchestrator([Agent(name="clerk", model=model, tools=[opened("hang")])], timeout=0.05)
    with pytest.raises(AntiphonError):
        team.run("?").raise_for_outcome()


def test_act_calls_it() -> None:
    class Clerk(Agent[Any, str]):
        """Sync."""

        def act(self, state: Any, ctx: AgentContext[Any]) -> Any:
            return ctx.call(opened("echo"), text="ab", times=2)

    class Async(Agent[Any, str]):
        """Async."""

        async def act(self, state: Any, ctx: AgentContext[Any]) -> Any:
            return state["answer"] + await ctx.acall(opened("echo"), text="c")

    assert Orchestrator([Clerk(), Async()]).run("?").answer == "ababc"


def test_a_ready_system_calls_it_without_python(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(NativeBody, "invoke", None)
    call = called("say", {"text": "Lima", "times": "2"})
    script: dict[str, list[dict[str, Any]]] = {
        "planner": [{"research_steps": ["look it up"], "expert_steps": ["say it"]}],
        "critic": [{"decision": "approve"}] * 3,
        "researcher": [call, {"result": "Lima"}],
        "expert": [{"reasoning_trace": "", "expert_answer": "Lima"}],
        "finalizer": [{"final_reasoning_trace": "", "final_answer": "Lima"}],
    }
    branches = [
        ("role", role, [reply if "tool_calls" in reply else {"json": reply} for reply in given])
        for role, given in script.items()
    ]
    model = Model.scripted([], branches=branches)
    echo = opened("echo").with_options(name="say")
    assert ReviewLoop(model, tools=[echo, opened("plot")]).run("?").answer == "Lima"
    messages = [one for request in model.requests for one in request["messages"]]
    assert [one["content"] for one in messages if one["role"] == "tool"] == ["LimaLima"]


def test_options_can_be_overridden_one_by_one() -> None:
    hang = opened("hang")
    assert hang.side_effect == "read"
    own = hang.with_options(name="wait", description="Waits.", timeout=2, max_calls=1, cache=False)
    assert (own.name, own.description, own.timeout) == ("wait", "Waits.", 2.0)
    assert own.spec["max_calls"] == 1
    assert own.spec["side_effect"] == "read"
    assert (hang.name, hang.timeout) == ("hang", None)
    assert repr(own) == "Tool('wait')"
    with pytest.raises(ValidationError, match="timeot"):
        hang.with_options(timeot=2)  # type: ignore[call-arg]


def test_the_limits_that_a_native_tool_declares_are_its_defaults() -> None:
    fail = opened("fail")
    assert fail.spec["breaker"] == {"failures": 50, "cooldown": 30.0}
    assert fail.max_concurrency == 4
    assert fail.gate is not None
    own = fail.with_options(breaker=False, max_concurrency=None)
    assert (own.gate, own.spec["breaker"]) == (None, None)


def test_retries_are_made_in_python() -> None:
    policy = RetryPolicy(max_attempts=2, initial_interval=0.0, jitter=False, retry_on=ToolError)
    fail = opened("fail").with_options(retry=policy)
    assert fail.native is None
    with pytest.raises(ToolError):
        fail.call({"kind": "refused"})


def test_a_toolset_takes_native_tools() -> None:
    tools = Toolset(open_family("echo"), prefix="e_")
    contents, _ = read_by_model([tools], called("e_echo", {"text": "a"}))
    assert contents == ["a"]


def test_langchain_calls_it() -> None:
    pytest.importorskip("langchain_core")
    structured = opened("echo").as_langchain()
    assert structured.invoke({"text": "ab", "times": 2}) == "abab"
    assert asyncio.run(structured.ainvoke({"text": "ab"})) == "ab"


def test_the_key_of_a_direct_call_reaches_it() -> None:
    context = ToolContext[Any](name="about_call", call_id="c1", idempotency_key="k1")
    assert opened("about_call").call({}, context)["idempotency_key"] == "k1"
