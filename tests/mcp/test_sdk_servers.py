"""Servers written with the official Python SDK, of both major versions."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from antiphon import Agent, Orchestrator, Toolset
from antiphon.errors import AntiphonError, RunTimeout, ToolError
from antiphon.models import scripted
from antiphon.toolset import McpToolset
from support.mcp_peers import sdk_environment
from support.mcp_servers import SDK_SERVER, free_port, is_open, tool_of
from support.waiting import happens

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = [pytest.mark.network, pytest.mark.slow]
MAJORS = pytest.mark.parametrize("major", ["1", "2"])
REVISIONS = {"1": "2025-11-25", "2": "2026-07-28"}


def over_pipes(major: str, timeout: float = 60, **options: Any) -> McpToolset:
    command = [sys.executable, str(SDK_SERVER), "stdio"]
    return Toolset.mcp(command, env=sdk_environment(major), timeout=timeout, **options)


@contextmanager
def over_http(major: str, port: int = 0) -> Iterator[tuple[str, subprocess.Popen[bytes]]]:
    port = port or free_port()
    command = [sys.executable, str(SDK_SERVER), "http", str(port)]
    environment = {**os.environ, **sdk_environment(major)}
    with subprocess.Popen(command, env=environment, stderr=subprocess.DEVNULL) as server:
        try:
            assert happens(lambda: is_open(port))
            yield f"http://127.0.0.1:{port}/mcp", server
        finally:
            server.kill()


def is_running(pid: int) -> bool:
    """Whether a thread of it is left: the first one may be gone before the others."""
    process = Path(f"/proc/{pid}")
    try:
        is_zombie = ") Z " in (process / "stat").read_text(encoding="utf-8")
        return not is_zombie or len(list((process / "task").iterdir())) > 1
    except FileNotFoundError:
        return False


@MAJORS
def test_a_server_over_pipes(major: str) -> None:
    with over_pipes(major) as tools:
        assert tools.protocol == REVISIONS[major]
        assert tool_of(tools, "echo").call({"text": "hi"}) in ("hi", {"result": "hi"})
        assert tool_of(tools, "city").call({"name": "Lyon"}) == {"name": "Lyon", "people": 520_774}
        with pytest.raises(ToolError, match=r"no such city: Ys|Error executing tool fail"):
            tool_of(tools, "fail").call({"text": "Ys"})


@pytest.mark.parametrize("transport", ["pipes", "http"])
def test_a_run_pauses_with_the_question_of_a_server(transport: str) -> None:
    # Version 2 cannot ask during a call in its newest revision.
    with ExitStack() as stack:
        if transport == "http":
            tools = Toolset.mcp(stack.enter_context(over_http("1"))[0], elicit="ask")
        else:
            tools = over_pipes("1", elicit="ask")
        asked = {"tool_calls": [{"name": "book", "arguments": {"city": "Lyon"}}]}
        model = scripted([asked, "Booked."])
        team = Orchestrator([Agent(name="clerk", model=model, tools=[tools])])
        paused = team.run("a room")
        (question,) = paused.questions
        assert question.value["question"] == "beds in Lyon?"
        assert question.value["schema"]["properties"]["beds"]["type"] == "integer"
        assert team.resume(paused, 2).answer == "Booked."
        assert "2 beds in Lyon" in str(model.requests[1]["messages"][-1]["content"])


@MAJORS
def test_a_server_over_http(major: str) -> None:
    with over_http(major) as (url, _), Toolset.mcp(url) as tools:
        assert tools.protocol == REVISIONS[major]
        assert tool_of(tools, "city").call({"name": "Lyon"}) == {"name": "Lyon", "people": 520_774}
        assert tool_of(tools, "slow").call({"steps": 3}) in ("done", {"result": "done"})


@MAJORS
def test_a_server_that_ends_in_mid_call_is_started_again(major: str) -> None:
    with over_pipes(major) as tools:
        with pytest.raises(AntiphonError) as caught:
            tool_of(tools, "die").call({})
        assert caught.value.code == "mcp_connection_lost"
        assert tool_of(tools, "echo").call({"text": "hi"}) in ("hi", {"result": "hi"})


@MAJORS
def test_a_server_that_is_killed_between_calls_is_started_again(major: str) -> None:
    with over_pipes(major) as tools:
        found = tool_of(tools, "pid").call({})
        first = found["result"] if isinstance(found, dict) else int(found)
        os.kill(first, signal.SIGKILL)
        assert happens(lambda: not is_running(first))
        assert tool_of(tools, "pid").call({}) != found


@MAJORS
def test_a_tool_that_stalls_costs_one_time_out(major: str) -> None:
    with over_pipes(major, timeout=1) as tools:
        with pytest.raises(RunTimeout):
            tool_of(tools, "stall").call({})
        assert tool_of(tools, "echo").call({"text": "hi"}) in ("hi", {"result": "hi"})


@MAJORS
def test_a_stopped_process_is_replaced(major: str) -> None:
    with over_pipes(major, timeout=1) as tools:
        found = tool_of(tools, "pid").call({})
        first = found["result"] if isinstance(found, dict) else int(found)
        os.kill(first, signal.SIGSTOP)
        with pytest.raises(RunTimeout):
            tool_of(tools, "echo").call({"text": "hi"})
        assert tool_of(tools, "echo").call({"text": "hi"}) in ("hi", {"result": "hi"})


@MAJORS
def test_a_server_that_is_restarted_is_found_again(major: str) -> None:
    port = free_port()
    with over_http(major, port) as (url, _):
        tools = Toolset.mcp(url)
        with tools:
            assert tool_of(tools, "city").call({"name": "Lyon"})
    with over_http(major, port), tools:
        assert tool_of(tools, "city").call({"name": "Lyon"})
