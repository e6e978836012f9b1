"""Stored forms of arrays and tables of numpy, polars, pyarrow and pandas.

An array is stored as bytes with element type and shape; tables of polars and pyarrow as Arrow
streams; tables of pandas column by column, because Arrow has no columns of mixed types and
returns lists as arrays.
"""

from __future__ import annotations

import io
import re
import sys
from functools import cache
from math import prod
from typing import Any

from antiphon._antiphon import TypeCodec
from antiphon._serialization.records import exactly, items
from antiphon._serialization.standard_types import check_zone_name

_PLAIN = re.compile(r"[<>|=][biufcSUMm]\d+(\[\d*\w+\])?")
"""Element types without references or nested types."""
_MOST_DIMENSIONS = 64


@cache
def numpy_codecs() -> dict[type, TypeCodec]:
    """Return the codecs by type."""
    import numpy as np

    scalar = TypeCodec(89, _pack_scalar, _scalar)
    return {
        np.ndarray: TypeCodec(88, _pack_array, _array),
        **dict.fromkeys(np.sctypeDict.values(), scalar),
    }


def _pack_array(value: Any) -> list[Any]:
    order = "F" if value.flags.f_contiguous and not value.flags.c_contiguous else "C"
    return [_item_type(value.dtype), list(value.shape), order, value.tobytes(order)]


def _array(parts: Any) -> Any:
    import numpy as np

    item, shape, order, data = items(4, parts)
    kind = _item_type(np.dtype(_check_item_type(item)))
    shape = [exactly(int, length) for length in exactly(list, shape)]
    if len(shape) > _MOST_DIMENSIONS or min(shape, default=0) < 0:
        raise ValueError(f"no shape of an array: {shape}")
    if prod(shape) * np.dtype(kind).itemsize != len(exactly(bytes, data)):
        raise ValueError(f"an array of this shape has another size: {shape}")
    flat: Any = np.ndarray(shape, kind, data, order="F" if order == "F" else "C")
    # An array on bytes would be read-only.
    return flat.copy(order="K")


def _pack_scalar(value: Any) -> list[Any]:
    return [_item_type(value.dtype), value.tobytes()]


def _scalar(parts: Any) -> Any:
    item, data = items(2, parts)
    return _array([item, [], "C", data])[()]


def _item_type(dtype: Any) -> str:
    """Return the text of an element type; raise `TypeError` for objects and records."""
    if dtype.itemsize == 0 or dtype.hasobject or not _PLAIN.fullmatch(dtype.str):
        raise TypeError(f"items of an array that are no plain numbers or texts: {dtype}")
    text: str = dtype.str
    return text


def _check_item_type(item: Any) -> str:
    if not _PLAIN.fullmatch(exactly(str, item)):
        raise TypeError(f"no type of items: {item}")
    text: str = item
    return text


@cache
def polars_codecs() -> dict[type, TypeCodec]:
    """Return the codecs by type."""
    import polars as pl

    return {
        pl.DataFrame: TypeCodec(96, _pack_polars, _polars_frame),
        pl.Series: TypeCodec(97, lambda value: _pack_polars(value.to_frame()), _polars_series),
    }


def _pack_polars(value: Any) -> bytes:
    import polars as pl

    for name, dtype in value.schema.items():
        if dtype.base_type() is pl.Object:
            raise TypeError(f"column `{name}` of objects has no form in Arrow")
    buffer = io.BytesIO()
    value.write_ipc_stream(buffer)
    return buffer.getvalue()


def _polars_frame(data: Any) -> Any:
    import polars as pl

    return pl.read_ipc_stream(io.BytesIO(exactly(bytes, data)))


def _polars_series(data: Any) -> Any:
    return _polars_frame(data).to_series()


@cache
def arrow_codecs() -> dict[type, TypeCodec]:
    """Return the codecs by type."""
    import pyarrow as pa

    return {
        pa.Table: TypeCodec(100, _pack_arrow, lambda data: _arrow_stream(data).read_all()),
        pa.RecordBatch: TypeCodec(
            101, _pack_arrow, lambda data: _arrow_stream(data).read_next_batch()
        ),
    }


def _pack_arrow(value: Any) -> bytes:
    import pyarrow as pa

    buffer = pa.BufferOutputStream()
    with pa.ipc.new_stream(buffer, value.schema) as stream:
        stream.write(value)
    data: bytes = buffer.getvalue().to_pybytes()
    return data


def _arrow_stream(data: Any) -> Any:
    import pyarrow as pa

    return pa.ipc.open_stream(pa.py_buffer(exactly(bytes, data)))


_MASKED = frozenset(
    {
        *(f"{kind}{bits}" for kind in ("Int", "UInt") for bits in (8, 16, 32, 64)),
        *("Float32", "Float64", "boolean"),
    }
)


@cache
def pandas_codecs() -> dict[type, TypeCodec]:
    """Return the codecs by type."""
    import pandas as pd

    index = TypeCodec(106, _pack_pandas_index, _pandas_index)
    indexes = (pd.Index, pd.RangeIndex, pd.MultiIndex, pd.DatetimeIndex, pd.TimedeltaIndex)
    return {
        pd.DataFrame: TypeCodec(104, _pack_frame, _frame, columns=_column_names),
        pd.Series: TypeCodec(105, _pack_series, _series),
        **dict.fromkeys((*indexes, pd.CategoricalIndex), index),
        pd.Timestamp: TypeCodec(107, lambda value: [value.asm8, _pack_zone(value.tz)], _timestamp),
        pd.Timedelta: TypeCodec(108, lambda value: value.asm8, pd.Timedelta),
        type(pd.NaT): TypeCodec(109, lambda _: None, lambda _: pd.NaT),
        type(pd.NA): TypeCodec(110, lambda _: None, lambda _: pd.NA),
    }


def _pack_frame(value: Any) -> list[Any]:
    columns = [
        _pack_column(value.iloc[:, place].array, f"column `{name}`")
        for place, name in enumerate(value.columns)
    ]
    return [columns, value.columns, value.index, dict(value.attrs)]


def _column_names(value: Any) -> list[str]:
    return [str(name) for name in value.columns]


def _frame(parts: Any) -> Any:
    import pandas as pd

    columns, names, index, attributes = items(4, parts)
    arrays = [_column(column) for column in exactly(list, columns)]
    made = pd.DataFrame(dict(enumerate(arrays)), index=index, copy=True)
    made.columns = names
    made.attrs = exactly(dict, attributes)
    return made


def _pack_series(value: Any) -> list[Any]:
    return [_pack_column(value.array), value.index, value.name, dict(value.attrs)]


def _series(parts: Any) -> Any:
    import pandas as pd

    column, index, name, attributes = items(4, parts)
    made = pd.Series(_column(column), index=index, name=name, copy=True)
    made.attrs = exactly(dict, attributes)
    return made


def _pack_pandas_index(value: Any) -> list[Any]:
    import pandas as pd

    if isinstance(value, pd.RangeIndex):
        return ["range", value.start, value.stop, value.step, value.name]
    if isinstance(value, pd.MultiIndex):
        codes = [code.astype("int64") for code in map(_numpy, value.codes)]
        return ["levels", list(value.levels), codes, list(value.names)]
    return ["array", _pack_column(value.array), value.name, getattr(value, "freqstr", None)]


def _pandas_index(parts: Any) -> Any:
    import pandas as pd

    kind, *rest = exactly(list, parts)
    if kind == "range":
        start, stop, step, name = items(4, rest)
        return pd.RangeIndex(start, stop, step, name=name)
    if kind == "levels":
        levels, codes, names = items(3, rest)
        return pd.MultiIndex(levels=levels, codes=codes, names=names)
    column, name, frequency = items(3, rest)
    made: Any = pd.Index(_column(column), name=name, copy=True)
    if frequency is not None:
        made.freq = exactly(str, frequency)
    return made


def _numpy(value: Any) -> Any:
    import numpy as np

    return np.asarray(value)


def _pack_column(value: Any, where: str = "a column") -> list[Any]:
    """Return the kind of a column, and its parts; the first part of one of objects has them."""
    import numpy as np
    import pandas as pd

    # Texts of pandas 2 are a subclass.
    plain = type(value) is pd.arrays.NumpyExtensionArray
    dtype = value.to_numpy().dtype if plain else value.dtype
    if isinstance(dtype, np.dtype):
        return ["object", list(value)] if dtype.hasobject else ["plain", _numpy(value)]
    if isinstance(dtype, pd.CategoricalDtype):
        return ["category", _numpy(value.codes), value.categories, value.ordered]
    if isinstance(dtype, pd.DatetimeTZDtype):
        return ["moments", _numpy(value.tz_convert("UTC").tz_localize(None)), _pack_zone(dtype.tz)]
    if isinstance(dtype, pd.StringDtype):
        texts = [None if pd.isna(text) else str(text) for text in value]
        return ["texts", texts, dtype.storage, dtype.na_value is pd.NA]
    if str(dtype) in _MASKED:
        filled = value.to_numpy(dtype=dtype.numpy_dtype, na_value=0)
        return ["masked", str(dtype), filled, value.isna()]
    raise TypeError(f"{where} has a type without a stored form: {dtype}")


def _column(parts: Any) -> Any:
    import numpy as np
    import pandas as pd

    kind, *rest = exactly(list, parts)
    if kind == "object":
        return pd.array(_cells(*items(1, rest)), dtype=object)
    if kind == "plain":
        # A scalar would be repeated to the length of a forged index.
        return exactly(np.ndarray, *items(1, rest))
    if kind == "category":
        codes, categories, ordered = items(3, rest)
        return pd.Categorical.from_codes(codes, categories, exactly(bool, ordered))
    if kind == "moments":
        moments, zone = items(2, rest)
        return pd.array(moments).tz_localize("UTC").tz_convert(_zone(zone))
    if kind == "texts":
        texts, storage, missing = items(3, rest)
        # pandas 2 knows no other missing value, and no argument for it.
        other = {} if missing else {"na_value": float("nan")}
        dtype = pd.StringDtype(storage, **other)
        return pd.array(exactly(list, texts), dtype=dtype)
    name, filled, missing = items(3, rest)
    if name not in _MASKED:
        raise TypeError(f"no type of a column: {name}")
    made: Any = pd.array(filled, dtype=name)
    made[missing] = pd.NA
    return made


def _pack_zone(zone: Any) -> Any:
    """Return the name of a zone of pytz, which pandas 2 makes of a name, or the zone."""
    pytz = sys.modules.get("pytz")
    named = pytz is not None and isinstance(zone, pytz.BaseTzInfo)
    return zone.zone or zone if named else zone


def _zone(stored: Any) -> Any:
    # pandas would read any file whose path follows `dateutil/`.
    if isinstance(stored, str):
        check_zone_name(stored)
    return stored


def _cells(values: Any) -> Any:
    """Return an array of objects; lists among them are kept as objects."""
    import numpy as np

    cells = np.empty(len(exactly(list, values)), dtype=object)
    for place, value in enumerate(values):
        cells[place] = value
    return cells


def _timestamp(parts: Any) -> Any:
    import pandas as pd

    moment, zone = items(2, parts)
    made = pd.Timestamp(moment)
    return made if zone is None else made.tz_localize("UTC").tz_convert(_zone(zone))
