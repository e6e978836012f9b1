"""How long `antiphon ask` lets a question take."""

from __future__ import annotations

from antiphon._cli.ask import with_time_for
from antiphon._model.default_model import Choice


def test_a_model_of_this_machine_gets_more_time_unless_a_limit_is_given() -> None:
    local, hosted = Choice("local:1.5b", "named"), Choice("openai:gpt-5-mini", "named")
    given = {"question_timeout_s": 7.0}
    assert with_time_for(hosted, "data_analyst", given) == given
    longer = {"agent_timeout_s": 600.0, "question_timeout_s": 900.0}
    assert with_time_for(local, "data_analyst", {}) == longer
    assert with_time_for(local, "data_analyst", given) == longer | given
    assert with_time_for(local, "deep_research", {})["research_timeout_s"] == 1500.0
