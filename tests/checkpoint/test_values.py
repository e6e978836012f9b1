"""Values to bytes and back: equal, of the same type, and nothing else."""

from __future__ import annotations

import enum
import math
import struct
import subprocess
import sys
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from antiphon.errors import StateError
from support.stored_values import VALUES, restored

DEEPEST = 200

hashable = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.integers(-(2**200), 2**200)
    | st.floats()
    | st.text()
    | st.text(st.characters(categories=["Cs", "L"]))
    | st.binary(),
    lambda inner: st.tuples(inner, inner) | st.frozensets(inner, max_size=4),
    max_leaves=8,
)
values = st.recursive(
    hashable,
    lambda inner: (
        st.lists(inner)
        | st.lists(inner).map(tuple)
        | st.dictionaries(st.text(), inner)
        | st.dictionaries(hashable, inner)
        | st.sets(hashable)
    ),
    max_leaves=30,
)


def shape(value: Any) -> Any:
    """A value with the type of everything in it: 1, 1.0 and True differ, as do 0.0 and -0.0."""
    kind = type(value)
    if kind is float:
        return kind, "nan" if math.isnan(value) else struct.pack("d", value)
    if kind in {list, tuple}:
        return kind, [shape(item) for item in value]
    if kind in {set, frozenset}:
        return kind, sorted(repr(shape(item)) for item in value)
    if kind is dict:
        return kind, [(shape(key), shape(item)) for key, item in value.items()]
    return kind, value


@given(values)
def test_a_value_is_restored_unchanged(value: object) -> None:
    assert shape(restored(value)) == shape(value)


@pytest.mark.parametrize(
    "number",
    [0, -1, 2**31, 2**63 - 1, 2**63, -(2**63), -(2**63) - 1, 2**64 - 1, 2**64, -(2**64), 2**5000],
)
def test_integers_of_any_size_are_restored(number: int) -> None:
    assert restored(number) == number


@pytest.mark.parametrize("size", [0, 254, 255, 256, 65_535, 65_536, 100_000])
def test_containers_of_any_size_are_restored(size: int) -> None:
    for kind in (list, tuple, set, frozenset):
        assert restored(kind(range(size))) == kind(range(size))
    assert restored(dict.fromkeys(range(size))) == dict.fromkeys(range(size))
    assert restored("x" * size) == "x" * size
    assert restored(b"x" * size) == b"x" * size


def test_text_with_lone_surrogates_is_kept_also_as_a_key() -> None:
    assert restored({"\ud800": "a\udfff"}) == {"\ud800": "a\udfff"}


def test_text_of_a_subclass_is_kept_as_text() -> None:
    assert type(restored([Text("x")])[0]) is str


def test_a_dict_keeps_its_order() -> None:
    assert list(restored({"b": 1, "a": 2})) == ["b", "a"]
    assert list(restored({2: 1, "a": 2, (): 3})) == [2, "a", ()]


class Text(str):
    __slots__ = ()


class Level(enum.IntEnum):
    LOW = 1


class Foo:
    pass


@pytest.mark.parametrize("value", [Level.LOW, Foo(), object, len])
def test_only_exact_types_are_stored(value: object) -> None:
    with pytest.raises(StateError) as caught:
        VALUES.pack(value)
    assert caught.value.code == "value_unstorable"
    assert type(value).__qualname__ in str(caught.value)


@pytest.mark.parametrize(
    ("value", "place"),
    [
        ([1, 2, 3, {"x": Foo()}], "item 3, key `x`: "),
        ({"a": ({1: Foo()},)}, "key `a`, item 0, key 1: "),
        ({(Foo(),): 1}, "a key, item 0: "),
        ({(1, 2): Foo()}, "a key of type tuple: "),
        ({"k" * 1000: Foo()}, f"key `{'k' * 60}`: "),
    ],
)
def test_an_error_names_the_type_and_the_place(value: object, place: str) -> None:
    with pytest.raises(StateError) as caught:
        VALUES.pack(value)
    wanted = f"a value cannot be stored: {place}an object of type {Foo.__module__}.Foo"
    assert caught.value.message == wanted


def nested(depth: int) -> list[Any]:
    value: list[Any] = []
    for _ in range(depth - 1):
        value = [value]
    return value


def test_depth_has_a_limit_and_what_is_written_can_be_read() -> None:
    assert restored(nested(DEEPEST)) == nested(DEEPEST)
    deep: Any = ()
    for level in range(DEEPEST - 1):
        deep = (deep,) if level % 2 else {1: deep}
    assert restored(deep) == deep
    with pytest.raises(StateError, match="more levels than: 200"):
        VALUES.pack(nested(DEEPEST + 1))


def test_what_holds_itself_is_refused() -> None:
    loop: list[Any] = []
    loop.append(loop)
    with pytest.raises(StateError, match="more levels than"):
        VALUES.pack(loop)


def unpacked_or_refused(data: bytes) -> None:
    try:
        VALUES.unpack(data)
    except StateError as error:
        # A misfit is what would have been well if its type were known here, or pickle allowed.
        assert error.code in {"checkpoint_corrupt", "checkpoint_misfit"}  # noqa: PT017


@given(st.binary())
def test_any_bytes_are_a_value_or_refused(data: bytes) -> None:
    unpacked_or_refused(data)


@given(values, st.data())
def test_what_was_cut_is_refused(value: object, data: st.DataObject) -> None:
    packed = VALUES.pack(value)
    end = data.draw(st.integers(0, len(packed) - 1))
    with pytest.raises(StateError) as caught:
        VALUES.unpack(packed[:end])
    assert caught.value.code == "checkpoint_corrupt"


@given(values, st.data())
def test_what_was_changed_is_a_value_or_refused(value: object, data: st.DataObject) -> None:
    packed = bytearray(VALUES.pack(value))
    for place in data.draw(st.lists(st.integers(0, len(packed) - 1), min_size=1, max_size=3)):
        packed[place] = data.draw(st.integers(0, 255))
    unpacked_or_refused(bytes(packed))


_FORGED = """
import resource
from antiphon._antiphon import Values
from antiphon._serialization.registry import Registry
from antiphon.errors import StateError

used = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (used + 64_000_000, resource.RLIM_INFINITY))
# A list, map, text, bytes and extension of 4 GiB; lists in lists that each claim all that is left.
heads = [b"\\xdd", b"\\xdf", b"\\xdb", b"\\xc6", b"\\xc9"]
forged = [head + b"\\xff" * 4 + bytes(100) for head in heads]
for data in [*forged, b"\\xdd\\xff\\xff\\xff\\xff" * 150 + bytes(1_000_000)]:
    try:
        Values(Registry()).unpack(data)
    except StateError:
        continue
    raise SystemExit("read what cannot be")
"""


@pytest.mark.skipif(sys.platform != "linux", reason="limits its own memory")
def test_a_forged_length_allocates_nothing() -> None:
    subprocess.run([sys.executable, "-c", _FORGED], check=True)


def test_bytes_cannot_go_deeper_than_values() -> None:
    for layer in (b"\x91", b"\x81\xa0"):
        with pytest.raises(StateError, match="too deep"):
            VALUES.unpack(layer * 100_000 + b"\xc0")


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"\xc0\xc0",
        b"\xc1",
        b"\xa1\xff",
        b"\x81\x01\x02",
        b"\xc7\x01\x04\x01",
        b"\xc7\x03\x05\x91\x01\x01",
        b"\xc7\x03\x04\x91\x01\x01",
        b"\xc7\x01\x02\xff",
        b"\xc7\x00\x00",
        b"\xc7\x00\x7f",
        b"\xc7\x00\xff",
    ],
    ids=[
        "nothing",
        "more",
        "reserved",
        "utf-8",
        "number as a key of a map",
        "key without a value",
        "list in a set",
        "list as a key",
        "surrogates",
        "kind 0",
        "kind 127",
        "kind -1",
    ],
)
def test_what_no_value_packs_to_is_refused(data: bytes) -> None:
    with pytest.raises(StateError) as caught:
        VALUES.unpack(data)
    assert caught.value.code == "checkpoint_corrupt"


def test_keys_of_maps_may_be_long_and_alike() -> None:
    names = [f"{first}{'k' * length}" for first in "abcABC" for length in (0, 1, 39, 40, 41, 200)]
    value = [dict.fromkeys(names, 1) for _ in range(3)]
    assert restored(value) == value
