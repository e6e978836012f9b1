"""Questions, answers and threads over HTTP."""

from __future__ import annotations

import base64
import logging
import re
from typing import Any
from urllib.parse import quote

import pytest

import antiphon
from antiphon import Agent, Orchestrator, server, tool
from antiphon.checkpoint import SqliteSaver
from antiphon.errors import StateError, ValidationError
from antiphon.graph import START, StateGraph
from antiphon.models import scripted
from antiphon.systems import AgenticSearch
from server.things import Failing, Greeter, Waiting
from support.http_client import ask, events, send
from support.waiting import happens

PIXEL = bytes.fromhex(
    "89504e470d0a1a0a0000000d49484452000000010000000108000000003a7e9b55"
    "0000000a49444154789c636000000002000148afa4710000000049454e44ae426082"
)


def population(city: str) -> int:
    """Number of inhabitants."""
    return {"Lyon": 520_774}[city]


def test_an_agent_a_team_and_a_system_answer() -> None:
    plan = {"tasks": [{"tool_name": "population", "tool_arguments": {"city": "Lyon"}}]}
    words = {"response_content": "<p>520,774.</p>", "sources": [1]}
    search = AgenticSearch(scripted([{"json": plan}, {"json": words}]), tools=[population])
    team = Orchestrator([Greeter()], name="desk")
    for thing, answer in ((Greeter(), "hello Lyon?"), (team, "hello Lyon?"), (search, "520,774.")):
        with server.start(thing) as running:
            reply = ask(running.url, "Lyon?")
            assert (reply.status, reply.body["outcome"]) == (200, "answered"), reply.body
            assert reply.body["answer"] == answer
            assert reply.headers["content-type"] == "application/json"
            assert reply.headers["cache-control"] == "no-store"


def test_the_body_is_the_result() -> None:
    team = Orchestrator([Greeter()], name="desk")
    expected = team.run("Ada").to_dict()
    with server.start(team) as running:
        body = ask(running.url, "Ada").body
    assert body | {"run_id": ""} == expected | {"run_id": ""}


def test_health_tells_who_serves() -> None:
    with server.start(Orchestrator([Greeter()], name="desk"), max_runs=3) as running:
        reply = send(running.url, "GET", "/health")
    assert reply.status == 200
    assert reply.body == {
        "name": "desk",
        "version": antiphon.__version__,
        "accepts_questions": True,
        "runs": 0,
        "max_runs": 3,
        "keeps_threads": False,
    }


def test_parts_of_a_question_reach_the_model() -> None:
    model = scripted(["A dot."])
    image = {
        "type": "image",
        "base64": base64.b64encode(PIXEL).decode(),
        "mime_type": "image/png",
    }
    file = {"type": "file", "filename": "notes.txt", "text": "Ünicode"}
    data = {"type": "data", "value": {"rows": [1, 2]}}
    address = {"type": "image", "url": "https://example.com/a.png"}
    with server.start(Agent(model, name="seer")) as running:
        reply = ask(
            running.url,
            ["What is it?", {"type": "text", "text": "Say."}, image, file, data, address],
        )
    assert reply.body["answer"] == "A dot."
    content = model.requests[0]["messages"][-1]["content"]
    assert [part["type"] for part in content] == ["text", "text", "image", "file", "data", "image"]
    assert content[2]["mime_type"] == "image/png"
    assert content[3]["text"] == "Ünicode"
    assert content[4]["value"] == {"rows": [1, 2]}
    assert content[5]["url"] == "https://example.com/a.png"


def test_a_thread_continues_and_its_state_can_be_read() -> None:
    model = scripted(["Hello.", "Hello again."])
    waiter = Agent(model, name="desk", checkpointer="memory:")
    with server.start(waiter) as running:
        first = ask(running.url, "Hello?", "user/ada: ü")
        second = ask(running.url, "And now?", "user/ada: ü")
        state = send(running.url, "GET", "/threads/user%2Fada%3A%20%C3%BC")
        unnamed = ask(running.url, " ").body
    assert (first.body["thread"], second.body["answer"]) == ("user/ada: ü", "Hello again.")
    assert len(model.requests[1]["messages"]) == 3
    assert state.status == 200
    assert state.body["thread"] == "user/ada: ü"
    assert (state.body["outcome"], state.body["questions"]) == ("answered", [])
    assert state.body["state"]["answer"] == "Hello again."
    assert unnamed["error"]["code"] == "question_blank"


def test_a_run_without_a_named_thread_gets_one_if_there_is_a_store() -> None:
    with server.start(Greeter(checkpointer="memory:")) as running:
        thread = ask(running.url, "greet me").body["thread"]
        reply = send(running.url, "POST", f"/threads/{thread}/resume", {"answer": "Ada"})
    assert reply.body["answer"] == "hello Ada"


@pytest.mark.parametrize("thread", ["a\nb", "b\n", "user/ada", "a/resume"])
def test_every_thread_that_can_be_asked_can_be_read_and_resumed(thread: str) -> None:
    path = f"/threads/{quote(thread, safe='')}"
    with server.start(Greeter(checkpointer="memory:")) as running:
        assert ask(running.url, "greet me", thread).body["outcome"] == "paused"
        assert send(running.url, "GET", path).body["thread"] == thread
        reply = send(running.url, "POST", f"{path}/resume", {"answer": "Ada"})
    assert (reply.status, reply.body["answer"]) == (200, "hello Ada")


def test_a_paused_run_is_resumed_with_an_answer() -> None:
    with server.start(Greeter(checkpointer="memory:")) as running:
        paused = ask(running.url, "greet me", "t")
        assert (paused.status, paused.body["outcome"]) == (200, "paused")
        assert paused.body["questions"][0]["value"] == "your name?"
        other = ask(running.url, "greet somebody else", "t")
        assert (other.status, other.code) == (409, "thread_paused")
        shown = send(running.url, "GET", "/threads/t").body
        assert (shown["outcome"], shown["questions"]) == ("paused", paused.body["questions"])
        key = paused.body["questions"][0]["id"]
        wrong = {"answer": {"0" * 32: "Eve"}}
        unknown = send(running.url, "POST", "/threads/t/resume", wrong)
        assert (unknown.status, unknown.code) == (409, "answer_invalid")
        reply = send(running.url, "POST", "/threads/t/resume", {"answer": {key: "Ada"}})
        assert (reply.status, reply.body["answer"]) == (200, "hello Ada")
        again = send(running.url, "POST", "/threads/t/resume", {"answer": "Ada"})
        assert (again.status, again.code) == (409, "answer_invalid")
        without = send(running.url, "POST", "/threads/t/resume", {})
        assert without.body["answer"] == "hello Ada"


def test_a_call_is_approved_over_http(tmp_path: Any) -> None:
    paid: list[int] = []

    @tool(side_effect="write", approval=True)
    def pay(euros: int) -> str:
        """Pays."""
        paid.append(euros)
        return "paid"

    plan = {"tasks": [{"tool_name": "pay", "tool_arguments": {"euros": 9}}]}
    words = {"response_content": "<p>Paid.</p>", "sources": [1]}
    model = scripted([{"json": plan}, {"json": words}])
    with SqliteSaver.open(tmp_path / "runs.db") as saver:
        search = AgenticSearch(model, tools=[pay], checkpointer=saver)
        with server.start(search) as running:
            paused = ask(running.url, "Pay!", "t").body
            assert paused["questions"][0]["value"]["arguments"] == {"euros": 9}
            waiting = ask(running.url, "Pay again!", "t")
            assert (waiting.status, waiting.code) == (409, "thread_paused")
            reply = send(running.url, "POST", "/threads/t/resume", {"answer": True})
            parts = send(running.url, "POST", "/runs", {"question": ["a", "list"]})
    assert (reply.body["outcome"], paid) == ("answered", [9])
    # To a system, a list would be messages with roles.
    assert (parts.status, parts.code) == (422, "request_invalid")


def test_a_thread_that_does_not_exist_is_not_found() -> None:
    with server.start(Greeter(checkpointer="memory:")) as running:
        for method, path in (("GET", "/threads/t"), ("POST", "/threads/t/resume")):
            reply = send(running.url, method, path, {"answer": 1} if method == "POST" else None)
            assert (reply.status, reply.code) == (404, "thread_empty")


def test_a_server_without_a_store_keeps_no_threads() -> None:
    with server.start(Greeter()) as running:
        for reply in (
            ask(running.url, "Ada", "t"),
            send(running.url, "GET", "/threads/t"),
            send(running.url, "POST", "/threads/t/resume", {}),
        ):
            assert (reply.status, reply.code) == (404, "thread_unkept")
        paused = ask(running.url, "greet me").body
    assert (paused["outcome"], paused["thread"]) == ("paused", None)


def test_two_runs_of_one_thread_are_a_conflict() -> None:
    waiter = Waiting(name="desk", checkpointer="memory:")
    with (
        server.start(waiter) as running,
        events(running.url, "/runs", {"question": "a", "thread": "t"}) as stream,
    ):
        assert happens(lambda: waiter.started)
        second = ask(running.url, "b", "t")
        assert (second.status, second.code) == (409, "thread_busy")
        waiter.released.set()
        assert [*stream][-1].data["answer"] == "released"


def test_outcomes_without_an_answer_are_results() -> None:
    class Silent(Agent):
        def act(self, state: Any, ctx: Any) -> None:
            return None

    class Looping(Agent):
        def act(self, state: Any, ctx: Any) -> Any:
            return ctx.goto("looping")

    for thing, outcome in ((Silent(), "no_answer"), (Looping(name="looping"), "step_limit")):
        with server.start(thing) as running:
            reply = ask(running.url, "Well?")
        assert (reply.status, reply.body["outcome"]) == (200, outcome)


@pytest.mark.parametrize("kind", Failing.KINDS)
def test_a_run_that_fails_tells_nothing_of_its_inside_and_the_server_goes_on(
    kind: type[BaseException], caplog: pytest.LogCaptureFixture
) -> None:
    with server.start(Failing()) as running, caplog.at_level(logging.ERROR):
        failed = ask(running.url, kind.__name__)
        after = ask(running.url, "and now?")
    assert failed.status == 500
    assert failed.body["error"] == {
        "code": "run_failed",
        "message": "the request failed",
        "hint": "the log of the server says why",
    }
    assert after.body["answer"] == "unharmed"
    (record,) = (one for one in caplog.records if one.name == "antiphon.server")
    assert "~inside" in caplog.text
    named = r", run [0-9a-f-]{36}" if issubclass(kind, Exception) else ""
    assert re.fullmatch(f"a request failed: POST /runs{named}", record.getMessage())
    assert record.exc_info is not None


@pytest.mark.parametrize("kind", Failing.KINDS)
def test_the_state_of_a_thread_does_not_tell_what_its_run_failed_with(
    kind: type[BaseException],
) -> None:
    with server.start(Failing(checkpointer="memory:")) as running:
        ask(running.url, kind.__name__, "t")
        shown = send(running.url, "GET", "/threads/t").body
    assert "inside" not in str(shown)
    if issubclass(kind, Exception):
        assert (shown["outcome"], shown["reason"]) == ("error", "the run failed")


@pytest.mark.parametrize("accept", ["application/json", "text/event-stream"])
def test_the_log_names_the_thread_of_a_request_that_failed(
    accept: str, caplog: pytest.LogCaptureFixture
) -> None:
    hostile = "t\x1b[2J"
    with server.start(Failing(checkpointer="memory:")) as running:
        if accept == "application/json":
            ask(running.url, "RuntimeError", hostile)
        else:
            question = {"question": "RuntimeError", "thread": hostile}
            with events(running.url, "/runs", question) as stream:
                assert [one.name for one in stream][-1] == "error"
        send(running.url, "POST", "/threads/t%1B%5B2J/resume", {})
    messages = [one.getMessage() for one in caplog.records if one.name == "antiphon.server"]
    routes = [message.partition(", run ")[0] for message in messages]
    assert routes == [
        f"a request failed: POST /runs, thread {hostile!r}",
        f"a request failed: POST /threads/{{thread}}/resume, thread {hostile!r}",
    ]


def test_an_error_of_a_run_is_not_taken_for_one_of_the_request() -> None:
    class Strict(Agent):
        def act(self, state: Any, ctx: Any) -> str:
            raise ValidationError("~inside", code="input_invalid")

    with server.start(Strict()) as running:
        reply = ask(running.url, "Well?")
    assert (reply.status, reply.code) == (500, "run_failed")
    assert "~inside" not in str(reply.body)


def test_what_cannot_be_served_is_refused_at_the_start() -> None:
    for thing in (42, Greeter, "desk"):
        with pytest.raises(ValidationError) as caught:
            server.start(thing)
        assert caught.value.code == "serve_target"
    graph = StateGraph(dict).add_node("a", dict).add_edge(START, "a").compile()
    with pytest.raises(ValidationError) as caught:
        server.start(graph)
    assert "the `act` of an agent can call the graph" in str(caught.value.hint)
    with pytest.raises(ValidationError) as caught:
        server.start(Agent("no-such-provider:model", name="clerk"))
    with server.start(Greeter()) as running, pytest.raises(StateError) as taken:
        server.start(Greeter(), port=int(running.url.rpartition(":")[2]))
    assert taken.value.code == "server_failed"
    for host in ("nowhere.invalid", f"{'x' * 70}.invalid"):
        with pytest.raises(StateError) as lost:
            server.start(Greeter(), host=host, token="a token of 16 signs".replace(" ", "-"))
        assert (lost.value.code, lost.value.hint) == ("server_failed", "check `--host`")


@pytest.mark.parametrize(
    "options",
    [
        {"host": "0.0.0.0"},
        {"host": "example.com"},
        {"host": ""},
        {"token": "short"},
        {"token": "with space in it, long enough"},
        {"port": 65_536},
        {"port": True},
        {"allowed_hosts": "desk.example.com"},
        {"allowed_hosts": ["desk.example.com:8443"]},
        {"allowed_hosts": [1]},
        {"allowed_hosts": ["*.example.com"]},
        {"allowed_hosts": [" desk"]},
        {"allowed_hosts": ["https://desk.example.com"]},
        {"allowed_hosts": None},
        {"max_runs": 1.5},
        {"max_body": 2**40},
        {"max_runs": 0},
        {"timeout": 0},
        {"grace": -1},
        {"keep_alive": float("inf")},
    ],
)
def test_an_option_that_cannot_be_used_is_refused(options: dict[str, Any]) -> None:
    with pytest.raises(ValidationError) as caught:
        server.start(Greeter(), **options)
    assert caught.value.code == "server_setting_invalid"
    assert "short" not in str(caught.value)
