"""``antiphon ask`` as a person and a script meet it: a process, its output and its exit code."""

from __future__ import annotations

import json
import os
import pty
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from antiphon.systems import systems
from cli.conftest import KEY, Antiphon, environment
from cli.role_server import RoleServer


def test_the_answer_goes_to_the_output_and_progress_beside_it(antiphon: Antiphon) -> None:
    with RoleServer() as server:
        done = antiphon("ask", "What is the capital of Peru?", url=server.url)
    assert (done.returncode, done.stdout) == (0, "Lima\n"), done.stderr
    lines = done.stderr.splitlines()
    assert lines[0] == "model: openai:gpt-5-mini (OPENAI_API_KEY is set)"
    assert "  plan: 1 research step, 1 expert step" in lines
    assert "    research 1: look it up" in lines
    assert "    expert 1: say it" in lines
    assert "research step 1 of 1: look it up" in lines
    assert "  found: Lima, says the atlas" in lines
    assert "  answer: Lima" in lines
    assert "  research 1 approved" in lines
    assert lines[-1] == "tokens: 60 read, 30 written; retries: 0"
    assert "\r" not in done.stderr


def test_json_is_one_object(antiphon: Antiphon) -> None:
    with RoleServer() as server:
        done = antiphon("ask", "What is the capital of Peru?", "--json", url=server.url)
    answer = json.loads(done.stdout)
    assert done.stdout.count("\n") == 1
    assert set(answer) == {
        "answer",
        "caveat",
        "error",
        "error_component",
        "final_answer",
        "final_reasoning_trace",
        "model",
        "outcome",
        "questions",
        "reason",
        "retries_by_agent",
        "retry_count",
        "run_id",
        "thread",
        "usage",
    }
    assert (answer["final_answer"], answer["outcome"]) == ("Lima", "answered")
    assert answer["usage"]["input_tokens"] == 60
    assert (answer["model"], answer["caveat"]) == ("openai:gpt-5-mini", None)


@pytest.mark.parametrize("system", sorted(systems()))
def test_the_guide_lists_what_every_system_tells_as_json(
    system: str, tmp_path: Path, antiphon: Antiphon
) -> None:
    guide = Path(__file__).parents[2] / "docs/guides/ask.md"
    (row,) = (one for one in guide.read_text().splitlines() if one.startswith("| `--json`"))
    listed = set(re.findall("`([a-z_]+)`", row.partition("beside them")[0]))
    table = tmp_path / "t.csv"
    table.write_text("a\n1\n")
    database = ("--db", str(table)) if system == "data_analyst" else ()
    with RoleServer(said={"said": "hello"}) as server:
        done = antiphon("ask", "1 + 1?", "--system", system, "--json", *database, url=server.url)
    assert "answer" in listed
    assert listed <= set(json.loads(done.stdout)), done.stderr


def test_a_thread_needs_a_store(antiphon: Antiphon) -> None:
    with RoleServer() as server:
        done = antiphon("ask", "Who?", "--thread", "t", url=server.url)
        assert server.bodies == []
    assert (done.returncode, done.stdout) == (2, "")
    assert "no store: ANTIPHON_CHECKPOINTER is not set" in done.stderr
    assert "pass --store sqlite:runs.db" in done.stderr


def test_a_question_that_pauses_is_kept_and_resumed_by_the_name_of_its_system(
    tmp_path: Path, antiphon: Antiphon
) -> None:
    if "echo" not in systems():
        pytest.skip("this build has no `echo`: it is of the kind that is published")
    kept = ("--store", f"sqlite:{tmp_path / 'runs.db'}")
    with RoleServer(said={"said": "hello"}) as server:
        done = antiphon("ask", "hi", "--system", "echo", *kept, "--thread", "t", url=server.url)
        assert done.returncode == 3, done.stderr
        assert "question of ask: Shall I say it again: hi?" in done.stderr
        assert done.stderr.count("answer it: ") == 1
        hint = f"answer it: antiphon runs resume t --team echo {' '.join(kept)} --answer JSON"
        assert hint in done.stderr
        resume = ("runs", "resume", "t", "--team", "echo", *kept)
        done = antiphon(*resume, "--answer", "true", "--set", "times=2", url=server.url)
        assert (done.returncode, done.stdout) == (0, "hello hello\n"), done.stderr
        done = antiphon(*resume, "--set", "volume=2", url=server.url)
        assert (done.returncode, done.stdout) == (2, "")
        assert "unknown setting of the echo: volume" in done.stderr
        done = antiphon("ask", "hi", "--system", "echo", url=server.url)
        assert done.returncode == 3
        assert "to answer it, ask again with --thread NAME" in done.stderr
        done = antiphon("ask", "hi", "--system", "echo", "--file", __file__, url=server.url)
        assert "the system does not accept a file: echo" in done.stderr
    done = antiphon("runs", "resume", "t", "--team", "ecco", *kept)
    assert "or a ready system: ecco" in done.stderr
    assert "review_loop" in done.stderr


def test_the_trace_comes_with_it_when_asked_for(antiphon: Antiphon) -> None:
    with RoleServer() as server:
        done = antiphon("ask", "Capital of Peru?", "--json", "--trace", url=server.url)
    printed = json.loads(done.stdout)
    numbers = [event["seq"] for event in printed["events"]]
    assert numbers == sorted(set(numbers))  # pieces of replies are left out
    assert {"plan_created", "verdict", "finalized"} <= {
        event["name"] for event in printed["events"]
    }
    asked = printed["trace"]["agents"][0]["calls"][0]
    assert (asked["kind"], asked["messages"][0]["role"]) == ("model", "system")


def test_the_trace_follows_the_answer_as_text(antiphon: Antiphon) -> None:
    with RoleServer() as server:
        done = antiphon("ask", "Capital of Peru?", "--trace", url=server.url)
    answer, _, trace = done.stdout.partition("\n\n")
    assert answer == "Lima"
    assert trace.startswith("review_loop ")
    assert "\n  planner (" in trace
    assert "user: " in trace


def test_a_named_model_and_a_file_reach_the_server(tmp_path: Path, antiphon: Antiphon) -> None:
    file = tmp_path / "atlas.txt"
    file.write_text("Peru: Lima")
    with RoleServer() as server:
        done = antiphon(
            "ask", "Capital?", "--model", "openai:other", "--file", str(file), url=server.url
        )
    assert done.returncode == 0, done.stderr
    assert server.bodies[0]["model"] == "other"
    assert "Peru: Lima" in json.dumps(server.bodies[0]["messages"])


def test_the_environment_can_name_the_model(antiphon: Antiphon) -> None:
    with RoleServer() as server:
        done = antiphon("ask", "Capital?", url=server.url, ANTIPHON_MODEL="openai:mine")
    assert done.returncode == 0
    assert server.bodies[0]["model"] == "mine"
    assert done.stderr.startswith("model: openai:mine (ANTIPHON_MODEL)")


def test_a_question_that_is_given_up_exits_with_3_and_says_why(antiphon: Antiphon) -> None:
    reject = {"decision": "reject", "feedback": "too vague"}
    with RoleServer(verdict=reject) as server:
        done = antiphon("ask", "Capital?", "--set", "retry_limit=2", url=server.url)
    assert (done.returncode, done.stdout) == (3, "The question could not be answered.\n")
    assert "  plan rejected: too vague" in done.stderr.splitlines()
    assert "  retry 2 of 2: planner" in done.stderr.splitlines()
    assert "no answer (retry_limit) at the step: planner" in done.stderr
    assert "finalizer" not in done.stderr, "it has nothing to word"


def test_a_question_that_nobody_can_answer_exits_with_3_and_says_why(antiphon: Antiphon) -> None:
    why = "Only the asker knows."
    plan = {"research_steps": [], "expert_steps": [why], "known": False}
    with RoleServer(plan=plan) as server:
        done = antiphon("ask", "What did I eat?", url=server.url)
        unanswered = antiphon("ask", "What did I eat?", "--json", url=server.url)
    assert (done.returncode, done.stdout) == (3, "The question could not be answered.\n")
    assert "  plan: this cannot be known" in done.stderr.splitlines()
    assert "no answer (no_answer) at the step: planner" in done.stderr
    assert f"reason: {why}" in done.stderr.splitlines()
    assert (json.loads(unanswered.stdout)["outcome"], json.loads(unanswered.stdout)["reason"]) == (
        "no_answer",
        why,
    )


def test_the_expert_computes_in_the_sandbox_unless_asked_not_to(antiphon: Antiphon) -> None:
    with RoleServer() as server:
        assert antiphon("ask", "37 * 48?", url=server.url).returncode == 0
        offered = [body.get("tools") for body in server.bodies]
        server.bodies.clear()
        assert antiphon("ask", "37 * 48?", "--no-tools", url=server.url).returncode == 0
        assert not any("tools" in body for body in server.bodies)
    names = [tool["function"]["name"] for tools in offered if tools for tool in tools]
    assert names == ["compute"], "only the expert has it"


def test_a_hyphen_reads_the_question_from_the_input() -> None:
    with RoleServer() as server:
        out, err = shell("echo 'Capital of Peru?' | antiphon ask -; echo $?", server.url)
        assert out == "Lima\n0\n", err
        assert "Capital of Peru?" in json.dumps(server.bodies[0]["messages"])
        out, err = shell("antiphon ask - < /dev/null; echo $?", server.url)
    assert out == "2\n"
    assert "the question is blank" in err


def test_a_refused_key_exits_with_4_and_is_not_shown(antiphon: Antiphon) -> None:
    with RoleServer(status=401) as server:
        done = antiphon("ask", "Capital?", "--json", url=server.url)
    assert done.returncode == 4, done.stderr
    assert json.loads(done.stdout)["outcome"] == "error"
    assert KEY not in done.stdout + done.stderr


@pytest.mark.parametrize("status", [401, 404, 503])
def test_a_research_without_a_model_exits_with_4_too(
    status: int, tmp_path: Path, antiphon: Antiphon
) -> None:
    (tmp_path / "notice.md").write_text("# Notice\n\nIn France it is 3 months.\n")
    given = ("--system", "deep-research", "--docs", str(tmp_path))
    with RoleServer(status=status) as server:
        done = antiphon("ask", "How long is the notice period?", *given, url=server.url)
    assert done.returncode == 4, done.stderr
    assert "no request to a model succeeded" in done.stderr


def test_without_any_model_the_exit_is_4_and_the_hint_names_the_ways(
    tmp_path: Path, antiphon: Antiphon
) -> None:
    done = antiphon(
        "ask",
        "Capital?",
        ANTIPHON_CACHE=str(tmp_path),
        PIP_INDEX_URL="http://127.0.0.1:9/simple",
        PIP_CONFIG_FILE=os.devnull,
        HTTPS_PROXY="http://127.0.0.1:9",
        HTTP_PROXY="http://127.0.0.1:9",
    )
    assert (done.returncode, done.stdout) == (4, "")
    assert "no model is available" in done.stderr
    for way in ("OPENAI_API_KEY", "OLLAMA_HOST", "antiphon[local]"):
        assert way in done.stderr


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["ask", "  "], "the question is blank"),
        (["ask", "q", "--set", "retries=3"], "retries"),
        (["ask", "q", "--set", "retry_limit=0"], "`retry_limit` must be at least 1"),
        (["ask", "q", "--set", "retry_limit"], "`--set` takes `key=value`"),
        (["ask", "q", "--set", "model=x"], "model"),
        (["ask", "q", "--model", "nobody:x"], "unknown model provider"),
        (["ask", "q", "--model", "local:900b"], "unknown local model"),
        (["ask", "q", "--model", "/none/there.gguf"], "there.gguf"),
        (["ask", "q", "--file", "/none/there.txt"], "the attached file cannot be read"),
        (["ask", "q", "--file", "/"], "the attached file cannot be read"),
        (["ask", "q", "--system", "oracle"], "oracle"),
        (["ask"], "question"),
        ([], "command"),
    ],
)
def test_what_is_wrong_is_said_before_anything_is_asked(
    arguments: list[str], message: str, antiphon: Antiphon
) -> None:
    with RoleServer() as server:
        done = antiphon(*arguments, url=server.url)
    assert (done.returncode, done.stdout) == (2, ""), done.stderr
    assert message in done.stderr
    assert "Traceback" not in done.stderr
    assert not server.bodies


@pytest.mark.parametrize(
    ("content", "message"),
    [(b"x" * (64 * 1024 + 1), "larger than 64 KiB"), (b"\xff\xfe\x00", "not UTF-8")],
)
def test_a_file_that_cannot_be_given_to_a_model_is_refused(
    content: bytes, message: str, tmp_path: Path, antiphon: Antiphon
) -> None:
    file = tmp_path / "file.bin"
    file.write_bytes(content)
    with RoleServer() as server:
        done = antiphon("ask", "q", "--file", str(file), url=server.url)
    assert (done.returncode, done.stdout) == (2, ""), done.stderr
    assert message in done.stderr
    assert not server.bodies


def test_ctrl_c_stops_it_with_130() -> None:
    with RoleServer() as server:
        server.hold.clear()
        child = subprocess.Popen(
            [sys.executable, "-m", "antiphon", "ask", "Capital?"],
            env=environment(server.url),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        assert server.asked.wait(30)
        child.send_signal(signal.SIGINT)
        out, err = child.communicate(timeout=30)
    assert (child.returncode, out) == (130, ""), err
    assert err.endswith("interrupted\n")
    assert "Traceback" not in err


def shell(line: str, url: str, **more: str) -> tuple[str, str]:
    """What a line of bash wrote, `antiphon` being the command in it, and what it complained of."""
    done = subprocess.run(
        ["bash", "-c", line.replace("antiphon", f"{sys.executable} -m antiphon")],
        env=environment(url, **more),
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    return done.stdout, done.stderr


@pytest.mark.parametrize(
    ("line", "written"),
    [
        ("antiphon ask q | head -c 0; echo ${PIPESTATUS[0]}", "1\n"),
        ("antiphon ask q 2>&1 >/dev/null | head -c 0; echo ${PIPESTATUS[0]}", "1\n"),
        ("antiphon ask q >&-; echo $?", "0\n"),
        ("antiphon ask q 2>&-; echo $?", "Lima\n0\n"),
        ("antiphon ask q 2>/dev/full; echo $?", "1\n"),
    ],
)
def test_streams_that_nobody_reads_give_an_exit_code_and_no_traceback(
    line: str, written: str
) -> None:
    with RoleServer() as server:
        out, err = shell(line, server.url)
    assert out == written, err
    assert "Traceback" not in err
    assert "Exception ignored" not in err


@pytest.mark.parametrize("line", ["antiphon ask q", "antiphon models"])
def test_a_full_disk_is_an_error_in_one_line(line: str) -> None:
    with RoleServer() as server:
        out, err = shell(f"{line} >/dev/full; echo $?", server.url)
    assert out == "1\n"
    assert err.splitlines()[-1] == "error: the output cannot be written: No space left on device"


@pytest.mark.parametrize("encoding", ["ascii", "cp1252"])
def test_an_answer_that_the_encoding_lacks_is_written_all_the_same(
    encoding: str, antiphon: Antiphon
) -> None:
    answer = {"reasoning_trace": "", "expert_answer": "Łaź"}
    with RoleServer(answer=answer) as server:
        done = antiphon("ask", "Which city?", url=server.url, PYTHONIOENCODING=encoding)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("\\u0141")


def test_a_question_that_is_no_text_is_refused() -> None:
    with RoleServer() as server:
        out, err = shell("antiphon ask $'caf\\xc3'; echo $?", server.url)
    assert (out, server.bodies) == ("2\n", [])
    assert "not UTF-8 text" in err
    assert "Traceback" not in err


def on_terminal(url: str) -> tuple[int, str]:
    """The exit code, and all that a terminal got to see."""
    ours, theirs = pty.openpty()
    child = subprocess.Popen(
        [sys.executable, "-m", "antiphon", "ask", "Capital?"],
        env=environment(url, COLUMNS="60"),
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
    )
    os.close(theirs)
    seen = b""
    while True:
        try:
            piece = os.read(ours, 4096)
        except OSError:  # the other end is closed
            break
        if not piece:
            break
        seen += piece
    os.close(ours)
    return child.wait(timeout=30), seen.decode()


def test_a_terminal_shows_who_works_and_does_not_obey_the_model() -> None:
    evil = "\x1b]0;owned\x07\x1b[2JLi\u202ema"
    answer = {"reasoning_trace": "", "expert_answer": evil}
    with RoleServer(answer=answer) as server:
        code, seen = on_terminal(server.url)
    assert code == 0, seen
    assert "planner plans" in seen
    assert "\r" in seen
    assert "]0;owned[2JLima" in seen
    assert not {"\x1b", "\x07", "\u202e"} & set(seen)


def test_models_lists_what_could_answer_and_no_key(antiphon: Antiphon) -> None:
    done = antiphon("models", url="http://127.0.0.1:9/v1")
    lines = done.stdout.splitlines()
    assert done.returncode == 0, done.stderr
    assert any(line.split()[:3] == ["openai:gpt-5-mini", "set", "OPENAI_API_KEY"] for line in lines)
    assert any("not set" in line and "GEMINI_API_KEY" in line for line in lines)
    assert any(line.strip().startswith("local:0.5b") for line in lines)
    assert lines[-1] == "default: openai:gpt-5-mini (OPENAI_API_KEY is set)"
    assert KEY not in done.stdout
