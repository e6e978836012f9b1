"""One piece of code: cut before its last expression, known by name to tracebacks."""

from __future__ import annotations

import ast
import linecache
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from types import CodeType


class CompiledSource:
    """Source under a name, ready to run.

    Args:
        name: what stands for a file's name, such as `<cell 1>`.
        source: the code.
    """

    def __init__(self, name: str, source: str) -> None:
        self.name = name
        self._source = source
        self._body: CodeType | None = None
        self._last: CodeType | None = None

    def compile(self) -> None:
        """Makes code objects of it.

        Raises:
            SyntaxError: it is no Python.
            RecursionError: it is nested too deeply; likewise `MemoryError`, by the parser.
        """
        lines = self._source.splitlines(keepends=True)
        linecache.cache[self.name] = (len(self._source), None, lines, self.name)
        tree = ast.parse(self._source, self.name)
        last = tree.body[-1] if tree.body else None
        if isinstance(last, ast.Expr):
            tree.body.pop()
        flags = 0
        if tree.body:
            self._body = compile(tree, self.name, "exec", dont_inherit=True)
            # What the first lines import from `__future__` holds for the last one too.
            flags = self._body.co_flags & _FUTURES
        if isinstance(last, ast.Expr):
            expression = ast.Expression(last.value)
            self._last = compile(expression, self.name, "eval", flags, dont_inherit=True)

    def run(self, namespace: dict[str, Any]) -> Any:
        """Runs it and returns the value of its last expression, None if it ends otherwise.

        Raises:
            BaseException: whatever the code raises.
        """
        if self._body is not None:
            exec(self._body, namespace)  # noqa: S102 - that is what a sandbox is for
        if self._last is None:
            return None
        return eval(self._last, namespace)  # noqa: S307 - as above


def line_of(name: str, number: int) -> str:
    """A line of a cell, without its end; empty if there is no such line."""
    return linecache.getline(name, number).rstrip("\r\n")


def _futures() -> int:
    import __future__

    flags = 0
    for feature in __future__.all_feature_names:
        flags |= getattr(__future__, feature).compiler_flag
    return flags & ~ast.PyCF_TYPE_COMMENTS


_FUTURES = _futures()
