"""How many runs at a time, how long, how much is read, and how a server stops."""

from __future__ import annotations

import socket
import threading
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import pytest

from antiphon import server
from server.things import Endless, Greeter, Waiting
from support.http_client import ask, connect, events, request, send
from support.waiting import happens

if TYPE_CHECKING:
    from support.http_client import Reply


def test_no_more_runs_than_there_is_room_for() -> None:
    waiter = Waiting(name="desk")
    with server.start(waiter, max_runs=2) as running:
        with (
            events(running.url, "/runs", {"question": "a"}) as one,
            events(running.url, "/runs", {"question": "b"}) as two,
        ):
            assert happens(lambda: waiter.started == 2)
            full = ask(running.url, "c")
            assert (full.status, full.code) == (503, "server_busy")
            assert full.headers["retry-after"] == "1"
            health = send(running.url, "GET", "/health")
            assert (health.status, health.body["accepts_questions"]) == (200, False)
            waiter.released.set()
            assert [*one][-1].name == [*two][-1].name == "result"
        assert ask(running.url, "d").status == 200


def test_a_body_that_is_too_large_is_refused_before_it_is_read() -> None:
    with server.start(Greeter(), max_body=1_000) as running:
        fits = ask(running.url, "x" * 900)
        large = ask(running.url, "x" * 1_000)
        announced = _raw(running.url, "Content-Length: 99999999999")
        chunked = _raw(
            running.url, "Transfer-Encoding: chunked", b"3e8\r\n%b\r\n" % (b" " * 1_000) * 2
        )
    assert fits.status == 200
    assert (large.status, large.code) == (413, "request_too_large")
    for reply in (announced, chunked):
        assert reply.startswith("HTTP/1.1 413 "), reply
        assert "request_too_large" in reply


def _raw(url: str, header: str, body: bytes = b"") -> str:
    """The beginning of the reply to a request whose body does not end."""
    address = urlsplit(url)
    with socket.create_connection((address.hostname, address.port), timeout=60) as peer:
        head = f"POST /runs HTTP/1.1\r\nHost: {address.netloc}\r\nContent-Type: application/json"
        peer.sendall(f"{head}\r\n{header}\r\n\r\n".encode() + body)
        read = b""
        while b"}}" not in read and (more := peer.recv(65_536)):
            read += more
    return read.decode()


def test_a_client_that_leaves_before_it_has_asked_leaves_its_room() -> None:
    with server.start(Greeter(), max_runs=1) as running:
        address = urlsplit(running.url)
        with socket.create_connection((address.hostname, address.port)) as peer:
            head = "POST /runs HTTP/1.1\r\nContent-Type: application/json\r\nContent-Length: 9"
            peer.sendall(f"{head}\r\nHost: {address.netloc}\r\n\r\n{{".encode())
            assert happens(lambda: send(running.url, "GET", "/health").body["runs"] == 1)
            assert ask(running.url, "Ada").status == 503
        assert happens(lambda: send(running.url, "GET", "/health").body["runs"] == 0)
        assert ask(running.url, "Ada").status == 200


def test_a_run_that_takes_too_long_is_cancelled_and_can_be_resumed(
    caplog: pytest.LogCaptureFixture,
) -> None:
    waiter = Waiting(name="desk", checkpointer="memory:")
    with server.start(waiter, timeout=0.3) as running:
        late = ask(running.url, "a", "t")
        assert (late.status, late.code, late.body["thread"]) == (504, "run_deadline", "t")
        assert happens(lambda: waiter.cancelled)
        with events(running.url, "/runs", {"question": "b"}) as stream:
            *_, last = stream
        assert last.data["error"]["code"] == "run_deadline"
        waiter.released.set()
        resumed = send(running.url, "POST", "/threads/t/resume", {})
    assert resumed.body["answer"] == "released"
    first = caplog.messages[0]
    assert first.startswith("the run took longer than this server allows, in seconds: 0.3, POST")
    assert "thread 't'" in first


def test_a_server_that_stops_lets_runs_end_and_begins_no_more() -> None:
    waiter = Waiting(name="desk")
    with (
        server.start(waiter) as running,
        events(running.url, "/runs", {"question": "a"}) as stream,
    ):
        assert happens(lambda: waiter.started)
        running.stop(wait=False)
        assert happens(lambda: send(running.url, "GET", "/health").status == 503)
        refused = ask(running.url, "b")
        assert (refused.status, refused.code) == (503, "server_stopping")
        waiter.released.set()
        assert [*stream][-1].data["answer"] == "released"
    assert not _reachable(running.url)


def test_runs_that_do_not_end_in_time_are_cancelled() -> None:
    waiter = Endless(name="desk", checkpointer="memory:")
    replies: list[Reply] = []
    running = server.start(waiter, grace=0.2)
    asking = threading.Thread(target=lambda: replies.append(ask(running.url, "a", "t")))
    asking.start()
    assert happens(lambda: send(running.url, "GET", "/health").body["runs"])
    running.stop()
    asking.join()
    assert [(one.status, one.code) for one in replies] == [(503, "server_stopping")]
    assert not _reachable(running.url)
    running.stop()


def test_a_second_stop_does_not_wait() -> None:
    waiter = Waiting(name="desk")
    running = server.start(waiter, grace=3_600)
    with events(running.url, "/runs", {"question": "a"}) as stream:
        assert happens(lambda: waiter.started)
        running.stop(wait=False)
        running.stop(0)
        assert [*stream][-1].data["error"]["code"] == "server_stopping"
    assert waiter.cancelled == 1


def test_a_request_that_never_arrives_does_not_keep_a_server(
    caplog: pytest.LogCaptureFixture,
) -> None:
    running = server.start(Greeter())
    address = urlsplit(running.url)
    with socket.create_connection((address.hostname, address.port), timeout=60) as peer:
        head = f"POST /runs HTTP/1.1\r\nHost: {address.netloc}\r\nContent-Length: 100\r\n"
        peer.sendall(f"{head}Content-Type: application/json\r\n\r\n{{".encode())
        assert happens(lambda: send(running.url, "GET", "/health").body["runs"])
        running.stop()
        reply = peer.recv(65_536).decode()
    assert reply.startswith("HTTP/1.1 503 ")
    assert "server_stopping" in reply
    assert not caplog.records


def test_an_unused_connection_does_not_keep_a_server() -> None:
    with server.start(Greeter(), grace=0) as running:
        connection = connect(running.url)
        request(connection, "GET", "/health")
        assert connection.getresponse().read()
    connection.close()


def _reachable(url: str) -> bool:
    address = urlsplit(url)
    try:
        socket.create_connection((address.hostname, address.port), timeout=5).close()
    except OSError:
        return False
    return True
