"""Tables whose cells Python has no value for: every table of foreign code can be shown."""

from __future__ import annotations

import io
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import date, datetime, timedelta
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from antiphon.sandbox import Opaque, SandboxResult, SandboxTable
from antiphon.sandbox._outcome import sound_table

UNITS = ("s", "ms", "us", "ns")
ZONES = (None, "UTC", "Europe/Berlin", "+05:30", "-23:59", "Nowhere/At_All")
TYPES = [
    pa.date32(),
    pa.date64(),
    *(pa.timestamp(unit, zone) for unit in UNITS for zone in ZONES),
    *(pa.time32(unit) for unit in UNITS[:2]),
    *(pa.time64(unit) for unit in UNITS[2:]),
    *map(pa.duration, UNITS),
]
EDGES = [0, 1, 10**6, 719_162, 719_163, 2_932_896, 2_932_897, 62_135_596_800, 253_402_300_800]
EDGES += [at * scale for at in EDGES[-2:] for scale in (10**3, 10**6)]


FIRST, LAST = datetime(1970, 1, 1), datetime.max  # noqa: DTZ001, DTZ901 - counts without a zone

readers = pytest.mark.parametrize("reader", ["pyarrow", "polars"])


@contextmanager
def alone(reader: str) -> Iterator[None]:
    """As if that library were the only one that is installed beside antiphon."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(
            "antiphon.sandbox._table.find_spec", lambda name: name if name == reader else None
        )
        yield


def result(table: SandboxTable) -> SandboxResult:
    return SandboxResult(engine="process", isolation="os-jail", value=table, tables={"t": table})


def html(found: SandboxResult) -> str:
    return found._repr_mimebundle_()["text/html"]


def counts(bits: int) -> st.SearchStrategy[int]:
    low, high = -(2 ** (bits - 1)), 2 ** (bits - 1) - 1
    edges = [edge + near for at in EDGES for edge in (at, -at) for near in (-1, 0, 1)]
    fitting = [edge for edge in [low, low + 1, high - 1, high, *edges] if low <= edge <= high]
    return st.sampled_from(fitting) | st.integers(low, high)


def column(kind: Any, numbers: list[int | None]) -> SandboxTable:
    """A table with these numbers as what Arrow takes them for."""
    whole = pa.int32() if kind.bit_width == 32 else pa.int64()
    table = pa.table({"a": pa.array(numbers, whole).view(kind)})
    target = io.BytesIO()
    with pa.ipc.new_stream(target, table.schema) as writer:
        writer.write_table(table)
    return SandboxTable(target.getvalue())


@st.composite
def columns(draw: st.DrawFn) -> SandboxTable:
    kind = draw(st.sampled_from(TYPES))
    cell = st.none() | counts(kind.bit_width)
    return column(kind, draw(st.lists(cell, min_size=1, max_size=4)))


@readers
@given(table=columns())
@example(table=column(pa.timestamp("us", "UTC"), [2**63 - 1]))
@settings(max_examples=300)
def test_any_count_of_time_can_be_looked_at(reader: str, table: SandboxTable) -> None:
    assert sound_table(table.ipc)
    with alone(reader):
        shown, card = str(result(table)), html(result(table))
        assert "SandboxTable(" in shown
        assert "<td" in card or "bytes of Arrow" in card
        if (read := table.first(10)) is not None:
            assert repr(table.to_columns()["a"]) == repr([cell for (cell,) in read[1]])


@readers
def test_a_cell_without_a_value_here_is_the_number_that_stands_in_the_table(reader: str) -> None:
    last = (LAST - FIRST) // timedelta(microseconds=1)
    with alone(reader):
        times = column(pa.timestamp("us"), [0, None, last, last + 1]).to_columns()["a"]
        days = column(pa.date32(), [-719_162, -719_163, 2_932_896, 2_932_897]).to_columns()["a"]
        spans = column(pa.duration("ms"), [5, 2**63 - 1]).to_columns()["a"]
    assert times[:3] == [FIRST, None, LAST]
    assert (days[0], days[2], spans[0]) == (date.min, date.max, timedelta(milliseconds=5))
    without = [times[3], days[1], days[3], spans[1]]
    assert all(isinstance(cell, Opaque) for cell in without)
    assert [cell.repr for cell in without] == [f"{last + 1}", "-719163", "2932897", f"{2**63 - 1}"]


def test_a_time_zone_that_nobody_knows_spoils_no_html() -> None:
    table = column(pa.timestamp("s", "Nowhere/At_All"), [5])
    assert table.to_columns() == {"a": [Opaque("timestamp[s, tz=Nowhere/At_All]", "5")]}
    assert "<td" in html(result(table))
    with alone("polars"):
        assert table.first(1) is None
        assert "install pyarrow" in html(result(table))
        assert repr(table) == f"SandboxTable({len(table.ipc):,} bytes)"
