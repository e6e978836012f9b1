"""Jobs: validated arguments of a run, in the form that engines take."""

from __future__ import annotations

import json
import keyword
import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NoReturn

from antiphon._json_values import encode_result, is_series, is_table
from antiphon.errors import ToolError, ValidationError
from antiphon.sandbox._guest.budget import Budget, TooLarge
from antiphon.sandbox._guest.encode import Encoder
from antiphon.sandbox._table import SandboxTable, is_tabular, table_bytes

if TYPE_CHECKING:
    from collections.abc import Iterable
    from os import PathLike

__all__ = ["WANTS", "Want", "check_name", "granted_files", "job_of", "tag", "with_columns"]

Want = Literal["value", "locals", "tables", "figures"]
"""A part of a run's result besides its output."""

WANTS: tuple[Want, ...] = ("value", "locals", "tables", "figures")
_PLACE = "/files"
_BYTES = 48 * 2**20
"""Bytes of all inputs as JSON; larger data is passed as a table or file."""
_NODES = 5_000_000
_DEPTH = 64


def job_of(
    code: str, inputs: Mapping[str, Any] | None, *, name: str, want: Iterable[Want], source: int
) -> dict[str, Any]:
    """Build a job, without its functions.

    Args:
        code: the source text, of at most `source` bytes.
        inputs: values and tables by name.
        name: the file name in tracebacks.
        want: the parts of the result to return.
        source: as above.

    Raises:
        ValidationError: the code is not text or too long (``sandbox_code_invalid``), or an
            input cannot be passed.
    """
    if not isinstance(code, str):
        _refuse(f"the code must be text: {type(code).__name__}")
    try:
        size = len(code.encode())
    except UnicodeEncodeError:
        _refuse("the code contains lone surrogates")
    if size > source:
        _refuse(f"the code must have at most {source} bytes (`Limits(source=…)`): {size}")
    wanted = want if want is WANTS else _check_outputs(want)
    values, tables = _encode_inputs(inputs) if inputs else ({}, {})
    return {"code": code, "name": name, "want": wanted, "inputs": values, "tables": tables}


def _check_outputs(want: Iterable[Want]) -> tuple[Want, ...]:
    wanted = tuple(dict.fromkeys(want))
    if unknown := [each for each in wanted if each not in WANTS]:
        _refuse(f"`want` takes {', '.join(WANTS)}, not: {unknown[0]}")
    return wanted


def with_columns(job: dict[str, Any]) -> dict[str, Any]:
    """Return the job with its tables as lists by column, for an interpreter without Arrow."""
    if not job["tables"]:
        return job
    try:
        plain = {name: SandboxTable(ipc).to_columns() for name, ipc in job["tables"].items()}
    except ModuleNotFoundError as problem:
        raise ValidationError(
            f"a table cannot be passed to the sandbox: {problem}", code="sandbox_input_invalid"
        ) from problem
    return {**job, "inputs": {**job["inputs"], **_encode_inputs(plain)[0]}, "tables": {}}


def granted_files(files: Iterable[str | PathLike[str]] | Mapping[str, Any]) -> list[list[str]]:
    """Return the files that the code may read, as paths on this machine and in the sandbox."""
    paths = [(None, path) for path in files] if not isinstance(files, Mapping) else files.items()
    found: dict[str, str] = {}
    for given, path in paths:
        home = Path(os.path.realpath(path))
        name = Path(path).name if given is None else given
        if not home.is_file():
            _refuse_file(name, f"the file does not exist: {path}")
        if not name or "/" in name or "\0" in name or name in {".", ".."}:
            _refuse_file(name, "its name must be that of a file, without folders")
        if name in found:
            _refuse_file(name, "two files have this name; give names: `files={'name': path}`")
        found[name] = str(home)
    return [[home, f"{_PLACE}/{name}"] for name, home in found.items()]


def _refuse(message: str) -> NoReturn:
    raise ValidationError(message, code="sandbox_code_invalid")


def _refuse_file(name: Any, why: str) -> NoReturn:
    raise ValidationError(
        f"the file `{name}` cannot be granted to the sandbox: {why}",
        code="sandbox_file_invalid",
        details={"name": str(name)},
    )


def _encode_inputs(inputs: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, bytes]]:
    """Encode inputs: tables as Arrow, other values as tagged JSON."""
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
            _refuse_input(name, str(problem), problem)
        left -= len(json.dumps(values[name]))
    return values, tables


def tag(value: Any, size: int = _BYTES) -> Any:
    """Encode a value of the host as tagged JSON.

    A type without a tag, for instance a dataclass, is encoded as its JSON.

    Raises:
        TooLarge: it takes more than `size` bytes.
        TypeError: it is not representable as JSON.
    """
    budget = Budget(bytes=size, nodes=_NODES, depth=_DEPTH)
    try:
        tagged = Encoder(budget, strict=True).encode(value)
    except TypeError:
        if _has_rows(value):
            # As JSON it would be a text of its first rows.
            raise TypeError(
                f"a table or column must be a separate input, found: {type(value).__name__}; pass "
                "a column as `x.to_frame()` or `x.tolist()`"
            ) from None
        budget = Budget(bytes=size, nodes=_NODES, depth=_DEPTH)
        try:
            tagged = Encoder(budget, strict=True).encode(encode_result(value))
        except ToolError as problem:
            raise TypeError(
                f"values of this type cannot be passed: {type(value).__name__}"
            ) from problem
    budget.text_of(tagged)
    return tagged


def _has_rows(value: Any) -> bool:
    """Whether it is or contains a data frame or a column of one."""
    if isinstance(value, dict):
        return any(map(_has_rows, value.values()))
    if isinstance(value, list | tuple | set | frozenset):
        return any(map(_has_rows, value))
    return is_table(value) or is_series(value)


def check_name(name: Any) -> str:
    """Return `name` if it is valid for a variable of the code, else raise `ValidationError`."""
    plain = isinstance(name, str) and name.isidentifier() and not keyword.iskeyword(name)
    if not plain or name.startswith("_"):
        _refuse_input(
            str(name),
            "it is not an identifier, or begins with an underscore",
            hint="the code uses it by this name: take letters, digits and `_`, a letter first",
        )
    return str(name)


def _refuse_input(
    name: str,
    why: str,
    cause: Exception | None = None,
    *,
    hint: str = "pass plain values, arrays or tables; large data as a table or with `files`",
) -> NoReturn:
    raise ValidationError(
        f"the input `{name}` cannot be passed to the sandbox: {why}",
        code="sandbox_input_invalid",
        details={"name": name},
        hint=hint,
    ) from cause
