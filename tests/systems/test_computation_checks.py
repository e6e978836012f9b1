"""What code finds of a result that is not what was asked for: a scripted model, a real sandbox."""

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
    {"Plate": "KX-204", "type": "van", "km": 84200, "serviced": "2024-01-15", "L/100km": 9.4},
    {"Plate": "KX-219", "type": "van", "km": 121500, "serviced": "2023-08-02", "L/100km": 10.1},
    {"Plate": "LB-077", "type": "car", "km": 35600, "serviced": "2024-03-28", "L/100km": 5.2},
    {"Plate": "MT-550", "type": "truck", "km": 210300, "serviced": None, "L/100km": 27.5},
]


def plan(python: str) -> dict[str, object]:
    return {"json": {"reasoning": "look", "python": python, "explain": "Looks."}}


@pytest.fixture(scope="module")
def box() -> Iterator[Sandbox]:
    pytest.importorskip("pandas")
    with Sandbox(packages=["pandas", "numpy", "pyarrow"]) as opened:
        yield opened


def fleet() -> Any:
    import pandas as pd

    return pd.DataFrame(ROWS)


def ask(box: Sandbox, question: str, *codes: str, rows: Any = None) -> ComputationResult:
    computation = Computation(
        scripted([plan(code) for code in codes]), sandbox=box, summarise=False
    )
    return computation.run(question, {"fleet": fleet() if rows is None else rows})


def ask_small(box: Sandbox, question: str, code: str, rows: Any) -> ComputationResult:
    """What comes of a small model that keeps to its code."""
    # It may be asked for the column too; else this reply is no plan, and is asked for again.
    column = {"json": {"asked_for": "it", "column": "Plate"}}
    replies = [plan(code), column, plan(code), plan(code)]
    model = scripted(replies, name="local:1.5b")
    computation = Computation(model, sandbox=box, summarise=False, cross_check=False)
    return computation.run(question, {"fleet": rows})


MOST = "Which vehicle has driven most? Give its plate."
LITRES = "How many litres does KX-219 need for 300 km?"
USED = "fleet.loc[fleet['Plate'] == 'KX-219', 'L/100km'].iloc[0]"


@pytest.mark.parametrize(
    ("question", "wrong", "right", "value"),
    [
        (
            MOST,
            "result = fleet.groupby('type')['km'].sum().idxmax()",
            "result = fleet.loc[fleet['km'].idxmax(), 'Plate']",
            "MT-550",
        ),
        (MOST, "result = fleet['Plate']", "result = fleet['Plate'].iloc[3]", "MT-550"),
        (LITRES, f"result = {USED} * 300", f"result = float({USED} * 300 / 100)", 30.3),
        (
            "What percentage of the vehicles are vans?",
            "result = fleet[fleet['type'] == 'van']['km'].sum() / len(fleet)",
            "result = float((fleet['type'] == 'van').mean() * 100)",
            50,
        ),
        (
            "How many vans are there?",
            "result = fleet['type'].max()",
            "result = int((fleet['type'] == 'van').sum())",
            2,
        ),
    ],
)
def test_what_is_not_asked_for_goes_back_and_is_no_answer_of_a_small_model(
    box: Sandbox, question: str, wrong: str, right: str, value: object
) -> None:
    for rows in (fleet(), ROWS):
        if rows is ROWS:  # a list of dicts has the same cells
            make = "import pandas as pd\nframe = pd.DataFrame(fleet)\n"
            wrong, right = (
                make + code.replace("fleet[", "frame[").replace("fleet.", "frame.")
                for code in (wrong, right)
            )
            wrong = wrong.replace("len(fleet)", "len(frame)")
        mended = ask(box, question, wrong, right, rows=rows)
        assert (mended.outcome, mended.value) == ("answered", pytest.approx(value))
        assert mended.attempts[0].no_answer is not None
        refused = ask_small(box, question, wrong, rows)
        assert (refused.outcome, refused.answer) == ("no_answer", None)
        assert refused.reason == refused.attempts[1].no_answer
        kept = ask(box, question, wrong, wrong, rows=rows)
        assert (kept.outcome, kept.attempts[0].no_answer) == ("answered", refused.reason)
        first = ask(box, question, right, rows=rows)
        assert (first.outcome, len(first.attempts)) == ("answered", 1)


@pytest.mark.parametrize(
    ("question", "code"),
    [
        (MOST, "result = 'The vehicle mt-550'"),
        (MOST, "result = fleet.nlargest(1, 'km')[['Plate', 'km']]"),
        (MOST, "result = ('MT-550', 210300)"),
        (MOST, "result = {'plate': 'MT-550', 'km': 210300, 'type': 'truck'}"),
        (MOST, "result = fleet.set_index('Plate')['km'].nlargest(1)"),
        (MOST, "fleet = fleet.set_index('Plate')\nresult = fleet['km'].idxmax() + '!'"),
        (MOST, "fleet.loc[fleet['km'].idxmax(), 'Plate']"),
        (
            "Which serviced date is the latest?",
            "import pandas as pd\nresult = pd.to_datetime(fleet['serviced']).max()",
        ),
        ("How many km have the vans driven?", "result = fleet.groupby('type')['km'].sum()['van']"),
        ("How many vehicles are there per type?", "result = fleet['type'].value_counts()"),
        ("Which types are there, and how many?", "result = fleet['type'].value_counts().to_dict()"),
        ("Which km is the largest?", "result = fleet['km'].max()"),
        ("What km did the vans drive in total?", "result = fleet['km'][:2].sum()"),
        (
            "How many more km than KX-204 has KX-219 driven?",
            "km = fleet.set_index('Plate')['km']\nresult = f\"{km['KX-219'] - km['KX-204']:,} km\"",
        ),
        ("Which vehicle has driven most?", "result = fleet.loc[fleet['km'].idxmax()]"),
        ("In which month was KX-219 serviced?", "result = {'KX-219': 'August'}['KX-219']"),
    ],
)
def test_what_is_asked_for_is_the_answer_in_any_form(
    box: Sandbox, question: str, code: str
) -> None:
    found = ask(box, question, code, "result = None")
    assert (found.outcome, len(found.attempts)) == ("answered", 1), found.attempts


def test_what_is_only_unusual_goes_back_once(box: Sandbox) -> None:
    code = "result = fleet['km'].min()"
    found = ask(box, "How many km have the vehicles of the type van driven at least?", code, code)
    first, second = found.attempts
    assert first.no_answer is not None
    assert "`van`" in first.no_answer
    assert (found.outcome, second.no_answer) == ("answered", None)


def test_the_model_reads_dates_as_text_and_the_column_that_is_asked_for(box: Sandbox) -> None:
    model = scripted(
        [
            plan("result = fleet['serviced'].min().strftime('%Y')"),
            plan("result = fleet.loc[fleet['serviced'].idxmin(), 'Plate']"),
        ]
    )
    computation = Computation(model, sandbox=box, summarise=False)
    table = fleet().dropna()
    found = computation.run("Which vehicle was serviced first? Give its plate.", {"fleet": table})
    assert found.value == "KX-219"
    first, again = (request["messages"][-1]["content"] for request in model.requests)
    assert "- 'serviced': str, dates as text" in first or "object, dates as text" in first
    assert "pd.to_datetime(fleet['serviced']).dt.month" in first
    assert "result = fleet.loc[fleet['L/100km'].idxmax(), 'Plate']" in first
    assert "assign the answer, a value of `Plate`, to `result`" in first
    assert "Dates as text become dates with pd.to_datetime" in again
    assert "result = fleet.loc[row, 'Plate']" in again
