"""Data frames and files of tables in place of a database."""

from __future__ import annotations

import gc
import importlib
import sqlite3
from contextlib import closing
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from antiphon.errors import ValidationError
from antiphon.models import scripted
from antiphon.systems import DataAnalyst


def asked(sql: str, **options: Any) -> list[dict[str, Any]]:
    """The rows of a query."""
    replies = [{"json": {"sql": sql}}, {"json": {"answer": "These."}}]
    analyst = DataAnalyst(
        scripted(replies), sandbox=False, check_query=False, compose_single=False, **options
    )
    found = analyst.run("Show them")
    assert found.data is not None, found.to_dict()
    return list(found.data.rows)


def test_frames_of_pandas_and_polars_are_tables() -> None:
    pandas, polars = pytest.importorskip("pandas"), pytest.importorskip("polars")
    frames = {
        "sales": pandas.DataFrame({"region": ["n", "s", None], "net": [1.5, float("nan"), 2.5]}),
        "regions": polars.DataFrame({"code": ["n", "s"], "name": ["North", "South"]}),
    }
    sql = "SELECT name, net FROM sales JOIN regions ON code = region ORDER BY name"
    assert asked(sql, frames=frames) == [
        {"name": "North", "net": 1.5},
        {"name": "South", "net": None},
    ]
    assert asked("SELECT sum(net) AS net FROM sales", frames=frames) == [{"net": 4}]


def test_dicts_of_columns_and_lists_of_dicts_are_tables() -> None:
    frames = {
        "columns": {"a": [1, 2], "b": ["x", "y"]},
        "rows": [{"a": 1}, {"a": 2, "c": [1, {"d": 2}]}],
    }
    assert asked("SELECT sum(a) AS a FROM columns", frames=frames) == [{"a": 3}]
    last = asked("SELECT a, c FROM rows ORDER BY a DESC LIMIT 1", frames=frames)
    assert last == [{"a": 2, "c": '[1, {"d": 2}]'}]


def test_cells_keep_their_meaning() -> None:
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(
        {
            "flag": [True, False],
            "at": [pandas.Timestamp("2026-01-02 03:04:05"), pandas.NaT],
            "whole": pandas.array([1, None], dtype="Int64"),
            "huge": [2**70, 1],
        }
    )
    more = {
        "day": [date(2026, 1, 2)],
        "price": [Decimal("1.10")],
        "utc": [datetime(2026, 1, 2, tzinfo=UTC)],
    }
    rows = asked("SELECT flag, at, whole, huge FROM t", frames={"t": frame})
    assert rows == [
        {"flag": 1, "at": "2026-01-02 03:04:05", "whole": 1, "huge": str(2**70)},
        {"flag": 0, "at": None, "whole": None, "huge": "1"},
    ]
    (row,) = asked("SELECT day, price, utc FROM t", frames={"t": more})
    assert row == {"day": "2026-01-02", "price": 1.1, "utc": "2026-01-02 00:00:00+00:00"}


def test_decimals_and_durations_are_numbers() -> None:
    frame = {
        "price": [Decimal("9.50"), Decimal("10.10"), Decimal(100), Decimal("NaN"), None],
        "took": [timedelta(hours=1), timedelta(days=1), None, None, None],
    }
    (row,) = asked("SELECT max(price) AS price, sum(took) AS took FROM t", frames={"t": frame})
    assert row == {"price": 100, "took": 90_000}
    assert asked("SELECT price FROM t WHERE price > 50", frames={"t": frame}) == [{"price": 100}]


def test_an_index_with_a_meaning_is_a_column() -> None:
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"region": ["n", "s", "n"], "net": [1, 2, 3]})
    days = pandas.DataFrame({"net": [1]}, index=pandas.to_datetime(["2026-01-02"]))
    frames = {
        "sums": frame.groupby("region").sum(),
        "pairs": frame.groupby(["region", "net"]).size().to_frame("n"),
        "days": days,
        "plain": frame[frame.net > 1],
    }
    assert asked("SELECT * FROM sums WHERE region = 'n'", frames=frames) == [
        {"region": "n", "net": 4}
    ]
    assert asked("SELECT count(*) AS n FROM pairs WHERE region = 'n'", frames=frames) == [{"n": 2}]
    assert asked('SELECT "index" AS day FROM days', frames=frames) == [
        {"day": "2026-01-02 00:00:00"}
    ]
    (row, _) = asked("SELECT * FROM plain", frames=frames)
    assert list(row) == ["region", "net"]


def test_names_are_quoted_and_told_apart() -> None:
    evil = 'x"; DROP TABLE "a'
    frames = {"a": [{evil: 1, "Id": 2, "id": 3}], evil: [{"b": 1}]}
    sql = 'SELECT "x""; DROP TABLE ""a" AS e, "Id" AS i, "id_2" AS j FROM a'
    assert asked(sql, frames=frames) == [{"e": 1, "i": 2, "j": 3}]


@pytest.mark.parametrize(
    ("frames", "message"),
    [
        ({}, "`frames` must be a dict of data frames by name: an empty dict"),
        ([1], "`frames` must be a dict"),
        ({"t": 3}, "`t` is something else: int"),
        ({"t": []}, "`t` is something else: list"),
        ({"": [{"a": 1}]}, "the name of a frame must be a text"),
        ({"t": {}}, "a frame has no columns: t"),
        ({"sqlite_x": [{"a": 1}]}, "cannot be stored"),
        ({"t": {"a": 1}}, "the column `a` of the frame `t` must be a list: int"),
        ({"t": {"a": "xy"}}, "the column `a` of the frame `t` must be a list: str"),
        ({"t": [{"a": 1}], "T": [{"a": 1}]}, "differ only in case: t, T"),
        ({"t": {"a": [1], "b": []}}, "columns of the frame `t` have different lengths: a 1, b 0"),
    ],
)
def test_what_is_no_frame_is_refused(frames: Any, message: str) -> None:
    with pytest.raises(ValidationError, match=message) as caught:
        DataAnalyst(scripted([]), frames=frames, sandbox=False)
    assert caught.value.code == "input_invalid"


@pytest.mark.parametrize("package", ["pandas", "polars"])
def test_a_series_is_refused_with_the_way_to_a_frame(package: str) -> None:
    series = importlib.import_module(package).Series([1, 2])
    with pytest.raises(ValidationError, match="`s` is something else: Series") as caught:
        DataAnalyst(scripted([]), frames={"s": series}, sandbox=False)
    assert "`.to_frame()`" in str(caught.value.hint)
    assert ("`.reset_index()`" in str(caught.value.hint)) == (package == "pandas")


def test_a_database_and_frames_cannot_be_given_both(tmp_path: Path) -> None:
    with pytest.raises(ValidationError, match="cannot be given both"):
        DataAnalyst(scripted([]), frames={"t": [{"a": 1}]}, database=tmp_path / "x.db")


def test_types_of_a_text_file_are_found(tmp_path: Path) -> None:
    path = tmp_path / "mixed.csv"
    path.write_text(
        'id,zip,net,note,none\n1,01234,1.5,a,\n2,98765,2,,\n-3,00001,-0.5,"b, c",\n', "utf-8-sig"
    )
    rows = asked("SELECT * FROM mixed ORDER BY id", database=path)
    assert rows[0] == {"id": -3, "zip": "00001", "net": -0.5, "note": "b, c", "none": None}
    assert rows[2] == {"id": 2, "zip": "98765", "net": 2, "note": None, "none": None}


@pytest.mark.parametrize(
    ("text", "row"),
    [
        ("a;b\n1;x\n2;y\n", {"a": 2, "b": "y"}),
        ("a;b\n1,5;x\n1.002,25;y\n", {"a": 1002.25, "b": "y"}),
        ("a\tb\n1\tx\n2\ty\n", {"a": 2, "b": "y"}),
        ('"a,b",c\n1,x\n2,y\n', {"a,b": 2, "c": "y"}),
        (' a , b\n1,x\n"1,200.50",y\n', {"a": 1200.5, "b": "y"}),
        ("a,b\n1,x\nNA,y\n", {"a": None, "b": "y"}),
        ("a,b\n9,x\n-,y\n", {"a": None, "b": "y"}),
        ("a,b\nNA,x\nDE,y\n", {"a": "DE", "b": "y"}),
        ("a,b\n1,x\n1e+3,y\n", {"a": 1000.0, "b": "y"}),
        ("a,A\n1,x\n2,y\n", {"a": 2, "A_2": "y"}),
        ("a,b\n1,x\nabout 2,y\n", {"a": "about 2", "b": "y"}),
    ],
)
def test_delimiters_numbers_and_gaps_are_told_apart(
    tmp_path: Path, text: str, row: dict[str, Any]
) -> None:
    path = tmp_path / "t.csv"
    path.write_text(text)
    assert asked("SELECT * FROM t ORDER BY 2 DESC LIMIT 1", database=path) == [row]


def test_a_country_code_that_looks_like_a_gap_stays(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("code\nNA\nDE\n")
    assert asked("SELECT code FROM t WHERE code = 'NA'", database=path) == [{"code": "NA"}]


def test_a_file_in_another_encoding_is_refused_with_a_way_out(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_bytes("a\nMünchen\n".encode("latin-1"))
    with pytest.raises(ValidationError, match="is not UTF-8") as caught:
        DataAnalyst(scripted([]), database=path, sandbox=False)
    assert "save it as UTF-8" in str(caught.value)


def test_a_parquet_file_is_a_table(tmp_path: Path) -> None:
    polars = pytest.importorskip("polars")
    polars.DataFrame({"n": [1, 2, 3]}).write_parquet(tmp_path / "numbers.parquet")
    rows = asked("SELECT sum(n) AS n FROM numbers", database=tmp_path / "numbers.parquet")
    assert rows == [{"n": 6}]
    (tmp_path / "numbers.parquet").write_bytes(b"PAR1 and no more")
    with pytest.raises(ValidationError, match="the file of a table cannot be read"):
        DataAnalyst(scripted([]), database=tmp_path / "numbers.parquet", sandbox=False)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "is empty"),
        ("a,b\n1\n", "row 2 of the file has 1 cells"),
        ('a\nb\n"x\n\n', "row that begins in line 3 of the file cannot be read"),
    ],
)
def test_a_file_that_is_no_table_is_refused(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "broken.csv"
    path.write_text(text)
    with pytest.raises(ValidationError, match=message) as caught:
        DataAnalyst(scripted([]), database=path, sandbox=False)
    assert caught.value.code == "input_invalid"


def test_the_temporary_file_goes_with_its_analyst(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    analyst = DataAnalyst(scripted([]), frames={"t": [{"a": 1}]}, sandbox=False)
    (path,) = tmp_path.glob("antiphon-frames-*/frames.db")
    with closing(sqlite3.connect(path)) as connection, connection:
        assert connection.execute("SELECT a FROM t").fetchall() == [(1,)]
    connection.close()
    del analyst
    gc.collect()
    assert list(tmp_path.iterdir()) == []


def test_what_is_no_database_is_refused_with_what_to_pass(
    tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    pandas = pytest.importorskip("pandas")
    connection = sqlite3.connect(tmp_path / "x.db")
    request.addfinalizer(connection.close)
    wrong: list[tuple[Any, str, str]] = [
        (pandas.DataFrame({"a": [1]}), "a data frame was given: DataFrame", "frames="),
        (connection, "a connection was given: Connection", "the path"),
        ("x.xlsx", "Excel file, and these are not read: x.xlsx", "frames="),
        ("x.json", "neither a database nor a file of one table: x.json", "frames="),
        (["a.csv", "b.csv"], "several were given: 2", "frames="),
    ]
    for given, message, hint in wrong:
        with pytest.raises(ValidationError, match=message) as caught:
            DataAnalyst(scripted([]), database=given, sandbox=False)
        assert hint in str(caught.value.hint)


def test_the_tools_of_an_api_are_no_text() -> None:
    with pytest.raises(ValidationError, match="`api` takes the tools of an API") as caught:
        DataAnalyst("local:0.5b", api="https://api.example")
    assert "http_api(" in str(caught.value.hint)


def test_arguments_that_a_data_analyst_does_not_have_are_told_what_it_has(tmp_path: Path) -> None:
    made: Any = DataAnalyst
    with pytest.raises(ValidationError, match="unknown setting of the data analyst: db") as caught:
        made(scripted([]), db="shop.db")
    assert "its options are model, database, frames, " in str(caught.value.hint)
    with pytest.raises(ValidationError, match="takes at most 1 without a name") as caught:
        made(scripted([]), "shop.db")
    assert "may be database, frames, " in str(caught.value.hint)
    asked: Any = DataAnalyst(scripted([]), frames={"t": {"a": [1]}}, sandbox=False)
    with pytest.raises(ValidationError, match="no option of that name: fact") as caught:
        asked.run("How many?", fact={"a": 1})
    assert caught.value.hint == "did you mean `facts`?"
