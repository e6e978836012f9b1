"""Numbers of CSV files: their style, and codes that look like them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from antiphon.errors import ValidationError
from antiphon.models import scripted
from antiphon.systems import DataAnalyst


def read(path: Path, text: str) -> dict[str, list[Any]]:
    """The columns of a file with this text."""
    path.write_text(text)
    replies = [{"json": {"sql": "SELECT * FROM t"}}, {"json": {"answer": "These."}}]
    analyst = DataAnalyst(
        scripted(replies), database=path, sandbox=False, check_query=False, compose_single=False
    )
    data = analyst.run("Show them").data
    assert data is not None
    return {name: [row[name] for row in data.rows] for name in data.columns}


@pytest.mark.parametrize(
    ("text", "columns"),
    [
        (
            "preis;kg;umsatz\n1,5;1,234;1.234\n2,25;2,345;2.345\n",
            {"preis": [1.5, 2.25], "kg": [1.234, 2.345], "umsatz": [1234, 2345]},
        ),
        ("kg;x\n1,234;a\n0,345;b\n", {"kg": [1.234, 0.345], "x": ["a", "b"]}),
        ("kg;x\n-1,234;a\n-0,345;b\n", {"kg": [-1.234, -0.345], "x": ["a", "b"]}),
        ('kg,x\n"1,234",a\n"0,345",b\n', {"kg": [1.234, 0.345], "x": ["a", "b"]}),
        ("kg;n\n1.234;1.234.567\n2.345;1\n", {"kg": [1234, 2345], "n": [1234567, 1]}),
        ("kg,x\n1.234,a\n999,b\n", {"kg": [1.234, 999], "x": ["a", "b"]}),
        ('n,x\n"1,234",a\n"12,345",b\n', {"n": [1234, 12345], "x": ["a", "b"]}),
        (
            # Each of these two tells its own style, and the delimiter that of the third.
            'a,b,c\n1.5,"1,5",1.234\n2.5,"2,5",2\n',
            {"a": [1.5, 2.5], "b": [1.5, 2.5], "c": [1.234, 2]},
        ),
        ("a;b\n0.345,5;x\n1;y\n", {"a": ["0.345,5", "1"], "b": ["x", "y"]}),
    ],
)
def test_all_numbers_of_a_file_tell_their_style(
    tmp_path: Path, text: str, columns: dict[str, list[Any]]
) -> None:
    assert read(tmp_path / "t.csv", text) == columns


@pytest.mark.parametrize(
    ("text", "cells", "shown"),
    [
        ("kg;x\n1,234;a\n2,345;b\n", [1.234, 2.345], "1,234 is read as 1.234"),
        ("kg;x\n1.234;a\n2;b\n", [1234, 2], "1.234 is read as 1234"),
        ("kg\tx\n1,234\ta\n2\tb\n", [1234, 2], "1,234 is read as 1234"),
        ("kg;eur\n1.234;2.50\n2.345;1.75\n", [1.234, 2.345], "1.234 is read as 1.234"),
        # Latitudes tell of points, and the delimiter of commas.
        ("kg;lat\n1.234;52.52\n2;13.4\n", [1.234, 2], "1.234 is read as 1.234"),
    ],
)
def test_a_style_that_the_delimiter_tells_is_warned_of(
    tmp_path: Path, text: str, cells: list[Any], shown: str
) -> None:
    with pytest.warns(UserWarning, match=f"of the column `kg`, {shown}"):
        assert read(tmp_path / "t.csv", text)["kg"] == cells


@pytest.mark.parametrize(
    ("cells", "found"),
    [
        (["12E4", "120E3"], ["12E4", "120E3"]),
        (["1.5", "2e5"], [1.5, 200_000]),
        (["1E+3", "1"], [1000, 1]),
        (["+49123", "+49124"], ["+49123", "+49124"]),
        (["+3", "-2"], [3, -2]),
        (["+1.5", "+2.5"], [1.5, 2.5]),
        (["inf", "9", "10"], [None, 9, 10]),
        (["-Infinity", "9.5", "NaN"], [None, 9.5, None]),
        (["inf", "-inf"], ["inf", "-inf"]),
        (["1" * 400, "2"], ["1" * 400, "2"]),
    ],
)
def test_codes_are_texts_and_infinities_gaps(
    tmp_path: Path, cells: list[str], found: list[Any]
) -> None:
    assert read(tmp_path / "t.csv", "\n".join(["x", *cells, ""])) == {"x": found}


def test_numbers_after_many_gaps_are_numbers(tmp_path: Path) -> None:
    text = "a,x\n" + "1,\n" * 10_000 + "1,9\n1,100\n"
    assert read(tmp_path / "t.csv", text)["x"][:1] == [None]
    replies = [{"json": {"sql": "SELECT max(x) AS m FROM t"}}, {"json": {"answer": "100."}}]
    analyst = DataAnalyst(
        scripted(replies), database=tmp_path / "t.csv", sandbox=False, check_query=False
    )
    data = analyst.run("What is the largest x?").data
    assert data is not None
    assert data.rows == ({"m": 100},)


@pytest.mark.parametrize("line", ["sep=;", '"SEP=;"', "sep=;\r"])
def test_the_first_line_of_excel_tells_the_delimiter(tmp_path: Path, line: str) -> None:
    assert read(tmp_path / "t.csv", f"{line}\na;b,c\n1;2\n") == {"a": [1], "b,c": [2]}


def test_a_name_that_was_given_is_no_other_columns_number(tmp_path: Path) -> None:
    assert read(tmp_path / "t.csv", "a,A,a_2,\n1,2,3,4\n") == {
        "a": [1],
        "A_3": [2],
        "a_2": [3],
        "column": [4],
    }


def test_a_quote_that_is_not_closed_is_found(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text('sep=,\na,b\n1,"x\ny"\n\n2,"z\n3,4\n')
    with pytest.raises(ValidationError, match="row that begins in line 6 of the file"):
        DataAnalyst(scripted([]), database=path, sandbox=False)
