"""What a watcher sees when a model's server turns a request away, and when it is asked again."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from antiphon import Agent, Orchestrator, models
from antiphon.errors import AntiphonError
from antiphon.models import Model
from antiphon.systems import ReviewLoop
from support.chat_server import ChatServer


def refused(server: ChatServer) -> Model:
    return models.get("openai:status-503", base_url=server.url, api_key="k", max_attempts=2)


def transport_retries(stream: Any) -> list[Any]:
    found = []
    try:
        found = [event for event in stream if event.kind == "retry" and event.name == "transport"]
    except AntiphonError:
        pytest.fail("events were lost with the error of the run")
    return found


def team_retries(server: ChatServer) -> list[Any]:
    agent = Agent(name="a", model=refused(server))
    return transport_retries(Orchestrator([agent], on_error="record").stream("q"))


def test_teams_and_ready_systems_tell_a_retry_alike() -> None:
    with ChatServer() as server:
        in_team = team_retries(server)
        in_system = transport_retries(ReviewLoop(refused(server), retry_limit=1).stream("q"))
    assert len(in_team) == 1
    assert in_system
    for event in [*in_team, *in_system]:
        assert sorted(event.data) == ["attempt", "code", "delay_ms"]
        assert (event.data["attempt"], event.data["code"]) == (1, "model_server_error")


def test_runs_that_are_turned_away_together_do_not_return_together() -> None:
    runs = 6
    with ChatServer() as server, ThreadPoolExecutor(runs) as pool:
        events = [event for found in pool.map(team_retries, [server] * runs) for event in found]
    assert len(events) == runs
    assert len({event.data["delay_ms"] for event in events}) > runs // 2
