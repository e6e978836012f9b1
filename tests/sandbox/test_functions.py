"""Host functions: what code may call, and under which rules."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import pytest

from antiphon import ToolContext, tool
from antiphon.errors import HostCallError, ToolError, ValidationError
from antiphon.sandbox import Sandbox

Boxes = Callable[..., Sandbox]


def add(a: int, b: int = 1) -> int:
    """Adds."""
    return a + b


def test_code_calls_a_tool_by_position_and_by_name(boxes: Boxes) -> None:
    box = boxes(tools=[add])
    result = box.run("[add(1, 2), add(1, b=3), add(b=4, a=1), add(1)]").check()
    assert result.value == [3, 4, 5, 2]
    assert result.usage.host_calls == 4


def test_a_tool_may_be_passed_around_in_the_code(boxes: Boxes) -> None:
    box = boxes(tools=[add])
    assert box.run("f = add\n[f(n, 1) for n in range(3)]").check().value == [1, 2, 3]


def test_plain_values_go_there_and_back(boxes: Boxes) -> None:
    seen: list[Any] = []

    def echo(value: Any) -> Any:
        seen.append(value)
        return value

    value = [1, "a", None, {"b": [True, 2.5]}, b"\x00", {1, 2}, (3, 4), {5: 6}, 10**30]
    box = boxes(tools=[echo])
    result = box.run("echo(given) == given", inputs={"given": value}).check()
    assert result.value is True
    assert seen == [value]


def test_what_a_tool_returns_becomes_plain(boxes: Boxes) -> None:
    @dataclass
    class City:
        name: str

    def city() -> City:
        return City("Lyon")

    def frame() -> pd.DataFrame:
        return pd.DataFrame({"n": [1, 2]})

    def array() -> Any:
        return np.array([1, 2])

    box = boxes(tools=[city, frame, array])
    code = "[city()['name'], frame()['n'], [int(n) for n in array()]]"
    assert box.run(code).check().value == ["Lyon", [1, 2], [1, 2]]


def test_an_async_tool_runs_on_the_caller_s_loop_or_on_antiphon_s(boxes: Boxes) -> None:
    loops: list[asyncio.AbstractEventLoop] = []

    async def ask(n: int) -> int:
        loops.append(asyncio.get_running_loop())
        await asyncio.sleep(0)
        return n + 1

    box = boxes(tools=[ask])
    assert box.run("ask(1)").check().value == 2

    async def main() -> asyncio.AbstractEventLoop:
        assert (await box.arun("ask(2)")).check().value == 3
        return asyncio.get_running_loop()

    ours = asyncio.run(main())
    assert loops[1] is ours
    assert loops[0] is not ours


def test_a_failure_reaches_the_code_as_its_class_and_its_words(boxes: Boxes) -> None:
    secret = "never shown"

    def fail() -> None:
        hidden = secret  # noqa: F841 - a traceback would show it
        raise KeyError("no such city")

    box = boxes(tools=[fail])
    code = "try:\n    fail()\nexcept RuntimeError as error:\n    said = str(error)\nsaid"
    result = box.run(code).check()
    assert result.value == "KeyError: 'no such city'"
    assert secret not in str(result)
    error = box.run("fail()").error
    assert isinstance(error, HostCallError)
    assert error.kind == "host_call_failed"
    assert "no such city" in error.message


def test_a_tool_s_own_error_is_reported_without_its_hint(boxes: Boxes) -> None:
    def refuse() -> None:
        raise ToolError("the shop is closed", code="shop_closed", hint="for whoever runs it")

    message = (boxes(tools=[refuse]).run("refuse()").error or pytest.fail("no error")).message
    assert "ToolError: the shop is closed" in message
    assert "whoever" not in message


@pytest.mark.parametrize(
    ("call", "said"),
    [
        ("add('x')", "whole number"),
        ("add()", "a"),
        ("add(1, 2, 3)", "takes 2 arguments"),
        ("add(1, a=2)", "argument twice: a"),
        ("add(1, c=2)", "c"),
    ],
)
def test_wrong_arguments_do_not_reach_the_tool(boxes: Boxes, call: str, said: str) -> None:
    calls: list[int] = []

    @tool(name="add")
    def counted(a: int, b: int = 1) -> int:
        calls.append(a)
        return a + b

    error = boxes(tools=[counted]).run(call).error
    assert said in (error or pytest.fail("no error")).message
    assert calls == []


def test_the_time_out_of_a_tool_holds(boxes: Boxes) -> None:
    release = threading.Event()

    @tool(timeout=0.2)
    def hang() -> None:
        release.wait()

    @tool(timeout=0.2)
    async def wait() -> None:
        await asyncio.Event().wait()

    box = boxes(tools=[hang, wait])
    for name in ("hang", "wait"):
        error = box.run(f"{name}()").error
        assert f"`{name}` took longer than its 0.2 s" in (error or pytest.fail("no error")).message
    release.set()


def test_a_tool_s_number_of_calls_holds_for_each_run(boxes: Boxes) -> None:
    @tool(max_calls=2)
    def scarce() -> int:
        return 1

    box = boxes(tools=[scarce])
    for _ in range(2):
        assert box.run("scarce() + scarce()").check().value == 2
        error = box.run("scarce() + scarce() + scarce()").error
        assert "2 times in one run" in (error or pytest.fail("no error")).message


def test_a_tool_may_know_of_its_call_and_the_code_cannot_forge_that(boxes: Boxes) -> None:
    contexts: list[ToolContext] = []

    def pay(cents: int, call: ToolContext) -> str:
        contexts.append(call)
        return call.name

    box = boxes(tools=[pay])
    assert box.run("pay(5)").check().value == "pay"
    assert not box.run("pay(5, call=1)").ok
    first = contexts[0]
    assert first.call_id == first.idempotency_key
    assert first.deadline is not None
    assert len(contexts) == 1


def test_a_result_that_cannot_go_in_is_a_failure_of_the_call(boxes: Boxes) -> None:
    def thing() -> object:
        return object()

    def huge() -> str:
        return "x" * 2_000_000

    box = boxes(tools=[thing, huge])
    for name in ("thing", "huge"):
        error = box.run(f"{name}()").error
        assert (
            f"the result of `{name}` cannot be passed" in (error or pytest.fail("no error")).message
        )


def test_a_tool_s_name_has_to_be_one_for_a_function() -> None:
    with pytest.raises(ValidationError) as caught:
        Sandbox(tools=[tool(name="with-dash")(add)])
    assert caught.value.code == "sandbox_input_invalid"
