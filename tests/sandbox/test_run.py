"""One suite for every engine: what a run brings out, and how it can end."""

from __future__ import annotations

import asyncio
import datetime as dt
import decimal
import gc
import os
import threading
import warnings
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from antiphon.errors import (
    GuestError,
    GuestSyntaxError,
    SandboxError,
    TimeLimitExceeded,
    ValidationError,
)
from antiphon.sandbox import Limits, Sandbox
from support.engines import ENGINES, probe

Boxes = Callable[..., Sandbox]


def test_the_last_expression_is_the_value(box: Sandbox) -> None:
    result = box.run("x = 20\nx + 22").check()
    assert result.value == 42
    assert result.locals == {"x": 20}
    assert (result.stdout, result.stderr) == ("", "")


def test_a_result_names_its_engine_and_its_isolation(box: Sandbox) -> None:
    result = box.run("1")
    assert (result.engine, result.isolation) == (box.engine, box.isolation)
    assert probe(box.engine)["isolation"] == result.isolation
    assert box.engine in repr(box)


def test_what_is_printed_comes_out(box: Sandbox) -> None:
    result = box.run("print('one')\nimport sys\nprint('two', file=sys.stderr)")
    assert (result.stdout, result.stderr) == ("one\n", "two\n")
    assert result.value is None


@pytest.mark.parametrize(
    ("code", "value"),
    [
        ("{1: 'a', 'b': (1, 2)}", {1: "a", "b": (1, 2)}),
        ("{1, 2}", {1, 2}),
        ("b'\\x00\\xff'", b"\x00\xff"),
        ("10**40", 10**40),
        ("float('inf')", float("inf")),
        ("'\\x1b[2J'", "\x1b[2J"),
        ("import datetime\ndatetime.date(2026, 1, 2)", dt.date(2026, 1, 2)),
        ("import decimal\ndecimal.Decimal('1.10')", decimal.Decimal("1.10")),
        ("{'$': 'tuple', 'v': [1]}", {"$": "tuple", "v": [1]}),
        ("None", None),
    ],
)
def test_plain_values_come_out_as_they_are(box: Sandbox, code: str, value: Any) -> None:
    result = box.run(code).check()
    assert result.value == value
    assert type(result.value) is type(value)


@pytest.mark.parametrize(
    "value",
    [
        [1, "zwei", None, True, 2.5],
        {"a": {"b": [1]}},
        {1: 2, (1, 2): "pair"},
        {1, 2},
        b"\x00",
        -(10**30),
        dt.datetime(2026, 1, 2, 3, 4, 5, tzinfo=dt.UTC),
        dt.timedelta(days=1, microseconds=5),
        decimal.Decimal("1.10"),
    ],
)
def test_inputs_arrive_as_they_are(box: Sandbox, value: Any) -> None:
    result = box.run("given", inputs={"given": value}).check()
    assert result.value == value


def test_an_input_is_no_local_unless_the_code_assigns_it_anew(box: Sandbox) -> None:
    result = box.run("b = b + 1", inputs={"a": 1, "b": 1}).check()
    assert result.locals == {"b": 2}


def test_a_dataclass_goes_in_as_its_fields(box: Sandbox) -> None:
    @dataclass
    class City:
        name: str

    assert box.run("city['name']", inputs={"city": City("Lyon")}).check().value == "Lyon"


def test_arrays_and_tables_go_in(box: Sandbox) -> None:
    frame = pd.DataFrame({"n": [1, 2, 3]})
    inputs = {"array": np.array([1, 2, 3]), "frame": frame}
    assert box.run("sum(array) + sum(frame['n'])", inputs=inputs).check().value == 12


@pytest.mark.parametrize("name", ["a b", "class", "_hidden", "", "1"])
def test_an_input_needs_the_name_of_a_variable(box: Sandbox, name: str) -> None:
    with pytest.raises(ValidationError) as caught:
        box.run("1", inputs={name: 1})
    assert caught.value.code == "sandbox_input_invalid"
    assert "letters, digits and `_`" in str(caught.value.hint)


def test_an_input_without_a_plain_form_is_refused(box: Sandbox) -> None:
    with pytest.raises(ValidationError, match="`thing` cannot be passed"):
        box.run("1", inputs={"thing": object()})


def test_what_is_not_wanted_stays_inside(box: Sandbox) -> None:
    result = box.run("x = 1\nx", want=["value"])
    assert (result.value, result.locals) == (1, {})
    with pytest.raises(ValidationError, match="not: stdin"):
        box.run("1", want=["stdin"])  # type: ignore[list-item]


def test_an_exception_is_reported_with_its_line(box: Sandbox) -> None:
    result = box.run("print('before')\ndef f(n):\n    return 1 / n\n\nf(0)\n")
    assert result.stdout == "before\n"
    error = result.error
    assert isinstance(error, GuestError)
    assert (error.type, error.line) == ("ZeroDivisionError", 3)
    assert [frame["line"] for frame in error.frames] == [5, 3]
    assert (error.source or "").strip() == "return 1 / n"
    with pytest.raises(GuestError, match="division by zero"):
        result.check()


def test_what_is_no_python_is_reported_with_its_line(box: Sandbox) -> None:
    error = box.run("x = 1\ny = = 2\n").error
    assert isinstance(error, GuestSyntaxError)
    assert error.line == 2


def test_a_run_begins_with_a_clean_interpreter(box: Sandbox) -> None:
    box.run("left = 1").check()
    assert (box.run("left").error or pytest.fail("no error")).type == "NameError"


def test_an_endless_loop_is_ended_at_its_limit(boxes: Boxes) -> None:
    box = boxes(limits=Limits(wall=0.3))
    result = box.run("while True:\n    pass")
    assert isinstance(result.error, TimeLimitExceeded)
    assert result.usage.wall >= 0.3
    assert box.run("1 + 1").value == 2


def test_too_much_memory_is_refused(boxes: Boxes) -> None:
    box = boxes(limits=Limits(memory=64 * 2**20))
    error = box.run("x = 'a' * (2 * 10**9)\nlen(x)").error
    assert (error or pytest.fail("no error")).kind == "memory_limit"


def test_recursion_without_end_is_reported_as_such(box: Sandbox) -> None:
    error = box.run("def f(n):\n    return f(n + 1)\n\nf(0)").error
    assert (error or pytest.fail("no error")).kind == "recursion_limit"


def test_output_is_cut_at_its_limit_and_marked(boxes: Boxes) -> None:
    box = boxes(limits=Limits(stdout=100))
    result = box.run("print('é' * 200)\n7")
    assert result.value == 7
    assert result.truncated == ("stdout",)
    assert len(result.stdout.encode()) <= 102
    assert set(result.stdout) <= {"é", "\ufffd"}


def test_output_without_end_is_ended(boxes: Boxes) -> None:
    # What is past the limit is dropped by `wasm` itself, which then ends at its deadline.
    drops = boxes().engine == "wasm"
    box = boxes(limits=Limits(wall=1 if drops else 30))
    result = box.run("while True:\n    print('x' * 10_000)")
    kind = (result.error or pytest.fail("no error")).kind
    assert kind == ("time_limit" if drops else "output_limit")
    assert result.truncated == ("stdout",)


@pytest.mark.parametrize(
    "code",
    [
        "'x' * 3_000_000",
        "[0] * 200_000",
        "x = []\nfor _ in range(5_000):\n    x = [x]\nx",
        "x = [0]\nfor _ in range(40):\n    x = [x, x]\nx",
    ],
    ids=["bytes", "parts", "depth", "shared"],
)
def test_a_value_past_its_limit_is_a_failure_that_keeps_the_rest(box: Sandbox, code: str) -> None:
    result = box.run(f"print('kept')\nsmall = 1\n{code}")
    assert (result.error or pytest.fail("no error")).kind == "result_too_large"
    assert result.stdout == "kept\n"
    assert result.locals["small"] == 1


def test_a_local_past_its_limit_is_lost_alone(box: Sandbox) -> None:
    result = box.run("big = 'x' * 100_000\nsmall = 1\n2").check()
    assert (result.value, result.locals) == (2, {"small": 1})
    assert result.lost["big"].kind == "result_too_large"


def test_a_granted_file_can_be_read_and_no_other(boxes: Boxes, tmp_path: Path) -> None:
    secret = tmp_path / "secret.txt"
    secret.write_text("secret")
    (tmp_path / "data.txt").write_text("data")
    if not ENGINES[boxes().engine].files:
        pytest.skip("this engine shows no files")
    box = boxes(files={"given.txt": tmp_path / "data.txt"})
    assert box.run("open('/files/given.txt').read()").check().value == "data"
    for code in (f"open({str(secret)!r}).read()", "open('/files/given.txt', 'w').write('x')"):
        assert not box.run(code).ok
    assert (tmp_path / "data.txt").read_text() == "data"


def test_code_has_to_be_text_of_a_length(boxes: Boxes) -> None:
    box = boxes(limits=Limits(source=100))
    for code in (b"1", "x" * 101, "'\ud800'"):
        with pytest.raises(ValidationError) as caught:
            box.run(code)  # type: ignore[arg-type]
        assert caught.value.code == "sandbox_code_invalid"


def test_a_run_tells_what_it_took(box: Sandbox) -> None:
    usage = box.run("sum(range(1000))").usage
    assert usage.wall > 0
    assert usage.start in {"spare", "fork", "cold"}


def test_a_session_keeps_its_names(box: Sandbox) -> None:
    with box.session() as session:
        session.run("total = 1").check()
        session.run("total = total + given", inputs={"given": 2}).check()
        result = session.run("total").check()
        assert result.value == 3
        assert result.usage.start == "session"


def test_the_last_value_of_a_session_is_underscore(box: Sandbox) -> None:
    with box.session() as session:
        session.run("6 * 7").check()
        session.run("None").check()
        result = session.run("_ + 1")
    if box.engine == "monty":
        assert isinstance(result.error, SandboxError)
        assert result.error.type == "NameError"
    else:
        assert result.check().value == 43
        assert "_" not in result.locals


def test_a_session_survives_an_exception_but_not_a_broken_limit(boxes: Boxes) -> None:
    box = boxes(limits=Limits(wall=0.5))
    with box.session() as session:
        session.run("kept = 5").check()
        assert not session.run("1 / 0").ok
        assert session.run("kept").check().value == 5
        assert isinstance(session.run("while True:\n    pass").error, TimeLimitExceeded)
        assert (session.run("kept").error or pytest.fail("no error")).kind == "crashed"


def test_errors_in_a_session_name_the_lines_of_their_own_cell(box: Sandbox) -> None:
    with box.session() as session:
        session.run("def f(n):\n    return 1 / n").check()
        error = session.run("x = 1\ny = 2\nf(0)").error
        assert isinstance(error, SandboxError)
        assert error.frames[0]["line"] == 3


def test_a_closed_sandbox_or_session_reports_it(boxes: Boxes) -> None:
    box = boxes()
    session = box.session()
    session.run("1").check()
    session.close()
    with pytest.raises(ValidationError, match="session is closed"):
        session.run("1")
    box.close()
    box.close()
    with pytest.raises(ValidationError, match="sandbox is closed"):
        box.run("1")


def test_threads_share_a_sandbox(box: Sandbox) -> None:
    def work(n: int) -> Any:
        return box.run("n * n", inputs={"n": n}).check().value

    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(work, range(40))) == [n * n for n in range(40)]


def test_an_event_loop_keeps_running_while_code_runs(box: Sandbox) -> None:
    async def main() -> tuple[list[Any], int]:
        turns = 0

        async def count() -> None:
            nonlocal turns
            while True:
                turns += 1
                await asyncio.sleep(0)

        counting = asyncio.create_task(count())
        results = await asyncio.gather(*(box.arun("n + 1", inputs={"n": n}) for n in range(8)))
        counting.cancel()
        return [result.check().value for result in results], turns

    values, turns = asyncio.run(main())
    assert values == list(range(1, 9))
    assert turns > 1


def test_a_plain_call_works_inside_a_running_loop(box: Sandbox) -> None:
    async def main() -> Any:
        return box.run("1 + 1").value

    assert asyncio.run(main()) == 2


def test_a_cancelled_run_is_killed_at_once(boxes: Boxes) -> None:
    called = threading.Event()

    def started() -> int:
        called.set()
        return 1

    box = boxes(tools=[started], limits=Limits(wall=300, cpu=300))

    async def main() -> None:
        task = asyncio.create_task(box.arun("started()\nwhile True:\n    pass"))
        await asyncio.to_thread(called.wait)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(main())
    # Its thread ends with the run: far earlier than the limits would end it.
    for thread in threading.enumerate():
        if thread.name == "antiphon-sandbox-run":
            thread.join(60)
            assert not thread.is_alive()
    assert box.run("1").value == 1


def test_a_sandbox_that_nobody_closed_leaves_no_process_and_no_descriptor(boxes: Boxes) -> None:
    boxes().run("1")
    gc.collect()
    before = _left()
    engine = boxes().engine
    for _ in range(3):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            box = Sandbox(engine=engine, i_accept_no_isolation=True)  # type: ignore[arg-type]
        box.run("1").check()
        del box
    gc.collect()
    assert _left() == before


def _left() -> tuple[int, int]:
    """How many children and descriptors this process has."""
    me = os.getpid()
    children = 0
    for entry in Path("/proc").iterdir() if Path("/proc").is_dir() else []:
        try:
            fields = (entry / "stat").read_text().rpartition(")")[2].split()
        except (OSError, ValueError):
            continue
        children += len(fields) > 1 and fields[1] == str(me)
    return children, len(list(Path("/proc/self/fd").iterdir()))
