"""Runs a case with no sandbox at all: the control that shows that the cases bite."""

from __future__ import annotations

import ast
import json
import os
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from sandbox.corpus.host import add, echo


def main() -> None:
    """Reads code, runs it, and writes what came of it behind its output."""
    source = sys.stdin.read()
    namespace = {"__name__": "__main__", "add": add, "echo": echo}
    value, error, message = None, "none", ""
    try:
        tree = ast.parse(source)
        last = tree.body[-1] if tree.body else None
        if isinstance(last, ast.Expr):
            tree.body.pop()
        exec(compile(tree, "<case>", "exec"), namespace)
        if isinstance(last, ast.Expr):
            value = eval(compile(ast.Expression(last.value), "<case>", "eval"), namespace)
    except BaseException as problem:  # noqa: BLE001 - a case may raise anything
        error, message = "python_error", f"{type(problem).__name__}: {problem}"
    report = {"value": repr(value), "error": error, "message": message}
    sys.__stdout__.write("\x1e" + json.dumps(report))  # type: ignore[union-attr]
    sys.__stdout__.flush()  # type: ignore[union-attr]
    os._exit(0)


main()
