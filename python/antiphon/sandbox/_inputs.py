"""The host's values on their way to code in a sandbox."""

from __future__ import annotations

import json
import keyword
from typing import TYPE_CHECKING, Any, NoReturn

from antiphon._json_values import encode_result
from antiphon.errors import ToolError, ValidationError
from antiphon.sandbox._guest.budget import Budget, TooLarge
from antiphon.sandbox._guest.encode import Encoder
from antiphon.sandbox._table import is_tabular, table_bytes

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["check_name", "tag", "taken_in"]

_BYTES = 48 * 2**20
"""Bytes of all inputs as JSON; a larger one is a table or a file."""
_NODES = 5_000_000
_DEPTH = 64


def taken_in(inputs: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, bytes]]:
    """Inputs as tagged JSON, and those that are tables as Arrow.

    Args:
        inputs: plain values, dates, numbers, arrays, dataclasses and tables by the names that
            the code has for them.

    Raises:
        ValidationError: a name is no name for a variable, a value has no form in which it can
            go in, or is too large (``sandbox_input_invalid``), or a table cannot be written.
    """
    values: dict[str, Any] = {}
    tables: dict[str, bytes] = {}
    left = _BYTES
    for name, value in inputs.items():
        check_name(name)
        if is_tabular(value):
            tables[name] = table_bytes(name, value)
            continue
        try:
            values[name] = tag(value, left)
        except (TooLarge, TypeError) as problem:
            _refuse(name, str(problem), problem)
        left -= len(json.dumps(values[name]))
    return values, tables


def tag(value: Any, size: int = _BYTES) -> Any:
    """A value of the host as tagged JSON.

    What has no form of its own there, a dataclass for instance, goes in as its JSON.

    Raises:
        TooLarge: it takes more bytes than `size`.
        TypeError: it has no JSON either.
    """
    budget = Budget(bytes=size, nodes=_NODES, depth=_DEPTH)
    try:
        tagged = Encoder(budget, strict=True).encode(value)
    except TypeError:
        budget = Budget(bytes=size, nodes=_NODES, depth=_DEPTH)
        try:
            tagged = Encoder(budget, strict=True).encode(encode_result(value))
        except ToolError as problem:
            raise TypeError(
                f"a value of this type cannot go in: {type(value).__name__}"
            ) from problem
    budget.text_of(tagged)
    return tagged


def check_name(name: Any) -> str:
    """A name for a variable of the code.

    Raises:
        ValidationError: it is none, or begins with an underscore (``sandbox_input_invalid``).
    """
    plain = isinstance(name, str) and name.isidentifier() and not keyword.iskeyword(name)
    if not plain or name.startswith("_"):
        _refuse(str(name), "it is no name for a variable, or begins with an underscore")
    return str(name)


def _refuse(name: str, why: str, cause: Exception | None = None) -> NoReturn:
    raise ValidationError(
        f"the input `{name}` cannot go into the sandbox: {why}",
        code="sandbox_input_invalid",
        details={"name": name},
        hint="pass plain values, arrays or tables; large data as a table, or as a file by `files`",
    ) from cause
