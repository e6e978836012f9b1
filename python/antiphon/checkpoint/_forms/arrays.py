"""numpy's arrays and scalars: their bytes, and what the bytes mean."""

from __future__ import annotations

import re
from functools import cache
from math import prod
from typing import Any

from antiphon._antiphon import Form
from antiphon.checkpoint._forms.shape import exactly, items

_PLAIN = re.compile(r"[<>|=][biufcSUMm]\d+(\[\d*\w+\])?")
"""Types of items that are bytes alone; the others are references or hold other types."""
_MOST_DIMENSIONS = 64


@cache
def forms() -> dict[type, Form]:
    """The forms by type."""
    import numpy as np

    scalar = Form(89, _pack_scalar, _scalar)
    return {
        np.ndarray: Form(88, _pack_array, _array),
        **dict.fromkeys(np.sctypeDict.values(), scalar),
    }


def _pack_array(value: Any) -> list[Any]:
    order = "F" if value.flags.f_contiguous and not value.flags.c_contiguous else "C"
    return [_item(value.dtype), list(value.shape), order, value.tobytes(order)]


def _array(parts: Any) -> Any:
    import numpy as np

    item, shape, order, data = items(4, parts)
    kind = _item(np.dtype(_checked(item)))
    shape = [exactly(int, length) for length in exactly(list, shape)]
    if len(shape) > _MOST_DIMENSIONS or min(shape, default=0) < 0:
        raise ValueError(f"no shape of an array: {shape}")
    if prod(shape) * np.dtype(kind).itemsize != len(exactly(bytes, data)):
        raise ValueError(f"an array of this shape has another size: {shape}")
    flat: Any = np.ndarray(shape, kind, data, order="F" if order == "F" else "C")
    # The bytes cannot be written to; an array can.
    return flat.copy(order="K")


def _pack_scalar(value: Any) -> list[Any]:
    return [_item(value.dtype), value.tobytes()]


def _scalar(parts: Any) -> Any:
    item, data = items(2, parts)
    return _array([item, [], "C", data])[()]


def _item(dtype: Any) -> str:
    """The text of a type of items.

    Raises:
        TypeError: the items are objects, or records.
    """
    if dtype.itemsize == 0 or dtype.hasobject or not _PLAIN.fullmatch(dtype.str):
        raise TypeError(f"items of an array that are no plain numbers or texts: {dtype}")
    text: str = dtype.str
    return text


def _checked(item: Any) -> str:
    if not _PLAIN.fullmatch(exactly(str, item)):
        raise TypeError(f"no type of items: {item}")
    text: str = item
    return text
