"""Server-sent events, as they arrive, and clients that go away."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from antiphon import Agent, Orchestrator, server
from antiphon.models import scripted
from antiphon.systems import AgenticSearch
from server.things import Failing, Greeter, Waiting
from support.http_client import ask, connect, events, request, send
from support.waiting import happens


def test_events_arrive_while_the_run_works_and_the_result_is_the_last() -> None:
    waiter = Waiting(name="desk", checkpointer="memory:")
    with (
        server.start(waiter) as running,
        events(running.url, "/runs", {"question": "a"}) as stream,
    ):
        assert stream.status == 200
        assert stream.headers["content-type"] == "text/event-stream"
        arriving = iter(stream)
        first = next(arriving)
        # The agent waits until the test has read this.
        assert any(one.data.get("name") == "waiting" for one in arriving)
        waiter.released.set()
        *_, last = arriving
    assert first.name == "start"
    assert last.name == "result"
    assert last.data["answer"] == "released"
    assert last.data["thread"] == first.data["thread"] != ""


def test_the_events_are_those_of_a_stream() -> None:
    def team() -> Orchestrator[Any, Any]:
        return Orchestrator([Agent(scripted(["One two three."]), name="clerk")])

    streamed = team().stream("Count.")
    expected = [(event.seq, event.kind, event.name, event.data) for event in streamed]
    with (
        server.start(team()) as running,
        events(running.url, "/runs", {"question": "Count."}) as stream,
    ):
        seen = [one for one in stream if one.name == "event"]
    found = [(one.number, one.data["kind"], one.data["name"], one.data["data"]) for one in seen]
    # The first one has the name of the run.
    assert [one[:2] for one in found] == [one[:2] for one in expected]
    assert [one[2] for one in found[1:]] == [one[2] for one in expected[1:]]
    pieces = [one[3]["text"] for one in found if one[1] == "chunk"]
    assert pieces == [one[3]["text"] for one in expected if one[1] == "chunk"]
    assert "".join(pieces) == "One two three."


def test_a_system_streams_and_a_resumed_run_does() -> None:
    words = {"response_content": "<p>No.</p>"}
    search = AgenticSearch(scripted([{"json": {"tasks": []}}, {"json": words}]), tools=[ask_nobody])
    with (
        server.start(search) as running,
        events(running.url, "/runs", {"question": "Well?"}) as stream,
    ):
        *seen, last = stream
    assert len(seen) > 2
    assert [one.number for one in seen[1:]] == sorted(one.number or 0 for one in seen[1:])
    assert last.name == "result"
    with server.start(Greeter(checkpointer="memory:")) as running:
        ask(running.url, "greet me", "t")
        with events(running.url, "/threads/t/resume", {"answer": "Ada"}) as stream:
            *seen, last = stream
    assert last.data["answer"] == "hello Ada"
    assert any(one.data.get("kind") == "node_finished" for one in seen)


def ask_nobody(name: str) -> str:
    """Asks nobody."""
    return name


def test_silence_is_filled_with_comments() -> None:
    waiter = Waiting(name="desk")
    with (
        server.start(waiter, keep_alive=0.05) as running,
        events(running.url, "/runs", {"question": "a"}) as stream,
    ):
        names = []
        for one in stream:
            names.append(one.name)
            if names.count(":") == 3:
                waiter.released.set()
    assert names[-1] == "result"


def test_what_is_refused_before_the_run_is_a_plain_reply() -> None:
    with server.start(Greeter(checkpointer="memory:")) as running:
        blank = ask(running.url, " ", accept="text/event-stream")
        unknown = send(running.url, "POST", "/threads/t/resume", {}, accept="text/event-stream")
    assert (blank.status, blank.code) == (422, "question_blank")
    assert "thread" not in blank.body
    assert (unknown.status, unknown.code) == (404, "thread_empty")


def test_a_run_that_fails_ends_its_stream_with_an_error() -> None:
    with (
        server.start(Failing(checkpointer="memory:")) as running,
        events(running.url, "/runs", {"question": "RuntimeError", "thread": "t"}) as stream,
    ):
        *seen, last = stream
    assert last.name == "error"
    failed = [one.data["data"] for one in seen if one.data.get("kind") == "error"]
    assert failed[0]["code"] == "node_failed"
    assert "~inside" not in str(failed)
    assert last.data["error"]["code"] == "run_failed"
    assert last.data["thread"] == "t"
    assert "~inside" not in str(last.data)


@pytest.mark.parametrize("accept", ["text/event-stream", "application/json"])
def test_a_client_that_goes_away_cancels_its_run(
    accept: str, caplog: pytest.LogCaptureFixture
) -> None:
    waiter = Waiting(name="desk", checkpointer="memory:")
    with server.start(waiter) as running:
        connection = connect(running.url)
        request(connection, "POST", "/runs", {"question": "a", "thread": "t"}, accept=accept)
        assert happens(lambda: waiter.started)
        assert waiter.cancelled == 0
        connection.close()
        assert happens(lambda: waiter.cancelled)
        assert happens(lambda: send(running.url, "GET", "/health").body["runs"] == 0)
        waiter.released.set()
        resumed = send(running.url, "POST", "/threads/t/resume", {})
    assert resumed.body["answer"] == "released"
    assert [record for record in caplog.records if record.name == "antiphon.server"] == []


class Unclean(Waiting):
    """Fails to clean up when it is cancelled."""

    async def act(self, state: Any, ctx: Any) -> str:
        try:
            return await super().act(state, ctx)
        except asyncio.CancelledError as error:
            raise RuntimeError("half of the order is booked") from error


@pytest.mark.parametrize(
    ("accept", "logged"),
    [
        ("application/json", "a request failed: POST /runs, run "),
        ("text/event-stream", "`desk` failed after it was cancelled"),
    ],
)
def test_a_failure_after_the_client_has_gone_is_logged(
    accept: str, logged: str, caplog: pytest.LogCaptureFixture
) -> None:
    waiter = Unclean(name="desk")
    with server.start(waiter, grace=0) as running:
        connection = connect(running.url)
        request(connection, "POST", "/runs", {"question": "a"}, accept=accept)
        assert happens(lambda: waiter.started)
        connection.close()
        assert happens(lambda: "half of the order is booked" in caplog.text)
    assert waiter.cancelled == 1
    assert logged in caplog.text


class Talking(Agent):
    """Says something again and again, until it is cancelled."""

    ended = 0

    async def act(self, state: Any, ctx: Any) -> str:
        try:
            while True:
                ctx.emit({"text": "x" * 2_000}, "said")
                await asyncio.sleep(0)
        finally:
            self.ended += 1


@pytest.mark.slow
def test_a_client_that_never_reads_is_given_up() -> None:
    talker = Talking(name="talker")
    with server.start(talker, grace=0, keep_alive=0.3) as running:
        connection = connect(running.url)
        request(connection, "POST", "/runs", {"question": "Talk."}, accept="text/event-stream")
        assert happens(lambda: talker.ended)
        served = running._uvicorn.server_state
        assert happens(lambda: not served.tasks and not served.connections)
        connection.close()


@pytest.mark.slow
def test_a_client_that_does_not_read_loses_its_run() -> None:
    talker = Talking(name="talker")
    with (
        server.start(talker, grace=0) as running,
        events(running.url, "/runs", {"question": "Talk."}) as stream,
    ):
        assert happens(lambda: talker.ended)
        *_, last = stream
    assert (last.name, last.data["error"]["code"]) == ("error", "client_slow")


class Reporting(Agent):
    """Emits events of some sizes in one go."""

    def __init__(self, *sizes: int) -> None:
        super().__init__(name="reporting")
        self.sizes = sizes

    async def act(self, state: Any, ctx: Any) -> str:
        for size in self.sizes:
            ctx.emit({"text": "x" * size}, "report")
        return "reported"


def test_an_event_larger_than_what_may_wait_is_sent() -> None:
    sizes = (10, 17 * 2**20, 10)
    with (
        server.start(Reporting(*sizes)) as running,
        events(running.url, "/runs", {"question": "Report."}) as stream,
    ):
        *seen, last = stream
    assert (last.name, last.data.get("answer")) == ("result", "reported")
    reports = [one.data["data"] for one in seen if one.data.get("name") == "report"]
    assert tuple(len(one["text"]) for one in reports) == sizes
