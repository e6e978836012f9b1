"""Circuit breakers of tools, as Python sees them."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from antiphon import Agent, Orchestrator, Toolset, tool
from antiphon._antiphon import tool_families
from antiphon._builtin_tools.opening import open_family
from antiphon.errors import ToolError, ValidationError
from antiphon.models import scripted
from antiphon.tools import CircuitBreaker
from support.waiting import happens

TWICE = CircuitBreaker(failures=2, cooldown=600)


class Service:
    """Raises each of some exceptions, then answers."""

    def __init__(self, *errors: Exception) -> None:
        self.errors = list(errors)
        self.calls = 0

    def fetch(self) -> str:
        """Fetches."""
        self.calls += 1
        if self.errors:
            raise self.errors.pop(0)
        return "fetched"

    async def afetch(self) -> str:
        """Fetches."""
        return self.fetch()


def ask(made: Any, calls: int) -> list[Any]:
    """What the model reads of its calls, and the phases that the trace shows."""
    call = {"tool_calls": [{"name": made.name, "arguments": {}}]}
    model = scripted([*[call] * calls, "Done."])
    result = Orchestrator([Agent(name="a", model=model, tools=[made])]).run("?")
    read = [one["content"] for one in model.requests[-1]["messages"] if one["role"] == "tool"]
    changes = [event for event in result.events if event.name == "tool_circuit"]
    return [read, [event.data["phase"] for event in changes]]


@pytest.mark.parametrize("method", ["fetch", "afetch"])
def test_lost_connections_open_the_circuit_in_all_runs(method: str) -> None:
    service = Service(ConnectionError("lost"), TimeoutError("late"))
    made = tool(name="fetch", breaker=TWICE)(getattr(service, method))
    _, phases = ask(made, 2)
    assert phases == ["open"]
    [read], phases = ask(made, 1)
    assert "the tool `fetch` has failed 2 times in a row; do not call it before" in read
    assert (service.calls, phases) == (2, [])


def test_a_tool_that_refuses_was_reached() -> None:
    errors = [ConnectionError("lost"), KeyError("Atlantis"), ConnectionError("lost")]
    service = Service(*errors)
    ask(tool(breaker=TWICE)(service.fetch), 4)
    assert service.calls == 4


def test_one_call_after_the_cool_down_closes_the_circuit() -> None:
    service = Service(ConnectionError("lost"))
    made = tool(breaker=CircuitBreaker(failures=1, cooldown=0.01))(service.fetch)
    with pytest.raises(ConnectionError):
        made.call({})

    def answers() -> bool:
        try:
            return bool(made.call({}) == "fetched")
        except ToolError as error:
            assert error.code == "tool_circuit_open"  # noqa: PT017
            return False

    assert happens(answers)
    assert made.gate is not None
    assert made.gate.status()["phase"] == "closed"


def test_act_and_direct_calls_share_it() -> None:
    service = Service(ConnectionError("lost"), ConnectionError("lost"))
    made = tool(breaker=TWICE)(service.fetch)
    with pytest.raises(ConnectionError):
        made.call({})
    with pytest.raises(ConnectionError):
        asyncio.run(made.acall({}))
    with pytest.raises(ToolError, match="2 times in a row"):
        made.call({})


def test_a_tool_under_another_name_or_prefix_shares_it() -> None:
    service = Service()
    made = tool(breaker=TWICE)(service.fetch)
    [prefixed] = Toolset([made], prefix="web_").tools
    assert prefixed.gate is made.gate
    assert made.with_options(max_calls=3).gate is made.gate
    assert made.with_options(breaker=True).gate is not made.gate


def test_there_is_none_by_default() -> None:
    service = Service(*[ConnectionError("lost")] * 9)
    made = tool(service.fetch)
    ask(made, 9)
    assert (service.calls, made.gate, made.spec["breaker"]) == (9, None, None)
    assert tool(breaker=True)(service.fetch).spec["breaker"] == {"failures": 5, "cooldown": 30.0}


def test_wrong_options_are_refused() -> None:
    with pytest.raises(ValidationError, match="breaker"):
        tool(breaker=3)(Service().fetch)  # type: ignore[call-overload]
    with pytest.raises(ValidationError, match="failures"):
        CircuitBreaker(failures=0)
    with pytest.raises(ValidationError, match="cooldown"):
        CircuitBreaker(cooldown=-1)
    with pytest.raises(ValidationError, match="max_concurrency"):
        tool(max_concurrency=0)(Service().fetch)


def test_a_native_tool_has_one_too() -> None:
    if all(family["name"] != "echo" for family in tool_families()):
        pytest.skip("this build has no `echo`: it is of the kind that is published")
    fail = next(one for one in open_family("echo") if one.name == "fail")
    made = fail.with_options(breaker=TWICE, max_concurrency=1)
    call = {"tool_calls": [{"name": "fail", "arguments": {"kind": "lost"}}]}
    model = scripted([call] * 3 + ["Done."])
    result = Orchestrator([Agent(name="a", model=model, tools=[made])]).run("?")
    read = [one["content"] for one in model.requests[-1]["messages"] if one["role"] == "tool"]
    assert "2 times in a row" in read[2]
    changes = [event for event in result.events if event.name == "tool_circuit"]
    assert [event.data["phase"] for event in changes] == ["open"]
    with pytest.raises(ToolError, match="2 times in a row"):
        made.call({"kind": "lost"})


def test_an_error_payload_is_a_failed_call_wherever_it_is_made() -> None:
    @tool
    def closed() -> dict[str, Any]:
        """Answers with an error."""
        return {"error": {"code": 3, "message": "the archive is closed"}}

    [read], _ = ask(closed, 1)
    assert read == "error: the archive is closed"

    class Clerk(Agent[Any, str]):
        """Sync."""

        def act(self, state: Any, ctx: Any) -> str:
            with pytest.raises(ToolError, match="the archive is closed") as caught:
                ctx.call(closed)
            return caught.value.code

    assert Orchestrator([Clerk()]).run("?").answer == "tool_failed"
