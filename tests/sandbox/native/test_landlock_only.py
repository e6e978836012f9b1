"""Where user namespaces are refused `process` is not used, unless what is left is accepted."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

import pytest

from support.engines import needs

pytestmark = needs("process")

_REFUSED = [
    *["unshare", "--user", "--map-root-user", "sh", "-c"],
    'echo 0 > /proc/sys/user/max_user_namespaces && exec "$@"',
    "sh",
]
_TIMEOUT = 120


def printed(code: str) -> Any:
    """What code prints as JSON on a machine without user namespaces."""
    done = subprocess.run(
        [*_REFUSED, sys.executable, "-c", code],
        capture_output=True,
        text=True,
        timeout=_TIMEOUT,
        check=False,
    )
    if done.returncode and "max_user_namespaces" in done.stderr:
        pytest.skip(f"namespaces cannot be refused here: {done.stderr}")
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_the_engine_is_not_used_and_a_weaker_one_not_taken_in_silence() -> None:
    code = """
import json, warnings
from antiphon.errors import SandboxUnavailable
from antiphon.sandbox import Sandbox
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    try:
        with Sandbox() as box:
            taken = box.run("1").engine
        Sandbox().close()
    except SandboxUnavailable:
        taken = None
try:
    Sandbox("process")
except SandboxUnavailable as error:
    why = str(error)
print(json.dumps([taken, [str(one.message) for one in caught], why]))
"""
    taken, warnings, why = printed(code)
    assert "a private root, which needs user namespaces" in why
    if taken is not None:
        [warning] = warnings
        assert f"takes the engine `{taken}`" in warning
        assert "private root" in warning


def test_accepting_landlock_alone_gives_what_it_promises_and_a_warning() -> None:
    code = """
import json
from antiphon.errors import SandboxUnavailable
from antiphon.sandbox import Sandbox
found = {}
with Sandbox("process", i_accept_landlock_only=True) as box:
    result = box.run("1 + 1").check()
    found["said"] = [result.value, result.engine, result.isolation, list(result.layers)]
    for name, code in {
        "reads": "open('/etc/passwd').read()",
        "lists": "import os\\nos.listdir('/etc')",
        "writes": "import tempfile\\ntempfile.mkdtemp()",
        "reaches": "import socket\\nsocket.socket()",
    }.items():
        found[name] = box.run(code).ok
    found["sees"] = box.run("import os\\nos.path.exists('/etc/passwd')").value
try:
    Sandbox("process", files=[__import__("os").__file__], i_accept_landlock_only=True)
except SandboxUnavailable as error:
    found["files"] = "shows no files without a private root" in str(error)
print(json.dumps(found))
"""
    found = printed(code)
    layers = ["landlock", "limits", "privileges", "seccomp"]
    assert found.pop("said") == [2, "process", "landlock", layers]
    assert found == {
        "reads": False,
        "lists": False,
        "writes": False,
        "reaches": False,
        # What it cannot keep back, and is documented.
        "sees": True,
        "files": True,
    }


def test_doctor_tells_what_is_missing_and_what_could_be_accepted() -> None:
    code = """
import contextlib, io, json
from antiphon._cli.doctor import doctor
with contextlib.redirect_stdout(io.StringIO()) as said:
    doctor(as_json=False)
print(json.dumps(said.getvalue()))
"""
    said = printed(code)
    assert "missing: private root: it needs namespaces" in said
    assert "i_accept_landlock_only=True" in said


def test_a_result_names_the_layers_it_ran_behind() -> None:
    from antiphon.sandbox import Sandbox

    with Sandbox("process") as box:
        result = box.run("1")
        assert (result.isolation, result.layers) == ("os-jail", box.layers)
        assert {"namespaces", "private_root", "seccomp", "limits"} <= {*result.layers}
        assert result.to_dict()["layers"] == [*box.layers]
