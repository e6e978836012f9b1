"""Which model answers where none is named, and names of local models in each place."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from antiphon import Agent, Orchestrator, models
from antiphon.cli import main
from antiphon.errors import ValidationError
from antiphon.models import scripted
from antiphon.systems import Computation, ReviewLoop

UNKNOWN = "local:900b"
"""Names a local model that does not exist, so that nothing is downloaded."""


CLAUDE, GPT, LOCAL = "anthropic:claude-sonnet-5-5", "openai:gpt-5-mini", "qwen2.5-coder:1.5b"
ANSWERED = ["OPENAI", "ANTHROPIC", "GEMINI", "GOOGLE", "MISTRAL", "DEEPSEEK", "OPENROUTER"]
UNANSWERED = {
    "AZURE_OPENAI_API_KEY": "azure:DEPLOYMENT",
    "GROQ_API_KEY": "groq:MODEL",
    "XAI_API_KEY": "xai:MODEL",
    "AWS_BEARER_TOKEN_BEDROCK": "Amazon Bedrock",
    "CO_API_KEY": "Cohere",
    "PERPLEXITY_API_KEY": "Perplexity",
}


@pytest.fixture(autouse=True)
def bare(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Removes the keys of this machine, and its cache."""
    keys = [f"{name}_API_KEY" for name in ANSWERED]
    for variable in ("ANTIPHON_MODEL", "ANTHROPIC_AUTH_TOKEN", "OLLAMA_HOST", *keys, *UNANSWERED):
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setenv("ANTIPHON_CACHE", str(tmp_path))


@pytest.mark.parametrize(
    ("env", "name"),
    [
        ({"ANTHROPIC_API_KEY": "k"}, CLAUDE),
        ({"ANTHROPIC_AUTH_TOKEN": "t"}, CLAUDE),
        ({"ANTHROPIC_API_KEY": "k", "OPENAI_API_KEY": "k"}, GPT),
        ({"ANTHROPIC_API_KEY": " "}, LOCAL),
        ({"GROQ_API_KEY": "k", "OPENAI_API_KEY": "k"}, GPT),
        ({"GROQ_API_KEY": "k", "ANTIPHON_MODEL": "groq:m"}, "groq:m"),
        ({}, LOCAL),
    ],
)
def test_the_key_of_a_provider_chooses_its_model(
    env: dict[str, str],
    name: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    for variable, value in env.items():
        monkeypatch.setenv(variable, value)
    assert main(["models"]) == 0
    assert capsys.readouterr().out.splitlines()[-1].startswith(f"default: {name} ")


@pytest.mark.parametrize("variable", UNANSWERED)
def test_a_key_without_a_default_model_downloads_nothing(
    variable: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(variable, "k")
    with pytest.raises(ValidationError, match=variable) as caught:
        ReviewLoop()
    assert caught.value.code == "model_unavailable"
    assert caught.value.hint is not None
    assert UNANSWERED[variable] in caught.value.hint


def test_ready_systems_and_the_command_line_name_the_key(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("GROQ_API_KEY", "k")
    with pytest.raises(ValidationError, match="GROQ_API_KEY"):
        ReviewLoop()
    assert main(["ask", "Why?"]) == 4
    assert "groq:MODEL" in capsys.readouterr().err
    assert main(["models"]) == 0
    assert "default: none (no model is named" in capsys.readouterr().out
    assert main(["doctor"]) == 0
    assert "default: none (no model is named" in capsys.readouterr().out


def built_by_agent() -> Any:
    return Orchestrator([Agent(name="a", model=UNKNOWN)])


def built_by_router() -> Any:
    agent = Agent(name="a", model=scripted(["x"]))
    return Orchestrator([agent], router=UNKNOWN)


def built_by_list() -> Any:
    return models.get(["openai:gpt-5-mini", UNKNOWN])


def built_by_recording() -> Any:
    return models.record("never.jsonl", UNKNOWN)


def built_by_system() -> Any:
    return ReviewLoop(UNKNOWN)


def built_by_another_system() -> Any:
    return Computation(UNKNOWN)


def built_by_role() -> Any:
    return ReviewLoop(scripted(["x"]), planner=UNKNOWN)


def built_by_agent_in_a_role() -> Any:
    return ReviewLoop(scripted(["x"]), planner=Agent(name="p", model=UNKNOWN))


PLACES = [
    built_by_agent,
    built_by_router,
    built_by_list,
    built_by_recording,
    built_by_system,
    built_by_another_system,
    built_by_role,
    built_by_agent_in_a_role,
]


@pytest.mark.parametrize("build", PLACES)
def test_a_local_name_is_understood_in_each_place(
    build: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "k")
    with pytest.raises(ValidationError, match="900b") as caught:
        build()
    assert caught.value.code == "local_model_unknown"


def test_a_local_name_is_understood_in_a_call_of_a_model_and_on_the_command_line(
    capsys: pytest.CaptureFixture[str],
) -> None:
    class Asks(Agent):
        def act(self, state: Any, ctx: Any) -> Any:
            return ctx.model("q", model=UNKNOWN)

    with pytest.raises(ValidationError) as caught:
        Orchestrator([Asks()]).run("q")
    assert caught.value.code == "local_model_unknown"
    assert main(["ask", "Why?", "--model", UNKNOWN]) == 2
    assert "900b" in capsys.readouterr().err
