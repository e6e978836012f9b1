"""`antiphon.tools.calculator`, as Python sees it."""

from __future__ import annotations

import pytest

from antiphon import Agent, Orchestrator
from antiphon.errors import ToolError
from antiphon.models import scripted
from antiphon.tools import calculator


def test_results_are_values_of_python() -> None:
    answer = calculator().call({"expression": "0.1 + 0.2"})
    assert answer == {"result": "0.3", "exact": True, "number": 0.3}
    assert calculator().call({"expression": "7!"})["number"] == 5040


def test_today_is_the_day_of_the_clock() -> None:
    answer = calculator().call({"expression": "year(today) >= 2026"})
    assert answer["result"] == "true"


def test_an_error_says_where_it_is() -> None:
    with pytest.raises(ToolError, match="not a length") as caught:
        calculator().call({"expression": "5 km + 3 kg"})
    assert caught.value.code == "calculation_failed"
    assert caught.value.details["position"] == 1


def test_a_model_reads_the_error_and_calls_again() -> None:
    def call(expression: str) -> dict[str, object]:
        return {"tool_calls": [{"name": "calculate", "arguments": {"expression": expression}}]}

    model = scripted([call("1,000 * 2"), call("1000 * 2"), "2000"])
    team = Orchestrator([Agent(name="clerk", model=model, tools=[calculator()])])
    assert team.run("How much is twice a thousand?").answer == "2000"
    failed, worked = (model.requests[turn]["messages"][-1]["content"] for turn in (1, 2))
    assert "no separators of thousands" in failed
    assert '"result":"2000"' in worked.replace(": ", ":")
