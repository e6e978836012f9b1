"""Values through a real worker and back."""

from __future__ import annotations

import datetime as dt
import decimal
import fractions
import json
import math
import uuid
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from antiphon.sandbox._guest.budget import Budget, TooLarge
from antiphon.sandbox._guest.decode import Decoder, Opaque
from antiphon.sandbox._guest.encode import Encoder
from sandbox.guest.worker import Worker, once

if TYPE_CHECKING:
    from collections.abc import Iterator

_MOMENT = dt.datetime.fromisoformat("2024-05-06T07:08:09.123456")
_MINUTE = _MOMENT.replace(second=0, microsecond=0)
_MIDNIGHT = _MINUTE.replace(hour=0, minute=0)
# Python itself reads an offset of less than a second as none.
_ZONES = st.timezones() | st.integers(-86_000, 86_000).map(
    lambda seconds: dt.timezone(dt.timedelta(seconds=seconds))
)
_SCALARS = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.integers(-(2**200), 2**200)
    | st.floats(allow_nan=False)
    | st.text(st.characters(exclude_categories=["Cs"]))
    | st.binary()
    | st.complex_numbers(allow_nan=False)
    | st.datetimes()
    | st.dates()
    | st.times()
    | st.timedeltas()
    | st.decimals(allow_nan=False)
    | st.fractions()
    | st.uuids()
)
_KEYS = st.recursive(
    _SCALARS,
    lambda inner: st.lists(inner, max_size=3).map(tuple) | st.frozensets(inner),
    max_leaves=4,
)
_VALUES = st.recursive(
    _SCALARS,
    lambda inner: (
        st.lists(inner)
        | st.lists(inner).map(tuple)
        | st.dictionaries(st.text() | st.just("$"), inner)
        | st.dictionaries(_KEYS, inner, max_size=4)
        | st.sets(_KEYS, max_size=4)
        | st.frozensets(_KEYS, max_size=4)
    ),
    max_leaves=20,
)


@pytest.fixture(scope="module")
def worker() -> Iterator[Worker]:
    with Worker(packages=True) as started:
        started.run("import numpy as np, pandas as pd")
        yield started


def encode(value: Any, **limits: int) -> Any:
    budget = Budget(**{"bytes": 1 << 20, "nodes": 100_000, "depth": 64} | limits)
    return json.loads(budget.text_of(Encoder(budget).encode(value)))


def decode(tagged: Any) -> Any:
    return Decoder().decode(tagged)


def same(left: Any, right: Any) -> bool:
    """Equal, and of the same types all the way down."""
    if type(left) is not type(right):
        return False
    if isinstance(left, dict):
        return same(list(left.items()), list(right.items()))
    if isinstance(left, list | tuple):
        return len(left) == len(right) and all(map(same, left, right))
    if isinstance(left, set | frozenset):
        return bool(left == right) and {type(item) for item in left} == {
            type(item) for item in right
        }
    if isinstance(left, float) and left == 0:
        return math.copysign(1, left) == math.copysign(1, right)
    return bool(left == right)


@settings(max_examples=150)
@given(_VALUES)
def test_a_value_is_returned_unchanged(worker: Worker, value: Any) -> None:
    outcome = worker.run("value", inputs={"value": encode(value)}, want=["value"])
    assert outcome.get("value_error") is None
    back = decode(outcome["value"])
    assert same(back, value)


@settings(max_examples=50)
@given(st.datetimes(timezones=_ZONES))
def test_a_time_zone_is_returned_as_its_offset(value: dt.datetime) -> None:
    back = decode(encode(value))
    assert back.replace(tzinfo=None) == value.replace(tzinfo=None)
    assert back.utcoffset() == value.utcoffset()


@pytest.mark.parametrize("text", ["nan", "inf", "-inf"])
def test_numbers_that_json_lacks_are_returned(text: str) -> None:
    back = decode(encode([float(text), complex(float(text), 1)]))
    assert repr(back) == repr([float(text), complex(float(text), 1)])


@pytest.mark.parametrize("text", ["NaN", "-Infinity", "1E+400", "-0", "sNaN12", "0E-30"])
def test_decimals_are_returned_with_all_digits(text: str) -> None:
    assert str(decode(encode(decimal.Decimal(text)))) == text


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ("'a\\ud800b'", "a\ufffdb"),
        ("'\\ud83d\\ude00'", "\U0001f600"),
        ("bytearray(b'ab')", b"ab"),
        ("range(0, 9, 4)", [0, 4, 8]),
        ("__import__('collections').Counter('aab')", {"a": 2, "b": 1}),
        ("__import__('collections').deque([1, 2])", [1, 2]),
        ("__import__('collections').OrderedDict(a=1)", {"a": 1}),
        ("{'a': 1}.keys()", ["a"]),
        ("{'a': 1}.items()", [("a", 1)]),
        ("np.int64(3)", 3),
        ("np.float32(0.5)", 0.5),
        ("np.bool_(True)", True),
        ("np.str_('text')", "text"),
        (
            "np.datetime64('2024-05-06T07:08:09.123456789')",
            _MOMENT,
        ),
        ("np.timedelta64(90, 's')", dt.timedelta(seconds=90)),
        ("np.array(['2024-05-06'], 'datetime64[ns]')", [_MIDNIGHT]),
        ("np.array(['a', 'b'])", ["a", "b"]),
        ("np.array([1, None, 'x'], dtype=object)", [1, None, "x"]),
        ("pd.Timestamp('2024-05-06 07:08')", _MINUTE),
        ("pd.Timedelta('1h')", dt.timedelta(hours=1)),
        ("[pd.NA, pd.NaT]", [None, None]),
        ("pd.Index([1, 2])", [1, 2]),
        ("pd.Categorical(['a', 'b'])", ["a", "b"]),
        ("pd.Series([1, 2]).unique().tolist()", [1, 2]),
    ],
)
def test_kin_of_plain_values_come_as_those(worker: Worker, code: str, expected: Any) -> None:
    outcome = worker.run(code, want=["value"])
    assert same(decode(outcome["value"]), expected)


@pytest.mark.parametrize("name", ["bool", "int8", "uint64", "float16", "float64", "complex128"])
@pytest.mark.parametrize("shape", [(), (0,), (3,), (2, 3), (2, 0, 3)])
def test_arrays_are_returned_with_type_and_shape(
    worker: Worker, name: str, shape: tuple[int, ...]
) -> None:
    array = (np.arange(math.prod(shape)) % 2).astype(name).reshape(shape)
    outcome = worker.run("a", inputs={"a": encode(array)}, want=["value"])
    back = decode(outcome["value"])
    assert back.dtype == array.dtype
    assert back.flags.writeable
    np.testing.assert_array_equal(back, array)


@pytest.mark.parametrize("code", ["np.arange(6).reshape(2, 3).T", "np.arange(3).astype('>i4')"])
def test_the_order_of_an_arrays_bytes_is_no_matter(worker: Worker, code: str) -> None:
    outcome = worker.run(f"[{code}, ({code}).tolist()]", want=["value"])
    array, items = decode(outcome["value"])
    assert array.tolist() == items


def test_a_worker_without_numpy_gets_nested_lists() -> None:
    inputs = {
        name: encode(np.arange(6).reshape(2, 3).astype(name))
        for name in ("int32", "bool", "float16", "complex64")
    }
    inputs |= {"none": encode(np.zeros((2, 0, 3))), "zero": encode(np.array(7.0))}
    outcome = once("[int32, bool, float16, complex64, none, zero]", inputs=inputs)
    assert decode(outcome["value"]) == [
        [[0, 1, 2], [3, 4, 5]],
        [[False, True, True], [True, True, True]],
        [[0.0, 1.0, 2.0], [3.0, 4.0, 5.0]],
        [[0, 1, 2], [3, 4, 5]],
        [[], []],
        7.0,
    ]


@pytest.mark.parametrize(
    ("code", "name", "picture"),
    [
        ("object", "type", "<class 'object'>"),
        ("class P:\n    def __repr__(self): return 'P!'\nP()", "P", "P!"),
        ("import enum\nclass C(enum.Enum):\n    RED = 1\nC.RED", "C", "<C.RED: 1>"),
        ("class L(list): pass\nL([1])", "L", "[1]"),
        ("import string\nstring.Template('a')", "string.Template", None),
        ("np.longdouble(1)", f"numpy.{np.longdouble.__name__}", None),
        ("class P:\n    def __repr__(self): return 'x' * 10**6\nP()", "P", "x" * 3999 + "…"),
    ],
)
def test_what_has_no_form_is_shown(
    worker: Worker, code: str, name: str, picture: str | None
) -> None:
    value = decode(worker.run(code, want=["value"])["value"])
    assert isinstance(value, Opaque)
    assert value.type == name
    assert picture is None or value.repr == picture


def test_what_the_encoder_takes_the_decoder_accepts_at_the_edge_of_the_budget() -> None:
    items = [dt.timedelta(1), 1j, {1: 2}, (), fractions.Fraction(1, 3), uuid.uuid4(), math.inf]
    budget = Budget(bytes=1 << 20, nodes=15, depth=2)
    assert Decoder(nodes=15, depth=2).decode(Encoder(budget).encode(items)) == items
    with pytest.raises(TooLarge):
        encode(items, nodes=14)


@pytest.mark.parametrize(
    ("value", "limits"),
    [
        ([[[1]]], {"depth": 2}),
        ([1] * 10, {"nodes": 10}),
        ("x" * 10, {"bytes": 11}),
        ("ä" * 6, {"bytes": 12}),
        (b"x" * 10, {"bytes": 20}),
        (np.zeros(100), {"bytes": 1000}),
        (range(10**30), {}),
        pytest.param(10**4300, {}, id="integer"),
        (fractions.Fraction(1, 10**4300), {}),
        (decimal.Decimal("1" * 4301), {}),
    ],
)
def test_encoding_keeps_to_the_budget_of_nodes(value: Any, limits: dict[str, int]) -> None:
    with pytest.raises(TooLarge):
        encode(value, **limits)


def test_a_long_integer_within_the_limit_is_returned() -> None:
    assert decode(encode(10**4299)) == 10**4299


@pytest.mark.parametrize("shape", ["(10**9, 0)", "(0, 10**9)", "(2,) * 18", "(60_000, *[1] * 20)"])
def test_an_array_that_unfolds_to_far_more_than_its_bytes_is_lost_alone(shape: str) -> None:
    code = f"import numpy as np\nkept = np.zeros((40_000, 0))\nnp.zeros({shape}, 'int8')"
    outcome = once(code, packages=True)
    assert outcome["error"] is None
    assert outcome["value_error"]["kind"] == "result_too_large"
    assert outcome["locals"]["kept"]["shape"] == [40_000, 0]
