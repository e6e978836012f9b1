"""Compiled graphs as LangChain Runnables, where LangChain has been imported."""

from __future__ import annotations

import functools
import sys
import types
from typing import Any, TypeVar, cast

__all__ = ["as_runnable"]

_T = TypeVar("_T", bound=type)


def as_runnable(kind: _T) -> _T:
    """A subclass that is a Runnable too, or the class itself.

    LangChain is not imported for that: who pipes a graph into a Runnable has done so before
    the graph is compiled.
    """
    core = sys.modules.get("langchain_core.runnables")
    return kind if core is None else cast("_T", _mixed(kind, core.Runnable))


@functools.cache
def _mixed(kind: type, runnable: type) -> type:
    def fill(names: dict[str, Any]) -> None:
        # Runnable reads them off its type arguments, which a graph does not have.
        names.update(__module__=kind.__module__, InputType=Any, OutputType=Any)

    return types.new_class(kind.__name__, (kind, runnable), exec_body=fill)
