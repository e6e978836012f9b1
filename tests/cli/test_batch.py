"""``antiphon ask --batch`` as a script meets it."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from antiphon.systems import systems
from cli.conftest import Antiphon, environment
from cli.role_server import RoleServer


def write(folder: Path, *names: str) -> Path:
    path = folder / "in.jsonl"
    lines = [json.dumps({"task_id": f"id-{name}", "question": name}) for name in names]
    path.write_text("\n".join(lines) + "\n")
    return path


def outcomes(output: Path) -> dict[str, str]:
    lines = [json.loads(line) for line in output.read_text().splitlines()]
    return {line["task_id"]: line["outcome"] for line in lines}


def test_a_file_of_questions_is_answered_and_not_asked_again(
    tmp_path: Path, antiphon: Antiphon
) -> None:
    questions, output = write(tmp_path, "a", "b", "c"), tmp_path / "out.jsonl"
    with RoleServer() as server:
        done = antiphon("ask", "--batch", str(questions), "--out", str(output), url=server.url)
        asked = len(server.bodies)
        again = antiphon(
            "ask", "--batch", str(questions), "--out", str(output), "--json", url=server.url
        )
        assert len(server.bodies) == asked
    assert (done.returncode, done.stderr.count(": answered")) == (0, 3), done.stderr
    assert done.stdout == "3 answered, 0 failed, 0 done before\n"
    assert outcomes(output) == dict.fromkeys(["id-a", "id-b", "id-c"], "answered")
    assert again.returncode == 0
    assert json.loads(again.stdout)["skipped"] == 3
    assert sorted(path.name for path in tmp_path.iterdir()) == ["in.jsonl", "out.jsonl"]


def test_a_question_that_waits_for_a_person_stays_in_the_store(
    tmp_path: Path, antiphon: Antiphon
) -> None:
    if "echo" not in systems():
        pytest.skip("this build has no `echo`: it is of the kind that is published")
    questions, output = write(tmp_path, "a"), tmp_path / "out.jsonl"
    with RoleServer(said={"said": "hello"}) as server:
        given = ["--system", "echo", "--batch", str(questions), "--out", str(output)]
        done = antiphon("ask", *given, url=server.url)
        store = f"sqlite:{output}.threads"
        assert f"questions wait for answers in the store: {store}" in done.stderr
        answer = ["--team", "echo", "--store", store, "--answer", "true"]
        done = antiphon("runs", "resume", "id-a", *answer, url=server.url)
    assert (done.returncode, done.stdout) == (0, "hello\n"), done.stderr


def test_a_question_that_fails_is_counted_and_is_no_failure_of_the_batch(
    tmp_path: Path, antiphon: Antiphon
) -> None:
    """Prove RL-27 of docs/systems/review-loop.md."""
    questions, output = write(tmp_path, "a"), tmp_path / "out.jsonl"
    given = ["ask", "--batch", str(questions), "--out", str(output), "--set", "retry_limit=1"]
    with RoleServer(verdict={"decision": "reject", "feedback": "no"}) as server:
        done = antiphon(*given, url=server.url)
    assert (done.returncode, done.stdout) == (0, "0 answered, 1 failed, 0 done before\n")
    assert outcomes(output) == {"id-a": "retry_limit"}
    with RoleServer() as server:
        done = antiphon(*given, "--redo-failed", url=server.url)
    assert done.stdout == "1 answered, 0 failed, 0 done before\n"


def test_lines_that_cannot_be_asked_make_the_exit_code_that_of_an_error(
    tmp_path: Path, antiphon: Antiphon
) -> None:
    questions, output = write(tmp_path, "a"), tmp_path / "out.jsonl"
    with questions.open("a") as file:
        file.write("{\n")
    with RoleServer() as server:
        done = antiphon("ask", "--batch", str(questions), "--out", str(output), url=server.url)
    assert done.returncode == 1
    assert "not asked: line 2 is no JSON, from character: " in done.stderr
    assert done.stdout == "1 answered, 0 failed, 0 done before, 1 refused\n"


def test_a_key_that_is_refused_is_no_model(tmp_path: Path, antiphon: Antiphon) -> None:
    questions, output = write(tmp_path, "a", "b"), tmp_path / "out.jsonl"
    with RoleServer(401) as server:
        done = antiphon("ask", "--batch", str(questions), "--out", str(output), url=server.url)
    assert (done.returncode, output.read_bytes()) == (4, b"")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--batch", "in"], "--out FILE"),
        (["q", "--batch", "in", "--out", "out"], "question cannot be used with --batch"),
        (["--batch", "in", "--out", "out", "--file", "f"], "--file cannot be used with --batch"),
        (["q", "--out", "out"], "--out requires --batch"),
        (["q", "--redo-failed"], "--redo-failed requires --batch"),
        ([], "a question is required"),
        (["q", "--hats"], "unrecognized arguments: --hats"),
        (["q", "--concurrency", "x"], "--concurrency"),
    ],
)
def test_a_usage_error_prints_the_usage_of_its_command(
    arguments: list[str], message: str, antiphon: Antiphon
) -> None:
    done = antiphon("ask", *arguments)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("usage: antiphon ask ")
    assert message in done.stderr


def test_each_command_prints_its_own_usage(antiphon: Antiphon) -> None:
    for words in (["doctor"], ["systems"], ["runs", "list"]):
        done = antiphon(*words, "--nope")
        assert done.returncode == 2
        assert done.stderr.startswith(f"usage: antiphon {' '.join(words)} ")


def test_a_file_of_questions_that_cannot_be_read_is_a_wrong_usage(antiphon: Antiphon) -> None:
    done = antiphon("ask", "--batch", "absent", "--out", "out")
    assert (done.returncode, done.stdout) == (2, "")
    assert "cannot be read" in done.stderr


@pytest.mark.skipif(sys.platform == "win32", reason="there is no SIGINT to send there")
def test_ctrl_c_keeps_finished_lines_and_a_later_call_resumes_the_rest(
    tmp_path: Path, antiphon: Antiphon
) -> None:
    questions, output = write(tmp_path, "a", "b"), tmp_path / "out.jsonl"
    given = ["ask", "--batch", str(questions), "--out", str(output), "--concurrency", "1"]
    with RoleServer() as server:
        process = subprocess.Popen(
            [sys.executable, "-m", "antiphon", *given],
            env=environment(server.url),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        assert process.stderr is not None
        for line in process.stderr:
            if line.startswith("id-a: "):
                server.hold.clear()
                break
        # Some request of the second question now waits for its answer.
        server.asked.clear()
        assert server.asked.wait(30)
        os.kill(process.pid, signal.SIGINT)
        assert process.wait(30) == 130
        process.communicate()
        assert outcomes(output) == {"id-a": "answered"}
        assert (tmp_path / "out.jsonl.threads").exists()
        server.hold.set()
        done = antiphon(*given, url=server.url)
    assert (done.returncode, done.stdout) == (0, "1 answered, 0 failed, 1 done before\n")
    assert not (tmp_path / "out.jsonl.threads").exists()


def test_a_store_that_is_named_keeps_the_questions(tmp_path: Path, antiphon: Antiphon) -> None:
    questions, store = write(tmp_path, "a"), f"sqlite:{tmp_path / 'runs.db'}"
    given = ["ask", "--batch", str(questions), "--out"]
    with RoleServer() as server:
        done = antiphon(*given, str(tmp_path / "one.jsonl"), "--store", store, url=server.url)
        asked = len(server.bodies)
        # The answer is in the store already.
        variable = {"ANTIPHON_CHECKPOINTER": store}
        again = antiphon(*given, str(tmp_path / "two.jsonl"), url=server.url, **variable)
        assert len(server.bodies) == asked
        wrong = antiphon(*given, str(tmp_path / "one.jsonl"), "--store", "memory:", url=server.url)
    assert done.stdout == again.stdout == "1 answered, 0 failed, 0 done before\n"
    assert outcomes(tmp_path / "two.jsonl") == {"id-a": "answered"}
    assert (wrong.returncode, not (tmp_path / "one.jsonl.threads").exists()) == (2, True)
