"""Python values as JSON values: results of tools, defaults of parameters.

The inverse of `antiphon._schema.Contract.construct` for every type that it supports.
"""

from __future__ import annotations

import base64
import dataclasses
import json
import math
import sys
from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from enum import Enum
from typing import TYPE_CHECKING, Any

from antiphon._text import well_formed
from antiphon.errors import ToolError

if TYPE_CHECKING:
    from collections.abc import Callable


_DEEPEST = 100
"""Levels of nesting; JSON readers stop at 128."""
_INTEGERS = range(-(2**63), 2**64)
"""Integers that JSON readers keep exactly; others become text."""


def encode_result(value: Any) -> Any:
    """Encode the result of a tool as a JSON value for the model.

    Supported are text, numbers, lists, mappings, dataclasses, typed dictionaries, named tuples,
    pydantic models, enums, dates, decimals, UUIDs, paths, sets (in a stable order), bytes
    (base64), NumPy scalars and arrays, and nested values of these types. Numbers that JSON lacks,
    such as NaN, become text. A data frame or series becomes a text of its size, its columns and
    its first rows.

    Returns:
        ``None``, a bool, a number, text, a list or a dict of these.

    Raises:
        ToolError: the value, or one inside it, is not supported (``tool_result``).

    Example:
        >>> encode_result({"ids": {2, 1}, "share": float("nan")})
        {'ids': [1, 2], 'share': 'nan'}
    """
    return _encode(value, 0)


def encode_or(value: Any, otherwise: Any) -> Any:
    """Encode a value as JSON; return `otherwise` if it is not supported."""
    try:
        return encode_result(value)
    except ToolError:
        return otherwise


def _encode(value: Any, depth: int) -> Any:
    kind = type(value)
    if kind is str:
        return well_formed(value)
    if value is None or kind is bool:
        return value
    if depth > _DEEPEST:
        raise _refusal(value, "is nested too deeply, or contains itself")
    if kind is list:
        return _items(value, depth)
    if kind is dict:
        return _entries(value, depth)
    for fits, write in _FORMS:
        if fits(value):
            return write(value, depth)
    raise _refusal(value, "cannot be shown to a model")


def _refusal(value: Any, complaint: str) -> ToolError:
    name = type(value).__qualname__
    return ToolError(
        f"a tool's result {complaint}: {name}",
        code="tool_result",
        details={"type": name},
        hint="return text, numbers, lists, dicts, a dataclass or a pydantic model",
    )


def _number(value: float, _depth: int) -> Any:
    if isinstance(value, int):
        return int(value) if value in _INTEGERS else str(int(value))
    return float(value) if math.isfinite(value) else str(float(value))


def _member(value: Enum, _depth: int) -> Any:
    return next((code for code, member in codes_of(type(value)) if member is value), value.name)


def _fields(value: Any, depth: int) -> dict[str, Any]:
    names = [field.name for field in dataclasses.fields(value)]
    return {name: _encode(getattr(value, name), depth + 1) for name in names}


def _named_tuple(value: Any, depth: int) -> dict[str, Any]:
    return {name: _encode(getattr(value, name), depth + 1) for name in value._fields}


def _items(value: Any, depth: int) -> list[Any]:
    return [_encode(item, depth + 1) for item in value]


def _sorted_items(value: Any, depth: int) -> list[Any]:
    try:
        return _items(sorted(value), depth)
    except TypeError:
        # Values of several types may not be comparable; their JSON is.
        return sorted(_items(value, depth), key=json.dumps)


def _entries(value: Mapping[Any, Any], depth: int) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for key, item in value.items():
        name = _key(key)
        if name in found:
            raise _refusal(key, f"has two keys that read `{name}` as text")
        found[name] = _encode(item, depth + 1)
    return found


def _key(key: Any) -> str:
    code = _encode(key, 0)
    if isinstance(code, str):
        return code
    if isinstance(code, list | dict):
        raise _refusal(key, "has a key that is no scalar")
    return json.dumps(code)


def _is_pydantic(value: Any) -> bool:
    return callable(getattr(value, "model_dump", None)) and not isinstance(value, type)


def _is_numpy(value: Any) -> bool:
    numpy = sys.modules.get("numpy")
    return numpy is not None and isinstance(value, numpy.generic | numpy.ndarray)


def _is_iso(value: Any) -> bool:
    dated = any(kind.__module__ == "datetime" for kind in type(value).__mro__)
    return dated and hasattr(value, "isoformat")


def _is_text_like(value: Any) -> bool:
    known = {"UUID", "Decimal", "PurePath"}
    return any(
        kind.__name__ in known
        and kind.__module__.partition(".")[0] in {"uuid", "decimal", "pathlib"}
        for kind in type(value).__mro__
    )


def _is_queue(value: Any) -> bool:
    return type(value).__module__ == "collections" and type(value).__name__ == "deque"


_FORMS: tuple[tuple[Callable[[Any], bool], Callable[[Any, int], Any]], ...] = (
    (lambda value: isinstance(value, Enum), _member),
    (lambda value: isinstance(value, bool), lambda value, _: bool(value)),
    (lambda value: isinstance(value, int | float), _number),
    (lambda value: isinstance(value, str), lambda value, _: well_formed(str(value))),
    (_is_pydantic, lambda value, depth: _encode(value.model_dump(mode="json"), depth)),
    (lambda value: dataclasses.is_dataclass(value) and not isinstance(value, type), _fields),
    (lambda value: isinstance(value, tuple) and hasattr(value, "_fields"), _named_tuple),
    (_is_iso, lambda value, _: value.isoformat()),
    (_is_text_like, lambda value, _: well_formed(str(value))),
    (
        lambda value: isinstance(value, bytes | bytearray | memoryview),
        lambda value, _: base64.b64encode(bytes(value)).decode("ascii"),
    ),
    (lambda value: is_table(value) or is_series(value), lambda value, _: table_text(value)),
    (_is_numpy, lambda value, depth: _encode(value.tolist(), depth + 1)),
    (lambda value: isinstance(value, Mapping), _entries),
    (lambda value: isinstance(value, AbstractSet), _sorted_items),
    (lambda value: isinstance(value, list | tuple) or _is_queue(value), _items),
)
"""Pairs of a test and an encoder; the first that fits applies."""


SCALARS = {str: "string", bool: "boolean", int: "integer", float: "number", type(None): "null"}
"""Python types that are JSON scalars, and their names in a schema."""


def codes_of(enum: type[Enum]) -> list[tuple[Any, Any]]:
    """Return pairs of JSON scalar and member, in order of definition.

    The scalar is the member's value, or its name if any value of the class is no JSON scalar.
    """
    members = list(enum)
    values = [_bare(member.value) for member in members]
    if all(type(value) in SCALARS for value in values):
        return list(zip(values, members, strict=True))
    return [(member.name, member) for member in members]


def _bare(value: Any) -> Any:
    """Return the plain scalar of a subclass."""
    for kind in (bool, int, float, str):
        if isinstance(value, kind):
            return kind(value)
    return value


ROWS = 50
"""Most rows of a table in a text; its first line has the number of all."""


def is_table(value: Any) -> bool:
    """Whether it has the interface of a data frame of pandas or polars."""
    shape = getattr(value, "shape", None)
    return (
        isinstance(shape, tuple)
        and not isinstance(value, type)
        and all(hasattr(value, name) for name in ("columns", "head", "to_dict"))
    )


def is_series(value: Any) -> bool:
    """Whether it has the interface of one column of a data frame."""
    return (
        not isinstance(value, type)
        and all(hasattr(value, name) for name in ("dtype", "shape", "to_frame"))
        and not is_table(value)
    )


def is_picture(value: Any) -> bool:
    """Whether it is a figure of matplotlib or of a sandbox, or an image of Pillow."""
    if isinstance(value, type):
        return False
    module = type(value).__module__.partition(".")[0]
    return (
        (module == "matplotlib" and hasattr(value, "savefig"))
        or (module == "PIL" and hasattr(value, "save") and hasattr(value, "mode"))
        or (module == "antiphon" and isinstance(getattr(value, "png", None), bytes))
    )


def table_text(frame: Any) -> str:
    """Return the size, column names and first rows of a data frame or series as text.

    The cells of a line are separated by `` | ``. An index that does more than count the rows
    becomes the first columns.
    """
    if is_series(frame):
        frame = frame.to_frame()
    rows = frame.shape[0]
    shown = with_index(frame.head(ROWS))
    lines = [f"{rows} rows x {len(shown.columns)} columns"]
    lines.append(" | ".join(_table_cell(name) for name in shown.columns))
    cells = shown.itertuples(index=False) if hasattr(shown, "itertuples") else shown.iter_rows()
    lines += [" | ".join(_table_cell(value) for value in row) for row in cells]
    if rows > ROWS:
        lines.append(f"... {rows - ROWS} more rows")
    return "\n".join(lines)


def encode_cell(value: Any) -> Any:
    """Encode a cell of a data frame as a JSON value: missing ones are null, unknown ones text."""
    if type(value).__name__ in {"NaTType", "NAType"}:
        return None
    if isinstance(value, float) and math.isnan(value):
        return None
    return encode_or(value, well_formed(str(value)))


def with_index(frame: Any, *, keeps_numbers: bool = True) -> Any:
    """The frame of pandas with its index as columns, unless that only counts the rows.

    Args:
        frame: the frame.
        keeps_numbers: whether an index of integers without a name is kept unless it counts the
            rows; that of a filtered frame has the numbers that the rows had before.
    """
    index = getattr(frame, "index", None)
    if index is None:
        return frame
    is_named = any(name is not None for name in index.names)
    is_count = type(index).__name__ == "RangeIndex" if keeps_numbers else _is_numbers(index)
    return frame if is_count and not is_named else frame.reset_index(allow_duplicates=True)


def _is_numbers(index: Any) -> bool:
    return index.inferred_type in {"integer", "empty"}


def _table_cell(value: Any) -> str:
    return " ".join(str(value).split()).replace("|", "\\|")
