"""pandas' tables, column by column, so that no cell changes its type on the way.

Arrow has no column for cells of several types, and gives lists back as arrays; numpy's
forms and the plain values hold every cell as it is.
"""

from __future__ import annotations

from functools import cache
from typing import Any

from antiphon._antiphon import Form
from antiphon.checkpoint._forms.shape import exactly, items

_MASKED = frozenset(
    {
        *(f"{kind}{bits}" for kind in ("Int", "UInt") for bits in (8, 16, 32, 64)),
        *("Float32", "Float64", "boolean"),
    }
)


@cache
def forms() -> dict[type, Form]:
    """The forms by type."""
    import pandas as pd

    index = Form(106, _pack_index, _index)
    indexes = (pd.Index, pd.RangeIndex, pd.MultiIndex, pd.DatetimeIndex, pd.TimedeltaIndex)
    return {
        pd.DataFrame: Form(104, _pack_frame, _frame),
        pd.Series: Form(105, _pack_series, _series),
        **dict.fromkeys((*indexes, pd.CategoricalIndex), index),
        pd.Timestamp: Form(107, lambda value: [value.asm8, value.tz], _moment),
        pd.Timedelta: Form(108, lambda value: value.asm8, pd.Timedelta),
        type(pd.NaT): Form(109, lambda _: None, lambda _: pd.NaT),
        type(pd.NA): Form(110, lambda _: None, lambda _: pd.NA),
    }


def _pack_frame(value: Any) -> list[Any]:
    columns = [_pack_array(value.iloc[:, place].array) for place in range(value.shape[1])]
    return [columns, value.columns, value.index, dict(value.attrs)]


def _frame(parts: Any) -> Any:
    import pandas as pd

    columns, names, index, attributes = items(4, parts)
    arrays = [_array(column) for column in exactly(list, columns)]
    made = pd.DataFrame(dict(enumerate(arrays)), index=index, copy=True)
    made.columns = names
    made.attrs = exactly(dict, attributes)
    return made


def _pack_series(value: Any) -> list[Any]:
    return [_pack_array(value.array), value.index, value.name, dict(value.attrs)]


def _series(parts: Any) -> Any:
    import pandas as pd

    column, index, name, attributes = items(4, parts)
    made = pd.Series(_array(column), index=index, name=name, copy=True)
    made.attrs = exactly(dict, attributes)
    return made


def _pack_index(value: Any) -> list[Any]:
    import pandas as pd

    if isinstance(value, pd.RangeIndex):
        return ["range", value.start, value.stop, value.step, value.name]
    if isinstance(value, pd.MultiIndex):
        codes = [code.astype("int64") for code in map(_numpy, value.codes)]
        return ["levels", list(value.levels), codes, list(value.names)]
    return ["array", _pack_array(value.array), value.name, getattr(value, "freqstr", None)]


def _index(parts: Any) -> Any:
    import pandas as pd

    kind, *rest = exactly(list, parts)
    if kind == "range":
        start, stop, step, name = items(4, rest)
        return pd.RangeIndex(start, stop, step, name=name)
    if kind == "levels":
        levels, codes, names = items(3, rest)
        return pd.MultiIndex(levels=levels, codes=codes, names=names)
    column, name, frequency = items(3, rest)
    made: Any = pd.Index(_array(column), name=name, copy=True)
    if frequency is not None:
        made.freq = exactly(str, frequency)
    return made


def _numpy(value: Any) -> Any:
    import numpy as np

    return np.asarray(value)


def _pack_array(value: Any) -> list[Any]:
    """The kind of a column, and what it takes to make it again."""
    import numpy as np
    import pandas as pd

    plain = isinstance(value, pd.arrays.NumpyExtensionArray)
    dtype = value.to_numpy().dtype if plain else value.dtype
    if isinstance(dtype, np.dtype):
        return ["object", list(value)] if dtype.hasobject else ["plain", _numpy(value)]
    if isinstance(dtype, pd.CategoricalDtype):
        return ["category", _numpy(value.codes), value.categories, value.ordered]
    if isinstance(dtype, pd.DatetimeTZDtype):
        return ["moments", _numpy(value.tz_convert("UTC").tz_localize(None)), dtype.tz]
    if isinstance(dtype, pd.StringDtype):
        texts = [None if pd.isna(text) else str(text) for text in value]
        return ["texts", texts, dtype.storage, dtype.na_value is pd.NA]
    if str(dtype) in _MASKED:
        filled = value.to_numpy(dtype=dtype.numpy_dtype, na_value=0)
        return ["masked", str(dtype), filled, value.isna()]
    raise TypeError(f"a column of a type that has no stored form: {dtype}")


def _array(parts: Any) -> Any:
    import numpy as np
    import pandas as pd

    kind, *rest = exactly(list, parts)
    if kind == "object":
        return pd.array(_cells(*items(1, rest)), dtype=object)
    if kind == "plain":
        # A lone number would be repeated as often as a forged index says.
        return exactly(np.ndarray, *items(1, rest))
    if kind == "category":
        codes, categories, ordered = items(3, rest)
        return pd.Categorical.from_codes(codes, categories, exactly(bool, ordered))
    if kind == "moments":
        moments, zone = items(2, rest)
        return pd.array(moments).tz_localize("UTC").tz_convert(zone)
    if kind == "texts":
        texts, storage, missing = items(3, rest)
        dtype = pd.StringDtype(storage, na_value=pd.NA if missing else float("nan"))
        return pd.array(exactly(list, texts), dtype=dtype)
    name, filled, missing = items(3, rest)
    if name not in _MASKED:
        raise TypeError(f"no type of a column: {name}")
    made: Any = pd.array(filled, dtype=name)
    made[missing] = pd.NA
    return made


def _cells(values: Any) -> Any:
    """An array of objects, none of them spread out for being a list."""
    import numpy as np

    cells = np.empty(len(exactly(list, values)), dtype=object)
    for place, value in enumerate(values):
        cells[place] = value
    return cells


def _moment(parts: Any) -> Any:
    import pandas as pd

    moment, zone = items(2, parts)
    made = pd.Timestamp(moment)
    return made if zone is None else made.tz_localize("UTC").tz_convert(zone)
