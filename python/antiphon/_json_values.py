"""Python values as JSON values: what a tool returned, what a default is.

The inverse of `antiphon._schema.construct` for every type that it knows.
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
"""What JSON readers keep exactly; other integers become text."""


def encode_result(value: Any) -> Any:
    """What a tool returned, as a JSON value for the model.

    Text stays as it is. Numbers, lists, mappings and what they contain become
    JSON; so do dataclasses, typed dictionaries, named tuples, pydantic models,
    enums, dates, decimals, UUIDs, paths, sets (in a stable order), bytes (base64),
    NumPy scalars and arrays. Numbers that JSON lacks, such as NaN, become text. A data
    frame or series becomes a text of its size, its columns and its first rows.

    Args:
        value: anything.

    Returns:
        ``None``, a bool, a number, text, a list or a dict of these.

    Raises:
        ToolError: the value, or one inside it, has no such form (``tool_result``).

    Example:
        >>> encode_result({"ids": {2, 1}, "share": float("nan")})
        {'ids': [1, 2], 'share': 'nan'}
    """
    return _encode(value, 0)


def encode_or(value: Any, otherwise: Any) -> Any:
    """The value as JSON, or `otherwise` if it has no such form."""
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


def _named(value: Any, depth: int) -> dict[str, Any]:
    return {name: _encode(getattr(value, name), depth + 1) for name in value._fields}


def _items(value: Any, depth: int) -> list[Any]:
    return [_encode(item, depth + 1) for item in value]


def _unordered(value: Any, depth: int) -> list[Any]:
    try:
        return _items(sorted(value), depth)
    except TypeError:
        # Mixed kinds do not compare; their JSON does.
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
    (lambda value: isinstance(value, tuple) and hasattr(value, "_fields"), _named),
    (_is_iso, lambda value, _: value.isoformat()),
    (_is_text_like, lambda value, _: well_formed(str(value))),
    (
        lambda value: isinstance(value, bytes | bytearray | memoryview),
        lambda value, _: base64.b64encode(bytes(value)).decode("ascii"),
    ),
    (lambda value: is_table(value) or is_series(value), lambda value, _: table_text(value)),
    (_is_numpy, lambda value, depth: _encode(value.tolist(), depth + 1)),
    (lambda value: isinstance(value, Mapping), _entries),
    (lambda value: isinstance(value, AbstractSet), _unordered),
    (lambda value: isinstance(value, list | tuple) or _is_queue(value), _items),
)
"""Each form that a value can have, and what writes it; the first that fits counts."""


SCALARS = {str: "string", bool: "boolean", int: "integer", float: "number", type(None): "null"}
"""Python types that are JSON scalars, and their name in a schema."""


def codes_of(enum: type[Enum]) -> list[tuple[Any, Any]]:
    """Pairs of JSON scalar and member, in order of definition.

    The scalar is the member's value. Names are used for the whole class as soon
    as one value is no JSON scalar.
    """
    members = list(enum)
    values = [_bare(member.value) for member in members]
    if all(type(value) in SCALARS for value in values):
        return list(zip(values, members, strict=True))
    return [(member.name, member) for member in members]


def _bare(value: Any) -> Any:
    """A subclass of a scalar, reduced to the scalar."""
    for kind in (bool, int, float, str):
        if isinstance(value, kind):
            return kind(value)
    return value


ROWS = 50
"""Rows that are shown; the first line says how many there are."""


def is_table(value: Any) -> bool:
    """Whether it looks like a data frame: of pandas, polars or a library like them."""
    shape = getattr(value, "shape", None)
    return (
        isinstance(shape, tuple)
        and not isinstance(value, type)
        and all(hasattr(value, name) for name in ("columns", "head", "to_dict"))
    )


def is_series(value: Any) -> bool:
    """Whether it looks like one column of a data frame."""
    return (
        not isinstance(value, type)
        and all(hasattr(value, name) for name in ("dtype", "shape", "to_frame"))
        and not is_table(value)
    )


def table_text(frame: Any) -> str:
    """The size, the column names and the first rows of a data frame.

    Args:
        frame: what `is_table` or `is_series` accepts. An index other than a plain row count
            becomes the first column.

    Returns:
        Lines of cells separated by `` | ``; cells keep to one line.
    """
    if is_series(frame):
        frame = frame.to_frame()
    rows, columns = frame.shape
    shown = frame.head(ROWS)
    index = getattr(shown, "index", None)
    if index is not None and type(index).__name__ != "RangeIndex":
        shown = shown.reset_index()
    lines = [f"{rows} rows x {columns} columns"]
    lines.append(" | ".join(_table_cell(name) for name in shown.columns))
    cells = shown.itertuples(index=False) if hasattr(shown, "itertuples") else shown.iter_rows()
    lines += [" | ".join(_table_cell(value) for value in row) for row in cells]
    if rows > ROWS:
        lines.append(f"... {rows - ROWS} more rows")
    return "\n".join(lines)


def _table_cell(value: Any) -> str:
    return " ".join(str(value).split()).replace("|", "\\|")
