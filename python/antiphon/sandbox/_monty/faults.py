"""Monty's errors as faults of a sandbox run."""

from __future__ import annotations

import sys
from typing import Any

__all__ = ["fault_of"]

_FRAMES = 5
_TEXT = 10_000
_KINDS = {
    "MemoryError": "memory_limit",
    "RecursionError": "recursion_limit",
    "PermissionError": "denied",
}


def fault_of(error: Any, *, wall: float) -> dict[str, Any]:
    """Build the fault for a `pydantic_monty.MontyError` of a job with this time limit."""
    how = type(error).__name__
    if how == "MontyCrashedError":
        return {"kind": "crashed", "message": str(error)[:_TEXT]}
    inner = error.exception()
    name, said = type(inner).__name__, str(inner)[:_TEXT]
    if how == "MontyConversionError":
        return {"kind": "unsupported", "message": said}
    frames = error.traceback()
    # Only that of the interpreter itself has no traceback.
    if name == "TimeoutError" and not frames:
        return {"kind": "time_limit", "message": f"it took longer than {wall:g} s"}
    kind = "syntax_error" if how == "MontySyntaxError" else _KINDS.get(name, "python_error")
    if _lacks(name, said, frames):
        kind = "unsupported"
    fault = {"kind": kind, "message": said, "type": name}
    if frames:
        fault.update(_place(frames))
    return fault


def _lacks(name: str, said: str, frames: list[Any]) -> bool:
    """Whether Monty lacks a feature of Python that the code uses."""
    if name == "NotImplementedError":
        # Errors of the parser have no function, not even the module.
        return not frames or frames[-1].function_name is None or "not supported" in said
    if name == "ModuleNotFoundError":
        return said.split("'")[1:2] != [] and said.split("'")[1] in sys.stdlib_module_names
    return name == "ImportError" and "unknown location" in said


def _place(frames: list[Any]) -> dict[str, Any]:
    last = frames[-1]
    return {
        "line": last.line,
        "column": last.column,
        "source": last.source_line,
        "frames": [
            {
                "line": frame.line,
                "function": frame.function_name,
                "source": (frame.source_line or "")[:_TEXT],
            }
            for frame in frames[-_FRAMES:]
            # The parser's have no function.
            if frame.function_name is not None
        ],
    }
