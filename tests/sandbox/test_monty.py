"""What is special about `monty`: a part of Python, in workers that are killed from here."""

from __future__ import annotations

import importlib.metadata
import os
import subprocess
import sys
import threading
from typing import Any

import pytest

pytest.importorskip("pydantic_monty", reason="the extra `monty` is not installed")

from antiphon._antiphon import CancellationToken
from antiphon.errors import SandboxUnavailable, UnsupportedCode
from antiphon.sandbox import Limits, Opaque, Sandbox
from antiphon.sandbox._monty import engine, values


@pytest.mark.parametrize(
    "code",
    ["class A(Exception):\n    pass", "def f():\n    yield 1", "import enum", "import subprocess"],
)
def test_what_monty_lacks_is_distinguished_from_a_mistake(code: str) -> None:
    with Sandbox(engine="monty") as box:
        error = box.run(code).error
        assert isinstance(error, UnsupportedCode)
        assert error.line == 1 + code.count("\n") * ("yield" in code)
        mistake = box.run("import no_such_module").error
        assert (mistake or pytest.fail("no error")).kind == "python_error"


def test_code_that_raises_what_monty_raises_itself_is_not_taken_for_the_host() -> None:
    with Sandbox(engine="monty") as box:
        for name in ("TimeoutError", "NotImplementedError", "RuntimeError"):
            error = box.run(f"raise {name}('suspension limit 1 exceeded')").error
            assert (error or pytest.fail("no error")).kind == "python_error"


def test_a_sleep_takes_no_time() -> None:
    with Sandbox(engine="monty", limits=Limits(wall=5)) as box:
        assert box.run("import time\ntime.sleep(1000)\n1").check().value == 1


def test_objects_come_out_inert_and_without_a_repr_that_has_no_end() -> None:
    shared = "x = [0]\nfor _ in range(40):\n    x = [x, x]\n"
    record = "from dataclasses import dataclass\n@dataclass\nclass P:\n    x: object\n"
    with Sandbox(engine="monty") as box:
        assert box.run(f"{record}P(1)").check().value == Opaque("P", 'P{"x": 1}')
        assert box.run("int").check().value == Opaque("type", "<class 'int'>")
        for code in (f"{record}{shared}P(x)", f"{shared}(1, [x])"):
            # Written out they have 2**40 parts: the run ends because those are counted first.
            error = box.run(code).error
            assert (error or pytest.fail("no error")).kind == "result_too_large"


def test_functions_classes_and_modules_are_no_locals() -> None:
    code = "import math\nfrom dataclasses import dataclass\ndef f(): pass\nclass C: pass\nx = 1"
    with Sandbox(engine="monty") as box:
        assert box.run(code).check().locals == {"x": 1}


def test_code_that_takes_the_name_locals_loses_its_locals_and_nothing_else() -> None:
    with Sandbox(engine="monty") as box:
        result = box.run("locals = 5\n7").check()
    assert (result.value, list(result.lost)) == (7, ["locals"])


def test_values_that_monty_has_no_type_for_go_in_as_the_nearest() -> None:
    import fractions
    import uuid

    number = uuid.UUID(int=5)
    inputs = {"a": fractions.Fraction(1, 3), "b": [number], "c": {"d": (number,)}}
    with Sandbox(engine="monty") as box:
        value = box.run("[a, b, c]", inputs=inputs).check().value
    assert value == ["1/3", [str(number)], {"d": (str(number),)}]


def test_no_more_calls_are_made_once_their_limit_is_reached() -> None:
    calls: list[int] = []

    def note(n: int) -> None:
        calls.append(n)

    with Sandbox(engine="monty", tools=[note], limits=Limits(host_calls=3)) as box:
        result = box.run("for n in range(100):\n    try:\n        note(n)\n    except: pass")
        assert (result.error or pytest.fail("no error")).kind == "host_call_limit"
        assert calls == [0, 1, 2]
        assert result.usage.host_calls == 4


def test_a_function_that_is_not_granted_is_never_called() -> None:
    with Sandbox(engine="monty", tools=[]) as box:
        for code in ("add(1)", "f = add\nf(1)", "eval('add(1)')"):
            error = box.run(code).error
            assert (error or pytest.fail("no error")).type == "NameError"


def test_a_worker_that_dies_is_a_crash_and_is_replaced() -> None:
    pids: list[int] = []
    made = engine.MontyEngine({"limits": Limits(wall=20).complete(), "mounts": {"files": []}})
    job = {"code": "f()", "want": ["value"], "inputs": {}, "tables": {}}
    with made.worker() as worker:
        pid = worker._session.worker_pid

        def die(*_: Any) -> None:
            pids.append(pid)
            os.kill(pid, 9)

        outcome = worker.run({**job, "functions": [{"name": "f", "doc": ""}]}, die, None)
    assert isinstance(outcome, dict)
    assert outcome["error"]["kind"] == "crashed"
    assert made.run({**job, "code": "1", "functions": []}, None, None)["value"] == 1
    made.close()


def test_a_call_that_hangs_is_left_behind_when_the_time_is_over() -> None:
    release = threading.Event()

    def hang() -> None:
        release.wait()

    with Sandbox(engine="monty", tools=[hang], limits=Limits(wall=0.3)) as box:
        error = box.run("hang()").error
        assert (error or pytest.fail("no error")).kind == "time_limit"
        assert not release.is_set()
    release.set()


def test_the_first_cancellation_counts() -> None:
    made = engine.MontyEngine({"limits": Limits(wall=20).complete(), "mounts": {"files": []}})
    token = CancellationToken()
    token.cancel("too late already")
    token.cancel("again")
    job = {"code": "while True: pass", "want": [], "inputs": {}, "tables": {}, "functions": []}
    assert made.run(job, None, token)["error"]["kind"] == "cancelled"
    assert token.reason == "too late already"
    made.close()


def test_a_fork_is_refused_in_place_of_hanging() -> None:
    script = (
        "import os, warnings; warnings.simplefilter('ignore')\n"
        "from antiphon.errors import InternalError\n"
        "from antiphon.sandbox import Sandbox\n"
        "box = Sandbox(engine='monty')\n"
        "assert box.run('1').value == 1\n"
        "child = os.fork()\n"
        "if child == 0:\n"
        "    for run in (lambda: box.run('2'), lambda: Sandbox(engine='monty').run('2')):\n"
        "        try:\n"
        "            run()\n"
        "            os._exit(1)\n"
        "        except InternalError as error:\n"
        "            assert error.code == 'process_forked'\n"
        "    box.close()\n"
        "    os._exit(0)\n"
        "assert os.waitpid(child, 0)[1] == 0\n"
        "assert box.run('3').value == 3\n"
        "session = box.session()\n"
        "assert session.run('x = 4').error is None\n"
        "for _ in range(5):\n"
        "    child = os.fork()\n"
        "    if child == 0:\n"
        "        session.close()\n"
        "        del box, session\n"
        "        raise SystemExit\n"
        "    assert os.waitpid(child, 0)[1] == 0\n"
        "    assert session.run('x').value == 4\n"
        "    assert box.run('5').value == 5\n"
    )
    subprocess.run([sys.executable, "-c", script], check=True, timeout=60)


def test_without_the_package_the_probe_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def gone(name: str) -> str:
        raise importlib.metadata.PackageNotFoundError(name)

    monkeypatch.setattr("antiphon.sandbox._engine.version", gone)
    found = engine.MONTY.probe()
    assert not found["ok"]
    assert "antiphon[monty]" in found["missing"][0]


def test_only_names_without_an_underscore_and_so_many_are_brought_out() -> None:
    names: dict[str, Any] = {f"n{i}": i for i in range(5)} | {"_hidden": 1}
    found, errors = values.locals_of(names, {}, total=1000, each=100, most=3)
    assert found == {"n0": 0, "n1": 1, "n2": 2}
    assert "more than 3" in errors["n3"]
    assert values.locals_of("no dict", {}, total=1, each=1, most=1) == ({}, {})


def test_packages_are_refused_before_anything_runs() -> None:
    with pytest.raises(SandboxUnavailable) as caught:
        Sandbox(packages=["numpy"], snapshot_key=b"0123456789abcdef")
    assert "has no package: numpy" in caught.value.details["engines"]["monty"]
