"""Replies of roles that a limit of tokens cut off: no half of a text is taken for a whole one."""

from __future__ import annotations

from typing import Any

import pytest

from antiphon import Agent, AgentContext, Orchestrator
from antiphon.errors import ModelOutputError
from antiphon.models import scripted
from antiphon.systems import Computation, ReviewLoop

OK = {"json": {"decision": "approve"}}
PLAN = {"json": {"research_steps": [], "expert_steps": ["e"]}}
RESEARCH = {"json": {"research_steps": ["look"], "expert_steps": ["e"]}}
FOUND = {"json": {"result": "Lima has 10,123,456 inhabitants."}}
ANSWER = {"json": {"reasoning_trace": "r", "expert_answer": "The capital is Lima."}}


def cut(text: str) -> dict[str, str]:
    return {"text": text, "finish": "length"}


HALF_ANSWER = cut('{"reasoning_trace":"r","expert_answer":"The capital is Li')
HALF_RESULT = cut('{"result":"Lima has 10,1')
HALF_PLAN = cut('{"research_steps":[],"expert_steps":["Multiply 37 by 48.","Then subt')


@pytest.mark.parametrize(
    ("replies", "asked_again"),
    [
        ([PLAN, OK, HALF_ANSWER, ANSWER, OK], 3),
        ([RESEARCH, OK, HALF_RESULT, FOUND, OK, ANSWER, OK], 3),
        ([HALF_PLAN, PLAN, OK, ANSWER, OK], 1),
    ],
)
def test_a_role_is_asked_again_to_be_shorter(replies: list[Any], asked_again: int) -> None:
    model = scripted(replies)
    result = ReviewLoop(model).run("The capital of Peru?")
    assert (result.outcome, result.answer) == ("answered", "The capital is Lima.")
    half = next(reply["text"] for reply in replies if reply.get("finish") == "length")
    *_, said, feedback = model.requests[asked_again]["messages"]
    assert said["content"] == half
    assert "cut off at the limit of tokens" in feedback["content"]
    assert "shorter" in feedback["content"]
    assert len(model.requests) == len(replies)
    assert half.rpartition('"')[2] not in str(result.state["research_results"]).split()


def test_an_answer_that_is_cut_off_each_time_is_an_error_that_keeps_the_text() -> None:
    result = ReviewLoop(scripted([PLAN, OK, *[HALF_ANSWER] * 40])).run("q")
    assert (result.outcome, result.answer) == ("error", None) or not result.answer
    assert isinstance(result.error, ModelOutputError)
    assert "cut off" in str(result.error)
    assert result.error.details["raw"] == HALF_ANSWER["text"]
    assert result.error.details["finish"] == "length"
    assert "max_output_tokens" in str(result.error.hint)


def test_code_of_a_role_does_not_reply_with_half_of_a_text() -> None:
    class Expert(Agent):
        def act(self, state: Any, ctx: AgentContext) -> str:
            return ctx.model("q")

    half = {"text": "The capital is Li", "finish": "length"}
    team = Orchestrator([Agent(scripted([half] * 40), name="a")], name="expert")
    for expert in (Expert(scripted([half] * 40)), team):
        result = ReviewLoop(scripted([PLAN, OK, *[OK] * 40]), expert=expert).run("q")
        assert result.outcome != "answered"
        assert not result.answer
        assert result.error is not None
        assert "The capital is Li" in str(result.error.details)


def test_half_of_the_words_of_a_number_are_not_delivered() -> None:
    code = {"json": {"reasoning": "", "python": "result=42", "explain": ""}}
    half = cut('{"answer": "It is 42, whi')
    result = Computation(scripted([code, half, half])).run("q")
    assert "whi" not in str(result.answer).split()
