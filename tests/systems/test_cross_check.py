"""Results of independent code, compared in a real sandbox: which forms of a value are the same."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from antiphon.models import scripted
from antiphon.sandbox import Sandbox
from antiphon.systems import Computation

if TYPE_CHECKING:
    from collections.abc import Iterator

    from antiphon.systems import ComputationResult

ROWS = [
    {"Plate": "KX-204", "type": "van", "km": 84200, "serviced": "2024-01-15"},
    {"Plate": "KX-219", "type": "van", "km": 121500, "serviced": "2023-08-02"},
    {"Plate": "LB-077", "type": "car", "km": 35600, "serviced": "2024-03-28"},
]
TYPES = "fleet.groupby('type')['km']"


@pytest.fixture(scope="module")
def box() -> Iterator[Sandbox]:
    pytest.importorskip("pandas")
    with Sandbox(packages=["pandas", "numpy"]) as opened:
        yield opened


def ask(box: Sandbox, *values: str) -> ComputationResult:
    import pandas as pd

    codes = [f"import pandas as pd\nresult = {value}" for value in values]
    replies: list[Any] = [
        {"json": {"reasoning": "", "python": code, "explain": ""}} for code in codes
    ]
    computation = Computation(scripted(replies), sandbox=box, summarise=False, cross_check=True)
    return computation.run("Tell me of the fleet", {"fleet": pd.DataFrame(ROWS)})


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("fleet['km'].max()", "int(fleet['km'].max())"),
        ("fleet['km'].mean()", "f\"{fleet['km'].mean():.2f}\""),
        ("fleet['km'].mean()", "round(float(fleet['km'].mean()))"),
        ("fleet['Plate'].iloc[0]", "fleet.iloc[0]"),
        ("fleet['Plate'].iloc[0]", "fleet[['Plate']].head(1)"),
        ("list(fleet['Plate'])", "fleet['Plate'].unique()"),
        ("list(fleet['km'])", "fleet['km'].values"),
        ("dict.fromkeys(fleet['Plate']).keys()", "fleet.set_index('Plate').index"),
        ("sorted(fleet['Plate'])[::-1]", "fleet['Plate']"),
        ("set(fleet['type'])", "['car', 'van']"),
        (f"{TYPES}.sum()", f"{TYPES}.sum().to_dict()"),
        (f"{TYPES}.sum()", f"{TYPES}.sum().reset_index()"),
        (f"{TYPES}.sum().idxmax()", f"{TYPES}.sum().nlargest(1)"),
        ("pd.to_datetime(fleet['serviced']).min()", "fleet['serviced'].min()"),
        ("fleet['type'].iloc[0] == 'van'", "True"),
        ("'van'", "'The type is van.'"),
    ],
)
def test_the_same_in_another_form_agrees(box: Sandbox, one: str, other: str) -> None:
    for values in ((one, other), (other, one)):
        found = ask(box, *values)
        assert found.outcome == "answered", (found.reason, found.error)
        assert len(found.attempts) == 2


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("fleet['km'].max()", "fleet['km'].min()"),
        ("len(fleet)", "len(fleet) - 1"),
        ("fleet['km'].mean()", "fleet['km'].median()"),
        ("fleet['Plate'].iloc[0]", "fleet['Plate'].iloc[1]"),
        ("fleet['km'].iloc[0]", "fleet['km']"),
        ("list(fleet['Plate'])", "list(fleet['Plate'])[:2]"),
        (f"{TYPES}.sum()", f"{TYPES}.mean()"),
        ("fleet['serviced'].min()", "fleet['serviced'].max()"),
        ("fleet['type'].iloc[0] == 'van'", "False"),
        ("'van'", "'caravan'"),
    ],
)
def test_another_value_is_no_answer(box: Sandbox, one: str, other: str) -> None:
    found = ask(box, one, other)
    assert found.outcome == "no_answer"
    assert found.reason is not None
    assert found.reason.startswith("two pieces of code came to different results: `")


def test_a_calculation_without_data_is_checked_too(box: Sandbox) -> None:
    def calculate(*codes: str) -> ComputationResult:
        replies: list[Any] = [
            {"json": {"reasoning": "", "python": f"result = {code}", "explain": ""}}
            for code in codes
        ]
        computation = Computation(scripted(replies), sandbox=box, summarise=False, cross_check=True)
        return computation.run("What is 17 percent of 230?")

    assert calculate("0.17 * 230", "230 * 17 / 100").value == pytest.approx(39.1)
    assert calculate("0.17 * 230", "17 / 230").outcome == "no_answer"
