"""Types beyond Python's plain ones, each in its stored form and back."""

from __future__ import annotations

import datetime as dt
import ipaddress
import pathlib
import re
import zoneinfo
from collections import Counter, OrderedDict, defaultdict, deque
from decimal import Decimal
from fractions import Fraction
from typing import Any
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st
from langchain_core.documents import Document
from langchain_core.messages import (
    AIMessage,
    AIMessageChunk,
    BaseMessage,
    HumanMessage,
    RemoveMessage,
    ToolMessage,
)

from antiphon.checkpoint import StoredException
from antiphon.errors import StateError, ToolError
from antiphon.graph import Command, GraphRecursionError, Overwrite, Send
from antiphon.graph import RemoveMessage as OurRemoveMessage
from antiphon.result import Question, Usage
from support.stored_values import VALUES, Registry, Values, restored

zones = (
    st.none()
    | st.just(dt.UTC)
    | st.timezones()
    | st.sampled_from(
        [
            dt.timezone(dt.timedelta(hours=-3, minutes=30)),
            dt.timezone(dt.timedelta(hours=1), "CET"),
        ]
    )
)
data: st.SearchStrategy[Any] = (
    st.dates()
    | st.datetimes(timezones=zones)
    | st.times(timezones=zones)
    | st.timedeltas()
    | st.decimals(allow_nan=False)
    | st.fractions()
    | st.uuids()
    | st.complex_numbers(allow_nan=False)
    | st.binary().map(bytearray)
    | st.ip_addresses()
    | st.builds(range, st.integers(-9, 9), st.integers(), st.integers(1, 9))
    | st.builds(deque, st.lists(st.integers()), st.none() | st.integers(0, 9))
)


@given(data)
def test_data_of_the_standard_library_is_restored(value: Any) -> None:
    made = restored(value)
    assert made == value
    assert repr(made) == repr(value)
    assert getattr(made, "fold", 0) == getattr(value, "fold", 0)


@pytest.mark.parametrize(
    "value",
    [
        dt.datetime(2026, 10, 25, 2, 30, tzinfo=zoneinfo.ZoneInfo("Europe/Paris"), fold=1),
        dt.datetime(2026, 10, 25, 2, 30, fold=1),  # noqa: DTZ001
        dt.UTC,
        dt.timezone(dt.timedelta(0), "GMT"),
        zoneinfo.ZoneInfo("America/Argentina/Buenos_Aires"),
        Decimal("-0"),
        Decimal("NaN123"),
        Decimal("1E+999999"),
        UUID(int=0),
        pathlib.Path("/a/b"),
        pathlib.PurePosixPath("a"),
        pathlib.PureWindowsPath("c:\\x"),
        ipaddress.ip_network("10.0.0.0/8"),
        ipaddress.ip_interface("::1/64"),
        re.compile("a+", re.IGNORECASE),
        re.compile(b"a"),
        ...,
        OrderedDict([("b", 1), ("a", 2)]),
        Counter("abca"),
        defaultdict(list, {"a": [1]}),
        defaultdict(None),
        {dt.date(2026, 1, 1): {Decimal(1), Fraction(1, 3)}},
        Send("node", {"x": UUID(int=1)}, timeout=2.5),
        Overwrite([1]),
        OurRemoveMessage("m1"),
        Question("q1", "asker", {"how": "many"}),
        Usage(steps=3),
    ],
    ids=repr,
)
def test_a_value_is_restored_unchanged(value: Any) -> None:
    made = restored(value)
    assert repr(made) == repr(value)
    if not isinstance(value, Overwrite):
        assert made == value or value != value  # noqa: PLR0124  # a NaN


def test_a_command_is_restored_with_all_fields() -> None:
    command: Command[Any] = Command(
        graph=Command.PARENT, update={"a": 1}, resume=2, goto=[Send("b", 3)], only=True, end=True
    )
    made = restored(command)
    for name in ("graph", "update", "resume", "goto", "only", "end"):
        assert getattr(made, name) == getattr(command, name)


messages: list[BaseMessage] = [
    HumanMessage("hi", id="1", name="me"),
    AIMessage(
        "",
        tool_calls=[{"name": "f", "args": {"x": 1}, "id": "c1", "type": "tool_call"}],
        usage_metadata={"input_tokens": 1, "output_tokens": 2, "total_tokens": 3},
        response_metadata={"model": "m"},
        additional_kwargs={"k": [1]},
    ),
    AIMessageChunk(content="part", tool_call_chunks=[]),
    ToolMessage("12", tool_call_id="c1", artifact={"raw": b"x"}, status="error"),
    RemoveMessage(id="1"),
    HumanMessage([{"type": "text", "text": "x"}], extra_field=1),
]


@pytest.mark.parametrize("message", messages, ids=lambda message: type(message).__name__)
def test_messages_of_langchain_are_restored(message: BaseMessage) -> None:
    made = restored(message)
    assert made == message
    assert made.model_dump() == message.model_dump()
    assert made.model_fields_set == message.model_fields_set


def test_a_message_takes_hardly_more_than_its_text() -> None:
    assert len(VALUES.pack(HumanMessage("x" * 200))) < 200 + 60


def test_a_document_of_langchain_is_restored() -> None:
    document = Document("text", metadata={"page": 3})
    assert restored(document) == document


def test_exceptions_of_python_are_restored() -> None:
    error = FileNotFoundError(2, "no such file", "/x")
    error.add_note("a note")
    made = restored(error)
    assert (made.args, made.filename, made.__notes__) == (error.args, "/x", ["a note"])
    group = restored(ExceptionGroup("two", [ValueError(1), KeyError("k")]))
    assert [repr(part) for part in group.exceptions] == ["ValueError(1)", "KeyError('k')"]


def test_exceptions_of_antiphon_are_restored_with_code_and_details() -> None:
    made = restored(ToolError("no", code="city_unknown", details={"city": "x"}, hint="ask again"))
    assert (made.code, made.details, made.hint) == ("city_unknown", {"city": "x"}, "ask again")
    assert restored(GraphRecursionError("far")).code == "graph_recursion_limit"


class OutOfStock(Exception):
    def __init__(self, item: str, left: int) -> None:
        super().__init__(f"only {left} of {item}")
        self.left = left


def test_an_unregistered_exception_is_restored_as_data() -> None:
    made = VALUES.unpack(VALUES.pack(OutOfStock("tea", 2)))
    assert type(made) is StoredException
    assert made.message == "only 2 of tea"
    assert made.type == f"{__name__}.OutOfStock"
    assert restored(made).args == made.args


def test_a_registered_exception_is_restored_with_its_class() -> None:
    registry = Registry()
    registry.register(OutOfStock)
    values = Values(registry)
    made = values.unpack(values.pack(OutOfStock("tea", 2)))
    assert type(made) is OutOfStock
    assert (str(made), made.left) == ("only 2 of tea", 2)


class Day(dt.date):
    pass


@pytest.mark.parametrize(
    ("value", "problem"),
    [
        (Day(2026, 1, 1), "an object of type"),
        (
            [dt.datetime(2026, 1, 1, tzinfo=type("Zone", (dt.tzinfo,), {})())],
            "item 0: an object of type .*Zone",
        ),
        (defaultdict(lambda: 1), "its factory is not one of Python's own types"),
        (deque([1, object()]), "item 1: an object of type object"),
    ],
    ids=["subclass", "zone", "factory", "inside"],
)
def test_what_has_no_form_is_refused_by_name(value: object, problem: str) -> None:
    with pytest.raises(StateError, match=problem) as caught:
        VALUES.pack(value)
    assert caught.value.code == "value_unstorable"


def forged(number: int, parts: object) -> bytes:
    packed = VALUES.pack(parts)
    return b"\xc9" + len(packed).to_bytes(4, "big") + bytes([number]) + packed


@pytest.mark.parametrize(
    ("number", "parts"),
    [
        (16, 10**12),  # a bytearray of that size
        (18, ["a", 1, 1]),
        (19, [None, 10**12]),
        (22, [99, {}]),
        (22, ["os.system", {}]),
        (23, ["(", 0]),
        (32, "yesterday"),
        (37, "../../etc/passwd"),
        (37, "os"),
        (41, [1, 0]),
        (52, 1),
        (64, ["eval", ["1"], None]),
        (64, ["SystemExit", 1, None]),
        (65, ["AntiphonError.__init__", [], {}]),
        (80, ["os.system", {}]),
        (80, ["BaseMessage"]),
        (89, ["|O8", b"12345678"]),
        (88, ["<f8", [10**9], "C", b""]),
        (88, ["<f8", [-1, -1], "C", b"12345678"]),
        (88, ["<f8,O", [1], "C", b"12345678"]),
        (99, None),
        (127, None),
    ],
)
def test_forged_parts_are_refused(number: int, parts: object) -> None:
    with pytest.raises(StateError) as caught:
        VALUES.unpack(forged(number, parts))
    assert caught.value.code == "checkpoint_corrupt"


@given(
    st.integers(0, 127),
    st.recursive(
        st.none() | st.integers() | st.text() | st.binary() | st.floats(),
        lambda inner: st.lists(inner, max_size=5) | st.dictionaries(st.text(), inner, max_size=3),
    ),
)
def test_any_parts_of_any_form_are_a_value_or_refused(number: int, parts: object) -> None:
    try:
        VALUES.unpack(forged(number, parts))
    except StateError as error:
        assert error.code in {"checkpoint_corrupt", "checkpoint_misfit"}  # noqa: PT017
