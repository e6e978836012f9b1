"""``antiphon serve``: processes that serve over loopback."""

from __future__ import annotations

import signal
import subprocess
import sys
import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING

import pytest

from antiphon.checkpoint import SqliteSaver
from cli.conftest import KEY, environment
from cli.role_server import RoleServer
from support.http_client import Reply, ask, events, send

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from cli.conftest import Antiphon

TOKEN = "~0123456789abcdef"
MODULE = """
import asyncio
from pathlib import Path
from antiphon import Agent, Orchestrator

class Desk(Agent):
    async def act(self, state, ctx):
        if state["question"] != "wait":
            return "hello " + state["question"]
        from support.waiting import until

        ctx.emit({}, "waiting")
        try:
            await until(Path("go").exists)
        except asyncio.CancelledError:
            Path("cancelled").touch()
            raise
        return "went"

team = Orchestrator([Desk()], name="desk", checkpointer="sqlite:runs.db")
number = 7
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with a module."""
    (tmp_path / "desk.py").write_text(MODULE, encoding="utf-8")
    return tmp_path


@contextmanager
def serving(
    folder: Path, target: str, *options: str, **variables: str
) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """A server that listens, and its address."""
    server = subprocess.Popen(
        [sys.executable, "-m", "antiphon", "serve", target, "--port", "0", *options],
        cwd=folder,
        env=environment(PYTHONPATH=":".join(sys.path), **variables),
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        assert server.stderr is not None
        lines = iter(server.stderr.readline, "")
        line = next((one for one in lines if one.startswith("serving ")), "nothing")
        assert line.endswith("; stop with Ctrl-C\n"), line
        yield server, line.partition(" at ")[2].partition(";")[0]
    finally:
        server.kill()
        server.communicate()


def stopped(server: subprocess.Popen[str], *signals: int) -> tuple[int, str]:
    """The exit code of a server after signals, and what it has said."""
    for one in signals:
        server.send_signal(one)
    assert server.stderr is not None
    return server.wait(60), server.stderr.read()


def test_sigterm_lets_a_run_end(folder: Path) -> None:
    with serving(folder, "desk:team") as (server, url):
        assert url.startswith("http://127.0.0.1:")
        assert ask(url, "Ada").body["answer"] == "hello Ada"
        with events(url, "/runs", {"question": "wait"}) as stream:
            assert any(one.data.get("name") == "waiting" for one in stream)
            server.send_signal(signal.SIGTERM)
            assert server.stderr is not None
            assert server.stderr.readline().startswith("stopping once runs under way have ended")
            (folder / "go").touch()
            assert [*stream][-1].data["answer"] == "went"
        code, said = stopped(server)
    assert (code, said) == (0, "")
    assert not (folder / "cancelled").exists()


def test_a_run_that_outlasts_the_grace_is_cancelled_and_resumed_by_the_next_process(
    folder: Path,
) -> None:
    replies: list[Reply] = []
    with serving(folder, "desk:team", "--grace", "1s") as (server, url):
        waiting = threading.Thread(target=lambda: replies.append(ask(url, "wait", "t")))
        waiting.start()
        with events(url, "/runs", {"question": "wait", "thread": "u"}) as stream:
            assert any(one.data.get("name") == "waiting" for one in stream)
            code, said = stopped(server, signal.SIGTERM)
            assert [*stream][-1].data["error"]["code"] == "server_stopping"
        waiting.join()
    assert code == 0
    assert said.startswith("stopping once")
    assert [(one.status, one.code, one.body["thread"]) for one in replies] == [
        (503, "server_stopping", "t")
    ]
    assert (folder / "cancelled").exists()
    (folder / "go").touch()
    with serving(folder, "desk:team") as (server, url):
        resumed = send(url, "POST", "/threads/t/resume", {})
        code, _ = stopped(server, signal.SIGINT)
    assert resumed.body["answer"] == "went"
    assert code == 130


def test_a_second_signal_cancels_at_once(folder: Path) -> None:
    with (
        serving(folder, "desk:team", "--grace", "1h") as (server, url),
        events(url, "/runs", {"question": "wait"}) as stream,
    ):
        assert any(one.data.get("name") == "waiting" for one in stream)
        code, said = stopped(server, signal.SIGINT, signal.SIGTERM)
    assert code == 130
    assert "stopping: runs under way are cancelled" in said
    assert (folder / "cancelled").exists()


def test_a_ready_system_is_served_with_a_store(tmp_path: Path) -> None:
    with RoleServer() as model:
        given = {"OPENAI_API_KEY": KEY, "OPENAI_BASE_URL": model.url}
        options = ("--store", f"sqlite:{tmp_path}/runs.db", "--set", "retry_limit=2", "--no-tools")
        with serving(tmp_path, "review-loop", *options, **given) as (server, url):
            reply = ask(url, "What is the capital of Peru?", "peru")
            state = send(url, "GET", "/threads/peru")
            code, _ = stopped(server, signal.SIGTERM)
    assert code == 0
    assert reply.body["outcome"] == "answered"
    assert "Lima" in str(reply.body["answer"])
    assert state.body["outcome"] == "answered"
    with SqliteSaver.open(tmp_path / "runs.db") as saver:
        assert [one.thread for one in saver.threads()] == ["peru"]


def test_a_token_comes_from_a_variable_and_is_not_shown(folder: Path) -> None:
    options = ("--token-env", "SERVE_TOKEN", "--host", "0.0.0.0", "--allow-host", "desk.example")
    with serving(folder, "desk:team", *options, SERVE_TOKEN=TOKEN) as (server, url):
        here = url.replace("0.0.0.0", "127.0.0.1")
        right = ask(here, "Ada", authorization=f"Bearer {TOKEN}", host="desk.example")
        wrong = ask(here, "Ada", authorization="Bearer ~other-0123456789")
        code, said = stopped(server, signal.SIGTERM)
    assert (right.status, wrong.status, code) == (200, 401, 0)
    assert TOKEN not in said


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        (("desk:number",), "a server cannot serve this: int"),
        (("desk:nothing",), "has no attribute 'nothing'"),
        (("nowhere:team",), "module not found in this folder or installed: nowhere"),
        (("no-such-system",), "no_such_system"),
        (("desk:team", "--host", "0.0.0.0"), "needs a token: 0.0.0.0"),
        (("desk:team", "--token-env", "UNSET"), "the variable that `--token-env` names is not set"),
        (("desk:team", "--store", "sqlite:x.db"), "`--store` is for ready systems"),
        (("desk:team", "--model", "openai:x"), "`--model` is for ready systems"),
        (("desk:team", "--no-tools"), "`--no-tools` is for ready systems"),
        (("desk:team", "--port", "65536"), "a port is a number from 0 to 65535"),
        (("desk:team", "--timeout", "ten"), "a length of time"),
        (("desk:team", "--tokens", "x"), "unrecognized arguments: --tokens x"),
        ((), "the following arguments are required: NAME"),
    ],
)
def test_what_cannot_be_served_is_told_before_anything_listens(
    options: tuple[str, ...],
    complaint: str,
    folder: Path,
    antiphon: Antiphon,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(folder)
    done = antiphon("serve", *options)
    assert done.returncode == 2
    assert complaint in done.stderr


def test_a_token_on_the_command_line_is_not_repeated(
    folder: Path, antiphon: Antiphon, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(folder)
    for option in ("--token", "--token-env"):
        done = antiphon("serve", "desk:team", option, TOKEN)
        assert done.returncode == 2
        assert TOKEN not in done.stderr + done.stdout


def test_a_missing_extra_is_named(folder: Path) -> None:
    # An interpreter that sees only this package and the folder.
    python = f"import sys; sys.path[:0] = [{str(folder)!r}, {sys.path[-1]!r}]"
    package = [path for path in sys.path if path.endswith("/python")]
    code = (
        f"{python}; sys.path[:0] = {package!r}; "
        "from antiphon.cli import main; sys.exit(main(['serve', 'desk:team']))"
    )
    done = subprocess.run(
        [sys.executable, "-S", "-c", code],
        cwd=folder,
        env=environment(),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 2, done.stderr
    assert 'run `pip install "antiphon[serve]"`' in done.stderr
    assert "server_runtime_missing" in done.stderr
