"""Right code in the forms that large models write: the checks of a computation refuse none of it.

`right_code/cases.jsonl` has questions with right code, over the tables beside it. Code with
``sent_back`` has a form that a check takes for unusual: it is asked for once more, and believed.
"""

from __future__ import annotations

import json
from collections import defaultdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from antiphon.models import scripted
from antiphon.sandbox import Sandbox
from antiphon.systems import Computation

if TYPE_CHECKING:
    from collections.abc import Iterator

FOLDER = Path(__file__).parent / "right_code"


def lines(name: str) -> list[dict[str, Any]]:
    text = (FOLDER / name).read_text(encoding="utf-8")
    return [json.loads(line) for line in text.splitlines()]


@pytest.fixture(scope="module")
def tables() -> dict[str, list[dict[str, Any]]]:
    found: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for line in lines("tables.jsonl"):
        found[line["table"]].append(line["row"])
    return found


@pytest.fixture(scope="module")
def box() -> Iterator[Sandbox]:
    pytest.importorskip("pandas")
    with Sandbox(packages=["pandas", "numpy", "pyarrow"]) as opened:
        yield opened


@pytest.mark.parametrize("case", lines("cases.jsonl"), ids=lambda case: case["question"])
def test_right_code_is_never_refused(
    case: dict[str, Any], tables: dict[str, list[dict[str, Any]]], box: Sandbox
) -> None:
    import pandas as pd

    rows = {name: tables[name] for name in case["tables"]}
    inputs = rows if case.get("lists") else {name: pd.DataFrame(rows[name]) for name in rows}
    reply = {"json": {"reasoning": "look", "python": case["code"], "explain": "Looks."}}
    computation = Computation(scripted([reply, reply]), sandbox=box, summarise=False)
    found = computation.run(case["question"], inputs)
    assert found.outcome == "answered", found.attempts
    assert (len(found.attempts) == 2) == case.get("sent_back", False), found.attempts
