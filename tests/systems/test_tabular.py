"""Tables that a data analyst has found: as sequences, and as notebooks show them."""

from __future__ import annotations

from typing import Any

import pytest

from antiphon.systems import TabularResult


def table(count: int, kept: int | None = None, **more: Any) -> TabularResult:
    rows = tuple({"n": number} for number in range(count if kept is None else kept))
    return TabularResult(columns=("n",), rows=rows, row_count=count, **more)


@pytest.mark.parametrize(
    ("shown", "expected"),
    [
        (table(1), ">1 row<"),
        (table(20), ">20 rows<"),
        (table(21), ">the first 20 of 21 rows are shown<"),
        (table(2_000, kept=1_000), ">the first 20 of 2,000 rows are shown<"),
        (table(2, truncated=True), ">the first 2 rows; there are more<"),
        (
            table(1_000, truncated=True),
            ">20 of the first 1,000 rows are shown; there are more<",
        ),
        (table(3, kept=0), ">3 rows<"),
    ],
)
def test_a_display_says_how_many_of_how_many_rows_it_shows(
    shown: TabularResult, expected: str
) -> None:
    html = shown._repr_html_()
    assert expected in html
    assert html.count("<tr>") == 1 + min(len(shown.rows), 20)


def test_a_table_is_iterated_and_indexed_by_rows() -> None:
    rows = ({"n": 1}, {"n": 2}, {"n": 3})
    table = TabularResult(columns=("n",), rows=rows, row_count=3)
    assert list(table) == list(rows)
    assert [row["n"] for row in table] == [1, 2, 3]
    assert (table[0], table[-1], table[1:]) == (rows[0], rows[2], rows[1:])
    assert {"n": 2} in table
    assert len(table) == 3
    with pytest.raises(IndexError):
        table[3]


def test_all_rows_are_iterated_and_indexed_beyond_those_that_are_kept_as_json() -> None:
    pa = pytest.importorskip("pyarrow")
    numbers = list(range(2_500))
    sink = pa.BufferOutputStream()
    column = pa.table({"n": numbers})
    with pa.ipc.new_stream(sink, column.schema) as writer:
        writer.write_table(column)
    shown = table(2_500, kept=1_000, _ipc=sink.getvalue().to_pybytes())
    assert [row["n"] for row in shown] == numbers
    assert (len(shown), len(shown.rows)) == (2_500, 1_000)
    assert (shown[-1], shown[2_000], shown[2_498:]) == (
        {"n": 2_499},
        {"n": 2_000},
        ({"n": 2_498}, {"n": 2_499}),
    )
