"""Source code, compiled with its last expression apart, so that its value can be returned."""

from __future__ import annotations

import ast
import linecache
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from types import CodeType


class CompiledSource:
    """Source code under a file name for tracebacks, such as `<cell 1>`."""

    def __init__(self, name: str, source: str) -> None:
        self.name = name
        self._source = source
        self._body: CodeType | None = None
        self._last: CodeType | None = None

    def compile(self) -> None:
        """Compile the code.

        Raises:
            SyntaxError: it is not Python.
            RecursionError: it is nested too deeply; the parser raises `MemoryError` too.
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
            # `__future__` imports apply to the last expression too.
            flags = self._body.co_flags & _FUTURES
        if isinstance(last, ast.Expr):
            expression = ast.Expression(last.value)
            self._last = compile(expression, self.name, "eval", flags, dont_inherit=True)

    def run(self, namespace: dict[str, Any]) -> Any:
        """Run the code; return the value of its last expression, if it ends with one."""
        if self._body is not None:
            exec(self._body, namespace)  # noqa: S102 - the purpose of a sandbox
        if self._last is None:
            return None
        return eval(self._last, namespace)  # noqa: S307 - as above


def line_of(name: str, number: int) -> str:
    """Return a source line without its line end; empty if there is no such line."""
    return linecache.getline(name, number).rstrip("\r\n")


def _futures() -> int:
    import __future__

    flags = 0
    for feature in __future__.all_feature_names:
        flags |= getattr(__future__, feature).compiler_flag
    return flags & ~ast.PyCF_TYPE_COMMENTS


_FUTURES = _futures()
