"""The engine as Python meets it: data packages inside, forks and deaths of the host outside."""

from __future__ import annotations

import contextlib
import gc
import io
import os
import resource
import select
import signal
import subprocess
import sys
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

from antiphon import models
from antiphon._antiphon import CancellationToken, NativeSandbox, sandbox_probe
from antiphon.errors import SandboxUnavailable, ValidationError
from support.processes import descendants

if TYPE_CHECKING:
    from collections.abc import Iterator

GUEST = Path(__file__).resolve().parents[3] / "python/antiphon/sandbox/_guest"
SITE = Path(pytest.__file__).parent.parent
# pandas needs pytz up to version 2.
DATA = ("numpy", "pandas", "pyarrow", "dateutil", "pytz", "six.py")
_TIMEOUT = 60

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the jail is made of Linux")


def settings(**more: Any) -> dict[str, Any]:
    """The least settings of an engine, with those that a test adds."""
    return {"engine": "process", "python": sys.executable, "guest": str(GUEST), **more}


def job(code: str, **more: Any) -> dict[str, Any]:
    """A job that brings out its value."""
    return {"code": code, "name": "<cell 1>", "want": ["value"], **more}


@pytest.fixture
def sandbox() -> Iterator[NativeSandbox]:
    """One that is closed in every case."""
    made = NativeSandbox(settings(spares=1))
    yield made
    made.close()


@pytest.fixture(scope="module")
def data() -> Iterator[NativeSandbox]:
    """One with packages for data."""
    # Libraries of a wheel's own lie beside it.
    beside = [*SITE.glob("*.libs"), *(SITE / name for name in DATA)]
    read = [str(path) for path in beside if path.exists()]
    made = NativeSandbox(
        settings(
            packages=["numpy", "pandas", "pyarrow"],
            mounts={"read": read, "files": []},
            limits={"memory": 512 << 20, "wall": 60},
            spares=1,
        )
    )
    yield made
    made.close()


def test_the_probe_is_remembered() -> None:
    first = sandbox_probe(settings())
    assert first["ok"]
    assert first["isolation"] == "os-jail"
    assert first["layers"]["seccomp"] is True
    ended = resource.getrusage(resource.RUSAGE_CHILDREN)
    assert sandbox_probe(settings()) == first
    assert resource.getrusage(resource.RUSAGE_CHILDREN) == ended, "a worker was started"


def test_a_result_has_all_that_the_face_needs(sandbox: NativeSandbox) -> None:
    found = sandbox.run(job("print('hi')\n6 * 7"))
    assert found["value"] == 42
    assert found["stdout"] == "hi\n"
    # What is empty is left out.
    assert found.keys() == {"value", "stdout", "usage", "engine", "isolation"}
    assert (found["engine"], found["isolation"]) == ("process", "os-jail")
    assert found["usage"]["start"] in {"cold", "fork", "spare"}
    assert found["usage"]["wall"] > 0


def test_a_setting_of_another_form_is_refused() -> None:
    for wrong in ({"engine": "docker"}, {"spares": -1}, {"unheard": 1}, {"python": "python3"}):
        with pytest.raises(ValidationError) as caught:
            NativeSandbox(settings(**wrong))
        assert caught.value.code == "sandbox_setting_invalid"


def test_a_session_that_cannot_be_had_is_unavailable() -> None:
    made = NativeSandbox(settings(python="/nowhere/python"))
    with pytest.raises(SandboxUnavailable, match="/nowhere/python"):
        made.session()
    made.close()


def test_data_packages_work_inside(data: NativeSandbox) -> None:
    code = "import numpy, pandas\nint(pandas.DataFrame({'a': numpy.arange(4)}).a.sum())"
    assert data.run(job(code))["value"] == sum(range(4))


def test_no_two_workers_have_the_same_chances(data: NativeSandbox) -> None:
    code = "import numpy, random\n[float(numpy.random.random()), random.random()]"
    drawn = [data.run(job(code))["value"] for _ in range(3)]
    assert len({numbers[0] for numbers in drawn}) == len(drawn)
    assert len({numbers[1] for numbers in drawn}) == len(drawn)


def test_tables_go_in_and_come_out(data: NativeSandbox) -> None:
    table = pa.table({"a": [1, 2, 3]})
    stream = io.BytesIO()
    with pa.ipc.new_stream(stream, table.schema) as writer:
        writer.write_table(table)
    asked = job("df['b'] = df.a * 2\ndf", tables={"df": stream.getvalue()})
    found = data.run(asked | {"want": ["value", "tables"]})
    assert "error" not in found
    [(name, back)] = found["tables"]
    assert found["value"] == {"$": "table", "name": name}
    assert pa.ipc.open_stream(back).read_all().to_pydict() == {"a": [1, 2, 3], "b": [2, 4, 6]}


def test_a_known_secret_is_masked_in_a_table_that_comes_out(data: NativeSandbox) -> None:
    secret = "~key-of-a-sandbox-table-1"
    models.get("openai:any", api_key=secret, base_url="http://127.0.0.1:9/v1")
    code = f"import pandas\npandas.DataFrame({{'{secret}': ['({secret})', 'tea']}})"
    found = data.run(job(code) | {"want": ["value", "tables"]})
    [(_, back)] = found["tables"]
    mask = "*" * len(secret)
    assert pa.ipc.open_stream(back).read_all().to_pydict() == {mask: [f"({mask})", "tea"]}


def test_other_packages_of_the_host_are_not_there(data: NativeSandbox) -> None:
    found = data.run(job("import pytest"))
    assert found["error"]["type"] == "ModuleNotFoundError"
    found = data.run(job(f"import os\nsorted(os.listdir({str(SITE)!r}))"))
    assert found["error"]


def test_a_function_of_the_host_is_called_with_tagged_values(sandbox: NativeSandbox) -> None:
    def call(name: str, args: list[Any], kwargs: dict[str, Any]) -> Any:
        assert threading.current_thread() is not threading.main_thread()
        if name == "fail":
            raise LookupError("no such row")
        return {"$": "tuple", "v": [args, kwargs]}

    functions = [{"name": "ask", "doc": "Asks."}, {"name": "fail", "doc": ""}]
    found = sandbox.run(job("ask((1, 2), key=b'x')", functions=functions), call)
    assert "error" not in found
    args, kwargs = found["value"]["v"]
    assert args == [{"$": "tuple", "v": [1, 2]}]
    assert kwargs == {"key": {"$": "bytes", "v": "eA=="}}
    found = sandbox.run(job("fail()", functions=functions), call)
    assert found["error"]["kind"] == "host_call_failed"
    assert "LookupError: no such row" in found["error"]["message"]
    assert "Traceback" not in str(found)


def test_a_cancellation_token_ends_a_job(sandbox: NativeSandbox) -> None:
    token, began = CancellationToken(), threading.Event()

    def pull() -> None:
        began.wait(_TIMEOUT)
        token.cancel("the user left")

    def call(*_: Any) -> None:
        began.set()

    thread = threading.Thread(target=pull)
    thread.start()
    code = "started()\nwhile True: pass"
    asked = job(code, functions=[{"name": "started", "doc": ""}])
    found = sandbox.run(asked, call, token)
    thread.join()
    assert (found["error"]["kind"], found["error"]["message"]) == ("cancelled", "the user left")


def test_ctrl_c_ends_a_job(sandbox: NativeSandbox) -> None:
    def call(*_: Any) -> None:
        signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)

    asked = job("started()\nwhile True: pass", functions=[{"name": "started", "doc": ""}])
    with pytest.raises(KeyboardInterrupt):
        sandbox.run(asked, call)
    assert sandbox.run(job("1"))["value"] == 1


def test_a_closed_sandbox_runs_nothing(sandbox: NativeSandbox) -> None:
    session = sandbox.session()
    sandbox.close()
    for run in (sandbox.run, session.run):
        assert run(job("1"))["error"] == {"kind": "cancelled", "message": "the sandbox was closed"}
    with pytest.raises(RuntimeError, match="closed"):
        sandbox.session()
    session.close()
    with pytest.raises(RuntimeError, match="closed"):
        session.run(job("1"))


def test_a_fork_of_the_host_has_its_own_workers(sandbox: NativeSandbox) -> None:
    assert sandbox.run(job("1"))["value"] == 1
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        line = b"?"
        with contextlib.suppress(BaseException):
            value = sandbox.run(job("40 + 2"))["value"]
            sandbox.close()
            gc.collect()
            line = f"{value}, closed".encode()
        os.write(write, line)
        os._exit(0)
    os.close(write)
    with os.fdopen(read, "rb") as pipe:
        assert pipe.read() == b"42, closed"
    os.waitpid(child, 0)
    assert sandbox.run(job("2"))["usage"]["start"] != "cold"


_HOST = """
import sys
from antiphon._antiphon import NativeSandbox
settings = {"engine": sys.argv[1], "python": sys.executable, "guest": sys.argv[2], "spares": 2}
sandbox = NativeSandbox(settings)
session = sandbox.session()
functions = [{"name": "started", "doc": ""}]
def call(*_):
    print("running", flush=True)
limits = "started()\\nwhile True: pass"
job = {"code": limits, "name": "<cell 1>", "want": [], "functions": functions}
sandbox.run(job, call)
"""


@pytest.mark.parametrize("engine", ["process", "subprocess"])
def test_nothing_survives_a_host_that_is_killed(engine: str) -> None:
    command = [sys.executable, "-c", _HOST, engine, str(GUEST)]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as host:
        assert host.stdout is not None
        assert host.stdout.readline() == b"running\n"
        names = [os.pidfd_open(pid) for pid in descendants(host.pid)]
        assert len(names) >= 3
        host.kill()
    try:
        for name in names:
            ready, _, _ = select.select([name], [], [], _TIMEOUT)
            assert ready
    finally:
        for name in names:
            os.close(name)
