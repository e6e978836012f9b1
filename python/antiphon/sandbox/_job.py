"""What is asked of a sandbox, checked and put into the engines' form."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NoReturn

from antiphon.errors import ValidationError
from antiphon.sandbox._inputs import taken_in
from antiphon.sandbox._table import SandboxTable

if TYPE_CHECKING:
    from collections.abc import Iterable
    from os import PathLike

__all__ = ["WANTS", "Want", "granted_files", "job_of", "with_columns"]

Want = Literal["value", "locals", "tables", "figures"]
"""Something that a run shall bring out beside its output."""

WANTS: tuple[Want, ...] = ("value", "locals", "tables", "figures")
_PLACE = "/files"


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
    values, tables = taken_in(inputs) if inputs else ({}, {})
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
    return {**job, "inputs": {**job["inputs"], **taken_in(plain)[0]}, "tables": {}}


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
