"""What a failing run tells: kind, words, and lines of the user's code alone."""

from __future__ import annotations

import pytest

from sandbox.guest.worker import Worker, once

_CHAIN = """\
import json

def outer(text):
    return inner(text)

def inner(text):
    return json.loads(text)

é = outer('{')
"""


def test_lines_columns_and_frames_are_those_of_the_users_code() -> None:
    error = once(_CHAIN)["error"]
    assert (error["kind"], error["type"]) == ("python_error", "JSONDecodeError")
    assert (error["line"], error["column"]) == (7, 12)
    assert error["source"] == "    return json.loads(text)"
    assert error["frames"] == [
        {"line": 9, "function": "<module>", "source": "é = outer('{')"},
        {"line": 4, "function": "outer", "source": "    return inner(text)"},
        {"line": 7, "function": "inner", "source": "    return json.loads(text)"},
    ]


def test_a_column_counts_characters() -> None:
    error = once("x = 'äöü€', 1 / 0")["error"]
    assert error["column"] == 13


def test_the_frames_are_the_last_five() -> None:
    error = once("def down(n): return 1 / n if n == 0 else down(n - 1)\ndown(20)")["error"]
    assert [frame["function"] for frame in error["frames"]] == ["down"] * 5


def test_a_session_tells_lines_of_the_cell_that_failed() -> None:
    with Worker() as worker:
        worker.run("def f():\n\n    raise ValueError('first')", name="<cell 1>")
        error = worker.run("f()", name="<cell 2>")["error"]
    assert error["source"] == "    raise ValueError('first')"
    assert [frame["source"] for frame in error["frames"]] == ["f()", error["source"]]


@pytest.mark.parametrize(
    ("code", "line", "column", "source"),
    [
        ("1 +", 1, 4, "1 +"),
        ("x = 1\nif x\n    y", 2, 5, "if x"),
        ("def f():\npass", 2, 1, "pass"),
        ("f(", 1, 2, "f("),
        ("x = 'äö' +* 2", 1, 11, "x = 'äö' +* 2"),
        ("return 5", 1, 1, "return 5"),
    ],
)
def test_a_syntax_error_has_its_place(code: str, line: int, column: int, source: str) -> None:
    error = once(code)["error"]
    assert error["kind"] == "syntax_error"
    assert (error["line"], error["column"], error["source"]) == (line, column, source)


@pytest.mark.parametrize(
    "code", ["x = 1\0", "\ud800".encode("utf-16", "surrogatepass").decode("latin-1")]
)
def test_source_that_is_no_text_is_a_syntax_error(code: str) -> None:
    assert once(code)["error"]["kind"] == "syntax_error"


@pytest.mark.parametrize(
    ("code", "kind", "name"),
    [
        ("raise SystemExit(3)", "python_error", "SystemExit"),
        ("exec('import sys; sys.exit()')", "python_error", "SystemExit"),
        ("raise KeyboardInterrupt", "python_error", "KeyboardInterrupt"),
        ("raise GeneratorExit", "python_error", "GeneratorExit"),
        ("class Own(Exception): pass\nraise Own('x')", "python_error", "Own"),
        ("eval('1 +')", "python_error", "SyntaxError"),
        ("bytearray(1 << 62)", "memory_limit", "MemoryError"),
        ("def f(): f()\nf()", "recursion_limit", "RecursionError"),
        ("raise PermissionError('no')", "denied", "PermissionError"),
        ("import os, errno\nraise OSError(errno.EPERM, 'no')", "denied", "PermissionError"),
        ("import errno\nraise OSError(errno.ENOSPC, 'full')", "disk_limit", "OSError"),
        ("import errno\nraise OSError(errno.EFBIG, 'long')", "disk_limit", "OSError"),
        ("open('/dev/full', 'w').write('x' * 10**6)", "disk_limit", "OSError"),
        ('raise RuntimeError("can\'t start new thread")', "process_limit", "RuntimeError"),
        (
            "import errno\nraise BlockingIOError(errno.EAGAIN, '')",
            "python_error",
            "BlockingIOError",
        ),
        ("open('/nowhere')", "python_error", "FileNotFoundError"),
    ],
)
def test_an_error_has_its_kind(code: str, kind: str, name: str) -> None:
    error = once(code)["error"]
    assert (error["kind"], error["type"]) == (kind, name)


@pytest.mark.parametrize(
    "code",
    [
        "import os\nif os.fork() == 0: os._exit(0)",
        "import subprocess\nsubprocess.run(['/bin/true'])",
        "import threading\nthreading.Thread(target=print).start()",
    ],
)
def test_a_limit_of_processes_is_reported_as_such(code: str) -> None:
    # Root is not held to the number of its processes.
    before = (
        "import os, resource, subprocess, threading\n"
        "resource.setrlimit(resource.RLIMIT_NPROC, (0, 0))\n"
        "if os.getuid() == 0: os.setuid(65534)"
    )
    with Worker(before=before) as worker:
        assert worker.run(code)["error"]["kind"] == "process_limit"


def test_a_read_that_would_block_is_no_limit() -> None:
    code = "import os\nr, w = os.pipe()\nos.set_blocking(r, False)\nos.read(r, 1)"
    assert once(code)["error"]["kind"] == "python_error"


@pytest.mark.parametrize("code", ["(" * 300 + ")" * 300, "x = " + "-" * 100_000 + "1"])
def test_code_nested_too_deeply_for_the_compiler_is_reported(code: str) -> None:
    try:
        error = once(code)["error"]
    except EOFError:
        return  # the compiler overran the stack: the host sees a crash
    assert error["kind"] in {"syntax_error", "recursion_limit", "memory_limit"}


def test_memory_that_runs_out_is_reported_although_there_is_none() -> None:
    limit = (
        "import resource\n"
        "pages = int(open('/proc/self/statm').read().split()[0])\n"
        "size = pages * resource.getpagesize() + (64 << 20)\n"
        "resource.setrlimit(resource.RLIMIT_AS, (size, size))\n"
    )
    with Worker() as worker:
        code = "hoard = []\nwhile True: hoard.append(bytes(1000))"
        error = worker.run(limit + code)["error"]
        assert (error["kind"], error["line"]) == ("memory_limit", 6)
        assert worker.run("hoard.clear()\n1")["value"] == 1


def test_notes_belong_to_the_message() -> None:
    code = "e = ValueError('odd')\ne.add_note('look at row 3')\nraise e"
    assert once(code)["error"]["message"] == "odd\nlook at row 3"


@pytest.mark.parametrize(
    ("code", "message"),
    [
        ("class E(Exception):\n    def __str__(self): raise E\nraise E", "<E whose str fails: E>"),
        ("class E(Exception):\n    def __str__(self): return 5\nraise E", "TypeError"),
        ("raise ValueError('\\ud800')", "\ufffd"),
        ("raise ValueError('x' * 10**6)", "x" * 3999 + "…"),
        ("class E(Exception):\n    __notes__ = 5\nraise E('m')", "m"),
    ],
)
def test_a_message_is_bounded_text_for_any_exception(code: str, message: str) -> None:
    assert message in once(code)["error"]["message"]


def test_an_exception_with_odd_attributes_is_reported() -> None:
    code = (
        "class E(OSError):\n"
        "    @property\n    def errno(self): raise KeyError\n"
        "    @property\n    def __notes__(self): raise KeyError\n"
        "    @property\n    def __class__(self): return MemoryError\n"
        "raise E"
    )
    error = once(code)["error"]
    assert (error["kind"], error["type"]) == ("python_error", "E")


def test_a_compile_under_the_cells_name_does_not_break_the_report() -> None:
    code = "exec(compile('\\n' * 50 + '1 / 0', '<cell 1>', 'exec'))"
    error = once(code)["error"]
    assert (error["line"], error["source"]) == (51, "")
