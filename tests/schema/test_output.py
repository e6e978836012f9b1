"""Values of a type of which some may no longer fit it."""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass
from typing import Any

import pydantic

from antiphon._schema.contract import Output

NOTED = "2020-01-01 (not confirmed)"


@dataclass
class Event:
    name: str
    day: dt.date | None = None


class Trip(pydantic.BaseModel):
    start: dt.date | None
    stops: list[dt.date]


def test_what_a_type_refuses_becomes_null_or_goes() -> None:
    rest = Output(Event, "`output`").construct_rest({"name": "fair", "day": NOTED})
    assert rest == (Event("fair"), ["answer.day"])
    value: dict[str, Any] = {"start": NOTED, "stops": ["2020-01-02", NOTED, "2020-01-03"]}
    made, refused = Output(Trip, "`output`").construct_rest(value)
    assert made == Trip(start=None, stops=[dt.date(2020, 1, 2), dt.date(2020, 1, 3)])
    assert refused == ["answer.start", "answer.stops[1]"]


def test_a_value_that_is_wrapped_in_an_object_is_emptied_too() -> None:
    made, refused = Output(list[dt.date], "`output`").construct_rest({"value": [NOTED]})
    assert (made, refused) == ([], ["answer[0]"])


def test_nothing_is_made_of_a_value_without_what_its_type_needs() -> None:
    @dataclass
    class Dated:
        day: dt.date

    made, refused = Output(Dated, "`output`").construct_rest({"day": NOTED})
    assert made is None
    assert refused[0] == "answer.day"
