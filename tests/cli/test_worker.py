"""``antiphon worker``: processes that carry out steps over a real server."""

from __future__ import annotations

import signal
import subprocess
import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import pytest

from antiphon.models import scripted
from antiphon.systems import PlanExecute, Queue
from antiphon.tools import tool
from cli.conftest import environment
from cli.role_server import RoleServer
from support.nats import NatsServer, free_port
from support.waiting import happens

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from cli.conftest import Antiphon

CONTEXT = {"updatedSummaryOfProgress": "done", "updatedNextObjective": "answer"}
MODULE = """
import os
from pathlib import Path
from antiphon import tool
from support.waiting import happens

@tool(side_effect="read")
def double(number: int) -> int:
    "Twice the number."
    with Path("started").open("a") as started:
        started.write(f"{os.getpid()} {number}\\n")
    assert number < 10 or happens(Path("go").exists)
    with Path("done").open("a") as done:
        done.write(f"{number}\\n")
    return 2 * number
"""


@tool(side_effect="read")
def double(number: int) -> int:
    """Twice the number, by a worker."""
    raise AssertionError(number)


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[NatsServer]:
    with NatsServer(tmp_path_factory.mktemp("nats")) as server:
        yield server


@contextmanager
def working(server: NatsServer, *options: str, folder: Path) -> Iterator[subprocess.Popen[str]]:
    """A worker that is ready."""
    worker = subprocess.Popen(
        [sys.executable, "-m", "antiphon", "worker", "--queue", server.url, *options],
        cwd=folder,
        env=environment(PYTHONPATH=":".join(sys.path)),
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        assert worker.stderr is not None
        line = worker.stderr.readline()
        assert line.startswith(f"ready at nats://127.0.0.1:{server.port}: "), line
        yield worker
    finally:
        worker.kill()
        worker.communicate()


def stopped(worker: subprocess.Popen[str], *signals: int) -> tuple[int, str]:
    """The exit code of a worker after signals, and what it has said."""
    for one in signals:
        worker.send_signal(one)
    assert worker.stderr is not None
    return worker.wait(30), worker.stderr.read()


def test_a_question_on_the_command_line_is_answered_by_a_worker(
    server: NatsServer, tmp_path: Path, antiphon: Antiphon
) -> None:
    replies: dict[str, Any] = {"context": CONTEXT, "answer": {"answer": "It is 42."}}
    with working(server, folder=tmp_path) as worker, RoleServer(**replies) as model:
        asked = ("ask", "--system", "plan-execute", "--queue", server.url, "What is 6 * 7?")
        done = antiphon(*asked, url=model.url)
        assert (done.returncode, done.stdout) == (0, "It is 42.\n"), done.stderr
        questions, output = tmp_path / "in.jsonl", tmp_path / "out.jsonl"
        questions.write_text('{"task_id": "a", "question": "What is 6 * 7?"}\n')
        many = (*asked[:-1], "--batch", str(questions), "--out", str(output))
        assert antiphon(*many, url=model.url).stdout.startswith("1 answered")
        code, said = stopped(worker, signal.SIGTERM)
    assert code == 0
    assert "UtilityAgent: completed after" in said
    assert "stopping once what is under way is finished" in said
    assert said.endswith("completed: 2, failed: 0, dropped: 0\n")


@pytest.mark.slow
def test_a_killed_worker_and_a_killed_server_lose_nothing_and_repeat_nothing(
    server: NatsServer, tmp_path: Path
) -> None:
    (tmp_path / "tools.py").write_text(MODULE)
    started, done = tmp_path / "started", tmp_path / "done"

    def step(number: int) -> dict[str, Any]:
        return {
            "stepId": f"s{number}",
            "assigned_agent_role": "UtilityAgent",
            "tool_name": "double",
            "sub_task_input": {"number": number},
            "narrative_step": f"double {number}",
        }

    stages = [[step(number) for number in range(5)], [step(10), step(11)], [step(5)]]
    replies = [{"stages": stages}, CONTEXT, {"answer": "Doubled."}]
    model = scripted([{"json": reply} for reply in replies])
    system = PlanExecute(model, tools=[double], queue=Queue.connect(server.url, name="killed"))
    options = ("--queue-name", "killed", "--tools", "tools:double", "--concurrency", "1")
    with (
        working(server, *options, folder=tmp_path) as first,
        working(server, *options, folder=tmp_path) as second,
        system.stream("Double them.") as stream,
    ):
        for event in stream:
            if event.name == "EXECUTION_STAGE_START" and event.data["stageIndex"] == 2:
                break
        assert happens(lambda: len(started.read_text().splitlines()) == 7)
        first.kill()
        server.kill()
        server.come_back()
        (tmp_path / "go").touch()
        for _ in stream:
            pass
        result = stream.result
        code, _ = stopped(second, signal.SIGINT)
    assert code == 130
    assert result.answer == "Doubled."
    numbers = [*range(5), 10, 11, 5]
    assert [one.result for one in result.executed_plan] == [2 * number for number in numbers]
    assert sorted(map(int, done.read_text().split())) == sorted(numbers)


PAYING = """
from pathlib import Path
from antiphon import tool
from support.waiting import happens

@tool
def pay(amount: int) -> str:
    "Pays."
    with Path("paid").open("a") as paid:
        paid.write(f"{amount}\\n")
    happens(Path("never").exists)
    return "paid"
"""


@tool
def pay(amount: int) -> str:
    """Pays, by a worker."""
    raise AssertionError(amount)


@pytest.mark.slow
def test_what_may_not_be_repeated_is_not_though_server_and_worker_are_killed(
    tmp_path: Path,
) -> None:
    (tmp_path / "tools.py").write_text(PAYING)
    paid = tmp_path / "paid"
    paying = {
        "stepId": "pay",
        "assigned_agent_role": "UtilityAgent",
        "tool_name": "pay",
        "sub_task_input": {"amount": 5},
        "narrative_step": "pay",
    }
    replies = [{"stages": [[paying]]}, CONTEXT, {"answer": "Nobody knows."}]
    model = scripted([{"json": reply} for reply in replies])
    (tmp_path / "nats").mkdir()
    with NatsServer(tmp_path / "nats", writes_at_once=True) as own:
        queue = Queue.connect(own.url)
        system = PlanExecute(model, tools=[pay], queue=queue, max_revisions=0, step_timeout_s=15)
        with (
            working(own, "--tools", "tools:pay", folder=tmp_path) as first,
            system.stream("Pay 5.") as stream,
        ):
            for event in stream:
                if event.name == "EXECUTION_STAGE_START":
                    break
            assert happens(lambda: paid.exists() and paid.read_text() == "5\n")
            own.kill()
            first.kill()
            own.come_back()
            with working(own, "--tools", "tools:pay", folder=tmp_path):
                for _ in stream:
                    pass
    step = stream.result.executed_plan[0]
    assert (step.status, paid.read_text()) == ("FAILED", "5\n"), step
    assert step.error is not None
    assert step.error.type == "Timeout"


def test_a_queue_that_cannot_be_used_is_an_error_before_any_work(
    tmp_path: Path, antiphon: Antiphon
) -> None:
    nobody = antiphon("worker", "--queue", f"nats://127.0.0.1:{free_port()}")
    assert nobody.returncode == 1
    assert "the server of the queue fails" in nobody.stderr
    scheme = antiphon("ask", "--system", "plan-execute", "--queue", "http://x", "What is 1 + 1?")
    assert scheme.returncode == 2
    assert "unknown scheme: http" in scheme.stderr
    none = antiphon("worker")
    assert none.returncode == 2
    assert "pass --queue nats://host:4222" in none.stderr
    questions = tmp_path / "in.jsonl"
    questions.write_text('{"task_id": "a", "question": "What is 1 + 1?"}\n')
    batch = ("--batch", str(questions), "--out", str(tmp_path / "out.jsonl"))
    for command in (
        ("ask", "--system", "plan-execute", *batch),
        ("runs", "resume", "t", "--team", "plan-execute"),
    ):
        refused = antiphon(*command, "--queue", "http://x")
        assert refused.returncode == 2
        assert "unknown scheme: http" in refused.stderr
    team = antiphon("runs", "resume", "t", "--team", "team:mine", "--queue", "nats://x")
    assert team.returncode == 2
    assert "`--queue` is for ready systems" in team.stderr
    profile = antiphon("worker", "--profile", "paid", "--queue", "nats://x")
    assert profile.returncode == 2
    assert "`--profile` takes `name=module:attribute`: paid" in profile.stderr
    other = antiphon("ask", "--queue", "nats://x", "What is 1 + 1?")
    assert other.returncode == 2
    assert "the system has no workers: review-loop" in other.stderr
