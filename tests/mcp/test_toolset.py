"""`Toolset.mcp`: the tools of a server in Python."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from antiphon import Agent, Orchestrator, Toolset
from antiphon.checkpoint import MemorySaver
from antiphon.errors import ToolError, ToolTransportError, ValidationError
from antiphon.models import scripted as model_of


def calls(name: str, text: str = "hello") -> list[Any]:
    return [{"tool_calls": [{"name": name, "arguments": {"text": text}}]}, "Done."]


def starts(log: Path) -> int:
    return log.read_text(encoding="utf-8").count("started")


def test_an_agent_calls_a_tool_of_a_server(scripted: list[str], tmp_path: Path) -> None:
    log = tmp_path / "log"
    tools = Toolset.mcp([*scripted, "--log", str(log)], prefix="srv_", tools=["echo"])
    model = model_of(calls("srv_echo"))
    team = Orchestrator([Agent(name="clerk", model=model, tools=[tools])])
    assert team.run("Say hello.").answer == "Done."
    assert model.requests[1]["messages"][-1]["content"] == "hello"
    assert tools.protocol is None
    assert starts(log) == 1


def test_an_async_run_opens_and_closes_it_too(scripted: list[str]) -> None:
    tools = Toolset.mcp(scripted)
    model = model_of(calls("echo"))
    agent = Agent(name="clerk", model=model, tools=[tools])
    assert asyncio.run(agent.arun("Say hello.")).answer == "Done."
    assert tools.protocol is None


def test_it_stays_open_between_runs_within_a_with_block(
    scripted: list[str], tmp_path: Path
) -> None:
    log = tmp_path / "log"
    with Toolset.mcp([*scripted, "--log", str(log)]) as tools:
        for _ in range(2):
            Agent(name="clerk", model=model_of(calls("echo")), tools=[tools]).run("Say hello.")
        spoken = tools.protocol
    assert (spoken, tools.protocol) == ("2025-11-25", None)
    assert starts(log) == 1


def test_a_tool_is_called_without_a_run(scripted: list[str]) -> None:
    with Toolset.mcp(scripted) as tools:
        by_name = {tool.name: tool for tool in tools.tools}
        assert by_name["echo"].call({"text": "hi"}) == "hi"
        assert by_name["structured"].call({}) == {"people": 520_774}
        with pytest.raises(ToolError, match="no such city"):
            by_name["fail"].call({})


def test_images_of_a_tool_reach_the_model(scripted: list[str]) -> None:
    model = model_of(calls("media"))
    with Toolset.mcp(scripted, tools=["media"]) as tools:
        Agent(name="clerk", model=model, tools=[tools]).run("Draw.")
    kinds = [part["type"] for part in model.requests[1]["messages"][-1]["content"]]
    assert "image" in kinds


def test_progress_is_an_event_of_the_run(scripted: list[str]) -> None:
    seen: list[Any] = []
    with Toolset.mcp(scripted) as tools:
        agent = Agent(name="clerk", model=model_of(calls("progress")), tools=[tools])
        agent.run("Work.", watch=seen.append)
    shown = [event for event in seen if event.kind == "custom" and event.name == "progress"]
    steps = sorted(event.data["message"] for event in shown)
    assert steps == ["step 1", "step 2"]


@pytest.mark.parametrize("is_async", [False, True])
def test_a_function_answers_the_questions_of_a_server(
    scripted: list[str], *, is_async: bool
) -> None:
    asked: list[Any] = []

    def answer(question: dict[str, Any]) -> Any:
        asked.append(question)
        return {"sure": True}

    async def answer_later(question: dict[str, Any]) -> Any:
        return answer(question)

    with Toolset.mcp(scripted, elicit=answer_later if is_async else answer) as tools:
        ask = next(tool for tool in tools.tools if tool.name == "ask")
        assert '"sure": true' in ask.call({})
    assert asked[0]["question"] == "Really?"


def test_a_server_asks_the_model_that_it_may_ask(scripted: list[str]) -> None:
    with Toolset.mcp(scripted, sampling=model_of(["42"])) as tools:
        sample = next(tool for tool in tools.tools if tool.name == "sample")
        assert '"text": "42"' in sample.call({})


def test_calls_wait_for_approval(scripted: list[str]) -> None:
    tools = Toolset.mcp(scripted, tools=["write"], approval=True)
    team = Orchestrator([Agent(name="clerk", model=model_of(calls("write")), tools=[tools])])
    paused = team.run("Write.")
    assert paused.outcome == "paused"
    assert team.resume(paused, True).answer == "Done."


def test_a_server_that_cannot_be_started_is_named() -> None:
    with pytest.raises(ToolTransportError, match="no-such-program") as caught:
        Agent(name="clerk", model=model_of([]), tools=[Toolset.mcp("no-such-program")]).run("Hi.")
    assert caught.value.code == "mcp_unreachable"


@pytest.mark.parametrize(
    ("arguments", "options", "complaint"),
    [
        (42, {}, "a URL, a command line"),
        ("", {}, "`server` must be a URL"),
        ("run", {"timeout": 0}, "`timeout` must be"),
        ("run", {"headers": {"X": "y"}}, "`headers` are for"),
        ("run", {"elicit": 42}, "`elicit` must be"),
        ("run", {"sampling": 42}, "`sampling` must be"),
    ],
)
def test_settings_that_make_no_sense_are_refused(
    arguments: Any, options: dict[str, Any], complaint: str
) -> None:
    with pytest.raises(ValidationError, match=complaint) as caught:
        Toolset.mcp(arguments, **options)
    assert caught.value.code == "tool_setting_invalid"


ASKS = {"tool_calls": [{"name": "ask", "arguments": {"text": "?"}}]}


def asking(scripted: list[str], model: Any, **options: Any) -> Orchestrator:
    tools = Toolset.mcp(scripted, elicit="ask")
    return Orchestrator([Agent(name="clerk", model=model, tools=[tools])], **options)


@pytest.mark.parametrize(
    ("answer", "read"),
    [
        (True, '"content": {"sure": true}'),
        (None, '"action": "decline"'),
        ({"sure": False}, "false"),
    ],
)
def test_the_run_pauses_with_a_question_of_the_server(
    scripted: list[str], answer: Any, read: str
) -> None:
    model = model_of([ASKS, "Done."])
    team = asking(scripted, model)
    paused = team.run("Ask.")
    (question,) = paused.questions
    assert question.value["type"] == "elicitation"
    assert question.value["question"] == "Really?"
    assert team.resume(paused, answer).answer == "Done."
    assert read in model.requests[1]["messages"][-1]["content"]


def test_the_answer_may_come_in_another_process(scripted: list[str], tmp_path: Path) -> None:
    store = f"sqlite:{tmp_path}/runs.db"
    model = model_of([ASKS, "Done."])
    assert asking(scripted, model, checkpointer=store).run("Ask.", thread="t").outcome == "paused"
    later = asking(scripted, model, checkpointer=store)
    assert later.resume("t", {"sure": True}).answer == "Done."
    assert '"sure": true' in model.requests[1]["messages"][-1]["content"]


def test_an_answer_that_does_not_fit_is_asked_for_again(scripted: list[str]) -> None:
    model = model_of([ASKS, "Done."])
    team = asking(scripted, model, checkpointer=MemorySaver())
    team.run("Ask.", thread="t")
    again = team.resume("t", "perhaps")
    assert again.outcome == "paused"
    asked = again.questions[0].value
    assert (asked["question"], asked["problem"]) == (
        "Really?",
        '`sure` must be true or false: "perhaps"',
    )
    assert team.resume("t", True).answer == "Done."
    assert '"sure": true' in model.requests[1]["messages"][-1]["content"]


def test_code_of_an_agent_calls_a_tool_whose_server_asks(scripted: list[str]) -> None:
    class Host(Agent):
        """Calls by code."""

        tools = (Toolset.mcp(scripted, elicit="ask"),)

        def act(self, state: Any, ctx: Any) -> str:
            del state
            return str(ctx.call("ask", text="?"))

    team = Orchestrator([Host()])
    paused = team.run("Ask.")
    assert paused.questions[0].value["question"] == "Really?"
    assert '"sure": true' in str(team.resume(paused, True).answer)


def test_outside_of_runs_questions_are_declined(scripted: list[str]) -> None:
    with Toolset.mcp(scripted, elicit="ask") as tools:
        (ask,) = (tool for tool in tools.tools if tool.name == "ask")
        assert '"action": "decline"' in ask.call({"text": "?"})


def test_who_answers_is_a_function_or_the_run(scripted: list[str]) -> None:
    with pytest.raises(ValidationError, match="must be a function or 'ask'"):
        Toolset.mcp(scripted, elicit="run")  # type: ignore[arg-type]


def test_a_url_of_another_scheme_is_refused() -> None:
    with pytest.raises(ValidationError, match="unknown scheme: htp") as caught:
        Toolset.mcp("htp://x")
    assert caught.value.code == "tool_setting_invalid"


def test_a_file_that_is_no_program_is_told_what_runs_it() -> None:
    for file, runner in (("server.py", "python"), ("dist/index.js", "node")):
        with pytest.raises(ValidationError, match=f"no program: {file}") as caught:
            Toolset.mcp(file)
        assert caught.value.hint == f'write `Toolset.mcp("{runner} {file}")`'
