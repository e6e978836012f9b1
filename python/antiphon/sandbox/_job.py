"""What is asked of a sandbox, checked and put into the engines' form."""

from __future__ import annotations

import json
import keyword
import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NoReturn

from antiphon._encode import encode_result
from antiphon.errors import ToolError, ValidationError
from antiphon.sandbox._guest.budget import Budget, TooLarge
from antiphon.sandbox._guest.encode import Encoder
from antiphon.sandbox._table import SandboxTable, is_tabular, table_bytes

if TYPE_CHECKING:
    from collections.abc import Iterable
    from os import PathLike

__all__ = ["WANTS", "Want", "check_name", "granted_files", "job_of", "tag", "with_columns"]

Want = Literal["value", "locals", "tables", "figures"]
"""Something that a run shall bring out beside its output."""

WANTS: tuple[Want, ...] = ("value", "locals", "tables", "figures")
_PLACE = "/files"
_BYTES = 48 * 2**20
"""Bytes of all inputs as JSON; a larger one is a table or a file."""
_NODES = 5_000_000
_DEPTH = 64


def job_of(
    code: str, inputs: Mapping[str, Any] | None, *, name: str, want: Iterable[Want], source: int
) -> dict[str, Any]:
    """A run as the engines take it, without its functions.

    Args:
        code: the source text.
        inputs: values and tables by name.
        name: what the code is called in messages.
        want: what shall be brought out.
        source: bytes that the code may have.

    Raises:
        ValidationError: the code is no text or too long (``sandbox_code_invalid``), or an
            input cannot go in.
    """
    if not isinstance(code, str):
        _refuse(f"code for a sandbox has to be text: {type(code).__name__}")
    try:
        size = len(code.encode())
    except UnicodeEncodeError:
        _refuse("code for a sandbox has to be text, and this has halves of characters")
    if size > source:
        _refuse(
            f"code for a sandbox has at most {source} bytes (`Limits(source=…)`), found: {size}"
        )
    wanted = want if want is WANTS else _known(want)
    values, tables = encode_inputs(inputs) if inputs else ({}, {})
    return {"code": code, "name": name, "want": wanted, "inputs": values, "tables": tables}


def _known(want: Iterable[Want]) -> tuple[Want, ...]:
    wanted = tuple(dict.fromkeys(want))
    if unknown := [each for each in wanted if each not in WANTS]:
        _refuse(f"a sandbox brings out {', '.join(WANTS)}, and not: {unknown[0]}")
    return wanted


def with_columns(job: dict[str, Any]) -> dict[str, Any]:
    """The job with its tables as lists by column, for an interpreter that does not read Arrow.

    Raises:
        ValidationError: a table is too large for that, or no library here reads it
            (``sandbox_input_invalid``).
    """
    if not job["tables"]:
        return job
    try:
        plain = {name: SandboxTable(ipc).to_columns() for name, ipc in job["tables"].items()}
    except ModuleNotFoundError as problem:
        raise ValidationError(
            f"a table cannot go into the sandbox: {problem}", code="sandbox_input_invalid"
        ) from problem
    return {**job, "inputs": {**job["inputs"], **encode_inputs(plain)[0]}, "tables": {}}


def granted_files(files: Iterable[str | PathLike[str]] | Mapping[str, Any]) -> list[list[str]]:
    """The files that the code may read: on this machine, and in the sandbox.

    Args:
        files: paths, or paths by the names that they have in the sandbox.

    Raises:
        ValidationError: one is no file, or has a name twice or with a slash
            (``sandbox_file_invalid``).
    """
    paths = [(None, path) for path in files] if not isinstance(files, Mapping) else files.items()
    found: dict[str, str] = {}
    for given, path in paths:
        home = Path(os.path.realpath(path))
        name = Path(path).name if given is None else given
        if not home.is_file():
            _refuse_file(name, f"there is no such file: {path}")
        if not name or "/" in name or "\0" in name or name in {".", ".."}:
            _refuse_file(name, "its name has to be that of a file, without folders")
        if name in found:
            _refuse_file(name, "two files have this name; give names: `files={'name': path}`")
        found[name] = str(home)
    return [[home, f"{_PLACE}/{name}"] for name, home in found.items()]


def _refuse(message: str) -> NoReturn:
    raise ValidationError(message, code="sandbox_code_invalid")


def _refuse_file(name: Any, why: str) -> NoReturn:
    raise ValidationError(
        f"the file `{name}` cannot be shown to the sandbox: {why}",
        code="sandbox_file_invalid",
        details={"name": str(name)},
    )


def encode_inputs(inputs: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, bytes]]:
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
            _refuse_input(name, str(problem), problem)
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
        _refuse_input(str(name), "it is no name for a variable, or begins with an underscore")
    return str(name)


def _refuse_input(name: str, why: str, cause: Exception | None = None) -> NoReturn:
    raise ValidationError(
        f"the input `{name}` cannot go into the sandbox: {why}",
        code="sandbox_input_invalid",
        details={"name": name},
        hint="pass plain values, arrays or tables; large data as a table, or as a file by `files`",
    ) from cause
