"""Exceptions as faults: kind, message, and lines of the user's code."""

from __future__ import annotations

import errno
import os
from typing import TYPE_CHECKING, Any

from .compiled_source import line_of
from .safe_repr import is_a, plain, safe_str, short_name

if TYPE_CHECKING:
    from collections.abc import Collection
    from types import CodeType, TracebackType

Fault = dict[str, Any]

_trace_of = BaseException.__dict__["__traceback__"].__get__

_MESSAGE = 4_000
_LINE = 400
_FRAMES = 5
_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
_KINDS = {
    MemoryError: "memory_limit",
    RecursionError: "recursion_limit",
    PermissionError: "denied",
}
_NO_THREAD = "can't start new thread"
_NO_ADDRESSES = "failed to map segment from shared object"
_FORKING = ("subprocess.py", "popen_fork.py", "popen_forkserver.py", "popen_spawn_posix.py")


def make_fault(kind: str, message: str) -> Fault:
    """Build a fault without a line of the code."""
    return {"kind": kind, "message": message}


def syntax_fault(problem: SyntaxError, cell: str) -> Fault:
    """Build the fault for a syntax error in the code of this name."""
    found: Fault = {
        "kind": "syntax_error",
        "message": safe_str(problem.msg, _MESSAGE),
        "type": short_name(problem),
    }
    line, column, text = problem.lineno, problem.offset, problem.text
    if type(line) is int:
        found["line"] = line
    if type(column) is int and column > 0:
        found["column"] = column
    if type(text) is not str and type(line) is int:
        text = line_of(cell, line)
    if type(text) is str:
        found["source"] = plain(text.rstrip("\r\n"), _LINE)
    return found


def exception_fault(problem: BaseException, cells: Collection[str]) -> Fault:
    """Build the fault for an exception, with the frames of the user's code in `cells`.

    Lines and columns start at 1; frames are in call order and at most five. The column is the
    start of the failing expression in the last frame.
    """
    found: Fault = {
        "kind": _kind(problem),
        "message": _message(problem),
        "type": short_name(problem),
    }
    places = _places(_trace_of(problem), cells)
    if places:
        code, line, instruction = places[-1]
        found["line"] = line
        found["source"] = plain(line_of(code.co_filename, line), _LINE)
        column = _column(code, line, instruction)
        if column is not None:
            found["column"] = column
        found["frames"] = [_frame(*place) for place in places[-_FRAMES:]]
    return found


def _message(problem: BaseException) -> str:
    texts = [safe_str(problem, _MESSAGE)]
    notes = _attribute(problem, "__notes__")
    if type(notes) is list:
        texts += [safe_str(note, _MESSAGE) for note in notes[:10]]
    return plain("\n".join(texts), _MESSAGE)


def _kind(problem: BaseException) -> str:
    kind = type(problem)
    for ancestor, name in _KINDS.items():
        if is_a(kind, ancestor):
            return name
    number = _attribute(problem, "errno") if is_a(kind, OSError) else None
    if type(number) is int and number in _FULL:
        return "disk_limit"
    if type(number) is int and number == errno.EAGAIN and _is_fork(problem):
        return "process_limit"
    if is_a(kind, ImportError, OSError) and _is_unmapped(problem):
        return "memory_limit"
    no_thread = kind is RuntimeError and problem.args == (_NO_THREAD,)
    return "process_limit" if no_thread else "python_error"


def _is_unmapped(problem: BaseException) -> bool:
    """Whether a library did not fit into the address space.

    The loader reports the same for a library in the code's own folder, which is not executable.
    """
    text = safe_str(problem, _MESSAGE)
    own = os.environ.get("TMPDIR", "")
    return _NO_ADDRESSES in text and not (own and text.startswith(own + "/"))


def _attribute(problem: BaseException, name: str) -> Any:
    try:
        return getattr(problem, name, None)
    except BaseException:  # noqa: BLE001 - user code raises anything
        return None


def _is_fork(problem: BaseException) -> bool:
    # A read that would block fails with the same errno.
    last = _trace_of(problem)
    while last is not None and last.tb_next is not None:
        last = last.tb_next
    if last is None:
        return False
    code = last.tb_frame.f_code
    return code.co_filename.endswith(_FORKING) or "fork" in line_of(
        code.co_filename, last.tb_lineno
    )


def _places(trace: TracebackType | None, cells: Collection[str]) -> list[tuple[CodeType, int, int]]:
    places: list[tuple[CodeType, int, int]] = []
    while trace is not None:
        code = trace.tb_frame.f_code
        if code.co_filename in cells:
            places.append((code, trace.tb_lineno, trace.tb_lasti))
            # A recursion leaves thousands.
            del places[:-_FRAMES]
        trace = trace.tb_next
    return places


def _frame(code: CodeType, line: int, _: int) -> dict[str, Any]:
    return {
        "line": line,
        "function": plain(code.co_qualname, _LINE),
        "source": plain(line_of(code.co_filename, line), _LINE),
    }


def _column(code: CodeType, line: int, instruction: int) -> int | None:
    positions = list(code.co_positions())
    index = instruction // 2
    if not 0 <= index < len(positions):
        return None
    start, _, column, _ = positions[index]
    if start != line or column is None:
        return None
    # Python counts UTF-8 bytes.
    before = line_of(code.co_filename, line).encode("utf-8", "surrogatepass")[:column]
    return len(before.decode("utf-8", "replace")) + 1
