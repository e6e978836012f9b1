"""Answers of people that have to fit a type."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import pytest

from antiphon import Agent, AgentContext, Orchestrator
from antiphon.errors import ValidationError


@dataclass
class Order:
    item: str
    count: int = 1


def asking(question: Any, returns: Any) -> Orchestrator[Any, Any]:
    class Clerk(Agent):
        def act(self, state: Any, ctx: AgentContext) -> dict[str, Any]:
            return {"answer": ctx.ask(question, returns=returns)}

    return Orchestrator([Clerk()])


@pytest.mark.parametrize(
    ("returns", "given", "value"),
    [
        (int, 3, 3),
        (int, "3", 3),
        (str, "3", "3"),
        (bool, "true", True),
        (Literal["yes", "no"], "yes", "yes"),
        (list[int], "[1, 2]", [1, 2]),
        (Order, {"item": "pen"}, Order("pen")),
        (Order, '{"item": "pen", "count": 2}', Order("pen", 2)),
        (Order, Order("pen", 3), Order("pen", 3)),
        (int | None, None, None),
    ],
)
def test_an_answer_that_fits_is_a_value_of_the_type(returns: Any, given: Any, value: Any) -> None:
    team = asking("what?", returns)
    answer = team.resume(team.run("q"), given).state["answer"]
    assert (answer, type(answer)) == (value, type(value))


def test_an_answer_that_does_not_fit_is_asked_for_again_with_what_is_wrong() -> None:
    team = asking("how many?", int)
    again = team.resume(team.run("q"), "three")
    assert again.outcome == "paused"
    question, problem = again.questions[0].value.split("\n")
    assert question == "how many?"
    assert problem.startswith("The last answer does not fit: `answer` ")
    assert "'three'" in problem
    once_more = team.resume(again, 3.5)
    assert once_more.questions[0].value.count("\n") == 1, "the last answer alone"
    assert team.resume(once_more, 4).answer == 4


def test_a_question_that_is_no_text_is_repeated_as_data() -> None:
    team = asking({"form": "order"}, Order)
    again = team.resume(team.run("q"), {"item": "pen", "count": "many"})
    asked = again.questions[0].value
    assert asked["question"] == {"form": "order"}
    assert "answer.count" in asked["problem"]


def test_a_thread_keeps_the_answers_that_did_not_fit(tmp_path: Any) -> None:
    class Clerk(Agent):
        def act(self, state: Any, ctx: AgentContext) -> str:
            return f"{ctx.ask('how many?', returns=int) + ctx.ask('and of those?', returns=int)}"

    def team() -> Orchestrator[Any, Any]:
        return Orchestrator([Clerk()], checkpointer=f"sqlite:{tmp_path}/runs.db")

    team().run("q", thread="t")
    for answer in ("three", 3, "four"):
        assert team().resume("t", answer).outcome == "paused"
    assert team().resume("t", 4).answer == "7"


def test_a_type_without_a_schema_is_refused_before_anybody_is_asked() -> None:
    with pytest.raises(ValidationError) as caught:
        asking("what?", object()).run("q")
    assert caught.value.code == "unsupported_type"
    assert "agent `clerk`" in str(caught.value)
