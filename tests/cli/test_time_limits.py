"""How long `antiphon ask` lets a question take, and when it gives one up."""

from __future__ import annotations

from antiphon._cli.ready_system import settings_for
from antiphon._model.default_model import Choice


def test_a_model_of_this_machine_gets_more_time_unless_a_limit_is_given() -> None:
    local, hosted = Choice("local:1.5b", "named"), Choice("openai:gpt-5-mini", "named")
    given = {"question_timeout_s": 7.0}
    assert settings_for(hosted, "data_analyst", given) == given
    longer = {"agent_timeout_s": 600.0, "question_timeout_s": 900.0}
    assert settings_for(local, "data_analyst", {}) == longer
    assert settings_for(local, "data_analyst", given) == longer | given
    assert settings_for(local, "deep_research", {})["research_timeout_s"] == 1500.0


def test_a_model_of_this_machine_is_not_asked_again_for_what_it_has_just_said() -> None:
    local, hosted = Choice("local:1.5b", "named"), Choice("openai:gpt-5-mini", "named")
    assert settings_for(local, "review_loop", {})["stop_on_no_progress"] is True
    assert settings_for(local, "review_loop", {})["expert_max_tool_calls"] == 4
    given = {"stop_on_no_progress": False}
    assert settings_for(local, "review_loop", given)["stop_on_no_progress"] is False
    assert settings_for(hosted, "review_loop", {}) == {}
