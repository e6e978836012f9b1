"""Code as a language model writes it for a user's question, and what it comes to.

`load` and `passes` also serve to measure which share of it an engine runs.
"""

from __future__ import annotations

import ast
import tomllib
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from antiphon.sandbox import SandboxResult

_FILE = Path(__file__).with_name("snippets.toml")


class Snippet(NamedTuple):
    """One piece of code.

    Attributes:
        name: what it does.
        code: of Python.
        value: what its last expression comes to in CPython: a plain value, or for a data frame
            a dict with the key `table`.
        stdout: what it prints.
        packages: what it imports beside the standard library.
    """

    name: str
    code: str
    value: Any
    stdout: str
    packages: tuple[str, ...]


def load() -> list[Snippet]:
    """All snippets: thirty with the standard library alone, six with packages."""
    entries = tomllib.loads(_FILE.read_text(encoding="utf-8"))["snippet"]
    return [
        Snippet(
            entry["name"],
            entry["code"],
            ast.literal_eval(entry["value"]),
            entry.get("stdout", ""),
            tuple(entry.get("packages", ())),
        )
        for entry in entries
    ]


def passes(snippet: Snippet, result: SandboxResult) -> bool:
    """Whether a run came to what CPython comes to."""
    if not result.ok or result.stdout != snippet.stdout:
        return False
    if isinstance(snippet.value, dict) and "table" in snippet.value:
        return bool(result.value.to_arrow().to_pydict() == snippet.value["table"])
    return bool(_plain(result.value) == snippet.value)


def _plain(value: Any) -> Any:
    if isinstance(value, list):
        return [_plain(item) for item in value]
    return value.isoformat() if hasattr(value, "isoformat") else value
