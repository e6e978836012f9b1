"""The worker's loop: jobs, namespaces, streams, the host's functions."""

from __future__ import annotations

import signal
import sys
from typing import Any

import pytest

from sandbox.guest.worker import Worker, once


def test_the_value_is_that_of_the_last_expression() -> None:
    assert once("x = 20\nx + 1")["value"] == 21


@pytest.mark.parametrize("code", ["", "# nothing", "x = 1", "if True:\n    5", "def f(): 5"])
def test_code_that_ends_otherwise_has_no_value(code: str) -> None:
    outcome = once(code)
    assert outcome["value"] is None
    assert outcome["error"] is None


def test_what_a_session_assigned_is_there_in_its_next_run() -> None:
    with Worker() as worker:
        worker.run("import math\nradius = 2\ndef area(): return radius ** 2")
        assert worker.run("radius = 3\narea() + math.floor(0.5)")["value"] == 9


def test_a_failed_run_leaves_what_it_had_assigned() -> None:
    with Worker() as worker:
        worker.run("kept = 5\n1 / 0")
        assert worker.run("kept")["value"] == 5


def test_locals_are_the_assigned_names_without_modules_functions_and_classes() -> None:
    code = (
        "import math\nfrom math import pi, floor\ntotal = given + 1\n_hidden = 1\n"
        "def f(): pass\nclass C: pass\nclass M(type): pass\nclass D(metaclass=M): pass\nc = 'text'"
    )
    assert once(code, inputs={"given": 4})["locals"] == {
        "pi": 3.141592653589793,
        "total": 5,
        "c": "text",
    }


def test_an_input_is_a_local_only_once_it_is_assigned_anew() -> None:
    inputs = {"left": 1, "right": 2}
    assert once("right = 3", inputs=inputs)["locals"] == {"right": 3}


def test_only_wanted_values_are_returned() -> None:
    outcome = once("x = 1\nx", want=[])
    assert "value" not in outcome
    assert outcome["locals"] == {}


def test_a_local_that_is_too_large_fails_alone() -> None:
    outcome = once("small = 1\nlarge = 'x' * 100_000\nlast = 2")
    assert outcome["locals"] == {"small": 1, "last": 2}
    assert outcome["local_errors"]["large"]["kind"] == "result_too_large"


def test_locals_share_a_budget() -> None:
    outcome = once("a = 'x' * 60\nb = 'y' * 60", limits={"locals_bytes": 100})
    assert list(outcome["locals"]) == ["a"]
    assert list(outcome["local_errors"]) == ["b"]


def test_more_names_than_allowed_are_reported() -> None:
    outcome = once("a = 1\nb = 2\nc = 3", limits={"local_names": 2})
    assert outcome["locals"] == {"a": 1, "b": 2}
    assert "more than 2 names" in outcome["local_errors"]["c"]["message"]


def test_a_worker_that_rehearses_leaves_nothing_to_its_job() -> None:
    code = (
        "import gc, linecache, sys\n"
        "places = [sys.modules['__main__'].__dict__ is globals(), 'words' in globals()]\n"
        "kept = [name for name in linecache.cache if 'rehearsal' in name]\n"
        "(places, kept, sorted(name for name in globals() if not name.startswith('_')))"
    )
    with Worker(waits=True) as worker:
        outcome = worker.run(code)
        [places, kept, names] = outcome["value"]["v"]
        assert (places, kept) == ([True, False], [])
        assert names == ["gc", "kept", "linecache", "places", "sys"]
        assert (worker.stdout, worker.stderr) == ("", "")


def test_lines_of_an_error_are_the_jobs_own_after_a_warmup() -> None:
    with Worker(waits=True) as worker:
        error = worker.run("x = 1\nx / 0")["error"]
    assert (error["line"], error["source"], len(error["frames"])) == (2, "x / 0", 1)


def test_what_is_printed_is_data_and_never_protocol() -> None:
    with Worker() as worker:
        outcome = worker.run("import os\nprint('\\x05\\0\\0\\0O{}')\nos.write(1, b'raw\\n')\n7")
        assert outcome["value"] == 7
        assert worker.stdout == "\x05\0\0\0O{}\nraw\n"


def test_what_was_printed_before_a_kill_is_there() -> None:
    with Worker() as worker:
        with pytest.raises(EOFError):
            worker.run("print('before')\nimport os\nos._exit(0)")
        worker.process.wait(10)
        assert worker.stdout == "before\n"


def test_what_cannot_be_printed_is_escaped() -> None:
    with Worker() as worker:
        assert worker.run("print('\\ud800 ä')")["error"] is None
        assert worker.stdout == "\\ud800 ä\n"


def test_the_code_is_the_main_module() -> None:
    code = (
        "import dataclasses, pickle, sys, typing\n"
        "@dataclasses.dataclass\nclass Point:\n    x: 'int'\n"
        "hints = typing.get_type_hints(Point)['x'] is int\n"
        "same = pickle.loads(pickle.dumps(Point(3))) == Point(3)\n"
        "__name__, hints, same, sys.argv, '__file__' in globals()"
    )
    assert once(code)["value"]["v"] == ["__main__", True, True, [""], False]


def test_the_guest_needs_the_standard_library_alone() -> None:
    code = "import sys\nsorted({name.partition('.')[0] for name in sys.modules})"
    loaded = set(once(code)["value"])
    assert loaded - {"_guest", "__main__", "__mp_main__"} <= set(sys.stdlib_module_names)
    assert "antiphon" not in loaded


def test_a_future_import_holds_for_the_last_expression() -> None:
    code = "from __future__ import annotations\ndef f(x: undefined): pass\nf.__annotations__"
    assert once(code)["value"] == {"x": "undefined"}


def test_our_own_future_imports_do_not_reach_the_code() -> None:
    assert once("def f(x: int): pass\nf.__annotations__['x'] is int")["value"] is True


def test_a_tracer_and_a_low_recursion_limit_do_not_hinder_the_outcome() -> None:
    code = (
        "import sys\ndef trace(*_): raise ValueError\n"
        "value = [[[[1]]]]\nsys.setrecursionlimit(60)\nsys.setprofile(lambda *_: None)\n"
        "sys.settrace(trace)"
    )
    outcome = once(code)
    assert outcome["error"] is None
    assert outcome["locals"]["value"] == [[[[1]]]]


def test_an_alarm_during_the_outcome_is_an_error_of_the_run() -> None:
    code = (
        "import signal\ndef ring(*_): raise KeyboardInterrupt('late')\n"
        "signal.signal(signal.SIGALRM, ring)\n"
        "class Slow:\n"
        "    def __repr__(self):\n"
        "        signal.raise_signal(signal.SIGALRM)\n        return 'x'\n"
        "value = Slow()"
    )
    outcome = once(code)
    assert "KeyboardInterrupt" in outcome["locals"]["value"]["repr"]


def test_the_loop_ends_when_the_host_does() -> None:
    with Worker() as worker:
        worker.run("1")
        worker.socket.close()
        assert worker.process.wait(30) == 0


def test_a_job_of_another_kind_ends_the_worker() -> None:
    with Worker() as worker:
        worker.frame()
        worker.send("X", b"{}")
        assert worker.process.wait(30) == 1
        assert "ProtocolViolation" in worker.stderr


class TestFunctionsOfTheHost:
    def test_functions_of_the_host_take_and_give_values(self) -> None:
        def join(*words: str, sep: Any) -> Any:
            return {"$": "tuple", "v": [sep["v"][0].join(words), len(words)]}

        outcome = once("join('a', 'b', sep=('-',))", functions={"join": join})
        assert outcome["value"] == {"$": "tuple", "v": ["a-b", 2]}

    def test_functions_of_the_host_are_no_locals_and_have_a_name_and_a_doc(self) -> None:
        outcome = once("x = add.__name__, add.__doc__", functions={"add": lambda: None})
        assert list(outcome["locals"]) == ["x"]
        assert outcome["locals"]["x"]["v"] == ["add", "Asks add."]

    def test_their_failure_is_a_tool_error(self) -> None:
        def fail() -> None:
            raise KeyError("no such city")

        code = (
            "try:\n    fail()\nexcept ToolError as problem:\n"
            "    caught = [problem.type, problem.message, isinstance(problem, RuntimeError)]\n"
            "fail()"
        )
        outcome = once(code, functions={"fail": fail})
        assert outcome["locals"]["caught"] == ["KeyError", "'no such city'", True]
        assert outcome["error"]["type"] == "ToolError"
        assert outcome["error"]["message"] == "KeyError: 'no such city'"
        assert outcome["error"]["line"] == 5

    def test_arguments_without_a_form_are_refused_in_the_guest(self) -> None:
        outcome = once("take(object())", functions={"take": lambda _: None})
        assert outcome["error"]["type"] == "TypeError"
        assert "an argument of `take` cannot be sent" in outcome["error"]["message"]

    def test_arguments_past_their_budget_are_refused_in_the_guest(self) -> None:
        outcome = once("take('x' * 2_000_000)", functions={"take": lambda _: None})
        assert outcome["error"]["type"] == "ValueError"
        assert "too large" in outcome["error"]["message"]

    def test_an_argument_named_like_a_tag_is_refused(self) -> None:
        outcome = once("take(**{'$': 'int'})", functions={"take": lambda **_: None})
        assert outcome["error"]["type"] == "TypeError"

    def test_several_threads_of_the_guest_call_the_host(self) -> None:
        code = (
            "from concurrent.futures import ThreadPoolExecutor\n"
            "with ThreadPoolExecutor(8) as pool:\n"
            "    doubled = list(pool.map(double, range(200)))\n"
            "doubled == [2 * n for n in range(200)]"
        )
        assert once(code, functions={"double": lambda n: 2 * n})["value"] is True

    def test_a_worker_without_a_host_ends_in_a_call(self) -> None:
        with Worker() as worker:
            worker.frame()
            worker.send("J", worker.job("wait()", functions={"wait": len}))
            assert worker.frame()[0] == "C"
            worker.socket.close()
            assert worker.process.wait(30) == 1


def test_a_worker_survives_an_interrupt_between_calls() -> None:
    with Worker() as worker:
        code = "import os, signal\nos.kill(os.getpid(), signal.SIGINT)\n"
        assert worker.run(code)["error"]["type"] == "KeyboardInterrupt"
        assert worker.process.poll() != -signal.SIGINT
        assert worker.run("1")["value"] == 1
