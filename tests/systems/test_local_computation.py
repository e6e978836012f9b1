"""A real model on this machine computes on a real table.

The table: body measures of 344 penguins near Palmer Station, Antarctica, by K. B. Gorman and the
Palmer Station LTER (2014), as A. Horst, A. Hill and K. Gorman published it in `palmerpenguins`;
CC0. The right answers were counted from the file by hand-written loops.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from antiphon._model.default_model import choose, open_model
from antiphon.sandbox import Sandbox
from antiphon.systems import Computation, ComputationResult
from local.conftest import real_weights

pytestmark = pytest.mark.local_model

TABLE = Path(__file__).with_name("penguins.csv")
QUESTIONS: dict[str, Any] = {
    "How many penguins have a flipper longer than 220 mm?": 35,
    "How many penguins were seen on the island Dream?": 124,
    "How many different species are there?": 3,
    "How long is the longest bill, in mm?": 59.6,
    "What is the mean body mass, in grams?": 4201.754,
}
ENOUGH = 3
"""How many of them the smallest model has to get right: it had four, and processors differ."""


def is_right(found: ComputationResult, expected: float) -> bool:
    # Frames and series are no numbers, but compare with everything.
    value = found.value
    return isinstance(value, int | float) and value == pytest.approx(expected, abs=0.01)


def test_a_small_model_computes_on_a_real_table() -> None:
    real_weights("qwen2.5-coder:0.5b")
    penguins = pd.read_csv(TABLE)
    right = {}
    with (
        open_model(choose("local:0.5b", os.environ)) as model,
        Sandbox(packages=["numpy", "pandas"]) as box,
    ):
        computation = Computation(
            model,
            sandbox=box,
            reasoning=False,
            cross_check=False,
            summarise=False,
            question_timeout_s=300,
        )
        for question, expected in QUESTIONS.items():
            found = computation.run(question, {"penguins": penguins})
            right[question] = is_right(found, expected), found.python, found.value
            assert found.outcome in {"answered", "retry_limit"}, found
            assert (found.events[0].kind, found.events[-1].kind) == ("run_started", "run_finished")
            assert found.events_dropped == 0
            assert all(attempt.python.strip() for attempt in found.attempts)
            assert found.python in found._repr_mimebundle_()["text/plain"]
    assert sum(fine for fine, *_ in right.values()) >= ENOUGH, right
