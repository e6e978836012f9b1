"""A node that forks the process: the child gets an error at once, the parent continues unharmed."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from support.postgres import Server

FORKER = Path(__file__).with_name("forking_process.py")
# A thread of ours, or an event loop, which nobody waits for in the child: it ends.
ENDED = ["invoke-async", "stream-async", "wide invoke-async"]
ENDED += [f"{wide}a{way}" for wide in ("", "wide ") for way in ("invoke", "invoke-async")]
ENDED += ["astream", "astream-async"]

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork")


def fork(
    url: str, way: str, act: str, durability: str = "async", folder: Path | None = None
) -> tuple[list[str], str]:
    """What the processes said, and what they complained of."""
    command = [sys.executable, "-W", "ignore", str(FORKER), url, way, act, durability]
    done = subprocess.run(
        command, capture_output=True, text=True, check=False, timeout=60, cwd=folder
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines(), done.stderr


def end(way: str) -> str:
    """What the parent's run comes to."""
    return "end beside,forked,after ended" if "wide" in way else "end forked,after ended"


REPORTED = ["child process_forked", "status 3"]


@pytest.mark.parametrize("act", ["return", "raise"])
def test_a_forked_child_that_returns_from_its_node_gets_an_error(url: str, act: str) -> None:
    said, complaints = fork(url, "invoke", act)
    assert said == [*REPORTED, "after parent", end("")], complaints


@pytest.mark.parametrize("act", ["return", "raise"])
@pytest.mark.parametrize("way", ["stream", "wide invoke"])
def test_a_forked_child_of_any_thread_continues_nothing(url: str, way: str, act: str) -> None:
    said, complaints = fork(url, way, act)
    assert said[-2:] == ["after parent", end(way)], complaints
    assert said[:-2] == REPORTED or (said[:-2] == ["status 1"] and "in a fork" in complaints)


@pytest.mark.parametrize("act", ["return", "raise"])
@pytest.mark.parametrize("way", ENDED)
def test_a_child_that_nobody_waits_for_reports_it_and_ends(
    tmp_path: Path, way: str, act: str
) -> None:
    said, complaints = fork(f"sqlite:{tmp_path / 'runs.db'}", way, act)
    assert said == ["status 1", "after parent", end(way)], complaints
    assert "cannot be used in a fork" in complaints
    if act == "raise" and "wide ainvoke-async" not in way:
        assert "ValueError: in the child" in complaints


@pytest.mark.parametrize("way", ["invoke", "invoke-async", "ainvoke", "ainvoke-async"])
def test_a_child_that_exits_exits(tmp_path: Path, way: str) -> None:
    said, complaints = fork(f"sqlite:{tmp_path / 'runs.db'}", way, "leave")
    assert said == ["status 7", "after parent", end(way)], complaints


@pytest.mark.parametrize("durability", ["sync", "async", "exit"])
@pytest.mark.parametrize("act", ["step", "repeatable"])
def test_a_child_makes_no_call_of_the_run(url: str, act: str, durability: str) -> None:
    said, complaints = fork(url, "invoke", act, durability)
    assert said == [*REPORTED, "after parent", end("")], complaints


@pytest.mark.parametrize("act", ["return", "look", "await", "again"])
def test_a_saver_does_not_serve_a_child(url: str, act: str) -> None:
    said, complaints = fork(url, "invoke", act)
    assert said == [*REPORTED, "after parent", end("")], complaints


@pytest.mark.parametrize("act", ["return", "look", "await", "again", "step"])
def test_a_saver_in_memory_does_not_either(act: str) -> None:
    said, complaints = fork("memory:", "invoke", act)
    assert said == [*REPORTED, "after parent", end("")], complaints


@pytest.mark.parametrize("act", ["open", "elsewhere"])
def test_a_child_opens_no_file_while_its_parent_has_one_open(tmp_path: Path, act: str) -> None:
    said, complaints = fork(f"sqlite:{tmp_path / 'runs.db'}", "invoke", act)
    assert said == [*REPORTED, "after parent", end("")], complaints


def test_a_child_opens_files_if_its_parent_had_none_open(tmp_path: Path) -> None:
    said, complaints = fork("memory:", "invoke", "elsewhere", folder=tmp_path)
    assert said == ["the child went on", "status 0", "after parent", end("")], complaints


def test_a_child_opens_its_own_saver_of_the_same_database(postgres: Server) -> None:
    said, complaints = fork(postgres.database(), "invoke", "open")
    assert said == ["the child went on", "status 0", "after parent", end("")], complaints


def test_a_review_loop_survives_forks_of_its_model(url: str) -> None:
    said, complaints = fork(url, "loop", "return")
    assert said == ["status 1", "end retry_limit ended"], complaints
    assert "cannot be used in a fork" in complaints
