"""Downloads from a hub with huggingface_hub, and from a package index with pip."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from antiphon.errors import ModelTransportError, ValidationError
from antiphon.local.cache import Cache
from antiphon.local.fetch import fetch
from antiphon.local.hub import fetch_from_hub
from antiphon.local.progress import Progress
from local.conftest import Index
from local.tiny import PART, part_file, tiny_content, tiny_model, wheel
from support.waiting import happens

CONTENT = tiny_content()
MODEL = tiny_model(CONTENT)
SMALL_CONTENT = tiny_content(2)
SMALL = tiny_model(SMALL_CONTENT)

SCRIPT = """
import sys
sys.path.insert(0, {here!r})
from local.tiny import tiny_content, tiny_model
from antiphon.local.fetch import fetch
def report(progress):
    print(progress.stage, progress.done, flush=True)
print("at", fetch({model}, report=report), flush=True)
"""


def start(model: str = "tiny_model(tiny_content())") -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", SCRIPT.format(here=str(Path(__file__).parents[1]), model=model)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def wait_until(reached: Callable[[], bool], child: subprocess.Popen[str]) -> None:
    happens(lambda: reached() or child.poll() is not None)
    assert reached()


def _line(child: subprocess.Popen[str]) -> str:
    assert child.stdout is not None
    return child.stdout.readline()


def staged_parts() -> int:
    path = Cache().unfinished(MODEL)
    return path.stat().st_size // PART if path.exists() else 0


def test_parts_are_joined_in_numeric_order_and_cleaned_up(index: Index, cache_dir: Path) -> None:
    content = tiny_content(11)
    model = tiny_model(content)
    index.publish(model, content)
    seen: list[Progress] = []
    path = fetch(model, report=seen.append)
    assert path == cache_dir / "models" / "tiny.gguf"
    assert path.read_bytes() == content
    assert index.requests(model) == [1] * 11
    left = {one.name for one in path.parent.iterdir()}
    assert left == {"tiny.gguf", "tiny.gguf.lock", "tiny.gguf.verified"}
    done = [one.done for one in seen if one.stage == "fetching"]
    assert done == sorted(done)
    assert done[-1] == model.size
    assert [one.done for one in seen if one.stage == "verifying"] == [0, model.size]
    assert all(one.total == model.size for one in seen)


def test_a_cached_model_asks_nobody(index: Index, cache_dir: Path) -> None:
    index.publish(SMALL, SMALL_CONTENT)
    fetch(SMALL)
    seen: list[Progress] = []
    fetch(SMALL, report=seen.append)
    assert seen == []
    assert index.requests(SMALL) == [1] * 2


def test_a_part_that_failed_is_the_only_one_fetched_again(index: Index, cache_dir: Path) -> None:
    index.publish(MODEL, CONTENT)
    missing = index.files.pop(part_file(MODEL, 3))
    with pytest.raises(ModelTransportError) as caught:
        fetch(MODEL)
    assert caught.value.code == "local_model_unavailable"
    assert "antiphon-tiny-part3==1.0" in caught.value.details["sources"]["package index"]
    index.files[part_file(MODEL, 3)] = missing
    assert fetch(MODEL).read_bytes() == CONTENT
    # What was on its way when part 3 failed was kept, too.
    assert index.requests(MODEL) == [1] * 5


def test_a_killed_fetch_continues_where_it_was(index: Index, cache_dir: Path) -> None:
    index.publish(MODEL, CONTENT)
    release = index.hold(MODEL, 5)
    child = start()
    wait_until(lambda: staged_parts() == 3, child)
    child.send_signal(signal.SIGKILL)
    child.communicate()
    release.set()
    assert fetch(MODEL).read_bytes() == CONTENT
    assert index.requests(MODEL)[:3] == [1, 1, 1]


def test_two_processes_fetch_once(index: Index, cache_dir: Path) -> None:
    index.publish(MODEL, CONTENT)
    release = index.hold(MODEL, 5)
    children = [start(), start()]
    # One of the two says that it waits; only then may the other come to its end.
    stages = [_line(child).split()[0] for child in children]
    assert sorted(stages) == ["fetching", "waiting"]
    release.set()
    outputs = [child.communicate(timeout=60)[0] for child in children]
    assert [child.returncode for child in children] == [0, 0]
    assert all(output.splitlines()[-1].startswith("at ") for output in outputs)
    assert index.requests(MODEL) == [1] * 5
    assert Cache().path(MODEL).read_bytes() == CONTENT


def test_a_wrong_hash_is_refused_and_nothing_is_left_of_it(index: Index, cache_dir: Path) -> None:
    index.publish(SMALL, SMALL_CONTENT[:-1] + b"!")
    with pytest.raises(ModelTransportError) as caught:
        fetch(SMALL)
    reason = caught.value.details["sources"]["package index"]
    assert f"expected sha256 {SMALL.sha256}" in reason
    assert isinstance(caught.value.__cause__, ExceptionGroup)
    causes: Any = caught.value.__cause__.exceptions
    assert [cause.code for cause in causes] == ["local_source_failed", "local_model_mismatch"]
    assert causes[1].details["actual"] in reason
    assert not Cache().path(SMALL).exists()
    index.publish(SMALL, SMALL_CONTENT)
    assert fetch(SMALL).read_bytes() == SMALL_CONTENT


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (wheel("antiphon-tiny-part2", "1.0", b"short"), "one file of 100000 bytes"),
        (wheel("antiphon-tiny-part2", "1.0", b"x" * PART, "data/part.txt"), "one file of 100000"),
    ],
    ids=["another size", "no content member"],
)
def test_a_part_that_holds_something_else_is_refused(
    index: Index, cache_dir: Path, content: bytes, message: str
) -> None:
    index.publish(MODEL, CONTENT)
    index.files[part_file(MODEL, 2)] = content
    with pytest.raises(ModelTransportError, match=message):
        fetch(MODEL)


HUB_MODEL = tiny_model(CONTENT, repository="ann/tiny-GGUF")
SMALL_HUB_MODEL = tiny_model(SMALL_CONTENT, repository="ann/tiny-GGUF")


def test_the_hub_comes_first_and_the_index_is_not_asked(index: Index, cache_dir: Path) -> None:
    index.publish(HUB_MODEL, CONTENT)
    name = index.publish_on_hub(HUB_MODEL, CONTENT)
    seen: list[Progress] = []
    path = fetch(HUB_MODEL, report=seen.append)
    assert path.read_bytes() == CONTENT
    assert index.asked[name] == 1
    assert sum(index.requests(HUB_MODEL)) == 0
    assert {one.stage for one in seen} == {"fetching", "verifying"}
    assert max(one.done for one in seen if one.stage == "fetching") == HUB_MODEL.size
    assert {one.name for one in path.parent.iterdir()} == {
        "tiny.gguf",
        "tiny.gguf.lock",
        "tiny.gguf.verified",
    }


def test_a_killed_download_from_the_hub_is_resumed(index: Index, cache_dir: Path) -> None:
    content = tiny_content(150)
    model = tiny_model(content, repository="ann/tiny-GGUF")
    name = index.publish_on_hub(model, content)
    # More than one block of huggingface_hub (10 MiB) arrives before the connection stalls.
    release = index.held.setdefault(name, threading.Event())
    child = start("tiny_model(tiny_content(150), repository='ann/tiny-GGUF')")
    unfinished = Cache().unfinished(model)
    wait_until(lambda: unfinished.exists() and unfinished.stat().st_size > 0, child)
    child.send_signal(signal.SIGKILL)
    child.communicate()
    there = unfinished.stat().st_size
    release.set()
    assert fetch(model).read_bytes() == content
    assert index.ranges == [0, there]


def test_the_index_completes_what_the_hub_began(
    index: Index, cache_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    index.publish(HUB_MODEL, CONTENT)
    unfinished = Cache().unfinished(HUB_MODEL)
    unfinished.parent.mkdir(parents=True)
    unfinished.write_bytes(CONTENT[: 2 * PART + 7])
    monkeypatch.setenv("HF_ENDPOINT", "http://127.0.0.1:9")
    assert fetch(HUB_MODEL).read_bytes() == CONTENT
    assert index.requests(HUB_MODEL) == [0, 0, 1, 1, 1]


def test_a_broken_connection_to_the_hub_is_resumed(index: Index, cache_dir: Path) -> None:
    name = index.publish_on_hub(HUB_MODEL, CONTENT)
    index.broken[name] = 2 * PART
    assert fetch(HUB_MODEL).read_bytes() == CONTENT
    assert index.asked[name] == 2


@pytest.mark.parametrize(
    "served", [SMALL_CONTENT[:-1] + b"!", SMALL_CONTENT[:-1]], ids=["hash", "size"]
)
def test_a_hub_with_another_file_is_passed_over(
    index: Index, cache_dir: Path, served: bytes
) -> None:
    index.publish(SMALL_HUB_MODEL, SMALL_CONTENT)
    index.publish_on_hub(SMALL_HUB_MODEL, served)
    assert fetch(SMALL_HUB_MODEL).read_bytes() == SMALL_CONTENT


def test_a_hub_that_accepts_and_never_answers_is_given_up(
    index: Index, cache_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    index.publish(HUB_MODEL, CONTENT)
    with socket.create_server(("127.0.0.1", 0)) as silent_hub:
        monkeypatch.setenv("HF_ENDPOINT", f"http://127.0.0.1:{silent_hub.getsockname()[1]}")
        with pytest.raises(ModelTransportError, match=r"timed out|no answer within"):
            fetch_from_hub(HUB_MODEL, cache_dir / "x", lambda: None)


def test_a_name_server_that_never_answers_is_given_up(
    index: Index, cache_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    release = threading.Event()
    monkeypatch.setattr(socket, "getaddrinfo", lambda *_, **__: release.wait(60) and [])
    monkeypatch.setattr("antiphon.local.hub._PROBE_SECONDS", 0.2)
    monkeypatch.setenv("HF_ENDPOINT", "http://hub.example")
    with pytest.raises(ModelTransportError, match=r"no answer within 0\.2 s"):
        fetch_from_hub(HUB_MODEL, cache_dir / "x", lambda: None)
    release.set()


def test_a_changed_file_is_set_aside_and_the_next_run_heals(index: Index, cache_dir: Path) -> None:
    index.publish(SMALL, SMALL_CONTENT)
    path = fetch(SMALL)
    path.write_bytes(b"!" + SMALL_CONTENT[1:])
    with pytest.raises(ModelTransportError) as caught:
        fetch(SMALL)
    assert caught.value.code == "local_model_corrupt"
    assert SMALL.sha256 in caught.value.message
    assert caught.value.details["actual"] in caught.value.message
    assert path.with_name("tiny.gguf.corrupt").exists()
    assert fetch(SMALL).read_bytes() == SMALL_CONTENT


def test_a_cut_file_is_recognised_by_its_size(index: Index, cache_dir: Path) -> None:
    index.publish(SMALL, SMALL_CONTENT)
    path = fetch(SMALL)
    path.write_bytes(SMALL_CONTENT[:100])
    with pytest.raises(ModelTransportError, match="got a file of 100 bytes instead of"):
        fetch(SMALL)


def test_a_touched_file_is_hashed_again_and_kept(index: Index, cache_dir: Path) -> None:
    index.publish(SMALL, SMALL_CONTENT)
    path = fetch(SMALL)
    os.utime(path, (1, 1))
    seen: list[Progress] = []
    assert fetch(SMALL, report=seen.append) == path
    assert {one.stage for one in seen} == {"verifying"}


def test_without_pip_the_error_names_the_ways_out(
    index: Index, cache_dir: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    index.publish(MODEL, CONTENT)
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", tmp_path / "bare"], check=True)
    monkeypatch.setattr(sys, "executable", str(tmp_path / "bare" / "bin" / "python"))
    with pytest.raises(ModelTransportError, match="No module named pip") as caught:
        fetch(MODEL)
    for way in ("ANTIPHON_MODEL", "OLLAMA_HOST", "ensurepip", "PIP_INDEX_URL", "HF_ENDPOINT"):
        assert way in str(caught.value)


def test_without_the_extra_the_error_says_what_to_install(
    index: Index, cache_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(ValidationError) as caught:
        fetch(MODEL)
    assert caught.value.code == "local_runtime_missing"
    assert caught.value.hint == 'run `pip install "antiphon[local]"`'
    assert not cache_dir.exists()


def test_an_index_that_is_not_there_fails_with_all_reasons(
    index: Index, cache_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PIP_INDEX_URL", "http://ann:hunter2@127.0.0.1:9/simple")
    monkeypatch.setenv("HF_ENDPOINT", "http://127.0.0.1:9")
    with pytest.raises(ModelTransportError) as caught:
        fetch(HUB_MODEL)
    assert set(caught.value.details["sources"]) == {"package index", "hub"}
    assert "refused" in caught.value.details["sources"]["hub"]
    assert "hunter2" not in f"{caught.value} {caught.value.details}"


def test_no_download_of_a_model_larger_than_the_disk_starts(index: Index, cache_dir: Path) -> None:
    with pytest.raises(ModelTransportError) as caught:
        fetch(tiny_model(CONTENT, size=1 << 60))
    assert caught.value.code == "local_disk_full"
    assert sum(index.asked.values()) == 0


def test_a_cache_that_is_a_file_is_a_typed_error(index: Index, cache_dir: Path) -> None:
    cache_dir.write_text("")
    with pytest.raises(ValidationError) as caught:
        fetch(MODEL)
    assert caught.value.code == "local_cache_unusable"


@pytest.mark.parametrize(
    ("own", "shared", "expected"),
    [
        ("/a/b", "/x", "/a/b"),
        ("", "/x", "/x/antiphon"),
        ("", "relative", "/home/ann/.cache/antiphon"),
        ("~/m", "/x", "/home/ann/m"),
    ],
)
def test_the_cache_directory_comes_from_the_environment(
    monkeypatch: pytest.MonkeyPatch, own: str, shared: str, expected: str
) -> None:
    monkeypatch.setenv("HOME", "/home/ann")
    monkeypatch.setenv("ANTIPHON_CACHE", own)
    monkeypatch.setenv("XDG_CACHE_HOME", shared)
    assert Cache().root == Path(expected)
