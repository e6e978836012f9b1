"""Further attempts of calls that failed."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from antiphon import Agent, Orchestrator, RetryPolicy, ToolContext, tool
from antiphon.errors import ValidationError
from antiphon.models import scripted

AT_ONCE = RetryPolicy(initial_interval=0, jitter=False, max_attempts=3)


class Flaky:
    """Fails with each of some exceptions, then succeeds."""

    def __init__(self, *errors: Exception) -> None:
        self.errors = list(errors)
        self.seen: list[tuple[int, str]] = []

    def fetch(self, call: ToolContext) -> str:
        self.seen.append((call.attempt, call.idempotency_key))
        if self.errors:
            raise self.errors.pop(0)
        return "fetched"


def ask(made: Any) -> str:
    model = scripted([{"tool_calls": [{"name": made.name, "arguments": {}}]}, "Done."])
    team = Orchestrator([Agent(name="a", model=model, tools=[made])])
    result = team.run("Fetch it.")
    assert (result.answer, result.usage.tool_calls) == ("Done.", 1)
    content: str = model.requests[1]["messages"][-1]["content"]
    return content


def test_a_failed_call_is_repeated_under_the_same_key() -> None:
    flaky = Flaky(ConnectionError("lost"), TimeoutError())
    assert ask(tool(side_effect="read", retry=AT_ONCE)(flaky.fetch)) == "fetched"
    assert [attempt for attempt, _ in flaky.seen] == [1, 2, 3]
    assert len({key for _, key in flaky.seen}) == 1


def test_the_model_reads_the_last_failure() -> None:
    flaky = Flaky(ConnectionError("one"), ConnectionError("two"), ConnectionError("three"))
    assert "three" in ask(tool(idempotent=True, retry=AT_ONCE)(flaky.fetch))
    assert len(flaky.seen) == 3


def test_a_failure_that_repeats_itself_is_not_tried_again() -> None:
    flaky = Flaky(KeyError("Atlantis"))
    assert "Atlantis" in ask(tool(idempotent=True, retry=AT_ONCE)(flaky.fetch))
    assert len(flaky.seen) == 1
    chosen = RetryPolicy(initial_interval=0, jitter=False, retry_on=KeyError)
    flaky = Flaky(KeyError("Atlantis"))
    assert ask(tool(idempotent=True, retry=chosen)(flaky.fetch)) == "fetched"


def test_wrong_arguments_are_not_tried_again() -> None:
    calls = []

    @tool(idempotent=True, retry=RetryPolicy(initial_interval=0, jitter=False, retry_on=Exception))
    def double(number: int) -> int:
        calls.append(number)
        return 2 * number

    with pytest.raises(ValidationError):
        double.call({"number": "many"})
    assert calls == []


def test_an_async_tool_is_tried_again() -> None:
    errors = [ConnectionError("lost"), ConnectionError("lost")]

    @tool(side_effect="none", retry=AT_ONCE)
    async def fetch() -> str:
        if errors:
            raise errors.pop()
        return "fetched"

    assert asyncio.run(fetch.acall({})) == "fetched"
    errors.append(ConnectionError("lost"))
    assert ask(fetch) == "fetched"


def test_no_attempt_begins_that_would_come_too_late() -> None:
    flaky = Flaky(ConnectionError("lost"))
    late = RetryPolicy(initial_interval=60, jitter=False)
    assert "lost" in ask(tool(idempotent=True, timeout=5, retry=late)(flaky.fetch))
    assert len(flaky.seen) == 1


def test_a_call_with_side_effects_is_repeated_only_if_that_is_harmless() -> None:
    with pytest.raises(ValidationError, match="may have had side effects") as caught:
        tool(retry=3)(Flaky().fetch)
    assert (caught.value.code, caught.value.details["option"]) == ("tool_option", "retry")
    assert tool(retry=3, idempotent=True)(Flaky().fetch).retry == 3


@pytest.mark.parametrize("wrong", [0, True, "twice", -1])
def test_a_retry_is_a_policy_or_a_count(wrong: Any) -> None:
    with pytest.raises(ValidationError, match="`retry` of tool `fetch` must be"):
        tool(idempotent=True, retry=wrong)(Flaky().fetch)


def test_a_policy_for_what_is_no_exception_is_refused() -> None:
    for wrong in ("ValueError", [KeyError, "ValueError"], int, 3):
        with pytest.raises(TypeError, match="`retry_on` must be an exception class"):
            RetryPolicy(retry_on=wrong)
    for right in (KeyError, (KeyError, OSError), [KeyError], lambda error: True):
        RetryPolicy(retry_on=right)
