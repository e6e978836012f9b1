"""``antiphon ask --system plan-execute``: documents, files, progress; killed and resumed."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest

from cli.conftest import environment
from cli.role_server import RoleServer

if TYPE_CHECKING:
    from pathlib import Path

    from cli.conftest import Antiphon

TASK = "How many people live in Lima? Write it into lima.pdf."
CONTEXT = {"updatedSummaryOfProgress": "found", "updatedNextObjective": "answer"}


def step(name: str, tool: str, given: Any) -> dict[str, Any]:
    """A step as a small model writes it: its tool decides the role."""
    return {"stepId": name, "tool_name": tool, "sub_task_input": given, "narrative_step": name}


PLAN = [
    [step("find", "search", "people in Lima")],
    [step("read", "read", {"path": "@{outputs.find.results.0.path}"})],
    [step("say", "LLMStepExecutor", "How many? @{outputs.read.result_data.text}")],
    [step("file", "write_pdf", {"path": "lima.pdf", "text": "@{outputs.say.result_data}"})],
]
REPLIES: dict[str, Any] = {
    "plan": {"stages": PLAN},
    "text": {"text": "Ten million."},
    "context": CONTEXT,
    "answer": {"answer": "Ten million; it is in lima.pdf."},
}


@pytest.fixture
def folders(tmp_path: Path) -> tuple[str, ...]:
    """The options of a task: documents, a workspace that is not there yet, and a store."""
    docs = tmp_path / "atlas"
    docs.mkdir()
    (docs / "lima.md").write_text("# Lima\n\nTen million people live in Lima.\n")
    workspace = ("--workspace", str(tmp_path / "work" / "files"))
    return ("--docs", str(docs), *workspace, "--store", f"sqlite:{tmp_path / 'runs.db'}")


def roles(server: RoleServer) -> list[str]:
    """The roles that were asked, in order."""
    return [body["response_format"]["json_schema"]["name"] for body in server.bodies]


def test_a_task_searches_reads_writes_and_tells_each_step(
    folders: tuple[str, ...], tmp_path: Path, antiphon: Antiphon
) -> None:
    asked = ("ask", TASK, "--system", "plan-execute", *folders)
    with RoleServer(**REPLIES) as server:
        done = antiphon(*asked, url=server.url, XDG_CACHE_HOME=str(tmp_path / "cache"))
        assert roles(server) == ["plan", "text", "context", "answer"]
        prompt = server.bodies[1]["messages"][-1]["content"]
    assert (done.returncode, done.stdout) == (0, "Ten million; it is in lima.pdf.\n"), done.stderr
    assert "Ten million people live in Lima." in prompt
    assert (tmp_path / "work/files/lima.pdf").read_bytes().startswith(b"%PDF")
    lines = done.stderr.splitlines()
    started = [one for one in lines if one.startswith("stage ")]
    assert started == ["stage 1: find", "stage 2: read", "stage 3: say", "stage 4: file"]
    assert [one for one in lines if one.startswith("  done: ")] == [
        "  done: find",
        "  done: read",
        "  done: say",
        "  done: file",
    ]


def test_a_killed_task_is_resumed_with_its_documents_and_files(
    folders: tuple[str, ...], tmp_path: Path, antiphon: Antiphon
) -> None:
    cache = str(tmp_path / "cache")
    asked = ("ask", TASK, "--system", "plan-execute", *folders, "--thread", "t")
    with RoleServer(held="text", **REPLIES) as server:
        server.hold.clear()
        variables = environment(server.url, XDG_CACHE_HOME=cache)
        command = [sys.executable, "-m", "antiphon", *asked]
        with subprocess.Popen(command, env=variables, stderr=subprocess.DEVNULL) as victim:
            assert server.reached.wait(60)
            shown = antiphon("runs", "show", "t", *folders[-2:], "--json")
            assert json.loads(shown.stdout)["thread"] == "t", shown.stderr
            victim.send_signal(signal.SIGKILL)
        assert not (tmp_path / "work/files/lima.pdf").exists()
        server.hold.set()
        resume = ("runs", "resume", "t", "--team", "plan-execute", *folders)
        done = antiphon(*resume, url=server.url, XDG_CACHE_HOME=cache)
        assert roles(server) == ["plan", "text", "text", "context", "answer"]
    assert (done.returncode, done.stdout) == (0, "Ten million; it is in lima.pdf.\n"), done.stderr
    assert (tmp_path / "work/files/lima.pdf").read_bytes().startswith(b"%PDF")
    lines = done.stderr.splitlines()
    assert [one for one in lines if one.startswith("stage ")] == ["stage 3: say", "stage 4: file"]


def test_what_failed_is_explained(
    folders: tuple[str, ...], tmp_path: Path, antiphon: Antiphon
) -> None:
    lost = {"stages": [[step("read", "read_document", "absent.md")]]}
    replies = {**REPLIES, "plan": lost, "answer": {"answer": "There is no such document."}}
    asked = ("ask", TASK, "--system", "plan-execute", "--set", "max_revisions=0", *folders)
    with RoleServer(**replies) as server:
        done = antiphon(*asked, url=server.url, XDG_CACHE_HOME=str(tmp_path / "cache"))
    assert (done.returncode, done.stdout) == (3, "There is no such document.\n"), done.stderr
    assert "  failed: read: " in done.stderr


def test_a_workspace_is_for_systems_whose_plans_write(tmp_path: Path, antiphon: Antiphon) -> None:
    given = ("--workspace", str(tmp_path))
    with RoleServer() as server:
        done = antiphon("ask", TASK, *given, url=server.url)
        assert not server.bodies
    assert (done.returncode, done.stdout) == (2, "")
    assert "the system does not work with files: review-loop" in done.stderr
    (tmp_path / "file").write_text("")
    asked = ("ask", TASK, "--system", "plan-execute", "--workspace", str(tmp_path / "file"))
    with RoleServer() as server:
        done = antiphon(*asked, url=server.url)
    assert done.returncode == 2
    assert "`--workspace` must be a folder" in done.stderr
