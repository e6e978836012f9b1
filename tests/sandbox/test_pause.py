"""Runs that pause at a call and continue, here or in another process."""

from __future__ import annotations

import hashlib
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

pytest.importorskip("pydantic_monty", reason="the extra `monty` is not installed")

from antiphon.errors import HostCallError, ValidationError
from antiphon.sandbox import Limits, Sandbox, SandboxPause, SandboxResult
from antiphon.sandbox._monty import snapshot

KEY = b"a key of the tests' own"
CODE = "print('asking')\ncount = population(city)\nprint('got', count)\nround(count / 1e6, 1)"


def population(city: str) -> int:
    """Number of inhabitants."""
    return {"Lyon": 520_774}[city]


def other(city: str) -> int:
    """Something else."""
    return 0


def make(**options: Any) -> Sandbox:
    return Sandbox(**{"tools": [population], "snapshot_key": KEY, **options})


def paused(box: Sandbox, code: str = CODE) -> SandboxPause:
    pause = box.start(code, inputs={"city": "Lyon"})
    assert isinstance(pause, SandboxPause)
    return pause


def test_a_run_pauses_at_a_call_and_continues_with_the_answer() -> None:
    with make() as box:
        pause = paused(box)
        assert (pause.name, pause.args, pause.kwargs) == ("population", ("Lyon",), {})
        assert pause.stdout == "asking\n"
        result = pause.resume(2_100_000)
        assert isinstance(result, SandboxResult)
        assert result.check().value == 2.1
        assert result.stdout == "asking\ngot 2100000\n"
        assert result.locals == {"count": 2_100_000}
        assert (result.engine, result.usage.host_calls) == ("monty", 1)


def test_code_that_calls_nothing_does_not_pause() -> None:
    with make() as box:
        result = box.start("1 + 1")
        assert isinstance(result, SandboxResult)
        assert result.value == 2


def test_a_pause_can_call_the_tool_here_or_let_it_fail() -> None:
    with make() as box:
        result = paused(box).call()
        assert isinstance(result, SandboxResult)
        assert result.check().value == 0.5
        failed = paused(box).fail("no such city", type="KeyError")
        assert isinstance(failed, SandboxResult)
        assert isinstance(failed.error, HostCallError | Exception)
        assert "KeyError: no such city" in str(failed.error)
        wrong = paused(box, "population('Atlantis')").call()
        assert isinstance(wrong, SandboxResult)
        assert not wrong.ok


def test_a_pause_continues_from_the_same_place_each_time() -> None:
    with make() as box:
        pause = paused(box)
        answers = [pause.resume(n * 1_000_000) for n in (1, 2)]
        assert [getattr(each, "value", None) for each in answers] == [1.0, 2.0]
        assert [getattr(each, "stdout", "").count("asking") for each in answers] == [1, 1]


def test_a_run_may_pause_again_and_again() -> None:
    code = "total = 0\nfor n in range(3):\n    total += population(city)\ntotal"
    with make() as box:
        step: SandboxPause | SandboxResult = paused(box, code)
        for n in range(3):
            assert isinstance(step, SandboxPause)
            step = box.load(step.dump()).resume(n)
        assert isinstance(step, SandboxResult)
        assert step.check().value == 3
        assert step.usage.host_calls == 3


def test_a_pause_continues_in_another_process(tmp_path: Path) -> None:
    with make() as box:
        (tmp_path / "pause").write_bytes(paused(box).dump())
    script = (
        "import sys\n"
        "from pathlib import Path\n"
        "from antiphon.sandbox import Sandbox\n"
        "def population(city: str) -> int:\n"
        "    return 3_000_000\n"
        f"with Sandbox(tools=[population], snapshot_key={KEY!r}) as box:\n"
        "    result = box.load(Path(sys.argv[1]).read_bytes()).call().check()\n"
        "print(result.value, result.stdout.split())\n"
    )
    command = [sys.executable, "-c", script, str(tmp_path / "pause")]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60)
    assert done.stdout.strip() == "3.0 ['asking', 'got', '3000000']"


def test_a_pause_with_any_bit_changed_is_refused_before_it_is_read() -> None:
    with make() as box:
        data = paused(box).dump()

        @settings(max_examples=200)
        @given(st.integers(0, len(data) * 8 - 1))
        def check(bit: int) -> None:
            changed = bytearray(data)
            changed[bit // 8] ^= 1 << bit % 8
            refused(box, bytes(changed))

        check()


@pytest.mark.parametrize("cut", [0, 1, 25, 56, 57, 61, 200])
def test_a_pause_that_was_cut_is_refused(cut: int) -> None:
    with make() as box:
        refused(box, paused(box).dump()[:cut])


def test_a_pause_of_another_key_is_refused() -> None:
    with make() as box, make(snapshot_key=b"another key, as long") as stranger:
        refused(stranger, paused(box).dump())


def test_a_pause_without_a_mark_is_refused() -> None:
    with make() as box:
        data = paused(box).dump()
        start = len(snapshot._MAGIC)
        bare = data[:start] + hashlib.sha256(data[start + 32 :]).digest() + data[start + 32 :]
        refused(box, bare)


def test_a_pause_of_another_version_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    with make() as box:
        data = paused(box).dump()
        monkeypatch.setattr(snapshot, "version", lambda name: "99.0")
        refused(box, data)


def test_a_pause_at_a_tool_that_is_not_granted_here_is_refused() -> None:
    with make() as box, make(tools=[other]) as stranger:
        refused(stranger, paused(box).dump())


def test_only_the_tools_of_the_sandbox_that_continues_can_be_called() -> None:
    code = "first = population(city)\nother(city)"
    with make(tools=[population, other]) as box, make() as narrower:
        result = narrower.load(paused(box, code).dump()).resume(1)
        assert isinstance(result, SandboxResult)
        assert "NameError" in str(result.error)


def test_the_time_before_a_pause_counts() -> None:
    code = "n = 0\nfor i in range(10**9):\n    n += 1\n    if n == 1000: population(city)"
    with make(limits=Limits(wall=1)) as box:
        pause = paused(box, code)
        result = pause.resume(1)
        assert isinstance(result, SandboxResult)
        assert (result.error or pytest.fail("no error")).kind == "time_limit"
        assert result.usage.wall < 2


def test_an_answer_without_a_plain_form_is_refused_and_the_pause_stays() -> None:
    with make() as box:
        pause = paused(box)
        with pytest.raises(ValidationError, match="result of `population`"):
            pause.resume(object())
        assert getattr(pause.resume(1_000_000), "value", None) == 1.0


@pytest.mark.parametrize("key", [b"short", "text of some length", None])
def test_a_key_is_some_bytes(key: Any) -> None:
    if key is None:
        with Sandbox(engine="monty") as box, pytest.raises(ValidationError) as caught:
            box.start("1")
    else:
        with pytest.raises(ValidationError) as caught:
            make(snapshot_key=key)
    assert caught.value.code == "sandbox_key_invalid"


def refused(box: Sandbox, data: bytes) -> None:
    with pytest.raises(ValidationError) as caught:
        box.load(data)
    assert caught.value.code == "sandbox_snapshot_refused"
