"""Results of queries as columns of Arrow."""

from __future__ import annotations

import sqlite3
import tempfile
from datetime import UTC, date, datetime, time
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from antiphon.checkpoint import SqliteSaver
from antiphon.models import scripted
from antiphon.systems import DataAnalyst, TabularResult

TYPES: dict[str, tuple[str, st.SearchStrategy[Any]]] = {
    "whole": ("INTEGER", st.integers(-(2**63), 2**63 - 1)),
    "ratio": ("REAL", st.floats(allow_nan=False, allow_infinity=False)),
    "note": ("TEXT", st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"))),
    "raw": ("BLOB", st.binary(max_size=20)),
    "day": ("DATE", st.dates()),
    "at": ("DATETIME", st.datetimes()),
    "flag": ("BOOLEAN", st.booleans()),
}
ROWS = st.lists(st.tuples(*(st.none() | cells for _, cells in TYPES.values())), max_size=20)
NUMBERS = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 3000)"


def found(sql: str, **options: Any) -> TabularResult:
    replies = [{"json": {"sql": sql}}, {"json": {"answer": "These."}}]
    analyst = DataAnalyst(
        scripted(replies), sandbox=False, check_query=False, compose_single=False, **options
    )
    data = analyst.run("Show them").data
    assert data is not None
    return data


def stored(cell: object) -> object:
    if isinstance(cell, datetime):
        return cell.isoformat(" ")
    return cell.isoformat() if isinstance(cell, date) else cell


@given(ROWS)
@settings(max_examples=10, deadline=None)
def test_cells_of_any_type_survive_as_columns(rows: list[tuple[Any, ...]]) -> None:
    pytest.importorskip("pyarrow")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "cells.db"
        connection = sqlite3.connect(path)
        columns = ", ".join(f"{name} {declared}" for name, (declared, _) in TYPES.items())
        connection.execute(f"CREATE TABLE cells ({columns})")
        cells = [tuple(map(stored, row)) for row in rows]
        connection.executemany("INSERT INTO cells VALUES (?, ?, ?, ?, ?, ?, ?)", cells)
        connection.commit()
        connection.close()
        table = found("SELECT * FROM cells", database=path).to_arrow()
    assert [tuple(row.values()) for row in table.to_pylist()] == rows
    kinds = dict(zip(table.column_names, map(str, table.schema.types), strict=True))
    if any(row[4] is not None for row in rows):
        assert kinds["day"] == "date32[day]"


def test_of_a_large_result_the_first_rows_are_json_and_all_are_columns() -> None:
    pandas, polars = pytest.importorskip("pandas"), pytest.importorskip("polars")
    pytest.importorskip("pyarrow")
    frames = {"days": pandas.DataFrame({"day": [date(2026, 1, 2), None]})}
    sql = f"{NUMBERS} SELECT i, i * 0.5 AS half, 'n' || i AS name FROM n"
    data = found(sql, frames=frames, max_rows=5_000)
    assert (len(data), len(data.rows), data.truncated) == (3_000, 1_000, False)
    assert data[0] == {"i": 1, "half": 0.5, "name": "n1"}
    frame = data.to_pandas()
    assert (frame["i"].sum(), str(frame["half"].dtype)) == (4_501_500, "float64")
    assert data.to_polars().schema["i"] == polars.Int64
    assert data.to_arrow().num_rows == 3_000


def test_frames_and_files_keep_dates_and_times(tmp_path: Path) -> None:
    pandas = pytest.importorskip("pandas")
    pytest.importorskip("pyarrow")
    day, hour = date(2026, 1, 2), time(3, 4)
    zoned = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
    at = zoned.replace(tzinfo=None)
    sales: dict[str, list[Any]] = {
        "day": [day, None],
        "hour": [hour, None],
        "at": [at, None],
        "zoned": [zoned, None],
        "net": [Decimal("9.50"), Decimal(-100)],
        "long": [Decimal("12345678901234567.5"), None],
        "paid": [True, None],
    }
    frames = {"sales": pandas.DataFrame(sales, dtype=object)}
    first, last = found("SELECT * FROM sales", frames=frames).to_arrow().to_pylist()
    floats = {"net": 9.5, "long": 12345678901234568.0}
    assert first == {name: cells[0] for name, cells in sales.items()} | floats
    assert last == dict.fromkeys(sales) | {"net": -100.0}
    frame = found("SELECT day, net FROM sales", frames=frames).to_pandas()
    assert (frame["day"][0], str(frame["net"].dtype)) == (day, "float64")
    path = tmp_path / "sales.csv"
    path.write_text("day,at,hour,note\n2026-01-02,2026-01-02T03:04:05,03:04,2026-13-01\n,-,,x\n")
    first, last = found("SELECT * FROM sales", database=path).to_arrow().to_pylist()
    assert first == {"day": day, "at": at, "hour": hour, "note": "2026-13-01"}
    assert last == {"day": None, "at": None, "hour": None, "note": "x"}


@pytest.mark.parametrize("has_arrow", [True, False])
def test_whole_numbers_with_gaps_keep_their_digits(
    monkeypatch: pytest.MonkeyPatch, *, has_arrow: bool
) -> None:
    pandas = pytest.importorskip("pandas")
    pytest.importorskip("pyarrow")
    cells = {"id": [2**53 + 1, None], "few": [2, None], "all": [2**53 + 1, 1]}
    data = found("SELECT * FROM t", frames={"t": cells})
    if not has_arrow:
        monkeypatch.setattr("antiphon.systems.tabular.find_spec", lambda name: None)
    frame = data.to_pandas()
    assert list(map(str, frame.dtypes)) == ["Int64", "float64", "int64"]
    assert (int(frame["id"][0]), frame["id"][1]) == (2**53 + 1, pandas.NA)


def test_a_stored_result_has_its_columns_again(tmp_path: Path) -> None:
    pytest.importorskip("pyarrow")
    replies = [{"json": {"sql": f"{NUMBERS} SELECT i FROM n"}}, {"json": {"answer": "Many."}}]
    options: dict[str, Any] = {"sandbox": False, "check_query": False, "compose_single": False}
    with SqliteSaver.open(tmp_path / "runs.db") as store:
        frames = {"days": {"day": [1]}}
        first = DataAnalyst(scripted(2 * replies), frames=frames, checkpointer=store, **options)
        for _ in "ab":
            first.run("Show them", thread="t")
        again = DataAnalyst(scripted([]), frames=frames, checkpointer=store, **options)
        data = again.resume("t").data
    assert data is not None
    assert (len(data.rows), data.to_arrow().num_rows) == (1_000, 3_000)


def test_without_a_library_of_arrow_short_tables_are_read_and_others_name_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    pytest.importorskip("pandas")
    frames = {"sales": {"net": [1, 2]}}
    data = found("SELECT net FROM sales", frames=frames)
    large = found(f"{NUMBERS} SELECT i FROM n", frames=frames)
    assert list(data.to_pandas()["net"]) == [1, 2]
    monkeypatch.setattr("antiphon.systems.tabular.find_spec", lambda name: None)
    assert list(data.to_pandas()["net"]) == [1, 2]
    with pytest.raises(ModuleNotFoundError, match=r"3,000 rows .*: pip install pyarrow"):
        large.to_pandas()
    assert "3,000 rows" in large._repr_html_()
