"""Results of tools as JSON values for a model."""

from __future__ import annotations

import collections
import enum
import json
from dataclasses import dataclass
from datetime import UTC, date, datetime, time
from decimal import Decimal
from pathlib import PurePosixPath
from types import MappingProxyType
from typing import Any, NamedTuple
from uuid import UUID

import pydantic
import pytest
from hypothesis import given
from hypothesis import strategies as st

from antiphon._json_values import encode_or, encode_result
from antiphon.errors import ToolError


class Colour(enum.Enum):
    RED = "red"


class Opaque(enum.Enum):
    A = (1, 2)


@dataclass
class Point:
    x: float
    tags: set[str]


class Pair(NamedTuple):
    left: int
    right: Colour


class Model(pydantic.BaseModel):
    when: date
    raw: Decimal


class Text(str):
    __slots__ = ()


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("plain", "plain"),
        (None, None),
        (True, True),
        (1, 1),
        (1.5, 1.5),
        (float("nan"), "nan"),
        (float("-inf"), "-inf"),
        (2**64 - 1, 2**64 - 1),
        (2**64, str(2**64)),
        (-(2**63) - 1, str(-(2**63) - 1)),
        (Text("t"), "t"),
        ([1, (2, [3])], [1, [2, [3]]]),
        ({"a": {"b": 1}}, {"a": {"b": 1}}),
        (MappingProxyType({"a": 1}), {"a": 1}),
        ({1: "a", False: "b"}, {"1": "a", "false": "b"}),
        (
            {None: 1, 1.5: 2, Colour.RED: 3, date(2026, 1, 2): 4},
            {"null": 1, "1.5": 2, "red": 3, "2026-01-02": 4},
        ),
        ({3, 1, 2}, [1, 2, 3]),
        ({"b", 1}, ["b", 1]),
        (frozenset({"a"}), ["a"]),
        ({1: 0}.keys(), [1]),
        (collections.deque([1]), [1]),
        (Colour.RED, "red"),
        (Opaque.A, "A"),
        (Point(1, {"b", "a"}), {"x": 1, "tags": ["a", "b"]}),
        (Pair(1, Colour.RED), {"left": 1, "right": "red"}),
        (Model(when=date(2026, 1, 2), raw=Decimal("1.0")), {"when": "2026-01-02", "raw": "1.0"}),
        (datetime(2026, 1, 2, tzinfo=UTC), "2026-01-02T00:00:00+00:00"),
        (time(1, 2), "01:02:00"),
        (Decimal("1.10"), "1.10"),
        (UUID(int=1), "00000000-0000-0000-0000-000000000001"),
        (PurePosixPath("a/b"), "a/b"),
        (b"\0x", "AHg="),
        (bytearray(b"\0x"), "AHg="),
    ],
    ids=lambda value: type(value).__name__,
)
def test_a_result_has_its_json(value: Any, expected: Any) -> None:
    encoded = encode_result(value)
    assert encoded == expected
    assert type(encoded) is type(expected)
    json.dumps(encoded, allow_nan=False)


@pytest.mark.parametrize(
    "value", [object(), [object()], {"a": {(1, 2): 3}}, Point, 1j, iter([]), len]
)
def test_what_has_no_json_is_refused_by_its_type(value: Any) -> None:
    with pytest.raises(ToolError) as caught:
        encode_result(value)
    assert caught.value.code == "tool_result"
    assert caught.value.hint
    assert encode_or(value, "otherwise") == "otherwise"


def test_two_keys_that_read_the_same_are_refused() -> None:
    with pytest.raises(ToolError, match="`1`"):
        encode_result({1: "a", "1": "b"})


def test_a_value_that_contains_itself_is_refused() -> None:
    loop: list[Any] = []
    loop.append(loop)
    with pytest.raises(ToolError, match="contains itself"):
        encode_result(loop)


@given(
    st.recursive(
        st.none()
        | st.booleans()
        | st.integers()
        | st.floats()
        | st.text()
        | st.binary()
        | st.dates(),
        lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner) | st.tuples(inner, inner),
    )
)
def test_every_encoding_is_json(value: Any) -> None:
    assert json.loads(json.dumps(encode_result(value), allow_nan=False)) == encode_result(value)


def test_halves_of_characters_become_replacements() -> None:
    assert encode_result({"k\udcff": ["a\udcffb", "\ud83d\ude00"]}) == {
        "k\ufffd": ["a\ufffdb", "\U0001f600"]
    }
