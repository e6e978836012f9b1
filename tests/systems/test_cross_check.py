"""Results of independent code, compared in a real sandbox: which forms of a value are the same."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from antiphon.models import scripted
from antiphon.sandbox import Sandbox
from antiphon.systems import Computation

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

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

    codes = [f"import pandas as pd, numpy as np\nresult = {value}" for value in values]
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
        ("fleet['km'].sum()", "f\"{fleet['km'].sum():,} km\""),
        ("fleet[['Plate', 'km']]", "fleet[['km', 'Plate']].to_dict('records')"),
        ("fleet[['Plate', 'km']]", "fleet[['Plate', 'km']].to_dict('list')"),
        ("fleet[['Plate', 'km']]", "fleet.set_index('Plate')['km']"),
        ("fleet[fleet['km'] < 99999]['Plate']", "['KX-204', 'LB-077']"),
        ("', '.join(fleet['Plate'])", "fleet['Plate']"),
        ("pd.Timedelta(days=3)", "3"),
        ("fleet['km'].describe()['max']", "np.float64(121500)"),
        ("fleet[fleet['km'] > 9e9]['km'].max()", "None"),
    ],
)
def test_the_same_in_another_form_agrees(box: Sandbox, one: str, other: str) -> None:
    for values in ((one, other), (other, one)):
        found = ask(box, *values)
        # What is missing is no answer in either case.
        is_answer = "None" not in (one, other)
        assert found.outcome == ("answered" if is_answer else "no_answer"), found.reason
        assert "two pieces" not in (found.reason or "")


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
        ("fleet.groupby('type')['km'].sum()", "dict(zip(['van', 'car'], [35600, 205700]))"),
        ("{'min': 1, 'max': 2}", "{'min': 2, 'max': 1}"),
        ("fleet.iloc[0]", "84200"),
        ("[1234567890]", "[1234567891]"),
        ("pd.Timedelta(days=3)", "pd.Timedelta(days=-3)"),
        ("pd.Timestamp('2024-05-01')", "pd.Timestamp('2024-05-01 23:59')"),
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


def test_tables_of_polars_and_last_expressions_are_compared(box: Sandbox) -> None:
    pl = pytest.importorskip("polars")
    with Sandbox(packages=["polars", "pandas"]) as opened:

        def ask_of(one: str, other: str) -> ComputationResult:
            replies: list[Any] = [
                {"json": {"reasoning": "", "python": code, "explain": ""}} for code in (one, other)
            ]
            computation = Computation(
                scripted(replies), sandbox=opened, summarise=False, cross_check=True
            )
            return computation.run("Tell me of the fleet", {"fleet": pl.DataFrame(ROWS)})

        total = "result = fleet['km'].sum()"
        assert ask_of(total, "fleet.select(fleet['km'].sum())").outcome == "answered"
        assert ask_of("fleet['Plate']", "result = list(fleet['Plate'])").outcome == "answered"
        assert ask_of("fleet['Plate']", "result = ['KX-204']").outcome == "no_answer"
        assert ask_of("[1, 2]", "result = [1, 3]").outcome == "no_answer"


def test_names_of_functions_that_code_takes_away_do_not_end_the_check(box: Sandbox) -> None:
    shadowed = "65\nstr = type = list = len = max = 3"
    assert ask(box, shadowed, "66").outcome == "no_answer"
    assert ask(box, "65", shadowed).outcome == "answered"


def test_a_secret_in_a_result_stands_neither_in_the_reason_nor_in_the_store(
    box: Sandbox, tmp_path: Path
) -> None:
    from antiphon import models
    from antiphon.checkpoint import SqliteSaver

    key = "~sk-Proj-AbC123-xyZ789-ThisIsSecret"
    models.get("openai:gpt-5-mini", api_key=key)
    replies: list[Any] = [
        {"json": {"reasoning": "", "python": f"result = 'a ' + {part!r}", "explain": ""}}
        for part in (key, "other")
    ]
    checkpointer = SqliteSaver.open(str(tmp_path / "threads.db"))
    computation = Computation(
        scripted(replies), sandbox=box, summarise=False, cross_check=True, checkpointer=checkpointer
    )
    found = computation.run("Which key?", {}, thread="t")
    checkpointer.close()
    assert found.outcome == "no_answer"
    for text in (found.reason, str(found.to_dict()), (tmp_path / "threads.db").read_bytes()):
        assert "thisissecret" not in str(text).lower()
    assert "***" in str(found.reason)


def test_a_check_goes_on_with_the_setting_off(box: Sandbox) -> None:
    from antiphon.checkpoint import MemorySaver

    def reply(code: str) -> Any:
        return {"json": {"reasoning": "", "python": f"result = {code}", "explain": ""}}

    checkpointer = MemorySaver()
    model = scripted([reply("7")], name="local:1.5b")
    first = Computation(model, sandbox=box, summarise=False, checkpointer=checkpointer)
    assert first.run("How many?", {"n": 7}, thread="t").outcome == "error"
    second = Computation(
        scripted([reply("8")]),
        sandbox=box,
        summarise=False,
        cross_check=False,
        checkpointer=checkpointer,
    )
    assert second.resume("t").outcome == "no_answer"
