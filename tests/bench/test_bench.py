"""The bench judges what it measured: marks, gates, exit codes."""

import asyncio
import json
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest

from bench import command, rows, thread
from bench.chat import chats
from bench.engine import OURS, THEIRS, Engine
from bench.forked import RUNS
from bench.measure import FLOOR, Result, measure
from bench.report import document, table_line
from bench.row import Goal, Row, awaited, sync
from bench.rows import analyst, kept, plan, research, sandbox, search
from bench.rows.process import printed
from bench.thread import Grown, steps_around
from bench.verdict import EXCELLENT, FAILED, PASSED, judge, verdicts
from sandbox.snippets.snippets import load

ROW = Row(
    "row",
    "a title",
    "µs",
    10,
    floor=lambda _: sync(lambda: None),
    engine=lambda engine: sync(lambda: None),
    times_floor=Goal(2, 4),
    gain=Goal(100, 50),
)


def result(floor: float, theirs: float, ours: float) -> Result:
    """A result with one sample in each column."""
    return Result(ROW, {FLOOR: [floor], THEIRS: [theirs], OURS: [ours]})


@pytest.mark.parametrize(
    ("value", "most", "mark"),
    [
        (2.0, True, EXCELLENT),
        (2.1, True, PASSED),
        (4.0, True, PASSED),
        (4.1, True, FAILED),
        (4.0, False, EXCELLENT),
        (3.0, False, PASSED),
        (1.9, False, FAILED),
    ],
)
def test_a_value_is_judged_by_both_limits(value: Any, most: Any, mark: Any) -> None:
    limits = (2, 4) if most else (4, 2)
    assert judge(value, *limits, most=most) == mark


def test_ratios_are_ours_over_the_floor_and_theirs_over_ours() -> None:
    judged = {verdict.goal: verdict for verdict in verdicts(result(1, 300, 3))}
    assert (judged["times_floor"].value, judged["times_floor"].mark) == (3, PASSED)
    assert (judged["gain"].value, judged["gain"].mark) == (100, EXCELLENT)


def test_a_column_that_was_not_measured_is_not_judged() -> None:
    assert list(verdicts(Result(ROW, {FLOOR: [1.0]}))) == []


def test_the_figure_is_the_median_per_unit_of_work() -> None:
    got = Result(ROW, {FLOOR: [1.0, 50.0, 2.0]})
    assert got.figure(FLOOR) == 2
    assert got.figure(OURS) is None


def test_each_case_has_a_sample_of_each_round() -> None:
    got = measure(ROW, {}, 4)
    assert len(got.samples[FLOOR]) == 4
    assert list(got.samples) == [FLOOR]


def test_an_engine_that_takes_a_row_too_long_is_left_out() -> None:
    row = replace(ROW, engine=lambda engine: None)
    assert list(measure(row, {OURS: Engine(OURS)}, 1).samples) == [FLOOR]


def test_a_growing_thread_is_measured_at_its_beginning_and_along_its_way() -> None:
    ticks = tuple(float(i if i < 20 else 20 + 3 * (i - 20)) for i in range(106))
    grown = Grown(0, ticks, 212)
    assert (grown.near(10), grown.near(70), grown.per_step) == (1, 3, 2)
    assert len(ticks) == steps_around(70)


@pytest.mark.parametrize(("steps", "is_reached"), [(16, True), (17, False)])
def test_what_a_long_run_did_not_reach_is_left_blank(
    monkeypatch: pytest.MonkeyPatch, steps: int, is_reached: bool
) -> None:
    grown = Grown(0, tuple(float(i) for i in range(16)), 16)
    monkeypatch.setattr(kept, "once", lambda *_: grown)
    theirs: Any = SimpleNamespace(ours=False, quick=False)
    sample = kept.figure(kept.near(10), steps, kept.ASYNC)(theirs)
    assert (sample is not None and sample(1) == 1) is is_reached


def test_a_run_ends_when_it_has_taken_long_enough(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(thread, "TIMEOUT", 0.0)
    engine = Engine(OURS)
    assert len(thread.grow(engine, 100, thread.Keeping(None)).ticks) == 1


def test_a_size_follows_from_what_was_written() -> None:
    written = len('{"role": "user", "content": "message 0 "}') + 160
    assert Grown(0, (0.0,), 1, size=3 * written).weight == 3


def test_an_awaited_sample_runs_the_work_as_often_as_requested() -> None:
    calls = []

    async def work() -> None:
        calls.append(1)

    assert awaited(work)(3) > 0
    assert len(calls) == 3


def test_a_failed_gate_is_named_and_is_an_error(capsys: pytest.CaptureFixture[str]) -> None:
    assert command.gate([result(1, 300, 3)]) == 0
    assert command.gate([result(1, 300, 5)]) == 1
    assert "`row` times_floor against 4: 5" in capsys.readouterr().err


def test_the_table_marks_each_ratio() -> None:
    assert "3 ✓ (2 / 4)" in table_line(result(1, 300, 3))
    assert "100 ★ (100 / 50)" in table_line(result(1, 300, 3))
    assert "✗" in table_line(result(1, 300, 9))


def test_what_a_row_is_measured_beside_has_its_own_lines() -> None:
    others = {"a peer": lambda: sync(lambda: None), "not installed": lambda: None}
    got = measure(replace(ROW, beside=others), {}, 1)
    assert list(got.samples) == [FLOOR, "a peer"]
    assert [line.split(":")[0].strip() for line in table_line(got).splitlines()[1:]] == ["a peer"]


@pytest.mark.parametrize("threads", [1, 8])
def test_runs_at_once_are_timed_together(threads: int) -> None:
    ran: list[str] = []
    sample = sandbox.at_once(ran.append, threads)
    assert sample is not None
    assert sample(1) > 0
    # Each thread has started before the clock does.
    assert len(ran) == sandbox.JOBS + threads


def test_a_few_long_runs_are_not_typical() -> None:
    seconds = iter([9.0, *[1.0] * RUNS])
    assert sandbox.typical(lambda: next(seconds))(1) == 1


@pytest.mark.parametrize("start", ["fork", "spare"])
def test_a_bare_fork_runs_the_code(start: str) -> None:
    assert printed("-m", "bench.forked", start, "json") > 0


def test_a_snippet_that_fails_in_any_way_does_not_come_out() -> None:
    right, wrong = (load()[0]._replace(value=value, stdout="") for value in (2, 3))
    two: Any = SimpleNamespace(ok=True, stdout="", value=2)
    assert sandbox.failed([right, wrong], lambda _: two)(1) == 1
    assert sandbox.failed([right, wrong], lambda _: 1 // 0)(1) == 2


def test_json_keeps_samples_and_verdicts() -> None:
    [row] = json.loads(document([result(1, 300, 9)]))["rows"]
    assert row["samples"][OURS] == [9]
    assert [verdict["mark"] for verdict in row["verdicts"]] == [FAILED, FAILED]


def test_row_names_are_unique_and_choose() -> None:
    names = [row.name for row in rows.ROWS]
    assert len(set(names)) == len(names)
    assert [row.name for row in command.chosen(f"{names[2]},{names[0]}")] == [names[0], names[2]]
    with pytest.raises(SystemExit, match="typo"):
        command.chosen("typo")


def test_a_gate_without_antiphon_is_a_usage_error(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(command, "engines", lambda quick: {})
    assert command.main(["--gate"]) == 2
    assert OURS in capsys.readouterr().err


@pytest.mark.parametrize(
    ("row", "given"),
    [
        (plan, {"task": plan.TASK}),
        (research, {"question": research.QUESTION}),
        (analyst, {"question": analyst.QUESTION}),
        (search, {"question": search.QUESTION}),
    ],
)
def test_both_engines_ask_as_many_models_and_answer(row: Any, given: Any) -> None:
    asked: list[str] = []
    chain = chats(row.SAID)

    async def ask(role: str, known: Any) -> Any:
        asked.append(role)
        return await chain(role, known)

    theirs = asyncio.run(row.graph(Engine(THEIRS), ask).ainvoke(given))
    ours = asyncio.run(row.asking(Engine(OURS))())
    assert theirs.get("answer") or theirs["report"]
    assert ours.answer
    assert len(asked) == ours.usage.model_calls
