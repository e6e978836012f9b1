"""EN-16: a key is in nothing that a run leaves behind, even if a server repeats it."""

from __future__ import annotations

import json
import pickle
import traceback

import pytest

from antiphon import Agent, Orchestrator, Result, models
from antiphon.errors import AntiphonError, AuthError
from antiphon.systems import ReviewLoop
from models.conftest import KEY
from support.chat_server import ChatServer

TELLING = "sk-test"


def shown(result: Result) -> str:
    events = [event.to_dict() for event in result.events]
    html = "".join(result._repr_mimebundle_().values())
    return f"{result!r} {result.to_json()} {json.dumps(events)} {html}"


@pytest.mark.parametrize("name", ["echo-key", "status-500", "quota", "malformed", "cut", "html"])
def test_a_key_is_in_no_error_and_no_trace_of_a_team(name: str) -> None:
    """Prove EN-16 of docs/engine.md."""
    with ChatServer() as server:
        given = models.get(f"openai:{name}", base_url=server.url, api_key=KEY, max_attempts=1)
        team = Orchestrator([Agent(name="a", model=given)])
        with pytest.raises(AntiphonError) as caught:
            team.run("q")
        recorded = Orchestrator([Agent(name="a", model=given)], on_error="record").run("q")
    error = caught.value
    result = Result.of(error)
    assert result is not None
    details = repr(vars(error))
    trace = "".join(traceback.format_exception(error))
    for text in (trace, details, repr(error), shown(result), shown(recorded)):
        assert TELLING not in text
    assert TELLING.encode() not in pickle.dumps(recorded)


def test_a_key_is_in_no_result_of_a_review_loop() -> None:
    """Prove EN-16 of docs/engine.md."""
    with ChatServer() as server:
        given = models.get("openai:echo-key", base_url=server.url, api_key=KEY, max_attempts=1)
        result = ReviewLoop(given).run("q")
    assert isinstance(result.error, AuthError)
    html = "".join(result._repr_mimebundle_().values())
    assert TELLING not in f"{result!r} {result.to_json()} {html} {result.error!r}"
    assert TELLING.encode() not in pickle.dumps(result)
