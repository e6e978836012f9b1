"""Runs of all kinds, as a sandbox that is in use sees them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

    from antiphon.sandbox import Sandbox, SandboxResult

WALL = 5.0
"""Seconds of a run: many times what any of them takes that ends by itself."""
MEMORY = 64 * 2**20
CALLS = 20

_GROW = "kept = []\nwhile True:\n    kept.append(bytes(100_000))"
_FLOOD = "import os\nwhile True:\n    os.write(1, b'x' * 65_536)"
_SCRATCH = """
import os
before = os.listdir('.')
for number in range(20):
    with open(f'note-{number}', 'wb') as file:
        file.write(bytes(50_000))
kept = open('note-0', 'rb')
len(before)
"""
_CALLS = "sum(add(number, <n>) for number in range(5))"
_CAUGHT = "try:\n    fail()\nexcept Exception as error:\n    said = str(error)\nlen(said[:8])"
_FORK = "import os\nos.fork()"
_TIDE = "import os\nos.write(3, b'\\xff' * 64)\nimport time\ntime.sleep(60)"
_BOMB = "def deeper():\n    return deeper()\ndeeper()"

# How often, the code, and what must come of it: a value, or a kind of error.
_SINGLE: tuple[tuple[int, str, Any], ...] = (
    (28, "<n> * 2", "double"),
    (6, "print('x' * 1_000)\nlist(range(<n>, <n> + 100))[0]", "number"),
    (6, _SCRATCH, 0),
    (4, "table = {'a': [1.5] * 500, 'b': ['x'] * 500}\nlen(data) + len(table['a'])", 1_500),
    (8, "rows = []\nrows[<n>]", "python_error"),
    (3, "x = = <n>", "syntax_error"),
    (3, "raise SystemExit(<n>)", "python_error"),
    (3, "import os\nos._exit(3)", "crashed"),
    (2, "import os, signal\nos.kill(os.getpid(), signal.SIGKILL)", "crashed"),
    (1, _TIDE, "crashed"),
    (2, _FORK, "denied"),
    (2, "bytes(10**10)", "memory_limit"),
    (1, _GROW, "memory_limit"),
    (1, _BOMB, "recursion_limit"),
    (1, _FLOOD, "output_limit"),
    (2, "'x' * 2**21", "result_too_large"),
    (10, _CALLS, "sum"),
    (2, _CAUGHT, 8),
    (2, "fail()", "host_call_failed"),
    (1, "while True:\n    add(1, 1)", "host_call_limit"),
    (1, "import time\ntime.sleep(600)", "time_limit"),
)
_KINDS = [(code, end) for count, code, end in _SINGLE for _ in range(count)]


def add(a: int, b: int) -> int:
    """Adds two numbers."""
    return a + b


def fail() -> None:
    """Always fails."""
    raise KeyError("no such row")


def single(number: int) -> tuple[str, dict[str, Any], Any]:
    """Code, inputs, and what must come of it, for its number-th run.

    Args:
        number: any; ninety in a row hold every kind.
    """
    code, end = _KINDS[number * 37 % len(_KINDS)]
    values = {"double": number * 2, "number": number, "sum": 10 + 5 * number}
    return code.replace("<n>", str(number)), {"data": [0] * 1_000}, values.get(end, end)


def end_of(result: SandboxResult) -> Any:
    """What came of a run: the kind of its error, or its value."""
    return result.value if result.error is None else result.error.kind


def session_runs(sandbox: Sandbox, number: int) -> Iterator[tuple[Any, Any]]:
    """Runs four times in a session: what came of each, and what must.

    Args:
        sandbox: where.
        number: every third ends in a crash, every third is closed by nobody.
    """
    session = sandbox.session()
    yield end_of(session.run(f"kept = {number}")), None
    yield end_of(session.run("kept + add(1, 2)")), number + 3
    yield end_of(session.run("1 / 0")), "python_error"
    if number % 3 == 0:
        yield end_of(session.run("import os\nos._exit(1)")), "crashed"
    else:
        yield end_of(session.run("kept")), number
    if number % 3 != 1:
        session.close()
