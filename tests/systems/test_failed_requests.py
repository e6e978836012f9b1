"""Questions whose requests to models all fail end alike in every ready system."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pandas as pd
import pytest

from antiphon import models, tool
from antiphon.errors import AntiphonError
from antiphon.models import Model
from antiphon.systems import (
    AgenticSearch,
    Computation,
    DataAnalyst,
    DeepResearch,
    PlanExecute,
    ReviewLoop,
)
from antiphon.tools import document_search
from support.chat_server import ChatServer

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    System = Callable[[Model, Any], Any]

NOWHERE = "http://127.0.0.1:9/v1"
QUESTION = "How long is the notice period in France?"
FAILURES = {
    "status-401": "model_key_refused",
    "status-404": "model_not_found",
    "status-503": "model_server_error",
    "nowhere": "model_unreachable",
}


@tool(side_effect="read")
def population(city: str) -> int:
    """How many people live in a city."""
    return len(city)


PERIODS = pd.DataFrame({"weeks": [4]})
SYSTEMS: dict[str, System] = {
    "agentic_search": lambda model, docs: AgenticSearch(model, tools=[docs]),
    "computation": lambda model, _: Computation(model),
    "data_analyst": lambda model, _: DataAnalyst(model, frames={"periods": PERIODS}),
    "deep_research": lambda model, docs: DeepResearch(model, tools=[docs]),
    "plan_execute": lambda model, _: PlanExecute(model, tools=[population]),
    "review_loop": lambda model, _: ReviewLoop(model),
}


@pytest.fixture
def server() -> Iterator[ChatServer]:
    with ChatServer() as server:
        yield server


def model(name: str, server: ChatServer) -> Model:
    url = NOWHERE if name == "nowhere" else server.url
    return models.get(f"openai:{name}", base_url=url, api_key="~key-of-a-test", max_attempts=1)


@pytest.mark.parametrize("failure", FAILURES)
@pytest.mark.parametrize("name", SYSTEMS)
def test_a_question_that_no_model_was_asked_ends_with_the_error_of_the_model(
    name: str, failure: str, server: ChatServer, tmp_path: Path
) -> None:
    (tmp_path / "notice.md").write_text("# Notice\n\nIn France it is 3 months.\n")
    system = SYSTEMS[name](model(failure, server), document_search(tmp_path))
    result = system.run(QUESTION)
    assert result.outcome == "error"
    assert result.error.code == FAILURES[failure]
    assert result.reason == "no request to a model succeeded"
    with pytest.raises(AntiphonError) as caught:
        result.raise_for_outcome()
    assert caught.value is result.error
    most = 1 if failure in {"status-401", "status-404"} else 2
    assert len(server.requests) <= most
    assert len(result.events) < 100
