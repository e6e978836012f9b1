"""The option ``--docs``: a folder of documents that a system may search and read."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from antiphon.systems import systems
from cli.role_server import RoleServer

if TYPE_CHECKING:
    from pathlib import Path

    from cli.conftest import Antiphon

QUESTION = "What is the capital of Peru?"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = tmp_path / "atlas"
    folder.mkdir()
    (folder / "peru.md").write_text("# Peru\n\nThe capital of Peru is Lima.\n")
    (folder / "damaged.docx").write_bytes(b"no archive")
    (folder / "photo.jpg").write_bytes(b"\xff\xd8")
    return folder


def _found(server: RoleServer) -> dict[str, Any]:
    """The result of the search, as the model of the researcher was told it."""
    messages = [one for body in server.bodies for one in body["messages"]]
    [content] = {one["content"] for one in messages if one["role"] == "tool"}
    found: dict[str, Any] = json.loads(content[content.index("{") : content.rindex("}") + 1])
    return found


def test_the_researcher_searches_the_folder(
    folder: Path, tmp_path: Path, antiphon: Antiphon
) -> None:
    cache = str(tmp_path / "cache")
    with RoleServer() as server:
        asked = ("ask", QUESTION, "--docs", str(folder))
        done = antiphon(*asked, url=server.url, XDG_CACHE_HOME=cache)
        found = _found(server)
    assert (done.returncode, done.stdout) == (0, "Lima\n"), done.stderr
    assert found["results"][0]["path"] == "peru.md"
    assert "The capital of Peru is Lima." in found["results"][0]["passage"]
    lines = done.stderr.splitlines()
    assert "documents: 1" in lines
    left_out = [one for one in lines if one.startswith("documents left out, ")]
    assert left_out == ["documents left out, damaged: 1, for instance damaged.docx"]
    assert "  tool search_documents" in lines
    assert sorted(path.name for path in folder.iterdir()) == [
        "damaged.docx",
        "peru.md",
        "photo.jpg",
    ]


def test_the_agentic_search_plans_a_search_and_names_the_document(
    folder: Path, tmp_path: Path, antiphon: Antiphon
) -> None:
    task = {"tool_name": "search_documents", "tool_arguments": {"query": "capital of Peru"}}
    plan = {"reasoning": "the atlas", "tasks": [task]}
    answer = {"reasoning": "", "response_content": "<p>It is <b>Lima</b>.</p>", "sources": [1]}
    asked = ("ask", QUESTION, "--system", "agentic-search", "--docs", str(folder), "--json")
    with RoleServer(plan=plan, answer=answer) as server:
        done = antiphon(*asked, url=server.url, XDG_CACHE_HOME=str(tmp_path / "cache"))
        assert len(server.bodies) == 2, "a plan and an answer"
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["answer"] == "It is **Lima**."
    (source,) = found["sources"]
    assert source["location"].startswith("peru.md")
    assert "The capital of Peru is Lima." in source["excerpt"]
    assert "Traceback" not in done.stderr
    lines = done.stderr.splitlines()
    assert "planner plans" in lines
    assert "synthesiser words the answer" in lines
    assert "  plan: 1 task" in lines
    assert "    task 1: search_documents: search_documents" in lines
    assert any(one.startswith("[1] ") and "Peru is Lima." in one for one in lines), "its source"


def test_plan_and_execute_searches_it_and_tells_its_steps(
    folder: Path, tmp_path: Path, antiphon: Antiphon
) -> None:
    step = {
        "stepId": "s1",
        "assigned_agent_role": "UtilityAgent",
        "tool_name": "search",
        "sub_task_input": "capital of Peru",
        "narrative_step": "look it up",
    }
    context = {"updatedSummaryOfProgress": "found", "updatedNextObjective": "answer"}
    replies: dict[str, Any] = {
        "plan": {"stages": [[step]]},
        "context": context,
        "answer": {"answer": "Lima"},
    }
    asked = ("ask", QUESTION, "--system", "plan-execute", "--docs", str(folder))
    with RoleServer(**replies) as server:
        done = antiphon(*asked, url=server.url, XDG_CACHE_HOME=str(tmp_path / "cache"))
    assert (done.returncode, done.stdout) == (0, "Lima\n"), done.stderr
    lines = done.stderr.splitlines()
    assert "  plan: 1 stage" in lines
    assert "    stage 1: search_documents: look it up" in lines
    repaired = "[0][0].tool_name: read as search_documents: search, and 2 more"
    assert f"  put right in the plan: {repaired}" in lines
    assert "  done: look it up" in lines
    assert "Traceback" not in done.stderr


def test_the_deep_research_cites_the_document_and_tells_its_steps(
    folder: Path, tmp_path: Path, antiphon: Antiphon
) -> None:
    step = {"title": "Capital", "description": "", "step_type": "research", "needs_search": True}
    quote = "The capital of Peru is Lima."
    verdict = {"verdicts": [{"number": 0, "reasoning": "it says so", "verdict": "supported"}]}
    replies: dict[str, Any] = {
        "classification": {
            "is_ambiguous": False,
            "complexity": "simple",
            "reasoning": "",
            "recommended_depth": "light",
            "follow_up_type": "new_topic",
            "is_simple_query": False,
        },
        "queries": {"queries": ["capital of Peru"]},
        "plan": {"title": "Peru", "thought": "", "has_enough_context": False, "steps": [step]},
        "observation": {"observation": quote},
        "reflection": {"decision": "complete", "reasoning": "it is known"},
        "passage_extractor": {"spans": [{"quote": quote, "relevance": 1}]},
        "reporter": {"report": "The capital of Peru is Lima [0]."},
        "verifier": verdict,
        "quick_verifier": verdict,
    }
    page = tmp_path / "peru.html"
    asked = ("ask", QUESTION, "--system", "deep-research", "--docs", str(folder), "--json")
    store = ("--store", f"sqlite:{tmp_path / 'store.db'}")
    again = ("runs", "resume", "peru", "--team", "deep-research", "--docs", str(folder), *store)
    with RoleServer(**replies) as server:
        kept = (*asked, "--report", str(page), "--thread", "peru", *store)
        done = antiphon(*kept, url=server.url, XDG_CACHE_HOME=str(tmp_path / "cache"))
        assert done.returncode == 0, done.stderr
        first = page.read_text(encoding="utf-8")
        page.unlink()
        resumed = antiphon(*again, "--report", str(page), url=server.url)
    assert resumed.returncode == 0, resumed.stderr
    assert f"report: {page}" in resumed.stderr
    assert page.read_text(encoding="utf-8") == first
    found = json.loads(done.stdout)
    assert found["answer"].startswith("The capital of Peru is Lima [")
    assert f">{found['passages'][0]['quote']}</mark>" in page.read_text(encoding="utf-8")
    assert f"report: {page}" in done.stderr
    assert found["claims"][0]["verdict"] == "supported"
    assert found["sources"][0]["url"] == "peru.md"
    assert quote in found["passages"][0]["quote"]
    assert "Traceback" not in done.stderr
    lines = done.stderr.splitlines()
    assert "  plan 1: 1 step" in lines
    assert "  step 1: Capital" in lines
    assert "  reflection: complete" in lines


def test_a_batch_searches_it_too(folder: Path, tmp_path: Path, antiphon: Antiphon) -> None:
    questions, output = tmp_path / "in.jsonl", tmp_path / "out.jsonl"
    questions.write_text(json.dumps({"task_id": "a", "question": QUESTION}) + "\n")
    given = ("ask", "--batch", str(questions), "--out", str(output), "--docs", str(folder))
    with RoleServer() as server:
        done = antiphon(*given, url=server.url, XDG_CACHE_HOME=str(tmp_path / "cache"))
        assert _found(server)["results"][0]["path"] == "peru.md"
    assert (done.returncode, done.stdout) == (0, "1 answered, 0 failed, 0 done before\n")


def test_a_folder_that_does_not_exist_is_refused_before_a_model_is_asked(
    tmp_path: Path, antiphon: Antiphon
) -> None:
    with RoleServer() as server:
        done = antiphon("ask", QUESTION, "--docs", str(tmp_path / "absent"), url=server.url)
        assert not server.bodies
    assert (done.returncode, done.stdout) == (2, "")
    assert f"`--docs` must be an existing folder: {tmp_path}" in done.stderr


def test_a_report_that_cannot_be_written_is_refused_before_a_model_is_asked(
    tmp_path: Path, antiphon: Antiphon
) -> None:
    deep = ("ask", QUESTION, "--system", "deep-research", "--report")
    resume = ("runs", "resume", "t", "--report", "a.md", "--team")
    with RoleServer() as server:
        for asked, text in [
            ((*deep, str(tmp_path / "a.doc")), "must end in .html, .md or .pdf: a.doc"),
            ((*deep, str(tmp_path / "absent" / "a.md")), "the folder of the report does not exist"),
            (("ask", QUESTION, "--report", "a.md"), "the system writes no reports: review-loop"),
            ((*resume, "review-loop"), "the system writes no reports: review-loop"),
        ]:
            done = antiphon(*asked, url=server.url)
            assert done.returncode == 2, done.stderr
            assert text in done.stderr
        assert not server.bodies


def test_systems_without_tools_and_teams_refuse_documents(
    folder: Path, tmp_path: Path, antiphon: Antiphon
) -> None:
    if "echo" in systems():
        with RoleServer() as server:
            asked = ("ask", "hi", "--system", "echo", "--docs", str(folder))
            done = antiphon(*asked, url=server.url)
        assert done.returncode == 2, done.stderr
        assert "the system does not accept documents: echo" in done.stderr
    store = f"sqlite:{tmp_path / 'runs.db'}"
    resume = ("runs", "resume", "t", "--team", "team:team", "--store", store)
    done = antiphon(*resume, "--docs", str(folder))
    assert "`--docs` is for ready systems" in done.stderr
    assert done.returncode != 0


def test_a_run_is_resumed_with_its_documents(
    folder: Path, tmp_path: Path, antiphon: Antiphon
) -> None:
    kept = ("--store", f"sqlite:{tmp_path / 'runs.db'}")
    cache = str(tmp_path / "cache")
    with RoleServer() as server:
        asked = ("ask", QUESTION, "--docs", str(folder), *kept, "--thread", "t")
        assert antiphon(*asked, url=server.url, XDG_CACHE_HOME=cache).returncode == 0
        resume = ("runs", "resume", "t", "--team", "review-loop", "--docs", str(folder), *kept)
        done = antiphon(*resume, url=server.url, XDG_CACHE_HOME=cache)
    assert (done.returncode, done.stdout) == (0, "Lima\n"), done.stderr
    assert "documents: 1" in done.stderr


def test_plan_and_execute_searches_a_folder_as_a_step_of_its_plan(
    folder: Path, tmp_path: Path, antiphon: Antiphon
) -> None:
    step = {
        "stepId": "s1",
        "assigned_agent_role": "ResearchAgent",
        "tool_name": "search_documents",
        "sub_task_input": {"query": "capital of Peru"},
        "narrative_step": "search the atlas",
    }
    context = {"updatedSummaryOfProgress": "It was found.", "updatedNextObjective": "Answer."}
    asked = ("ask", QUESTION, "--system", "plan-execute", "--docs", str(folder), "--json")
    replies: dict[str, Any] = {"plan": {"stages": [[step]]}, "answer": {"answer": "Lima."}}
    with RoleServer(context=context, **replies) as server:
        done = antiphon(*asked, url=server.url, XDG_CACHE_HOME=str(tmp_path / "cache"))
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert (found["answer"], found["status"]) == ("Lima.", "COMPLETED")
    (executed,) = found["executed_plan"]
    assert "The capital of Peru is Lima." in json.dumps(executed["result"])
