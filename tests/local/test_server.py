"""The child process, with real weights (SmolLM2, 98 MB): structure, never exact text."""

from __future__ import annotations

import gc
import os
import pickle
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

import antiphon
from antiphon.errors import ModelTransportError, ValidationError
from antiphon.local import LocalServer, serve, shared
from antiphon.local.weights import _HEADER
from local.client import chat, request, stream
from local.conftest import real_weights
from support.waiting import happens

pytestmark = pytest.mark.local_model

MODEL = "smollm2:135m"


@pytest.fixture(scope="module")
def server() -> Iterator[LocalServer]:
    real_weights(MODEL)
    with serve(MODEL, threads=1, context=1024) as started:
        yield started


def port_is_open(address: str) -> bool:
    place = urlsplit(address)
    try:
        socket.create_connection((place.hostname, place.port), timeout=5).close()
    except OSError:
        return False
    return True


def closes(address: str, seconds: float = 30) -> bool:
    return happens(lambda: not port_is_open(address), seconds)


def ends(server: LocalServer, seconds: float = 30) -> bool:
    """Whether the child is gone: it closes its port a moment before."""
    return happens(lambda: not server.alive, seconds)


def test_a_chat_is_answered_and_counted(server: LocalServer) -> None:
    reply = chat(server, "Say hello.", max_tokens=8)
    assert reply["choices"][0]["message"]["content"]
    assert 1 <= reply["usage"]["completion_tokens"] <= 8
    assert reply["model"] == MODEL


def test_a_stream_ends_with_its_usage(server: LocalServer) -> None:
    chunks = stream(server, "Count to ten.", max_tokens=12)
    pieces = [c["choices"][0]["delta"].get("content") for c in chunks if c["choices"]]
    assert len([piece for piece in pieces if piece]) > 1
    assert chunks[-1]["usage"]["completion_tokens"] <= 12


def test_a_sentence_is_not_repeated_until_the_reply_is_cut_off(server: LocalServer) -> None:
    def repetitions(**options: Any) -> int:
        question = "Write a very long paragraph on the harbour, without a line break."
        reply = chat(server, question, max_tokens=600, **options)
        text = reply["choices"][0]["message"]["content"]
        return int(text.count(text[-200:]))

    assert repetitions(dry_multiplier=0) > 3, "the question shows nothing any more"
    assert repetitions() < 3


@pytest.mark.parametrize("key", [None, "Bearer wrong"])
@pytest.mark.parametrize("path", ["/models", "/chat/completions"])
def test_without_the_key_nothing_is_served(server: LocalServer, path: str, key: str | None) -> None:
    body: dict[str, Any] | None = {"messages": []} if path == "/chat/completions" else None
    status, _, content = request(server, path, body, {"Authorization": key} if key else {})
    assert status == 401
    assert MODEL.encode() not in content


def test_no_web_page_is_let_in(server: LocalServer) -> None:
    headers = {"Origin": "http://evil.example", "Authorization": f"Bearer {server.api_key}"}
    status, answer, _ = request(server, "/models", None, headers)
    assert status == 200
    assert not answer["Access-Control-Allow-Origin"]


def test_only_loopback_listens(server: LocalServer) -> None:
    assert urlsplit(server.base_url).hostname == "127.0.0.1"
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        # Picks the address that other machines would use; sends nothing.
        probe.connect(("192.0.2.1", 9))
        outside = probe.getsockname()[0]
    assert not port_is_open(f"http://{outside}:{urlsplit(server.base_url).port}")


def test_the_key_is_shown_to_nobody(server: LocalServer) -> None:
    assert len(server.api_key) >= 40
    assert server.api_key not in f"{server!r} {server} {server.log()}"
    with pytest.raises(TypeError, match="cannot be pickled"):
        pickle.dumps(server)
    process = Path(f"/proc/{server.pid}")
    if process.exists():
        for place in ("cmdline", "environ"):
            assert server.api_key.encode() not in (process / place).read_bytes()


def test_an_interrupt_for_the_parent_does_not_end_it(server: LocalServer) -> None:
    os.kill(server.pid, signal.SIGINT)
    assert chat(server, "Hi", max_tokens=2)["choices"]
    assert server.alive


def test_too_long_a_prompt_is_a_clear_refusal(server: LocalServer) -> None:
    body = {"messages": [{"role": "user", "content": "word " * 3000}], "max_tokens": 4}
    headers = {"Authorization": f"Bearer {server.api_key}"}
    status, _, content = request(server, "/chat/completions", body, headers)
    assert status == 400
    assert b"context" in content


def test_two_servers_stand_side_by_side_and_close(server: LocalServer) -> None:
    with serve(MODEL, threads=1, context=512, parallel=1) as other:
        assert other.base_url != server.base_url
        assert other.api_key != server.api_key
        assert chat(other, "Hi", max_tokens=2)["choices"]
        status, _, _ = request(
            other, "/models", None, {"Authorization": f"Bearer {server.api_key}"}
        )
        assert status == 401
    assert not other.alive
    assert closes(other.base_url)
    other.close()
    assert server.alive


def test_a_server_that_nobody_holds_ends(server: LocalServer) -> None:
    address = serve(MODEL, threads=1, context=512, parallel=1).base_url
    gc.collect()
    assert closes(address)


def test_a_server_outlives_the_thread_that_started_it() -> None:
    real_weights(MODEL)
    found: list[LocalServer] = []
    thread = threading.Thread(
        target=lambda: found.append(serve(MODEL, threads=1, context=512, parallel=1))
    )
    thread.start()
    thread.join()
    with found[0] as started:
        assert chat(started, "Hi", max_tokens=2)["choices"]


def test_shared_starts_once_and_replaces_what_died() -> None:
    real_weights(MODEL)
    options: dict[str, Any] = {"threads": 1, "context": 512, "parallel": 1}
    found: list[LocalServer] = []
    threads = [
        threading.Thread(target=lambda: found.append(shared(MODEL, **options))) for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    first = found[0]
    assert all(one is first for one in found)
    os.kill(first.pid, signal.SIGKILL)
    assert closes(first.base_url)
    assert ends(first)
    second = shared(MODEL, **options)
    try:
        assert second is not first
        assert chat(second, "Hi", max_tokens=2)["choices"]
    finally:
        second.close()
        first.close()


PARENT = """
import os, signal, sys
from antiphon.local import serve
server = serve("smollm2:135m", threads=1, context=512, parallel=1)
forked = os.fork() if "fork" in sys.argv else 0
if "fork" in sys.argv and not forked:
    signal.pause()
print(server.base_url, forked, flush=True)
if "exit" in sys.argv:
    sys.exit()
signal.pause()
"""


@pytest.mark.parametrize("case", ["SIGKILL", "SIGTERM", "fork", "exit"])
def test_the_child_ends_with_its_parent(case: str) -> None:
    real_weights(MODEL)
    with subprocess.Popen(
        [sys.executable, "-c", PARENT, case], stdout=subprocess.PIPE, text=True
    ) as parent:
        assert parent.stdout is not None
        address, forked = parent.stdout.readline().split()
        try:
            if case == "exit":
                assert parent.wait(30) == 0
            else:
                parent.send_signal(signal.SIGTERM if case == "SIGTERM" else signal.SIGKILL)
            assert closes(address)
        finally:
            parent.kill()
            if forked != "0":
                os.kill(int(forked), signal.SIGKILL)


def test_a_file_that_cannot_be_loaded_says_what_the_runtime_said(tmp_path: Path) -> None:
    pytest.importorskip("xllamacpp")
    path = tmp_path / "broken.gguf"
    path.write_bytes(_HEADER.pack(b"GGUF", 3, 3, 3) + os.urandom(5000))
    with pytest.raises(ModelTransportError) as caught:
        serve(path, threads=1)
    assert caught.value.code == "local_server_failed"
    assert caught.value.details["status"] != 0
    assert "gguf" in caught.value.details["log"].lower()


def test_loading_has_a_deadline() -> None:
    real_weights(MODEL)
    with pytest.raises(ModelTransportError) as caught:
        serve(MODEL, threads=1, load_timeout=0.001)
    assert caught.value.code == "local_server_timeout"


@pytest.mark.parametrize("options", [{"context": 10**6}, {"context": 1}, {"parallel": 0}])
def test_settings_out_of_range_are_named(options: dict[str, Any]) -> None:
    real_weights(MODEL)
    with pytest.raises(ValidationError) as caught:
        serve(MODEL, threads=1, **options)
    assert caught.value.code == "local_setting"
    assert caught.value.details["setting"] in options


def test_without_the_runtime_the_error_says_what_to_install(tmp_path: Path) -> None:
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", tmp_path / "bare"], check=True)
    (tmp_path / "lib").mkdir()
    (tmp_path / "lib" / "antiphon").symlink_to(Path(antiphon.__file__).parent)
    done = subprocess.run(
        [tmp_path / "bare/bin/python", "-c", "from antiphon.local import serve; serve()"],
        env=os.environ | {"PYTHONPATH": str(tmp_path / "lib"), "ANTIPHON_CACHE": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1
    assert 'run `pip install "antiphon[local]"`' in done.stderr
    assert not (tmp_path / "models").exists()
