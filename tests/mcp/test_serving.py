"""Tools, agents and teams, served to our own client."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from antiphon import Agent, Toolset, mcp, tool
from antiphon.errors import StateError, ToolError, ValidationError
from antiphon.models import scripted
from support import mcp_things as served_things
from support.mcp_servers import tool_of


def test_a_tool_is_served() -> None:
    server = mcp.start(served_things.population, served_things.broken)
    with server, Toolset.mcp(server.url) as tools:
        assert tool_of(tools, "population").description == "Number of inhabitants."
        assert tool_of(tools, "population").call({"city": "Lyon"}) == "520774"
        with pytest.raises(ToolError, match="no way to Ys"):
            tool_of(tools, "broken").call({"city": "Ys"})
        with pytest.raises(ToolError, match="KeyError"):
            tool_of(tools, "population").call({"city": "Ys"})


def test_an_agent_and_a_team_are_served() -> None:
    server = mcp.start(served_things.clerk, served_things.team)
    with server, Toolset.mcp(server.url) as tools:
        assert [tool.name for tool in tools.tools] == ["clerk", "team"]
        for one in tools.tools:
            assert one.call({"question": "Lyon?"}) == "Lyon has 520,774 people."


def test_the_steps_of_a_run_are_progress() -> None:
    seen: list[Any] = []
    call = {"tool_calls": [{"name": "team", "arguments": {"question": "Lyon?"}}]}
    model: Any = scripted([call, "Done."])
    with mcp.start(served_things.team) as server:
        outer = Agent(name="outer", model=model, tools=[Toolset.mcp(server.url)])
        outer.run("Ask.", watch=lambda event: seen.append(event.name))
    assert "progress" in seen


def test_a_question_of_a_run_reaches_the_person_behind_the_client() -> None:
    with mcp.start(served_things.greeter) as server:
        with Toolset.mcp(server.url, elicit=lambda _: "Ada") as tools:
            assert tools.tools[0].call({"question": "Greet me."}) == "hello Ada"
        with Toolset.mcp(server.url) as tools, pytest.raises(ToolError, match="it cannot ask"):
            tools.tools[0].call({"question": "Greet me."})
        with (
            Toolset.mcp(server.url, elicit=lambda _: None) as tools,
            pytest.raises(ToolError, match="declined"),
        ):
            tools.tools[0].call({"question": "Greet me."})


@pytest.mark.parametrize("thing", [42, "agent", None])
def test_other_things_are_refused(thing: Any) -> None:
    with pytest.raises(ValidationError) as caught:
        mcp.start(thing)
    assert caught.value.code == "mcp_target"


def test_a_tool_that_needs_approval_is_refused() -> None:
    @tool(approval=True)
    def pay(euros: int) -> str:
        return f"{euros} paid"

    with pytest.raises(ValidationError) as caught:
        mcp.start(pay)
    assert caught.value.code == "approval_unavailable"


def test_a_function_approves_the_calls_of_a_served_tool() -> None:
    @tool(approval=lambda call: call.arguments["euros"] < 100 or "too much")
    def pay(euros: int) -> str:
        return f"{euros} paid"

    with mcp.start(pay) as server, Toolset.mcp(server.url) as tools:
        assert tools.tools[0].call({"euros": 7}) == "7 paid"
        with pytest.raises(ToolError, match="too much"):
            tools.tools[0].call({"euros": 700})


def test_a_port_in_use_is_named() -> None:
    with mcp.start(served_things.population) as server:
        port = int(server.url.rpartition(":")[2].partition("/")[0])
        with pytest.raises(StateError) as caught:
            mcp.start(served_things.population, port=port)
    assert caught.value.code == "mcp_server_failed"


def test_the_command_serves_over_pipes() -> None:
    command = [sys.executable, "-m", "antiphon", "mcp", "support.mcp_things:population"]
    with Toolset.mcp(command, cwd=Path(__file__).parents[1]) as tools:
        assert tools.tools[0].call({"city": "Lyon"}) == "520774"


def test_the_command_names_an_object_that_does_not_exist() -> None:
    command = [sys.executable, "-m", "antiphon", "mcp", "support.mcp_things:nothing"]
    done = subprocess.run(
        command, cwd=Path(__file__).parents[1], capture_output=True, text=True, check=False
    )
    assert done.returncode == 2
    assert "nothing" in done.stderr


def test_a_served_tool_that_exits_is_a_failed_call() -> None:
    @tool
    async def leave() -> str:
        """Leave."""
        raise SystemExit("~inside")

    with mcp.start(leave, served_things.population) as server, Toolset.mcp(server.url) as tools:
        with pytest.raises(ToolError, match=r"SystemExit: ~inside") as caught:
            tool_of(tools, "leave").call({})
        assert "Carried" not in str(caught.value)
        assert tool_of(tools, "population").call({"city": "Lyon"}) == "520774"
