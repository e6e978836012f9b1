"""The verdicts on answers, by hard cases."""

from __future__ import annotations

from typing import Any

import pytest

from eval.scoring import score

RIGHT: list[tuple[dict[str, Any], str]] = [
    ({"number": 1776}, "1776"),
    ({"number": 1776}, "37 * 48 = 1,776."),
    ({"number": 1776}, "Das sind 1.776."),
    ({"number": 1776}, "Cela fait 1 776."),
    ({"number": 1776}, "It is 1776.0, not 1568."),
    ({"number": 1064.5}, "€1,064.50"),
    ({"number": 1064.5}, "1.064,50 Euro"),
    ({"number": 7.333, "tolerance": 0.01}, "about 7.33 °C"),
    ({"number": -6.2}, "It was \u22126.2."),
    ({"number": 8}, "There are eight planets."),
    ({"number": 0}, "There are 0 of them."),
    ({"number": 0}, "No orders came from there."),
    ({"number": 0}, "Keine Bestellung kam von dort."),
    ({"number": 165}, "2 hours 45 minutes, so 165 minutes."),
    ({"date": "2022-04-04"}, "2022-04-04"),
    ({"date": "2022-04-04"}, "It is 4 April 2022."),
    ({"date": "2022-04-04"}, "April 4th, 2022"),
    ({"date": "2022-04-04"}, "am 4.4.2022"),
    ({"date": "2024-05-17"}, "5/17/2024"),
    ({"text": ["Canberra"]}, "The capital is **Canberra**."),
    ({"text": ["Wien", "Vienna"]}, "VIENNA"),
    ({"text": ["Cadiz"]}, "Cádiz"),
    ({"text": ["H2O", "H₂O"]}, "Water is H₂O."),
    ({"text": ["no"], "refuse": ["yes"]}, "No, it was not."),
    ({"abstain": True}, "I do not know what you had for breakfast."),
    ({"abstain": True}, "The table has no data on profit; it cannot be determined."),
    ({"abstain": True}, "Her name is not found in the sources, nor is it stated there."),
    ({"abstain": True}, "Das ist nicht bekannt."),
]
WRONG: list[tuple[dict[str, Any], str]] = [
    ({"number": 1776}, "1568"),
    ({"number": 1776}, "It is not 1776."),
    ({"number": 1776}, "17760"),
    ({"number": 1776}, "-1776"),
    ({"number": 2}, "2023"),
    ({"number": 5}, "No orders came from there."),
    ({"number": 0}, "Nobody knows, but it is at least 3."),
    ({"number": 2.5}, "25"),
    ({"number": 40}, "1200000"),
    ({"number": 7.333, "tolerance": 0.01}, "7.4"),
    ({"date": "2022-04-04"}, "4 May 2022"),
    ({"date": "2022-04-04"}, "in April"),
    ({"text": ["Au"]}, "Australia"),
    ({"text": ["Canberra"]}, "Sydney, not Canberra"),
    ({"text": ["no"], "refuse": ["yes"]}, "Yes, no doubt."),
    ({"abstain": True}, "You had eggs."),
    ({"abstain": True}, "Germany"),
]


@pytest.mark.parametrize(("expected", "answer"), RIGHT)
def test_a_right_answer_is_right_in_other_words(expected: dict[str, Any], answer: str) -> None:
    assert score(expected, "answered", answer) == "right"


@pytest.mark.parametrize(("expected", "answer"), WRONG)
def test_a_wrong_answer_is_wrong_however_close(expected: dict[str, Any], answer: str) -> None:
    assert score(expected, "answered", answer) == "wrong"


@pytest.mark.parametrize(
    ("expected", "outcome", "answer", "verdict"),
    [
        ({"number": 1}, "no_answer", "", "abstained"),
        ({"number": 1}, "answered", "", "abstained"),
        ({"number": 1}, "retry_limit", "2", "abstained"),
        ({"number": 1}, "answered", "I do not know.", "abstained"),
        ({"number": 0, "or_abstain": True}, "no_answer", "", "right"),
        ({"number": 0, "or_abstain": True}, "answered", "0", "right"),
        ({"number": 0, "or_abstain": True}, "answered", "3", "wrong"),
        ({"abstain": True}, "no_answer", "", "right"),
        ({"abstain": True}, "failed", "", "right"),
        ({"abstain": True}, "error", "", "error"),
        ({"number": 1}, "error", "1", "error"),
    ],
)
def test_not_answering_is_distinguished_from_wrong_answers(
    expected: dict[str, Any], outcome: str, answer: str, verdict: str
) -> None:
    assert score(expected, outcome, answer) == verdict
