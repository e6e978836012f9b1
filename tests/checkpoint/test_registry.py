"""Types of users: made again only when they are registered, or a schema mentions them."""

from __future__ import annotations

import enum
import sys
from dataclasses import dataclass, field
from types import MappingProxyType, ModuleType
from typing import (
    Annotated,
    Any,
    Generic,
    Literal,
    NamedTuple,
    NewType,
    NotRequired,
    TypedDict,
    TypeVar,
)

import pydantic
import pytest
import typing_extensions

from antiphon._serialization.registry import registry_for
from antiphon._serialization.type_hints import types_in
from antiphon.checkpoint import MemorySaver, register
from antiphon.errors import StateError, ValidationError
from antiphon.graph import START, StateGraph
from support.stored_values import Registry, Values

T = TypeVar("T")


class Colour(enum.Enum):
    RED = "red"
    CRIMSON = "red"  # noqa: PIE796  # an alias
    MIXED = (1, 2)


class Level(enum.IntEnum):
    LOW = 1


class Rights(enum.Flag):
    READ = 1
    WRITE = 2


class Mode(enum.StrEnum):
    FAST = "fast"


@dataclass
class Point(Generic[T]):
    x: T
    tags: set[str] = field(default_factory=set)


@dataclass(frozen=True, slots=True)
class Line:
    ends: tuple[Point[int], Point[int]]
    colour: Colour = Colour.RED
    length: float = field(init=False, default=0.0)

    def __post_init__(self) -> None:
        if type(self.ends) is not tuple:
            raise AssertionError("made anew")


class Pair(NamedTuple):
    left: int
    right: Level = Level.LOW


class Card(pydantic.BaseModel):
    model_config = pydantic.ConfigDict(extra="allow")
    title: str
    points: list[Point[int]] = []
    rank: int = pydantic.Field(default=1, gt=0)
    _seen: int = pydantic.PrivateAttr(default=0)


class Box(pydantic.BaseModel, Generic[T]):
    inside: T


UserId = NewType("UserId", Line)


class Inner(TypedDict):
    card: Card
    again: NotRequired[Inner]


class State(TypedDict):
    inner: Inner
    lines: Annotated[list[Line], "a rule"]
    mode: Mode | None
    level: Literal[Level.LOW]
    pairs: dict[str, tuple[Pair, ...]]
    box: Box[Rights]
    unknown: Missing  # type: ignore[name-defined]  # noqa: F821


VALUES = Values(registry_for(State))
EMPTY = Values(Registry())


def again(value: Any) -> Any:
    made = VALUES.unpack(VALUES.pack(value))
    assert type(made) is type(value)
    return made


def card() -> Card:
    made = Card(title="a", points=[Point(1, {"t"})], other=[Mode.FAST])  # type: ignore[call-arg]
    made._seen = 3
    return made


@pytest.mark.parametrize(
    "value",
    [
        Colour.RED,
        Colour.CRIMSON,
        Colour.MIXED,
        Level.LOW,
        Rights.READ | Rights.WRITE,
        Rights(0),
        Mode.FAST,
        Point("x", {"a"}),
        Line((Point(1), Point(2)), Colour.MIXED),
        Pair(1),
        card(),
        Card.model_construct(title=1, rank=-5),
        Box[Rights](inside=Rights.READ),
        {Colour.RED: [Level.LOW], Pair(1): Mode.FAST},
    ],
    ids=repr,
)
def test_types_that_a_schema_mentions_are_restored(value: Any) -> None:
    made = again(value)
    assert made == value
    assert repr(made) == repr(value)


def test_a_model_keeps_what_was_given_what_is_extra_and_what_is_private() -> None:
    made = again(card())
    assert made.model_fields_set == card().model_fields_set == {"title", "points", "other"}
    assert made.model_extra == {"other": [Mode.FAST]}
    assert made._seen == 3


def test_a_schema_mentions_types_inside_types() -> None:
    found = set(types_in(State)[0])
    assert {Colour, Level, Rights, Mode, Point, Line, Pair, Card, Box[Rights]} <= found
    assert Line in types_in(list[UserId])[0]


def test_types_behind_aliases_are_found() -> None:
    named = typing_extensions.TypeAliasType("named", "dict[str, Line]")
    listed = typing_extensions.TypeAliasType("listed", list[tuple[T, Line]], type_params=(T,))
    lost = typing_extensions.TypeAliasType("lost", "list[NotDefined]")  # type: ignore[name-defined]  # noqa: F821
    assert Line in types_in(list[named])[0]
    assert {Line, Colour} <= set(types_in(listed[Colour])[0])
    assert types_in(lost) == ([], False)


def test_a_schema_is_settled_if_no_hint_is_a_text() -> None:
    Plain = TypedDict("Plain", {"a": int, "b": list[Colour], "c": None})  # noqa: UP013
    Named = TypedDict("Named", {"colour": "Colour"})  # noqa: UP013
    Inside = TypedDict("Inside", {"colours": list["Colour"]})  # noqa: UP013
    Within = TypedDict("Within", {"line": Line})  # noqa: UP013
    settled = [kind for kind in (Plain, Named, Inside, Within, Box[int]) if types_in(kind)[1]]
    assert settled == [Plain, Box[int]]


def test_types_far_inside_one_another_are_all_found(monkeypatch: pytest.MonkeyPatch) -> None:
    links = ModuleType("links")
    monkeypatch.setitem(sys.modules, "links", links)
    classes = [f"class C{i}:\n  next: 'list[C{i + 1}]'" for i in range(12)]
    exec("\n".join([*classes, "class C12: ..."]), vars(links))
    found, _ = types_in(vars(links)["C0"])
    assert [kind.__name__ for kind in found if kind.__module__ == "links"] == [
        f"C{i}" for i in range(13)
    ]


def test_annotations_may_be_any_mapping() -> None:
    odd = type("Odd", (), {"__annotations__": MappingProxyType({"colour": Colour})})
    assert types_in(odd) == ([odd, Colour], False)


def test_a_class_that_a_notebook_cell_redefines_is_stored(monkeypatch: pytest.MonkeyPatch) -> None:
    cells: Any = ModuleType("cells")
    monkeypatch.setitem(sys.modules, "cells", cells)
    order = "import dataclasses\n@dataclasses.dataclass\nclass Order:\n  price: int"
    state = "import typing\nclass State(typing.TypedDict):\n  order: 'Order'"
    exec(f"{order}\n{state}", vars(cells))
    builder = StateGraph(cells.State).add_node("n", lambda _: {"order": cells.Order(1)})
    graph = builder.add_edge(START, "n").compile(checkpointer=MemorySaver())
    for thread in ("first", "again"):
        place: Any = {"configurable": {"thread_id": thread}}
        graph.invoke({}, place)
        assert graph.get_state(place).values["order"] == cells.Order(1)
        exec(order, vars(cells))


@pytest.mark.parametrize("value", [Colour.RED, Point(1), Pair(1), Card(title="a")], ids=repr)
def test_an_unregistered_type_is_refused_with_how_to_register(value: object) -> None:
    with pytest.raises(StateError) as caught:
        EMPTY.pack([value])
    kind = type(value)
    wanted = f"item 0: an object of type {kind.__module__}.{kind.__qualname__}"
    assert caught.value.message.endswith(wanted)
    assert "antiphon.checkpoint.register" in str(caught.value.hint)


def test_a_stored_type_is_not_made_unless_it_is_registered() -> None:
    packed = VALUES.pack({"x": Point(1)})
    with pytest.raises(StateError) as caught:
        EMPTY.unpack(packed)
    assert caught.value.code == "checkpoint_misfit"
    assert caught.value.message.endswith(f"not registered: {__name__}.Point")


def test_bytes_cannot_have_a_module_imported() -> None:
    name = b"colorsys.rgb_to_hsv"
    packed = b"\xa0" + bytes([0xA0 + len(name)]) + name + b"\x93\x01\x02\x03"
    packed = b"\xc7" + bytes([len(packed) - 1]) + b"\x07" + packed[1:]
    sys.modules.pop("colorsys", None)
    with pytest.raises(StateError, match=r"not registered: colorsys\.rgb_to_hsv"):
        VALUES.unpack(packed)
    assert "colorsys" not in sys.modules


def test_an_error_names_the_field() -> None:
    bad = Line((Point(1), Point(object())))  # type: ignore[arg-type]
    with pytest.raises(StateError) as caught:
        VALUES.pack({"line": bad})
    wanted = "key `line`, field `ends`, item 1, field `x`: an object of type object"
    assert caught.value.message == f"a value cannot be stored: {wanted}"
    with pytest.raises(StateError, match="field `points`, item 0, field `x`: an object"):
        VALUES.pack(Card.model_construct(title="", points=[Point(object())]))


def evolved(name: str, kind: type, value: object) -> Any:
    """A value, stored as it was, read by a type of the same name that has changed since."""
    old, new = Registry(), Registry()
    old.register(type(value), name=name)
    new.register(kind, name=name)
    return Values(new).unpack(Values(old).pack(value))


@dataclass
class Later:
    tags: set[str]
    count: int = 7
    more: list[int] = field(default_factory=list)


class Trio(NamedTuple):
    left: int
    right: int
    middle: int


class LaterTrio(NamedTuple):
    left: int
    front: int = 5


class LaterCard(pydantic.BaseModel):
    title: str
    when: list[int] = pydantic.Field(default_factory=lambda: [1])


class BagCard(pydantic.BaseModel):
    title: str
    bag: dict[str, int] = pydantic.Field(default_factory=dict)
    more: list[int] = pydantic.Field(default_factory=list)


def test_an_empty_default_costs_no_reading_of_signatures(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: Any, **__: Any) -> Any:
        raise AssertionError("a signature was read")

    stored = Card(title="a", rank=2)
    expected = BagCard(title="a")
    monkeypatch.setattr(pydantic.fields.FieldInfo, "get_default", refuse)  # it reads them
    made = evolved("t", BagCard, stored)
    assert (made.title, made.bag, made.more) == (expected.title, {}, [])
    assert made.bag is not evolved("t", BagCard, stored).bag


def test_a_type_may_gain_fields_with_defaults_and_lose_others() -> None:
    assert evolved("t", Later, Point(1, {"a"})) == Later({"a"}, 7, [])
    assert evolved("t", LaterTrio, Trio(1, 2, 3)) == LaterTrio(1, 5)
    assert evolved("t", LaterCard, Card(title="a", rank=2)) == LaterCard(title="a")


@dataclass
class Strict:
    needed: int


class StrictCard(pydantic.BaseModel):
    needed: int


class Other(enum.Enum):
    BLUE = 1


@pytest.mark.parametrize(
    ("kind", "value"),
    [(Strict, Point(1)), (StrictCard, Card(title="a")), (Other, Colour.RED), (Later, Colour.RED)],
)
def test_what_a_type_can_no_longer_be_is_reported(kind: type, value: object) -> None:
    with pytest.raises(StateError, match="no longer matches its type `t`") as caught:
        evolved("t", kind, value)
    assert caught.value.code == "checkpoint_misfit"


def test_a_member_that_an_enum_has_lost_is_named_and_an_alias_takes_its_place() -> None:
    class Successor(enum.Enum):
        CRIMSON = 2
        RED = CRIMSON

    with pytest.raises(StateError, match="no member `RED` any more, only `BLUE`; keep a member"):
        evolved("t", Other, Colour.RED)
    assert evolved("t", Successor, Colour.RED) is Successor.CRIMSON


@pytest.fixture
def clean(monkeypatch: pytest.MonkeyPatch) -> Registry:
    registry = Registry()
    monkeypatch.setattr("antiphon._serialization.registry.GLOBAL", registry)
    return registry


def test_register_takes_a_type_and_is_a_decorator(clean: Registry) -> None:
    assert register(Colour) is Colour

    @register(name="spot")
    @dataclass
    class Spot:
        x: int

    values = Values(registry_for(int))
    assert values.unpack(values.pack([Colour.RED, Spot(1)])) == [Colour.RED, Spot(1)]
    assert b"spot" in values.pack(Spot(1))
    assert Values(clean).unpack(values.pack(Spot(1))) == Spot(1)


@pytest.mark.usefixtures("clean")
def test_any_type_can_bring_its_own_way() -> None:
    class Money:
        def __init__(self, cents: int) -> None:
            self.cents = cents

    register(Money, name="money", pack=lambda money: money.cents, unpack=Money)
    values = Values(registry_for())
    assert values.unpack(values.pack(Money(5))).cents == 5


@pytest.mark.usefixtures("clean")
def test_two_types_of_one_name_are_an_error() -> None:
    register(Colour, name="thing")
    register(Colour, name="thing")
    with pytest.raises(ValidationError, match="under one name: thing") as caught:
        register(Level, name="thing")
    assert caught.value.code == "type_name_taken"


@pytest.mark.usefixtures("clean")
def test_a_redefined_class_replaces_the_old_one() -> None:
    def defined() -> Any:
        made: Any = dataclass(type("Cell", (), {"__annotations__": {"x": int}}))
        made.__module__ = "__main__"
        return register(made)

    first, second = defined(), defined()
    values = Values(registry_for())
    assert values.unpack(values.pack(second(1))) == second(1)
    assert values.unpack(values.pack(first(1))) == second(1)


@pytest.mark.usefixtures("clean")
def test_a_registered_name_wins_over_an_adopted_one() -> None:
    values = Values(registry_for(list[Point[int]]))
    assert values.unpack(values.pack(Point(1))) == Point(1)
    register(Line, name=f"{__name__}.Point")
    with pytest.raises(StateError, match=r"an object of type .*Point"):
        values.pack(Point(1))


class Opaque:
    pass


@dataclass
class Table(dict[str, int]):
    x: int = 1


class NoMembers(enum.Enum):
    pass


@pytest.mark.parametrize("kind", [Opaque, Table, NoMembers, int, len])
def test_a_type_of_no_known_kind_is_refused_when_it_is_registered(kind: Any) -> None:
    with pytest.raises(ValidationError) as caught:
        Registry().register(kind, name="x")
    assert caught.value.code == "type_unstorable"
    with pytest.raises(ValidationError):
        Registry().register(kind, name="x", pack=str)


def test_records_go_as_deep_as_they_can_be_read() -> None:
    def nested(levels: int) -> Any:
        value: Any = 1
        for _ in range(levels):
            value = Point(value)
        return value

    # A record and the dict of its fields are two levels; the set of tags is one more.
    assert again(nested(99)) == nested(99)
    with pytest.raises(StateError, match="more levels than: 200"):
        VALUES.pack(nested(101))


@pytest.mark.usefixtures("clean")
def test_what_changes_while_it_is_stored_is_refused_or_stored_as_it_was() -> None:
    class Sneak:
        pass

    held: dict[str, Any] = {}

    def pack(_: Sneak) -> None:
        for value in held.values():
            value.clear()

    register(Sneak, name="sneak", pack=pack, unpack=lambda _: Sneak())
    values = Values(registry_for())
    held["list"] = [Sneak(), 1, 2]
    with pytest.raises(StateError, match="changed while it was stored"):
        values.pack(held["list"])
    held["list"] = {"a": Sneak(), "b": 2}
    assert values.unpack(values.pack(held["list"]))["b"] == 2
    held["list"] = {Sneak()}
    assert len(values.unpack(values.pack(held["list"]))) == 1
