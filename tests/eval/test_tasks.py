"""The tasks of `PlanExecute`: answers and files are checked, and the words alone are not enough."""

from __future__ import annotations

import json
from collections import Counter
from typing import TYPE_CHECKING, Any

from antiphon.models import scripted
from antiphon.systems import PlanExecute
from antiphon.tools import document_search, files, write_pdf
from eval.command import evaluate
from eval.library import ISLES
from eval.loading import load
from eval.measures import NO_DATA, measures
from eval.scoring import score
from eval.tasks import ask_task, judge_task

if TYPE_CHECKING:
    from pathlib import Path

KINDS = {"calculation", "search", "search-calculation", "file", "pdf", NO_DATA}


def test_there_are_tasks_of_each_kind_and_each_end_can_be_checked() -> None:
    tasks = load("plan-execute")
    assert len(tasks) >= 12
    assert set(Counter(task.kind for task in tasks)) == KINDS
    for task in tasks:
        facts = [str(fact[0]) for fact in task.expected.get("facts", ())]
        assert facts or task.files or task.kind == NO_DATA, task.id
        outcome = "no_answer" if task.kind == NO_DATA else "answered"
        assert score(task.expected, outcome, f"It is {' and '.join(facts)}.") == "right", task.id


def step(name: str, tool: str, role: str, **given: Any) -> dict[str, Any]:
    return {
        "stepId": name,
        "assigned_agent_role": role,
        "tool_name": tool,
        "sub_task_input": given,
        "narrative_step": f"do {name}",
    }


def written(name: str, content: str) -> dict[str, Any]:
    given = {"operation": "create_file", "params": {"filename": name, "content": content}}
    return step("w", "FileSystemTool", "Orchestrator", **given)


def printed(name: str, markdown: str) -> dict[str, Any]:
    params = {"filename": name, "content": markdown}
    given = {"operation": "create_pdf_from_text", "params": params}
    return step("p", "FileSystemTool", "Orchestrator", **given)


def test_a_task_is_done_if_the_answer_and_the_files_are_right(tmp_path: Path) -> None:
    tasks = {task.id: task for task in load("plan-execute")}
    product, sums = tasks["t11"], step("s", "CalculatorTool", "UtilityAgent", expression="19 * 23")
    replies = [
        ([[sums], [written("product.txt", "@{outputs.s.result_data}")]], "It is written."),
        ([[sums]], "It is written."),
        ([[printed("notice.pdf", "# Notice\n\nThe bathing house is closed.")]], "It is written."),
        ([[step("s", "CalculatorTool", "UtilityAgent", expression="12 * 30")]], "It is 360."),
    ]
    context = {"updatedSummaryOfProgress": "done", "updatedNextObjective": "answer"}
    said = [
        {"json": reply}
        for stages, answer in replies
        for reply in ({"stages": stages}, context, {"answer": answer})
    ]
    model = scripted(said)
    documents = document_search(ISLES, cache=tmp_path / "documents")

    def executor(folder: Path) -> PlanExecute:
        tools = [documents, files(folder), write_pdf(folder)]
        return PlanExecute(model, tools=tools, templates=[])

    asked = [product, product, tasks["t15"], tasks["t16"]]
    rows = [
        evaluate("plan-execute", [task], ask_task(executor), path, str, judge=judge_task)[0]
        for task, path in zip(asked, map(tmp_path.joinpath, "abcd"), strict=True)
    ]
    assert [row.verdict for row in rows] == ["right", "wrong", "right", "wrong"], rows
    assert json.loads(rows[0].query)[0][0]["tool_name"] == "CalculatorTool"
    assert measures("plan-execute", rows) == {
        "tasks that were done": "2 of 3 (67%)",
        "files as the task wants them": "2 of 3 (67%)",
        "wrong, of what was delivered as answered": "2 of 4 (50%)",
        "right refusals": "0 of 1 (0%)",
        "tasks that were given up": "0 of 3 (0%)",
    }
