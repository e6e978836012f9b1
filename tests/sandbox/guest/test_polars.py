"""Frames of polars in and out of a real worker, without a jail: threads may be started."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING, Any

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from antiphon.sandbox._outcome import sound_table
from sandbox.guest.test_tables import read, stream_of
from sandbox.guest.worker import Worker

if TYPE_CHECKING:
    from collections.abc import Iterator

_TABLE = pa.table({"n": [1, 2, None], "city": ["Rome", None, "Oslo"]})


@pytest.fixture(scope="module")
def worker() -> Iterator[Worker]:
    with Worker(packages=True) as started:
        started.run("import polars as pl")
        yield started


def stream(frame: pl.DataFrame) -> bytes:
    sink = io.BytesIO()
    frame.write_ipc_stream(sink)
    return sink.getvalue()


@pytest.mark.parametrize("sent", [stream(pl.DataFrame(_TABLE)), stream_of(_TABLE)])
def test_a_table_is_a_frame_of_polars_where_that_is_loaded(worker: Worker, sent: bytes) -> None:
    code = "type(df).__module__, df['n'].sum(), df.filter(pl.col('n') > 1)['n'].to_list()"
    outcome = worker.run(code, tables={"df": sent})
    assert outcome["error"] is None
    assert outcome["value"]["v"] == ["polars.dataframe.frame", 3, [2]]


def test_a_table_of_pandas_is_one_of_pandas_if_both_are_loaded() -> None:
    table = pa.Table.from_pandas(pd.DataFrame({"n": [1]}))
    with Worker(packages=True) as worker:
        worker.run("import polars, pandas")
        outcome = worker.run("type(df).__module__", tables={"df": stream_of(table)})
        assert outcome["value"].startswith("pandas")


def test_frames_and_series_come_out_as_tables(worker: Worker) -> None:
    outcome = worker.run("result = pl.DataFrame({'a': [1], 'b': ['x']})\npl.Series('s', [0.5])")
    worker.run("del result")
    assert outcome["error"] is None
    assert read(outcome, "result").to_pydict() == {"a": [1], "b": ["x"]}
    assert read(outcome, "value").to_pydict() == {"s": [0.5]}


def test_every_type_of_column_comes_out_in_a_form_that_the_host_takes(worker: Worker) -> None:
    code = """
import datetime as dt, decimal
made = {
    "bool": [True, None], "string": ["x", None], "binary": [b"x", None], "float": [0.5, None],
    "date": [dt.date(2020, 1, 2), None], "time": [dt.time(1, 2), None],
    "datetime": [dt.datetime(2020, 1, 2), None], "span": [dt.timedelta(1), None],
    "decimal": [decimal.Decimal("1.5"), None], "null": [None, None],
    "list": [[1], None], "struct": [{"a": 1}, None], "object": [object(), None],
}
frame = pl.DataFrame(made).with_columns(
    pl.col("string").cast(pl.Categorical).alias("category"),
    pl.col("string").cast(pl.Enum(["x"])).alias("enum"),
    pl.lit(1, dtype=pl.Int128).alias("wide"),
    pl.lit(1, dtype=pl.UInt8).alias("narrow"),
    pl.col("datetime").dt.replace_time_zone("UTC").alias("zone"),
)
frame
"""
    outcome = worker.run(code)
    worker.run("del made, frame")
    assert (outcome["error"], outcome["table_errors"]) == (None, {})
    [sent] = outcome["attachments"]
    assert sound_table(sent) == sent
    columns = read(outcome, outcome["tables"][0]["name"]).to_pydict()
    texts: dict[str, Any] = {name: column[0] for name, column in columns.items()}
    assert texts["list"] == "[1]"
    assert texts["category"] == texts["enum"] == "x"
    assert str(texts["wide"]) == "1"
    assert columns["null"] == [None, None]


def test_a_frame_that_is_too_large_is_lost_alone(worker: Worker) -> None:
    code = "big = pl.DataFrame({'a': range(100_000)})\n1"
    outcome = worker.run(code, limits={"table_bytes": 1000})
    assert outcome["table_errors"]["big"]["kind"] == "result_too_large"
    assert outcome["value"] == 1
