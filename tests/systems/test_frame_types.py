"""Types of the columns of data frames, and what their cells become."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from datetime import timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from antiphon.errors import ValidationError
from antiphon.models import scripted
from antiphon.systems import DataAnalyst

MANY = 10_000
"""More cells than anybody looks at to guess a type."""


def asked(sql: str, frame: Any) -> list[list[Any]]:
    """The cells of a query over the frame `t`."""
    replies = [{"json": {"sql": sql}}, {"json": {"answer": "These."}}]
    analyst = DataAnalyst(
        scripted(replies),
        frames={"t": frame},
        sandbox=False,
        check_query=False,
        compose_single=False,
    )
    found = analyst.run("Show them")
    assert found.data is not None, found.to_dict()
    return [list(row.values()) for row in found.data.rows]


def test_numbers_after_many_gaps_are_numbers() -> None:
    pandas, polars = pytest.importorskip("pandas"), pytest.importorskip("polars")
    gaps: list[Any] = [None] * MANY
    cells = [*gaps, 9, 10, 100]
    frames = [
        pandas.DataFrame({"x": cells}),
        pandas.DataFrame({"x": pandas.array(cells, dtype="Int64")}),
        pandas.DataFrame({"x": cells}, dtype=object),
        polars.DataFrame({"x": cells}, schema={"x": polars.Int64}),
        {"x": cells},
        [{"x": cell} for cell in cells],
    ]
    for frame in frames:
        assert asked("SELECT max(x), typeof(max(x)) <> 'text' FROM t", frame) == [[100, 1]]


def test_a_late_text_keeps_its_zeros_and_its_neighbours_their_digits() -> None:
    cells = [*([1] * MANY), 0.12345678901234567, Decimal("1.10"), "007"]
    assert asked(f"SELECT x FROM t WHERE rowid >= {MANY}", {"x": cells}) == [
        ["1"],
        [repr(0.12345678901234567)],
        ["1.10"],
        ["007"],
    ]


def test_a_column_that_is_typed_and_empty_has_its_type(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    pandas, polars = pytest.importorskip("pandas"), pytest.importorskip("polars")
    kinds = {"whole": "int64", "ratio": "float64", "at": "datetime64[ns, UTC]"}
    series = {name: pandas.Series([], dtype=kind) for name, kind in kinds.items()}
    schema = {"a": polars.UInt8, "b": polars.Date, "c": polars.Datetime("us", "UTC")}
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    frames = {"t": pandas.DataFrame(series), "u": polars.DataFrame(schema=schema)}
    analyst = DataAnalyst(scripted([]), frames=frames, sandbox=False)
    (path,) = tmp_path.glob("antiphon-frames-*/frames.db")
    with closing(sqlite3.connect(path)) as connection:
        found = [
            [
                kind
                for (kind,) in connection.execute(f"SELECT type FROM pragma_table_info('{name}')")
            ]
            for name in frames
        ]
    assert found == [["INTEGER", "REAL", "TIMESTAMPTZ"], ["INTEGER", "DATE", "TIMESTAMPTZ"]]
    del analyst


@pytest.mark.parametrize("library", ["pandas", "polars", "dict", "arrow"])
def test_whole_amounts_of_decimals_are_divided_as_numbers(library: str) -> None:
    cells = {"price": [Decimal("5.00"), Decimal("7.00"), Decimal("9.00"), None]}
    frame: Any = cells
    if library == "polars":
        frame = pytest.importorskip("polars").DataFrame(cells)
    if library == "pandas":
        frame = pytest.importorskip("pandas").DataFrame(cells)
    if library == "arrow":
        pa, pandas = pytest.importorskip("pyarrow"), pytest.importorskip("pandas")
        kind = pandas.ArrowDtype(pa.decimal128(10, 2))
        frame = pandas.DataFrame({"price": pandas.Series(cells["price"], dtype=kind)})
    sql = "WITH x AS (SELECT DISTINCT price FROM t) SELECT sum(price / 2), sum(price) / 4 FROM x"
    assert asked(sql, frame) == [[10.5, 5.25]]


def test_whole_decimals_without_fraction_are_divided_too() -> None:
    assert asked("SELECT a / 2 FROM t", {"a": [Decimal(5), Decimal(2)]}) == [[2.5], [1]]
    assert asked("SELECT a / 2 FROM t", {"a": [Decimal(5), 3]}) == [[2.5], [1.5]]


def test_long_whole_decimals_keep_their_digits() -> None:
    ids = {"id": [Decimal(2**53 + 1), Decimal("NaN"), None]}
    assert asked("SELECT id FROM t", ids) == [[2**53 + 1], [None], [None]]


def test_a_column_keeps_its_name_beside_an_index_of_the_same_name() -> None:
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"k": [10, 20]}, index=pandas.Index([1, 2], name="k"))
    assert asked("SELECT sum(k), sum(k_2) FROM t", frame) == [[30, 3]]


def test_a_name_that_was_given_is_no_other_columns_number() -> None:
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame([[1, 2, 3]], columns=["a", "A", "a_2"])
    assert asked('SELECT a, a_2, "A_3" FROM t', frame) == [[1, 3, 2]]


def test_arrays_of_numpy_in_cells_are_lists() -> None:
    numpy, pandas = pytest.importorskip("numpy"), pytest.importorskip("pandas")
    frame = pandas.DataFrame({"l": [numpy.array([1]), numpy.array([2.5, float("nan")])]})
    assert asked("SELECT l, json_extract(l, '$[0]') FROM t", frame) == [
        ["[1]", 1],
        ["[2.5, null]", 2.5],
    ]
    nested = {"l": [[numpy.int64(3), {"a": numpy.array([1])}], [float("nan"), pandas.NaT]]}
    assert asked("SELECT l FROM t", nested) == [['[3, {"a": [1]}]'], ["[null, null]"]]


def test_lists_of_polars_are_lists() -> None:
    polars = pytest.importorskip("polars")
    frame = polars.DataFrame({"l": [[1, 2], [], None], "s": [{"a": [1]}, {"a": None}, None]})
    assert asked("SELECT l, s FROM t", frame) == [
        ["[1, 2]", '{"a": [1]}'],
        ["[]", '{"a": null}'],
        [None, '{"a": null}'] if frame["s"][2] else [None, None],
    ]


def test_points_in_time_and_durations_of_numpy_keep_their_meaning() -> None:
    numpy = pytest.importorskip("numpy")
    frame = {
        "at": numpy.array(["2026-01-02T03:04:05", "NaT"], dtype="datetime64[ns]"),
        "took": numpy.array([1_500_000_000, "NaT"], dtype="timedelta64[ns]"),
        "day": [numpy.datetime64("2026-01-02"), timedelta(0)],
    }
    assert asked("SELECT at, took FROM t", frame) == [["2026-01-02 03:04:05", 1.5], [None, None]]
    assert asked("SELECT day FROM t LIMIT 1", frame) == [["2026-01-02"]]


def test_what_cannot_be_stored_is_told_by_its_column() -> None:
    loop: list[Any] = []
    loop.append(loop)
    for cell in ("a\ud800", loop):
        with pytest.raises(ValidationError, match="the column `b` of the frame `t` cannot be"):
            asked("SELECT 1", {"a": [1], "b": [cell]})
    with pytest.raises(ValidationError, match="the frame `t` has more than 2,000 columns: 2,001"):
        asked("SELECT 1", [{f"c{at}": at for at in range(2_001)}])
