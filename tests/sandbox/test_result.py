"""What came of a run, as data, as text and in a notebook."""

from __future__ import annotations

import json
import pickle
import struct
import sys
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from antiphon._faults import from_fault
from antiphon.errors import (
    AntiphonError,
    BudgetError,
    GuestError,
    PolicyError,
    RunCancelled,
    RunTimeout,
    SandboxError,
    ToolError,
    ValidationError,
    WorkerCrashed,
)
from antiphon.sandbox import SandboxFigure, SandboxResult, SandboxTable, SandboxUsage
from antiphon.sandbox._faults import _MAKE, as_fault, report, sandbox_error
from antiphon.sandbox._guest.decode import Opaque
from antiphon.sandbox._table import is_tabular, table_bytes

PNG = b"\x89PNG\r\n\x1a\n" + struct.pack(">I4sII", 13, b"IHDR", 640, 480) + b"rest"
FAULT = {
    "kind": "python_error",
    "message": "division by zero",
    "type": "ZeroDivisionError",
    "line": 2,
    "column": 5,
    "source": "x = 1 / 0",
    "frames": [
        {"line": 4, "function": "<module>", "source": "f()"},
        {"line": 2, "function": "f", "source": "    x = 1 / 0"},
    ],
}


def result(**fields: Any) -> SandboxResult:
    return SandboxResult(engine="process", isolation="os-jail", **fields)


def frame() -> pd.DataFrame:
    return pd.DataFrame({"city": ["Lyon", "Nice"], "people": [520_774, 348_085]})


@pytest.mark.parametrize(
    ("kind", "category"),
    [
        ("python_error", ToolError),
        ("syntax_error", ToolError),
        ("unsupported", ToolError),
        ("time_limit", RunTimeout),
        ("memory_limit", BudgetError),
        ("output_limit", BudgetError),
        ("recursion_limit", BudgetError),
        ("result_too_large", BudgetError),
        ("host_call_limit", ToolError),
        ("host_call_denied", ToolError),
        ("host_call_failed", ToolError),
        ("disk_limit", PolicyError),
        ("process_limit", PolicyError),
        ("denied", PolicyError),
        ("crashed", ToolError),
        ("cancelled", RunCancelled),
        ("unavailable", PolicyError),
    ],
)
def test_each_kind_of_failure_is_a_sandbox_error_and_one_of_its_category(
    kind: str, category: type[AntiphonError]
) -> None:
    error = sandbox_error({"kind": kind, "message": "so it was"})
    assert isinstance(error, SandboxError)
    assert isinstance(error, category)
    assert error.category == category.category
    assert (error.kind, error.code) == (kind, f"sandbox_{kind}")


def test_every_kind_that_an_engine_may_report_has_its_class() -> None:
    source = Path(__file__).parents[2] / "src/runtime/src/sandbox/guest_fault.rs"
    if not source.exists():
        pytest.skip("the engine's half is not here")
    text = source.read_text(encoding="utf-8")
    body = text.partition("fn as_str(self)")[2].partition("\n    }")[0]
    kinds = {line.split('"')[1] for line in body.splitlines() if '"' in line}
    # What closing the sandbox ends is for its face to tell.
    assert kinds | {"closed"} == set(_MAKE)


def test_a_kind_that_no_engine_knows_is_a_crash() -> None:
    error = sandbox_error({"kind": "all_is_well" * 100, "message": ""})
    assert isinstance(error, WorkerCrashed)
    assert len(error.message) < 300


def test_an_error_tells_where_in_the_code_it_was() -> None:
    error = sandbox_error(FAULT)
    assert isinstance(error, GuestError)
    assert str(error) == "ZeroDivisionError: division by zero, at line 2"
    assert (error.type, error.line, error.column) == ("ZeroDivisionError", 2, 5)
    assert error.source == "x = 1 / 0"
    assert report(error).splitlines()[1:] == [
        "  line 4, in <module>: f()",
        "  line 2, in f: x = 1 / 0",
    ]
    assert as_fault(error)["frames"] == FAULT["frames"]


def test_an_error_without_a_place_has_none() -> None:
    error = sandbox_error({"kind": "time_limit", "message": "5 s are over"})
    assert (error.type, error.line, error.column, error.source) == (None, None, None, None)
    assert error.frames == ()


def test_a_sandbox_error_survives_pickling() -> None:
    error = pickle.loads(pickle.dumps(sandbox_error(FAULT)))
    assert (type(error), error.line, error.kind) == (GuestError, 2, "python_error")


def test_the_engine_s_own_refusal_has_its_class() -> None:
    fault = {"category": "policy", "code": "sandbox_unavailable", "message": "no jail here"}
    error = from_fault(fault)  # type: ignore[arg-type]
    assert isinstance(error, SandboxError)
    assert error.kind == "unavailable"


def test_a_result_is_data_until_it_is_checked() -> None:
    failed = result(error=sandbox_error(FAULT), stdout="before\n")
    assert not failed.ok
    with pytest.raises(GuestError, match="at line 2"):
        failed.check()
    good = result(value=3)
    assert good.ok
    assert good.check() is good


def test_a_result_becomes_json() -> None:
    full = result(
        value={1, 2},
        locals={"n": float("nan")},
        tables={"t": SandboxTable(table_bytes("t", frame()))},
        figures=(SandboxFigure(PNG),),
        error=sandbox_error(FAULT),
        lost={"big": sandbox_error({"kind": "result_too_large", "message": "too large"})},
        usage=SandboxUsage(wall=0.5, host_calls=2),
    )
    fields = json.loads(full.to_json())
    assert fields["value"] == [1, 2]
    assert fields["tables"]["t"]["rows"] == 2
    assert fields["tables"]["t"]["columns"] == ["city", "people"]
    assert fields["error"]["line"] == 2
    assert fields["lost"]["big"]["kind"] == "result_too_large"
    assert fields["usage"]["host_calls"] == 2
    assert fields["engine"] == "process"


def test_the_text_of_a_result_has_all_that_an_agent_needs() -> None:
    text = str(
        result(
            stdout="hello\n",
            error=sandbox_error(FAULT),
            tables={"t": SandboxTable(table_bytes("t", frame()))},
            truncated=("stdout",),
        )
    )
    assert text.splitlines()[0] == "hello"
    assert (
        "table `t`: SandboxTable(2 rows x 2 columns: city, people)\ncity | people\nLyon | 520774"
        in text
    )
    assert "cut at a limit: stdout" in text
    assert "python_error: ZeroDivisionError: division by zero, at line 2" in text
    assert str(result()) == "(no output)"


def test_control_characters_are_spelt_out_wherever_a_result_is_shown() -> None:
    hostile = result(stdout="a\x1b[2Jb\x07", stderr="\u202e!", value="\x9b31m")
    bundle = hostile._repr_mimebundle_()
    for shown in (str(hostile), *bundle.values()):
        assert not {"\x1b", "\x07", "\u202e", "\x9b"} & set(shown)
    assert hostile.stdout == "a\x1b[2Jb\x07"


class _Tags(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.links: list[str] = []
        self.open = 0

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.links += [value or "" for name, value in attrs if name in {"src", "href"}]
        assert not any(name.startswith("on") for name, _ in attrs)
        self.open += tag != "img"

    def handle_endtag(self, tag: str) -> None:
        self.open -= 1


def test_a_notebook_shows_a_result_as_static_html_in_which_nothing_of_the_code_is_alive() -> None:
    evil = '<script>alert(1)</script><img src=x onerror="alert(1)">'
    hostile = pd.DataFrame({evil: [evil], "b": ["&amp;"]})
    shown = result(
        value=evil,
        stdout=evil,
        stderr=evil,
        tables={evil: SandboxTable(table_bytes("t", hostile))},
        figures=(SandboxFigure(PNG),),
        error=sandbox_error(
            {"kind": "python_error", "message": evil, "frames": [{"source": evil}]}
        ),
        lost={evil: sandbox_error({"kind": "denied", "message": evil})},
        truncated=("stdout",),
        usage=SandboxUsage(memory=2**21, host_calls=1),
    )._repr_mimebundle_()["text/html"]
    parser = _Tags()
    parser.feed(shown)
    assert parser.tags <= {"div", "b", "span", "table", "tr", "th", "td", "img"}
    assert parser.open == 0
    assert [link[:22] for link in parser.links] == ["data:image/png;base64,"]


def test_a_table_shows_its_first_rows_and_says_how_many_there_are() -> None:
    long = pd.DataFrame({"n": range(1000)})
    shown = result(tables={"t": SandboxTable(table_bytes("t", long))})
    html = shown._repr_mimebundle_()["text/html"]
    assert html.count("<tr>") == 11
    assert "1000 rows x 1 columns" in html


def test_the_text_of_a_long_table_ends_with_the_number_of_rows_left_out() -> None:
    long = pd.DataFrame({"n": ["a\nb", *["x" * 1000] * 99]})
    lines = str(result(tables={"t": SandboxTable(table_bytes("t", long))})).splitlines()
    assert lines[1:4] == ["n", "a b", f"{'x' * 60} …"]
    assert lines[-1] == "… and 90 more rows"


def test_the_axes_of_a_figure_are_no_value_beside_it() -> None:
    axes = Opaque("matplotlib.axes._axes.Axes", "<Axes: >")
    assert "Axes" not in str(result(value=axes, figures=(SandboxFigure(PNG),)))
    assert "Axes" in str(result(value=axes))


def test_a_figure_tells_its_size_and_is_shown_and_saved(tmp_path: Path) -> None:
    figure = SandboxFigure(PNG)
    assert figure.size == (640, 480)
    assert "640 x 480" in repr(figure)
    assert figure._repr_png_() == PNG
    assert figure.save(tmp_path / "plot.png").read_bytes() == PNG


def test_a_table_goes_into_the_libraries_that_people_use() -> None:
    table = SandboxTable(table_bytes("t", frame()))
    pd.testing.assert_frame_equal(table.to_pandas(), frame())
    assert table.to_polars().rows() == [("Lyon", 520_774), ("Nice", 348_085)]
    assert pa.table(table).num_rows == 2
    assert pl.DataFrame(table).height == 2
    assert table_bytes("again", table) == table.ipc


@pytest.mark.parametrize(
    "made",
    [frame, lambda: pl.DataFrame({"a": [1]}), lambda: pa.table({"a": [1]})],
    ids=["pandas", "polars", "arrow"],
)
def test_tables_of_every_library_are_written_as_arrow(made: Any) -> None:
    value = made()
    assert is_tabular(value)
    with pa.ipc.open_stream(table_bytes("t", value)) as reader:
        assert reader.read_all().num_rows == len(value)


@pytest.mark.parametrize(
    "value", [1, [1], {"a": [1]}, pd.Series([1]), pl.Series([1]), pd.DataFrame]
)
def test_what_is_no_table_is_not_taken_for_one(value: Any) -> None:
    assert not is_tabular(value)


def test_a_table_with_a_mixed_column_is_refused_by_name() -> None:
    with pytest.raises(ValidationError, match="`prices` cannot be written") as caught:
        table_bytes("prices", pd.DataFrame({"a": [object(), 1]}))
    assert caught.value.code == "sandbox_table_unwritable"


def test_polars_alone_is_enough_to_write_and_to_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    monkeypatch.setattr(
        "antiphon.sandbox._table.find_spec", lambda name: None if name == "pyarrow" else name
    )
    table = SandboxTable(table_bytes("t", pl.DataFrame({"a": [1, 2]})))
    assert table.first(1) == (["a"], [(1,)], 2)
    assert pl.DataFrame(table).height == 2
    with pytest.raises(ValidationError, match="neither pyarrow nor polars"):
        table_bytes("t", frame())


def test_without_a_library_a_table_still_tells_its_size(monkeypatch: pytest.MonkeyPatch) -> None:
    table = SandboxTable(table_bytes("t", frame()))
    monkeypatch.setattr("antiphon.sandbox._table.find_spec", lambda name: None)
    assert repr(table) == f"SandboxTable({len(table.ipc):,} bytes)"
    assert "install pyarrow" in result(tables={"t": table})._repr_mimebundle_()["text/html"]
