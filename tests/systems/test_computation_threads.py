"""What the computation has from the scaffold: streams, batches, threads, roles and prompts."""

from __future__ import annotations

import asyncio
import json
from typing import TYPE_CHECKING, Any

import pytest

from antiphon import Agent
from antiphon.checkpoint import SqliteSaver
from antiphon.errors import ValidationError
from antiphon.models import scripted
from antiphon.sandbox import Sandbox
from antiphon.systems import Computation
from antiphon.tools import tool

if TYPE_CHECKING:
    from pathlib import Path

    from antiphon.models import Model


def plan(python: str) -> dict[str, Any]:
    """A reply of the planner."""
    return {"json": {"reasoning": "", "python": python, "explain": ""}}


def words(answer: str) -> dict[str, Any]:
    """A reply of the summariser."""
    return {"json": {"answer": answer, "highlights": []}}


def model() -> Model:
    """Answers one question."""
    return scripted([plan("result = max(sales)"), words("30 were sold.")])


QUESTION = "How many were sold on the best day?"
SALES = {"sales": [10, 20, 30]}


def test_a_question_is_resumed_with_its_data_in_another_object(tmp_path: Path) -> None:
    url = f"sqlite:{tmp_path / 'runs.db'}"
    failing = scripted([plan("result = max(sales)")])
    first = Computation(failing, checkpointer=url).run(QUESTION, SALES, thread="q")
    assert first.error is not None, "the summariser had no reply, and the result stands"
    assert (first.outcome, first.answer, first.value) == ("answered", "30", 30)
    again = Computation(scripted([]), checkpointer=url).resume("q")
    assert (again.answer, again.value, again.run_id) == (first.answer, 30, first.run_id)


def test_tables_and_figures_survive_a_thread(tmp_path: Path) -> None:
    pandas = pytest.importorskip("pandas")
    code = "result = sales['net'].sum()\ntable = sales[sales['net'] > 3]"
    sandbox = Sandbox(packages=["pandas", "numpy", "pyarrow"])
    sales = pandas.DataFrame({"region": ["north", "south"], "net": [3, 4]})
    with SqliteSaver.open(tmp_path / "runs.db") as saver:
        computation = Computation(
            scripted([plan(code), words("7.")]), sandbox=sandbox, checkpointer=saver
        )
        first = computation.run("How much in all?", {"sales": sales}, thread="t")
        again = computation.resume("t")
    assert first.value == again.value == 7
    assert again.table.to_pandas()[["region", "net"]].values.tolist() == [["south", 4]]


def test_events_are_streamed_in_order() -> None:
    stream = Computation(model()).stream(QUESTION, SALES)
    names = [event.name for event in stream if event.kind == "custom"]
    assert names == ["code_planned", "code_ran"]
    assert stream.result.answer == "30 were sold."


def test_several_questions_are_answered_in_their_order() -> None:
    replies = [plan("result = 1"), words("one"), plan("result = 1"), words("one")]
    found = Computation(scripted(replies)).batch(["What is 1?", "And 1?"], concurrency=1)
    assert [one.answer for one in found] == ["one", "one"]


def test_a_batch_takes_the_data_of_all_its_questions_or_of_each() -> None:
    def sum_up(_: dict[str, Any]) -> dict[str, str]:
        return {"reasoning": "", "python": "result = sum(numbers)", "explain": ""}

    computation = Computation(planner=sum_up, summarise=False)
    shared = computation.batch(["What is the sum?", "And again?"], {"numbers": [1, 2]})
    assert [one.value for one in shared] == [3, 3]
    assert shared[0].models == ()
    own = computation.batch(["What is it?"] * 2, [{"numbers": [4]}, {"numbers": [5]}])
    assert [one.answer for one in own] == ["4", "5"]
    with pytest.raises(ValidationError, match=r"as many inputs as questions \(2\): 1"):
        computation.batch(["What is it?"] * 2, [{"numbers": [4]}])
    with pytest.raises(ValidationError, match="`inputs` must be a dict of values by name: int"):
        computation.batch(["What is it?"], [4])  # type: ignore[list-item]


def test_a_file_of_questions_gets_a_file_of_answers(tmp_path: Path) -> None:
    questions, output = tmp_path / "in.jsonl", tmp_path / "out.jsonl"
    questions.write_text(json.dumps({"task_id": "a", "question": "What is 1?"}) + "\n")
    report = Computation(scripted([plan("result = 1"), words("one")])).batch_file(questions, output)
    (line,) = map(json.loads, output.read_text().splitlines())
    assert (line["task_id"], line["model_answer"], line["outcome"]) == ("a", "one", "answered")
    assert report.answered == 1


def test_a_line_with_a_file_is_refused_and_not_answered_without_it(tmp_path: Path) -> None:
    questions, output = tmp_path / "in.jsonl", tmp_path / "out.jsonl"
    (tmp_path / "sales.csv").write_text("1")
    line = {"task_id": "a", "question": "What is in it?", "file_name": "sales.csv"}
    questions.write_text(json.dumps(line) + "\n")
    report = Computation(scripted([])).batch_file(questions, output)
    assert report.refused == 1
    assert output.read_text() == ""


def test_code_and_agents_can_have_the_roles() -> None:
    class Writer(Agent):
        """Words results."""

        model = scripted([words("It is six.")])

    seen: list[dict[str, Any]] = []

    def write_code(brief: dict[str, Any]) -> dict[str, str]:
        seen.append(brief)
        return {"reasoning": "", "python": "result = sum(numbers)", "explain": ""}

    computation = Computation(planner=write_code, summariser=Writer)
    result = computation.run("What is the sum?", {"numbers": [1, 2, 3]})
    assert (result.answer, result.value) == ("It is six.", 6)
    assert "numbers" in seen[0]["inputs"]


def test_functions_of_the_host_are_called_from_awaited_code() -> None:
    @tool
    def price(item: str) -> int:
        """The price of an item."""
        return {"tea": 3}[item]

    computation = Computation(
        scripted([plan("result = price('tea')"), words("3.")]), sandbox=Sandbox(tools=[price])
    )
    result = asyncio.run(computation.arun("What does tea cost?"))
    assert (result.value, result.outcome) == (3, "answered")


def test_prompts_of_the_computation_can_be_replaced() -> None:
    script = model()
    prompts = {"planner": "Write Python. {{form}}"}
    Computation(script, prompts=prompts).run(QUESTION, SALES)
    assert script.requests[0]["messages"][0]["content"].startswith("Write Python. {")
    with pytest.raises(ValidationError, match="`prompts` must be a dict of texts or paths by name"):
        Computation(model(), prompts=["planner"])  # type: ignore[arg-type]
    with pytest.raises(ValidationError, match="unknown field of the prompt `planner`: tables"):
        Computation(model(), prompts={"planner": "{{tables}}"})
