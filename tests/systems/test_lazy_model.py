"""When a ready system starts a model on this machine."""

from __future__ import annotations

import asyncio
import os
import struct
from pathlib import Path
from typing import Any

import pytest

from antiphon.errors import ModelTransportError, ValidationError
from antiphon.sandbox import Sandbox
from antiphon.systems import Computation, DataAnalyst, DeepResearch, ReviewLoop
from antiphon.tools import http_api


@pytest.fixture
def broken(tmp_path: Path) -> str:
    """A file that passes every check, and that no model can be started from."""
    pytest.importorskip("xllamacpp")
    path = tmp_path / "broken.gguf"
    path.write_bytes(struct.pack("<4sIQQ", b"GGUF", 3, 3, 3) + os.urandom(5000))
    return str(path)


def test_a_model_of_this_machine_is_started_by_the_first_question(broken: str) -> None:
    loop = ReviewLoop(broken)
    assert loop.prompts
    assert "critic" in str(loop.graph)
    with pytest.raises(ModelTransportError) as caught:
        loop.run("Why?")
    assert caught.value.code == "local_server_failed"


def test_a_model_is_started_beside_the_event_loop(broken: str) -> None:
    with pytest.raises(ModelTransportError) as caught:
        asyncio.run(ReviewLoop(broken).arun("Why?"))
    assert caught.value.code == "local_server_failed"


def test_the_name_of_a_model_of_this_machine_is_checked_at_once(tmp_path: Path) -> None:
    with pytest.raises(ValidationError) as unknown:
        ReviewLoop("local:900b")
    assert unknown.value.code == "local_model_unknown"
    with pytest.raises(ValidationError) as missing:
        ReviewLoop(str(tmp_path / "none.gguf"))
    assert missing.value.code == "local_model_missing"


ROLES: dict[str, Any] = {
    "sql_writer": lambda _: {"sql": "SELECT count(*) AS n FROM orders"},
    "sql_answerer": lambda _: {"answer": "There are 2 orders."},
    "composer": lambda _: {"answer": "There are 2 orders."},
}


def test_a_model_is_not_started_for_roles_without_work(broken: str) -> None:
    frames = {"orders": {"id": [1, 2]}}
    options: dict[str, Any] = {"frames": frames, "sandbox": False, "check_query": False}
    analyst = DataAnalyst(broken, **ROLES, **options)
    assert analyst.run("How many orders are there?").answer == "There are 2 orders."
    reviewed = DataAnalyst(broken, **ROLES, **{**options, "check_query": True})
    with pytest.raises(ModelTransportError):
        reviewed.run("How many orders are there?")


def test_roles_of_each_part_and_of_a_choice_have_work(broken: str) -> None:
    catalogue = "sections:\n  - id: a\n    content: |\n      - GET `/a` list of a\n"
    api = http_api(catalogue, base_url="http://127.0.0.1:9")
    calls: dict[str, Any] = {
        "api_planner": lambda _: {"make_request": False, "method": "", "path": ""},
        "api_answerer": lambda _: {"answer": "Nothing."},
    }
    frames = {"orders": {"id": [1, 2]}}
    with pytest.raises(ModelTransportError):  # the planner chooses between two agents
        DataAnalyst(
            broken, frames=frames, api=api, sandbox=False, check_query=False, **ROLES, **calls
        ).run("How many orders?")
    with Sandbox() as box, pytest.raises(ModelTransportError):
        DataAnalyst(
            broken, frames=frames, sandbox=box, planner=lambda _: {"agents": ["sql"]}, **ROLES
        ).run("How many orders?")


REVIEWERS: dict[str, Any] = {
    "planner": lambda _: {"research_steps": [], "expert_steps": ["count"]},
    "critic": lambda _: {"decision": "approve"},
    "researcher": lambda _: {"result": "nothing"},
    "expert": lambda _: {"expert_answer": "3", "reasoning_trace": "counted"},
}


def test_no_model_is_started_for_a_finalizer_that_is_not_asked(broken: str) -> None:
    result = ReviewLoop(broken, **REVIEWERS).run("How many?")
    assert (result.answer, result.models) == ("3", ())


@pytest.mark.parametrize(
    "options",
    [
        {"answer_format": "short"},
        {"finalizer_on_failure": "model"},
        {"prompts": {"finalizer.large": "Shorten the answer."}},
    ],
)
def test_a_model_is_started_for_a_finalizer_that_may_be_asked(
    broken: str, options: dict[str, Any]
) -> None:
    with pytest.raises(ModelTransportError):
        ReviewLoop(broken, **REVIEWERS, **options).run("How many?")


def test_no_model_is_started_to_word_what_is_not_summarised(broken: str) -> None:
    code = {"reasoning": "", "python": "result = len(rows)", "explain": ""}
    with Sandbox() as box:
        options: dict[str, Any] = {"planner": lambda _: code, "sandbox": box}
        result = Computation(broken, summarise=False, **options).run("How many?", {"rows": [1, 2]})
        assert (result.outcome, result.value) == ("answered", 2)
        with pytest.raises(ModelTransportError):
            Computation(broken, **options).run("How many?", {"rows": [1, 2]})


RESEARCHERS = ["coordinator", "planner", "researcher", "reflector", "synthesiser", "responder"]
GREETING = {"response": "Hello!"}


@pytest.mark.parametrize(
    ("settings", "also"),
    [
        ({"citation": {"verifies": False, "extracts_with_model": False}}, ["background"]),
        (
            {
                "background_investigation": False,
                "citation": {"revises": False, "asks_about_numbers": False},
            },
            ["passage_extractor", "verifier", "quick_verifier"],
        ),
    ],
)
def test_no_model_is_started_for_stages_that_are_off(
    broken: str, settings: dict[str, Any], also: list[str]
) -> None:
    roles: dict[str, Any] = dict.fromkeys([*RESEARCHERS, "reporter", *also], lambda _: GREETING)
    result = DeepResearch(broken, **roles, **settings).run("Hello", query_mode="simple")
    assert result.answer == "Hello!"
    for name in also:
        fewer = {role: given for role, given in roles.items() if role != name}
        with pytest.raises(ModelTransportError):
            DeepResearch(broken, **fewer, **settings).run("Hello", query_mode="simple")
