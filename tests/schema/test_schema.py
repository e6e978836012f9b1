"""Type hints as JSON schemas, and JSON values as the annotated objects."""

from __future__ import annotations

import base64
import collections
import enum
import json
import pathlib
import subprocess
import sys
import typing
from collections.abc import Callable, Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import KW_ONLY, InitVar, dataclass, field, make_dataclass
from datetime import UTC, date, datetime, time, timedelta, timezone
from decimal import Decimal
from pathlib import Path, PurePosixPath
from typing import (
    Annotated,
    Any,
    ClassVar,
    Generic,
    Literal,
    LiteralString,
    NamedTuple,
    NewType,
    NotRequired,
    Optional,
    Required,
    TypedDict,
    TypeVar,
    Union,
)
from uuid import UUID

import annotated_types
import jsonschema
import pydantic
import pytest
import typing_extensions
from hypothesis import given
from hypothesis import strategies as st

from antiphon._json_values import encode_result
from antiphon._schema import Contract, JsonSchema
from antiphon.errors import ValidationError


def schema_of(tp: Any, where: str = "the value") -> JsonSchema:
    return Contract(tp, where).schema


def construct(tp: Any, value: Any, root: str = "value") -> Any:
    return Contract(tp).construct(value, root)


T = TypeVar("T")
Bounded = TypeVar("Bounded", bound=int)
Either = TypeVar("Either", int, str)
WithDefault = typing_extensions.TypeVar("WithDefault", default=bool)
UserId = NewType("UserId", int)
Names = typing_extensions.TypeAliasType("Names", list[str])
Pairs = typing_extensions.TypeAliasType("Pairs", list[tuple[T, T]], type_params=(T,))
Tree = typing_extensions.TypeAliasType("Tree", "dict[str, Tree] | int")


class Colour(enum.Enum):
    RED = "red"
    BLUE = "blue"


class Level(enum.IntEnum):
    LOW = 1
    HIGH = 2


class Word(enum.StrEnum):
    YES = "yes"


class Opaque(enum.Enum):
    A = (1, 2)
    B = "b"


class Nothing(enum.Enum):
    pass


class Email(str):
    __slots__ = ()


@dataclass
class Point:
    x: int
    y: int = 0


@dataclass
class Line:
    """A line.

    Attributes:
        start: where it begins.
        end: unused, the hint says it.
    """

    start: Point
    end: Annotated[Point, "where it ends"]
    tags: list[str] = field(default_factory=list)
    label: str = field(default="", metadata={"description": "shown"})
    kind: ClassVar[str] = "line"
    length: float = field(init=False, default=0.0)


@dataclass
class Node:
    value: int
    children: list[Node] = field(default_factory=list)
    parent: Optional[Node] = None  # noqa: UP045 - the old spelling counts too


@dataclass
class Box(Generic[T]):
    content: T
    spare: list[T] | None = None


@dataclass
class IntBox(Box[int]):
    name: str = ""


@dataclass
class Grow(Generic[T]):
    next: Grow[list[T]] | None = None


@dataclass
class Scaled:
    _: KW_ONLY
    size: int
    factor: InitVar[int] = 2

    def __post_init__(self, factor: int) -> None:
        self.size //= factor
        if self.size < 0:
            message = "size below zero"
            raise ValueError(message)


class Movie(TypedDict):
    title: str
    year: NotRequired[Annotated[int, "of release"]]


class Loose(TypedDict, total=False):
    a: int
    b: Required[str]


class Sequel(Movie):
    number: typing_extensions.ReadOnly[int]


class ForeignMovie(typing_extensions.TypedDict):
    title: str


class GenericDict(TypedDict, Generic[T]):
    item: T


class Pair(NamedTuple):
    """Two things."""

    left: int
    right: str = "r"


Untyped = collections.namedtuple("Untyped", "a b")  # noqa: PYI024 - the untyped kind is meant


class Item(pydantic.BaseModel):
    name: str
    price: Decimal = pydantic.Field(gt=0, description="in euros")


class Branch(pydantic.BaseModel):
    leaf: Item
    more: list[Branch] = []


class Strict(pydantic.BaseModel):
    model_config = pydantic.ConfigDict(strict=True)
    when: datetime


@pydantic.dataclasses.dataclass
class Checked:
    count: int = pydantic.Field(ge=1)


class Cat(pydantic.BaseModel):
    kind: Literal["cat"]


class Dog(pydantic.BaseModel):
    kind: Literal["dog"]


@dataclass
class Owner:
    pet: Annotated[Cat | Dog, pydantic.Field(discriminator="kind", description="the pet")]


def nullable(schema: dict[str, Any]) -> dict[str, Any]:
    return {"anyOf": [schema, {"type": "null"}]}


POINT = {
    "type": "object",
    "properties": {"x": {"type": "integer"}, "y": {"type": "integer", "default": 0}},
    "required": ["x"],
}
INTEGERS = {"type": "array", "items": {"type": "integer"}}

SCHEMAS: list[tuple[Any, dict[str, Any]]] = [
    (str, {"type": "string"}),
    (int, {"type": "integer"}),
    (float, {"type": "number"}),
    (bool, {"type": "boolean"}),
    (None, {"type": "null"}),
    (type(None), {"type": "null"}),
    (Any, {}),
    (object, {}),
    (LiteralString, {"type": "string"}),
    (Email, {"type": "string"}),
    (UserId, {"type": "integer"}),
    (T, {}),
    (Bounded, {"type": "integer"}),
    (Either, {"anyOf": [{"type": "integer"}, {"type": "string"}]}),
    (WithDefault, {"type": "boolean"}),
    (Optional[int], nullable({"type": "integer"})),  # noqa: UP045
    (int | None, nullable({"type": "integer"})),
    (Union[int, str], {"anyOf": [{"type": "integer"}, {"type": "string"}]}),  # noqa: UP007
    (int | Any, {}),
    (UserId | int, {"type": "integer"}),
    (Literal["a", "b"], {"type": "string", "enum": ["a", "b"]}),
    (Literal["a", 1, None], {"enum": ["a", 1, None]}),  # noqa: PYI061
    (Literal[Colour.RED], {"type": "string", "enum": ["red"]}),
    (Colour, {"type": "string", "enum": ["red", "blue"]}),
    (Level, {"type": "integer", "enum": [1, 2]}),
    (Word, {"type": "string", "enum": ["yes"]}),
    (Opaque, {"type": "string", "enum": ["A", "B"]}),
    (list, {"type": "array", "items": {}}),
    (typing.List, {"type": "array", "items": {}}),  # noqa: UP006
    (list[int], INTEGERS),
    (typing.List[int], INTEGERS),  # noqa: UP006
    (Sequence[int], INTEGERS),
    (Iterable[int], INTEGERS),
    (typing.Sequence[int], INTEGERS),
    (collections.deque[int], INTEGERS),
    (set[int], {**INTEGERS, "uniqueItems": True}),
    (frozenset[int], {**INTEGERS, "uniqueItems": True}),
    (AbstractSet[int], {**INTEGERS, "uniqueItems": True}),
    (tuple, {"type": "array", "items": {}}),
    (typing.Tuple, {"type": "array", "items": {}}),  # noqa: UP006
    (tuple[int, ...], INTEGERS),
    (tuple[()], {"type": "array", "minItems": 0, "maxItems": 0}),
    (
        tuple[int, str],
        {
            "type": "array",
            "minItems": 2,
            "maxItems": 2,
            "prefixItems": [{"type": "integer"}, {"type": "string"}],
        },
    ),
    (dict, {"type": "object"}),
    (dict[str, Any], {"type": "object"}),
    (Mapping[str, int], {"type": "object", "additionalProperties": {"type": "integer"}}),
    (
        dict[int, str],
        {
            "type": "object",
            "propertyNames": {"pattern": "^-?[0-9]+$"},
            "additionalProperties": {"type": "string"},
        },
    ),
    (dict[Colour, Any], {"type": "object", "propertyNames": {"enum": ["red", "blue"]}}),
    (dict[UUID, Any], {"type": "object", "propertyNames": {"format": "uuid"}}),
    (
        dict[UUID | int, Any],
        {
            "type": "object",
            "propertyNames": {"anyOf": [{"format": "uuid"}, {"pattern": "^-?[0-9]+$"}]},
        },
    ),
    (datetime, {"type": "string", "format": "date-time"}),
    (date, {"type": "string", "format": "date"}),
    (time, {"type": "string", "format": "time"}),
    (Decimal, {"type": "string", "format": "decimal"}),
    (UUID, {"type": "string", "format": "uuid"}),
    (Path, {"type": "string", "format": "path"}),
    (PurePosixPath, {"type": "string", "format": "path"}),
    (bytes, {"type": "string", "contentEncoding": "base64"}),
    (Annotated[int, "how many"], {"type": "integer", "description": "how many"}),
    (
        Annotated[int, object(), "how many", "unused"],
        {"type": "integer", "description": "how many"},
    ),
    (
        Annotated[int, typing_extensions.Doc("how many")],
        {"type": "integer", "description": "how many"},
    ),
    (
        list[Annotated[int, "one"]],
        {"type": "array", "items": {"type": "integer", "description": "one"}},
    ),
    (
        Annotated[int, pydantic.Field(ge=1, description="how many")],
        {"type": "integer", "minimum": 1, "description": "how many"},
    ),
    (Annotated[str, annotated_types.MaxLen(3)], {"type": "string", "maxLength": 3}),
    (pydantic.PositiveInt, {"type": "integer", "exclusiveMinimum": 0}),
    (Names, {"type": "array", "items": {"type": "string"}}),
    (
        Pairs[int],
        {
            "type": "array",
            "items": {
                "type": "array",
                "minItems": 2,
                "maxItems": 2,
                "prefixItems": [{"type": "integer"}, {"type": "integer"}],
            },
        },
    ),
    (Point, POINT),
    (list[Point], {"type": "array", "items": POINT}),
    (
        Line,
        {
            "type": "object",
            "description": "A line.",
            "properties": {
                "start": {"$ref": "#/$defs/Point", "description": "where it begins."},
                "end": {"$ref": "#/$defs/Point", "description": "where it ends"},
                "tags": {"type": "array", "items": {"type": "string"}},
                "label": {"type": "string", "description": "shown", "default": ""},
            },
            "required": ["start", "end"],
            "$defs": {"Point": POINT},
        },
    ),
    (
        Scaled,
        {
            "type": "object",
            "properties": {
                "size": {"type": "integer"},
                "factor": {"type": "integer", "default": 2},
            },
            "required": ["size"],
        },
    ),
    (
        Box[int],
        {
            "type": "object",
            "properties": {
                "content": {"type": "integer"},
                "spare": {**nullable(INTEGERS), "default": None},
            },
            "required": ["content"],
        },
    ),
    (
        IntBox,
        {
            "type": "object",
            "properties": {
                "content": {"type": "integer"},
                "spare": {**nullable(INTEGERS), "default": None},
                "name": {"type": "string", "default": ""},
            },
            "required": ["content"],
        },
    ),
    (
        Movie,
        {
            "type": "object",
            "properties": {
                "title": {"type": "string"},
                "year": {"type": "integer", "description": "of release"},
            },
            "required": ["title"],
        },
    ),
    (
        Loose,
        {
            "type": "object",
            "properties": {"a": {"type": "integer"}, "b": {"type": "string"}},
            "required": ["b"],
        },
    ),
    (
        Sequel,
        {
            "type": "object",
            "properties": {
                "title": {"type": "string"},
                "year": {"type": "integer", "description": "of release"},
                "number": {"type": "integer"},
            },
            "required": ["title", "number"],
        },
    ),
    (
        ForeignMovie,
        {"type": "object", "properties": {"title": {"type": "string"}}, "required": ["title"]},
    ),
    (
        GenericDict[bool],
        {"type": "object", "properties": {"item": {"type": "boolean"}}, "required": ["item"]},
    ),
    (
        Pair,
        {
            "type": "object",
            "description": "Two things.",
            "properties": {
                "left": {"type": "integer"},
                "right": {"type": "string", "default": "r"},
            },
            "required": ["left"],
        },
    ),
    (Untyped, {"type": "object", "properties": {"a": {}, "b": {}}, "required": ["a", "b"]}),
    (Item, Item.model_json_schema()),
    (Branch, Branch.model_json_schema()),
    (Checked, pydantic.TypeAdapter(Checked).json_schema()),
]


@pytest.mark.parametrize(("tp", "expected"), SCHEMAS, ids=lambda value: str(value)[:40])
def test_a_type_has_its_schema(tp: Any, expected: dict[str, Any]) -> None:
    schema = schema_of(tp)
    jsonschema.Draft202012Validator.check_schema(schema)
    if "$ref" in expected:  # pydantic refers to a recursive root; here the root is given in place
        name = expected["$ref"].rpartition("/")[2]
        expected = {**expected["$defs"][name], "$defs": expected["$defs"]}
    assert schema == expected
    assert json.loads(json.dumps(schema)) == schema


def test_a_recursive_dataclass_is_described_in_place_and_once_more_to_refer_to() -> None:
    schema = schema_of(Node)
    jsonschema.Draft202012Validator.check_schema(schema)
    assert schema["type"] == "object"
    assert schema["properties"]["children"]["items"] == {"$ref": "#/$defs/Node"}
    assert schema["$defs"]["Node"]["properties"] == schema["properties"]
    validator = jsonschema.Draft202012Validator(schema)
    assert validator.is_valid({"value": 1, "children": [{"value": 2}]})
    assert not validator.is_valid({"value": 1, "children": [{"value": "two"}]})


def test_a_recursive_alias_refers_to_itself() -> None:
    contract = Contract(Tree)
    validator = jsonschema.Draft202012Validator(contract.schema)
    assert validator.is_valid({"a": {"b": 1}})
    assert not validator.is_valid({"a": {"b": "x"}})
    assert contract.construct({"a": {"b": 1}}) == {"a": {"b": 1}}


def test_two_types_of_one_name_are_distinguished() -> None:
    @dataclass
    class Twin:
        a: int

    first = Twin

    @dataclass
    class Twin:  # type: ignore[no-redef]
        b: str

    class Model(pydantic.BaseModel):
        inside: Sub

    class Sub(pydantic.BaseModel):
        c: bool

    Model.model_rebuild(_types_namespace={"Sub": Sub})
    third: Any = make_dataclass("Sub", [("d", float)])
    several: Any = (first, first, Twin, Twin, Model, third, third)
    schema = schema_of(tuple.__class_getitem__(several))
    jsonschema.Draft202012Validator.check_schema(schema)
    assert sorted(schema["$defs"]) == ["Sub", "Sub_2", "Twin", "Twin_2"]
    validator = jsonschema.Draft202012Validator(schema)
    good = [{"a": 1}, {"a": 1}, {"b": ""}, {"b": ""}, {"inside": {"c": True}}, {"d": 1}, {"d": 1}]
    assert validator.is_valid(good)
    assert not validator.is_valid([*good[:4], {"inside": {"d": 1}}, *good[5:]])
    assert not validator.is_valid([*good[:5], {"c": True}, {"d": 1}])


def test_a_field_called_ref_is_a_field() -> None:
    odd = TypedDict("odd", {"$ref": Point, "default": Point, "enum": str})
    schema = schema_of(odd)
    assert schema["properties"] == {
        "$ref": {"$ref": "#/$defs/Point"},
        "default": {"$ref": "#/$defs/Point"},
        "enum": {"type": "string"},
    }


def test_a_discriminator_keeps_its_targets() -> None:
    schema = schema_of(Owner)
    pet = schema["properties"]["pet"]
    assert pet["description"] == "the pet"
    assert set(pet["discriminator"]["mapping"].values()) == {"#/$defs/Cat", "#/$defs/Dog"}
    assert isinstance(construct(Owner, {"pet": {"kind": "dog"}}).pet, Dog)


@pytest.mark.parametrize(
    "tp",
    [
        Callable[[], int],
        type[int],
        complex,
        timedelta,
        Literal[b"x"],
        Nothing,
        dict[tuple[int, int], str],
        dict[bool, str],
        tuple[int, *tuple[str, ...]],
        list["Missing"],  # type: ignore[name-defined]  # noqa: F821
        typing.Never,
        typing.Self,
        Grow[int],
        3,
    ],
    ids=str,
)
def test_a_type_that_json_has_no_words_for_is_refused_by_name(tp: Any) -> None:
    with pytest.raises(ValidationError) as caught:
        schema_of(tp, "parameter `x` of `f`")
    assert caught.value.code == "unsupported_type"
    assert caught.value.hint
    assert "cannot be written as a JSON schema: " in caught.value.message
    assert not caught.value.message.endswith(".")


def test_an_unsupported_field_is_named() -> None:
    @dataclass
    class Holder:
        callback: Callable[[int], str]

    with pytest.raises(ValidationError, match=r"field `callback` of `Holder`.*Callable"):
        schema_of(list[Holder])


def test_a_type_that_pydantic_refuses_is_named() -> None:
    class Custom:
        pass

    with pytest.raises(ValidationError, match="Custom") as caught:
        schema_of(Annotated[Custom, pydantic.Field(description="x")], "parameter `x` of `f`")
    assert caught.value.code == "unsupported_type"


def test_an_unresolvable_field_is_named() -> None:
    @dataclass
    class Holder:
        good: int
        bad: Missing  # type: ignore[name-defined]  # noqa: F821

    with pytest.raises(
        ValidationError, match="field `bad` of `Holder` cannot be resolved: Missing"
    ):
        schema_of(Holder)


VALUES: list[tuple[Any, Any, Any]] = [
    (str, "x", "x"),
    (int, 3.0, 3),
    (float, 3, 3.0),
    (Email, "a@b", Email("a@b")),
    (Colour, "red", Colour.RED),
    (Level, 2, Level.HIGH),
    (Opaque, "A", Opaque.A),
    (Literal[1, True], True, True),
    (int | None, None, None),
    (float | int, 3, 3.0),
    (datetime | str, "2026-01-02T03:04:05Z", datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)),
    (datetime | str, "soon", "soon"),
    (date, "2026-01-02", date(2026, 1, 2)),
    (time, "03:04", time(3, 4)),
    (Decimal, "1.10", Decimal("1.10")),
    (Decimal, 1.5, Decimal("1.5")),
    (Decimal, 2, Decimal(2)),
    (UUID, "00000000-0000-0000-0000-000000000001", UUID(int=1)),
    (Path, "a/b", Path("a/b")),
    (bytes, base64.b64encode(b"\0x").decode(), b"\0x"),
    (tuple[int, str], [1, "a"], (1, "a")),
    (tuple[()], [], ()),
    (tuple, [1, "a"], (1, "a")),
    (set[int], [1, 2], {1, 2}),
    (frozenset[str], ["a"], frozenset({"a"})),
    (Iterable[int], [1], [1]),
    (collections.deque[int], [1], collections.deque([1])),
    (collections.OrderedDict[str, int], {"a": 1}, collections.OrderedDict(a=1)),
    (dict[int, Colour], {"-1": "red"}, {-1: Colour.RED}),
    (dict[UUID | int, str], {"7": "a"}, {7: "a"}),
    (Point, {"x": 1, "unknown": 2}, Point(1)),
    (Line, {"start": {"x": 1}, "end": {"x": 2}}, Line(Point(1), Point(2))),
    (Node, {"value": 1, "children": [{"value": 2}]}, Node(1, [Node(2)])),
    (Box[Point], {"content": {"x": 1}}, Box(Point(1))),
    (IntBox, {"content": 1, "name": "n"}, IntBox(1, None, "n")),
    (Scaled, {"size": 4}, Scaled(size=4)),
    (Movie, {"title": "t", "unknown": 1}, {"title": "t"}),
    (Pair, {"left": 1}, Pair(1)),
    (Untyped, {"a": 1, "b": 2}, Untyped(1, 2)),
    (Point | Movie, {"title": "t"}, {"title": "t"}),
    (Loose | Movie, {"b": "t", "title": "u"}, {"b": "t"}),
    (Item, {"name": "n", "price": "1.5"}, Item(name="n", price=Decimal("1.5"))),
    (list[Item | Point], [{"x": 1}], [Point(1)]),
    (
        Strict,
        {"when": "2026-01-02T03:04:05Z"},
        Strict(when=datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)),
    ),
    (Checked, {"count": 2}, Checked(count=2)),
    (Annotated[int, pydantic.AfterValidator(lambda v: v * 2)], 2, 4),
    (Names, ["a"], ["a"]),
    (UserId, 1, 1),
    (Any, {"a": [1]}, {"a": [1]}),
]


@pytest.mark.parametrize(("tp", "value", "expected"), VALUES, ids=lambda value: str(value)[:40])
def test_a_json_value_becomes_the_annotated_object(tp: Any, value: Any, expected: Any) -> None:
    built = construct(tp, value)
    assert built == expected
    assert type(built) is type(expected)


@pytest.mark.parametrize(
    ("tp", "value", "message"),
    [
        (str, 1, "`v` should be text: 1"),
        (int, True, "`v` should be a whole number: True"),
        (int, 1.5, "`v` should be a whole number: 1.5"),
        (int, "1", "`v` should be a whole number: '1'"),
        (float, "1", "`v` should be a number: '1'"),
        (float, 10**400, "`v` should be a number: 1000"),
        (bool, 1, "`v` should be true or false: 1"),
        (None, 0, "`v` should be null: 0"),
        (Literal[1], True, "`v` should be one of 1: True"),
        (Colour, "green", "`v` should be one of 'red', 'blue': 'green'"),
        (date, "soon", "`v` should be a date: 'soon'"),
        (date, 5, "`v` should be a date: 5"),
        (UUID, "x", "`v` should be a UUID: 'x'"),
        (Decimal, "NaN", "`v` should be a decimal number: 'NaN'"),
        (Decimal, "x", "`v` should be a decimal number: 'x'"),
        (bytes, "é", "`v` should be base64 text: 'é'"),
        (list[int], "ab", "`v` should be a list: 'ab'"),
        (list[int], [1, "a"], "`v[1]` should be a whole number: 'a'"),
        (set[Any], [[]], "`v` should be a list: [[]]"),
        (tuple[int, str], [1], "`v` should be a list of 2: [1]"),
        (dict[str, int], {"a": "b"}, "`v.a` should be a whole number: 'b'"),
        (dict[int, str], {"a": "b"}, "`v.a` should be a whole number: 'a'"),
        (Point, [], "`v` should be an object: []"),
        (Point, {}, "`v.x` is missing: {}"),
        (Line, {"start": {"x": "a"}}, "`v.start.x` should be a whole number: 'a'"),
        (Scaled, {"size": -4}, "`v` is refused (size below zero): {'size': -4}"),
        (int | str, [], "`v` should be a whole number or text: []"),
        (list[Point] | None, [{"x": "a"}], "`v[0].x` should be a whole number: 'a'"),
        (Item, {"name": 1, "price": 1}, "`v.name` is refused (input should be a valid string): 1"),
        (list[Item], [{"name": "n", "price": -1}], "`v[0].price` is refused (input should be "),
        (Item, {"name": object()}, "`v` is not JSON: {'name': <object"),
    ],
    ids=lambda value: str(value).partition(" at 0x")[0][:40],
)
def test_a_wrong_value_is_named_with_its_place(tp: Any, value: Any, message: str) -> None:
    with pytest.raises(ValidationError) as caught:
        construct(tp, value, "v")
    assert caught.value.message.startswith(message)
    assert caught.value.code == "invalid_value"
    assert caught.value.details["path"] in message


def test_a_long_value_is_cut_in_the_error() -> None:
    with pytest.raises(ValidationError) as caught:
        construct(int, "x" * 100_000)
    assert len(caught.value.message) < 200


SCALARS = st.none() | st.booleans() | st.integers(-(2**63), 2**64 - 1) | st.text()
OFFSETS = st.integers(-1439, 1439).map(lambda minutes: timezone(timedelta(minutes=minutes)))
SMALL = st.integers(-(2**63), 2**64 - 1)


@dataclass
class Everything:
    text: str
    number: float
    flag: bool | None
    colour: Colour
    level: Level
    opaque: Opaque
    when: datetime
    day: date
    moment: time
    amount: Decimal
    key: UUID
    place: PurePosixPath
    raw: bytes
    points: list[Point]
    numbers: set[int]
    names: frozenset[str]
    pair: tuple[int, str]
    many: tuple[float, ...]
    table: dict[str, Point]
    indexed: dict[int, list[bytes]]
    dated: dict[date, str]
    named: Pair
    movie: Movie
    either: Point | Pair | str | int | None
    tree: Node | None
    item: Item
    box: Box[Decimal]
    anything: Any


POINTS = st.builds(Point, SMALL, SMALL)
PAIRS = st.builds(Pair, SMALL, st.text())
MONEY = st.decimals(allow_nan=False, allow_infinity=False)
NODES = st.recursive(
    st.builds(Node, SMALL),
    lambda inner: st.builds(Node, SMALL, st.lists(inner, max_size=3), st.none() | inner),
    max_leaves=5,
)
JSON = st.recursive(SCALARS, lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner))
EVERYTHING = st.builds(
    Everything,
    text=st.text(),
    number=st.floats(allow_nan=False, allow_infinity=False),
    flag=st.none() | st.booleans(),
    colour=st.sampled_from(Colour),
    level=st.sampled_from(Level),
    opaque=st.sampled_from(Opaque),
    when=st.datetimes(timezones=OFFSETS | st.none()),
    day=st.dates(),
    moment=st.times(),
    amount=MONEY,
    key=st.uuids(),
    place=st.lists(st.from_regex(r"[a-z]{1,8}", fullmatch=True)).map(
        lambda parts: PurePosixPath(*parts)
    ),
    raw=st.binary(),
    points=st.lists(POINTS, max_size=3),
    numbers=st.sets(SMALL),
    names=st.frozensets(st.text()),
    pair=st.tuples(SMALL, st.text()),
    many=st.lists(st.floats(allow_nan=False, allow_infinity=False)).map(tuple),
    table=st.dictionaries(st.text(), POINTS, max_size=3),
    indexed=st.dictionaries(st.integers(), st.lists(st.binary(), max_size=2), max_size=3),
    dated=st.dictionaries(st.dates(), st.text(), max_size=3),
    named=PAIRS,
    movie=st.fixed_dictionaries({"title": st.text()}, optional={"year": SMALL}),
    either=st.none() | POINTS | PAIRS | st.text() | SMALL,
    tree=st.none() | NODES,
    item=st.builds(
        Item, name=st.text(), price=st.decimals(min_value="0.01", max_value=9, places=2)
    ),
    box=st.builds(Box, MONEY, st.none() | st.lists(MONEY, max_size=2)),
    anything=JSON,
)
CONTRACT = Contract(Everything)
VALIDATOR = jsonschema.Draft202012Validator(CONTRACT.schema)


@given(EVERYTHING)
def test_an_encoded_value_fits_its_schema_and_decodes_to_an_equal_value(value: Everything) -> None:
    text = json.dumps(encode_result(value), allow_nan=False)
    decoded = json.loads(text)
    VALIDATOR.validate(decoded)
    assert CONTRACT.construct(decoded) == value


@given(JSON)
def test_no_json_value_escapes_as_anything_but_a_validation_error(value: Any) -> None:
    for tp in (
        Everything,
        Line,
        Item,
        Strict,
        dict[date, Point],
        set[Any],
        Tree,
        int | Colour | UUID,
    ):
        try:
            built = construct(tp, value)
        except ValidationError:
            continue
        assert built is not value or isinstance(value, str | int | None)


def test_paths_are_known_by_their_class_not_their_module() -> None:
    assert schema_of(pathlib.PosixPath) == schema_of(Path)


def test_pydantic_may_be_imported_before_any_model_exists() -> None:
    code = (
        "from pydantic import BaseModel\n"
        "from antiphon import tool\n"
        "@tool\n"
        "def double(number: int) -> int:\n"
        "    'Twice the number.'\n"
        "    return 2 * number\n"
        "assert double(4) == 8\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
