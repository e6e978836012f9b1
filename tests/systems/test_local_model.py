"""A real model on this machine answers a question through the review loop."""

from __future__ import annotations

import os

import pytest

from antiphon import Agent, Orchestrator
from antiphon._model.default_model import choose, open_model
from antiphon.systems import ReviewLoop
from local.conftest import real_weights

pytestmark = pytest.mark.local_model


def test_a_small_local_model_answers_a_question() -> None:
    real_weights("qwen2.5-coder:0.5b")
    with open_model(choose("local:0.5b", os.environ)) as model:
        result = ReviewLoop(model).run("What is 17 plus 25?")
    assert result.outcome == "answered", result.to_json(indent=1)
    assert "42" in (result.answer or "")
    assert result.usage.output_tokens > 0
    assert result.events[-1].kind == "run_finished"


def test_a_local_model_goes_by_its_name_wherever_a_model_does() -> None:
    real_weights("qwen2.5-coder:0.5b")
    agents = [
        Agent(name="adder", model="local:0.5b", instructions="Reply with a number alone."),
        Agent(name="spare", model=["local:0.5b", "ollama:qwen3"], writes="again"),
    ]
    result = Orchestrator(agents).run("What is 17 plus 25?")
    assert "42" in result.answer
    assert result.state["again"]
