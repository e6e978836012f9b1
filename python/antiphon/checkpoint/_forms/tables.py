"""Tables as Arrow's stream format, written and read by the library they belong to."""

from __future__ import annotations

import io
from functools import cache
from typing import Any

from antiphon._antiphon import Form
from antiphon.checkpoint._forms.shape import exactly


@cache
def polars_forms() -> dict[type, Form]:
    """The forms of polars' types."""
    import polars as pl

    return {
        pl.DataFrame: Form(96, _pack_frame, _frame),
        pl.Series: Form(97, lambda value: _pack_frame(value.to_frame()), _series),
    }


def _pack_frame(value: Any) -> bytes:
    import polars as pl

    if any(dtype.base_type() is pl.Object for dtype in value.dtypes):
        raise TypeError("a column of objects has no form in Arrow")
    sink = io.BytesIO()
    value.write_ipc_stream(sink)
    return sink.getvalue()


def _frame(data: Any) -> Any:
    import polars as pl

    return pl.read_ipc_stream(io.BytesIO(exactly(bytes, data)))


def _series(data: Any) -> Any:
    return _frame(data).to_series()


@cache
def arrow_forms() -> dict[type, Form]:
    """The forms of pyarrow's types."""
    import pyarrow as pa

    return {
        pa.Table: Form(100, _pack_table, lambda data: _stream(data).read_all()),
        pa.RecordBatch: Form(101, _pack_table, lambda data: _stream(data).read_next_batch()),
    }


def _pack_table(value: Any) -> bytes:
    import pyarrow as pa

    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, value.schema) as stream:
        stream.write(value)
    data: bytes = sink.getvalue().to_pybytes()
    return data


def _stream(data: Any) -> Any:
    import pyarrow as pa

    return pa.ipc.open_stream(pa.py_buffer(exactly(bytes, data)))
