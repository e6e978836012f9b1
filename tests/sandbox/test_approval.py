"""Host functions that somebody has to approve of."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from antiphon import ToolCall, ToolContext, tool
from antiphon.errors import ValidationError
from antiphon.sandbox import Sandbox, SandboxPause, SandboxResult
from antiphon.sandbox._monty.snapshot import decode_snapshot, encode_snapshot
from support.engines import needs

Boxes = Callable[..., Sandbox]
KEY = b"a key of the tests' own"
TWICE = """
said = []
for n in (70, 100, 30):
    try:
        said.append(pay(n))
    except Exception as error:
        said.append(str(error))
said
"""

needs_monty = needs("monty")


def small(call: ToolCall) -> bool | str:
    """Sums under 100."""
    return call.arguments["euros"] < 100 or "only sums under 100"


async def asmall(call: ToolCall) -> bool | str:
    """The same, async."""
    await asyncio.sleep(0)
    return small(call)


@pytest.mark.parametrize("approval", [small, asmall])
@pytest.mark.parametrize("awaited", [False, True])
def test_a_function_decides_before_a_call_is_counted(
    boxes: Boxes, approval: Any, awaited: bool
) -> None:
    paid: list[int] = []

    @tool(approval=approval, max_calls=2)
    def pay(euros: int) -> str:
        """Pays."""
        paid.append(euros)
        return f"paid {euros}"

    box = boxes(tools=[pay])
    result = asyncio.run(box.arun(TWICE)) if awaited else box.run(TWICE)
    first, second, third = result.check().value
    assert (first, third) == ("paid 70", "paid 30")
    assert "only sums under 100" in second
    assert paid == [70, 30]


def test_a_function_is_asked_about_arguments_that_fit_alone(boxes: Boxes) -> None:
    asked: list[Any] = []

    def approval(call: ToolCall) -> bool:
        asked.append(dict(call.arguments))
        return True

    @tool(approval=approval)
    def pay(euros: int) -> int:
        """Pays."""
        return euros

    box = boxes(tools=[pay])
    wrong = box.run("pay('much')")
    assert not wrong.ok
    assert asked == []
    assert box.run("pay(euros=3)").check().value == 3
    assert asked == [{"euros": 3}]


def test_a_function_that_decides_knows_a_call_by_the_id_that_the_tool_sees(boxes: Boxes) -> None:
    seen: list[str] = []

    def approval(call: ToolCall) -> bool:
        seen.append(call.call_id)
        return True

    @tool(approval=approval)
    def pay(euros: int, call: ToolContext) -> int:
        """Pays."""
        seen.append(call.call_id)
        return euros

    assert boxes(tools=[pay]).run("pay(1) + pay(1)").check().value == 2
    first, called, second, called_again = seen
    assert (first, second) == (called, called_again)
    assert first != second


def test_a_function_that_decides_cannot_change_what_is_called(boxes: Boxes) -> None:
    def approval(call: ToolCall) -> bool:
        call.arguments["sums"].append(5000)
        return True

    @tool(approval=approval)
    def pay(sums: list[int]) -> list[int]:
        """Pays."""
        return sums

    assert boxes(tools=[pay]).run("pay([1])").check().value == [1]


def test_a_tool_that_waits_for_a_person_is_refused_where_nothing_can_pause(boxes: Boxes) -> None:
    @tool(approval=True)
    def pay(euros: int) -> int:
        """Pays."""
        raise AssertionError

    with pytest.raises(ValidationError, match="pay") as caught:
        boxes(tools=[pay])
    assert caught.value.code == "approval_unavailable"
    assert "without `snapshot_key` (engine `" in caught.value.message
    hint = caught.value.hint or ""
    assert 'engine="monty", snapshot_key=secrets.token_bytes(32)' in hint
    assert "returns true, false or a reason" in hint


class Till:
    """A sandbox whose payments a person has to approve of."""

    def __init__(self, **options: Any) -> None:
        self.paid: list[int] = []

        @tool(approval=True, **options)
        def pay(euros: int) -> str:
            """Pays."""
            self.paid.append(euros)
            return f"paid {euros}"

        self.box = Sandbox(engine="monty", tools=[pay], snapshot_key=KEY)

    def start(self, code: str = "pay(70)") -> SandboxPause:
        pause = self.box.start(code)
        assert isinstance(pause, SandboxPause)
        return pause


def done(given: Any) -> SandboxResult:
    assert isinstance(given, SandboxResult)
    return given


@needs_monty
def test_a_person_decides_at_a_pause() -> None:
    till = Till()
    pause = till.start()
    assert pause.question is not None
    assert pause.question["tool"] == "pay"
    assert pause.question["arguments"] == {"euros": 70}
    for wrong in (None, "yes", {"approve": True, "args": {"euros": "x"}}):
        with pytest.raises(ValidationError) as caught:
            pause.call(wrong)
        assert caught.value.code == "approval_invalid"
    assert till.paid == []
    assert done(pause.call(True)).check().value == "paid 70"
    assert done(pause.call({"approve": True, "args": {"euros": 7}})).check().value == "paid 7"
    no = done(pause.call({"approve": False, "reason": "too dear"}))
    assert "too dear" in str(no.error)
    assert till.paid == [70, 7]


@needs_monty
def test_a_run_that_does_not_pause_calls_nothing_that_waits_for_a_person() -> None:
    till = Till()
    result = till.box.run("pay(70)")
    assert "needs approval" in str(result.error)
    assert till.paid == []


@needs_monty
def test_a_call_that_cannot_be_made_asks_nobody() -> None:
    till = Till()
    pause = till.start("pay('much')")
    assert pause.question is None
    assert not done(pause.call(True)).ok
    assert till.paid == []


@needs_monty
def test_the_limit_of_calls_holds_over_pauses_and_counts_what_was_approved() -> None:
    till = Till(max_calls=1)
    step: SandboxPause | SandboxResult = till.start(TWICE)
    for answer in (False, True, True):
        assert isinstance(step, SandboxPause)
        step = till.box.load(step.dump()).call(answer)
    first, second, third = done(step).check().value
    assert "was rejected" in first
    assert second == "paid 100"
    assert "may be called 1 times" in third
    assert till.paid == [100]


@needs_monty
@pytest.mark.parametrize("answer", [True, "approve", {"approve": True, "args": {"euros": 5000}}])
def test_an_answer_never_takes_the_place_of_the_function_that_decides(answer: Any) -> None:
    paid: list[int] = []

    @tool(approval=small)
    def pay(euros: int) -> str:
        """Pays."""
        paid.append(euros)
        return f"paid {euros}"

    pause = Sandbox(engine="monty", tools=[pay], snapshot_key=KEY).start("pay(5000)")
    assert isinstance(pause, SandboxPause)
    assert pause.question is None
    with pytest.raises(ValidationError, match="function") as caught:
        pause.call(answer)
    assert caught.value.code == "approval_invalid"
    assert "only sums under 100" in str(done(pause.call()).error)
    assert paid == []


@needs_monty
def test_a_pause_that_was_written_before_calls_were_counted_can_be_loaded() -> None:
    till = Till(max_calls=1)
    paused = decode_snapshot(till.start().dump(), KEY)
    before = paused.progress.to_dict()
    del before["made"]
    progress = SimpleNamespace(to_dict=lambda: before)
    written: Any = SimpleNamespace(
        name=paused.name,
        args=paused.args,
        kwargs=paused.kwargs,
        dump=paused.dump,
        progress=progress,
    )
    assert done(till.box.load(encode_snapshot(written, KEY)).call(True)).check().value == "paid 70"


@needs_monty
def test_a_person_decides_in_another_process(tmp_path: Path) -> None:
    (tmp_path / "pause").write_bytes(Till().start().dump())
    script = (
        "import sys\n"
        "from pathlib import Path\n"
        "from antiphon import tool\n"
        "from antiphon.sandbox import Sandbox\n"
        "@tool(approval=True)\n"
        "def pay(euros: int) -> str:\n"
        "    '''Pays.'''\n"
        "    return f'paid {euros}'\n"
        f"with Sandbox(tools=[pay], snapshot_key={KEY!r}) as box:\n"
        "    pause = box.load(Path(sys.argv[1]).read_bytes())\n"
        "    print(pause.question['arguments'], pause.call('approve').check().value)\n"
    )
    command = [sys.executable, "-c", script, str(tmp_path / "pause")]
    ended = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60)
    assert ended.stdout.strip() == "{'euros': 70} paid 70"


HOSTILE = ['b"/etc/passwd"', 'float("nan")', 'float("inf")', "{1, 2}", "2**70", '{"a": [b"x"]}']


@pytest.mark.parametrize("sent", HOSTILE)
def test_a_function_is_not_asked_about_what_it_would_see_otherwise(boxes: Boxes, sent: str) -> None:
    shown: list[Any] = []
    called: list[Any] = []

    def approve(call: ToolCall) -> bool:
        shown.append(call.arguments["path"])
        return True

    @tool(approval=approve)
    def read(path: Any) -> str:
        """Reads a file."""
        called.append(path)
        return "read"

    code = f"try:\n    said = read({sent})\nexcept Exception as error:\n    said = str(error)\nsaid"
    said = boxes(tools=[read]).run(code).check().value
    assert "argument `path" in said
    assert (shown, called) == ([], [])


def test_a_function_sees_what_the_tool_gets_and_changes_nothing(boxes: Boxes) -> None:
    shown: list[Any] = []
    called: list[Any] = []

    def approve(call: ToolCall) -> bool:
        shown.append(list(call.arguments["paths"]))
        call.arguments["paths"].append("/etc/passwd")
        return True

    @tool(approval=approve)
    def read(paths: Any) -> str:
        """Reads files."""
        called.append(paths)
        return "read"

    assert boxes(tools=[read]).run('read(["a", ("b", 1.0)])').check().value == "read"
    assert shown == called == [["a", ["b", 1.0]]]


@needs_monty
def test_a_person_is_not_asked_about_what_would_look_otherwise() -> None:
    called: list[Any] = []

    @tool(approval=True)
    def read(path: Any) -> str:
        """Reads a file."""
        called.append(path)
        return "read"

    box = Sandbox(engine="monty", tools=[read], snapshot_key=KEY)
    code = """
try:
    said = read(b"/etc/passwd")
except Exception as error:
    said = str(error)
said
"""
    pause = box.start(code)
    assert isinstance(pause, SandboxPause)
    assert pause.question is None, "it cannot be made in any case"
    result = pause.call(True)
    assert isinstance(result, SandboxResult)
    assert "argument `path" in result.check().value
    assert called == []
