"""Fields that nested values of a state must have: which are missed, and which need not be there."""

from __future__ import annotations

import operator
import re
from collections import defaultdict
from dataclasses import dataclass, field
from typing import Annotated, Any, Generic, NotRequired, Required, TypedDict, TypeVar

import pydantic
import pytest
import typing_extensions as te

from antiphon import Agent, AgentContext, Orchestrator
from antiphon.errors import StateError, ValidationError
from antiphon.state import append, extend, merge, once


class Returns(Agent):
    """Returns an update."""

    def __init__(self, update: Any) -> None:
        super().__init__(name="returns")
        self.written = update

    def act(self, state: Any, ctx: AgentContext) -> Any:
        return self.written


class Town(TypedDict):
    name: str
    population: int


class LaterTown(te.TypedDict):
    """As pydantic needs it before Python 3.12."""

    name: str


class Loose(TypedDict, total=False):
    note: str
    id: Required[int]


class Village(Town, total=False):
    mayor: str
    parish: Required[str]


class Kept(TypedDict):
    note: NotRequired[str]
    tag: Annotated[NotRequired[str], "of a person"]
    sure: Required[Annotated[int, "above zero"]]


class Frozen(te.TypedDict):
    id: te.ReadOnly[int]
    note: te.ReadOnly[NotRequired[str]]
    tag: NotRequired[te.ReadOnly[str]]


class Tree(TypedDict):
    value: int
    below: NotRequired[list[Tree]]


T = TypeVar("T")


class Box(TypedDict, Generic[T]):
    content: T
    label: NotRequired[str]


Nested: Any = te.TypeAliasType("Nested", "list[Nested] | Town")


class Cat(TypedDict):
    lives: int


class Dog(TypedDict):
    tricks: list[str]


class Held(TypedDict, total=False):
    town: Town
    maybe: Town | None
    towns: list[Town]
    by_name: dict[str, Town]
    pair: tuple[Town, int]
    one: Annotated[list[Town], append]
    more: Annotated[list[Town], extend]
    added: Annotated[list[Town], operator.add]
    first: Annotated[Town, once]
    parts: Annotated[Town, merge]
    deep: Annotated[dict[str, Town], merge]
    loose: Loose
    village: Village
    kept: Kept
    frozen: Frozen
    tree: Tree
    box: Box[int]
    any_box: Box[Any]
    nested: Nested
    pet: Cat | Dog
    town_or_dict: Town | dict[str, Any]
    anything: Any


LYON = {"name": "Lyon", "population": 520_774}
BARE = {"name": "Lyon"}


def run(update: Any, state: Any = Held) -> Any:
    return Orchestrator([Returns(update)], state=state).run("q").state


@pytest.mark.parametrize(
    ("update", "naming"),
    [
        ({"town": BARE}, "field `population` of the key `town` must be given: found only `name`"),
        ({"town": {}}, "field `name` of the key `town` must be given: found no field"),
        ({"maybe": BARE}, "field `population` of the key `maybe` must be given"),
        ({"towns": [LYON, BARE]}, "field `population` of item 1 of the key `towns` must be given"),
        ({"by_name": {"x": BARE}}, "field `population` of entry 'x' of the key `by_name`"),
        ({"pair": (BARE, 1)}, "field `population` of item 0 of the key `pair`"),
        ({"one": BARE}, "field `population` of one item of the key `one`"),
        ({"more": [BARE]}, "field `population` of item 0 of the key `more`"),
        ({"added": [BARE]}, "field `population` of item 0 of the key `added`"),
        ({"first": BARE}, "field `population` of the key `first`"),
        ({"deep": {"x": BARE}}, "field `population` of entry 'x' of the key `deep`"),
        ({"loose": {"note": "a"}}, "field `id` of the key `loose` must be given"),
        ({"village": {**LYON, "mayor": "M"}}, "field `parish` of the key `village`"),
        ({"village": {**BARE, "parish": "P"}}, "field `population` of the key `village`"),
        ({"kept": {"note": "a"}}, "field `sure` of the key `kept`"),
        ({"frozen": {"note": "a"}}, "field `id` of the key `frozen` must be given"),
        ({"tree": {"value": 1, "below": [{}]}}, "field `value` of item 0 of field `below`"),
        ({"box": {"label": "x"}}, "field `content` of the key `box`"),
        ({"nested": [[BARE]]}, "field `population` of item 0 of item 0 of the key `nested`"),
        ({"pet": {}}, "field `lives` of the key `pet` must be given"),
    ],
)
def test_a_required_field_that_is_missing_is_named(update: Any, naming: str) -> None:
    with pytest.raises(StateError, match=f"^{re.escape(naming)}") as caught:
        run(update)
    (key,) = update
    assert (caught.value.code, caught.value.details["key"]) == ("write_mistyped", key)
    assert "NotRequired" in str(caught.value.hint)
    assert any("`returns`" in note for note in caught.value.__notes__)


@pytest.mark.parametrize(
    "update",
    [
        {},
        {"town": LYON},
        {"town": {**LYON, "more": 1}},
        {"town": defaultdict(str, BARE)},
        {"maybe": None},
        {"towns": []},
        {"parts": BARE},
        {"parts": {}},
        {"deep": {}},
        {"loose": {"id": 1}},
        {"village": {**LYON, "parish": "P"}},
        {"kept": {"sure": 1}},
        {"frozen": {"id": 1}},
        {"tree": {"value": 1}},
        {"tree": {"value": 1, "below": [{"value": 2}]}},
        {"box": {"content": 1}},
        {"any_box": {"content": object}},
        {"nested": [LYON, [[LYON]]]},
        {"pet": {"tricks": []}},
        {"town_or_dict": BARE},
        {"anything": {"name": 1}},
    ],
)
def test_fields_that_may_be_left_out_are_not_missed(update: Any) -> None:
    state = run(update)
    for key, value in update.items():
        assert dict(state)[key] == value


def test_a_merged_value_may_come_in_parts_from_the_start_on() -> None:
    team = Orchestrator([Returns({"parts": {"population": 1}})], state=Held)
    assert team.run({"question": "q", "parts": BARE}).state["parts"] == {**BARE, "population": 1}


def test_a_missing_field_of_the_input_is_an_invalid_input() -> None:
    with pytest.raises(ValidationError, match="field `population` of item 0 of the key `towns`"):
        Orchestrator([Returns({})], state=Held).run({"question": "q", "towns": [BARE]})


def test_the_keys_of_the_state_itself_come_one_by_one() -> None:
    class Whole(TypedDict):
        question: str
        messages: list[Any]
        answer: str
        town: Town
        count: int

    assert dict(run({"count": 1}, Whole))["count"] == 1


@dataclass
class InDataclass:
    town: Town | None = None


def test_values_in_a_dataclass_are_checked_too() -> None:
    with pytest.raises(StateError, match="field `population` of the key `town` must be given"):
        run({"town": BARE}, InDataclass)
    assert run({"town": LYON}, InDataclass).town == LYON


class PlainTown(te.TypedDict):
    name: str
    population: int


class Place(pydantic.BaseModel):
    name: str
    population: int


class InPydantic(pydantic.BaseModel):
    town: PlainTown | None = None
    places: list[Place] = []
    more: Annotated[list[PlainTown], extend] = []


@pytest.mark.parametrize(
    ("update", "naming"),
    [
        ({"more": [BARE]}, "field `population` of item 0 of the key `more` must be given"),
        (
            {"places": [{"name": "a", "population": 1}, BARE]},
            "invalid value for `population` of item 1 of the key `places`: Field required",
        ),
        (
            {"places": [{"name": "a", "population": "x"}]},
            "invalid value for `population` of item 0 of the key `places`: Input should be",
        ),
    ],
)
def test_an_error_of_pydantic_names_the_place_within_the_value(update: Any, naming: str) -> None:
    with pytest.raises(StateError, match=f"^{re.escape(naming)}"):
        run(update, InPydantic)


def test_a_typed_dict_of_typing_extensions_is_one() -> None:
    class Old(te.TypedDict, total=False):
        towns: list[PlainTown]

    assert dict(run({"towns": [LYON]}, Old))["towns"] == [LYON]
    with pytest.raises(StateError, match="field `population` of item 0"):
        run({"towns": [BARE]}, Old)
    with pytest.raises(StateError, match="item 0 of the key `towns` must be dict: 3"):
        run({"towns": [3]}, Old)


def test_the_type_of_a_read_only_field_is_checked_and_its_reducer_used() -> None:
    class Noted(te.TypedDict, total=False):
        frozen: Frozen
        notes: te.ReadOnly[Annotated[list[str], append]]

    with pytest.raises(StateError, match="field `id` of the key `frozen` must be int: 'x'"):
        run({"frozen": {"id": "x"}}, Noted)
    assert dict(run({"notes": "a"}, Noted))["notes"] == ["a"]


def test_a_class_whose_hints_cannot_be_read_is_not_checked() -> None:
    class Local(TypedDict):
        value: NoSuchName  # type: ignore[name-defined]  # noqa: F821
        other: NotRequired[int]

    class Odd(TypedDict):
        value: int | "x"  # type: ignore[name-defined]  # noqa: F821, UP037

    Outer = TypedDict("Outer", {"local": Local, "odd": Odd}, total=False)  # noqa: UP013
    for key in ("local", "odd"):
        assert dict(run({key: {}}, Outer))[key] == {}


def test_a_class_that_answers_no_instance_check_takes_any_value() -> None:
    class Meta(type):
        def __instancecheck__(cls, instance: object) -> bool:
            raise TypeError("no instance checks")

    class Strange(metaclass=Meta):
        """Refuses to tell its instances."""

    State = TypedDict("State", {"strange": Strange}, total=False)  # noqa: UP013
    assert dict(run({"strange": 3}, State))["strange"] == 3


@dataclass
class Filled:
    """An empty default that an agent fills in."""

    question: str = ""
    town: Town = field(default_factory=dict)  # type: ignore[assignment]
    answer: str = ""


def test_an_empty_default_may_lack_what_agents_fill_in() -> None:
    result = Orchestrator([Returns({"answer": "done"})], state=Filled).run("q")
    assert result.answer == "done"


def test_an_empty_default_may_be_given_and_given_back() -> None:
    class Returning(Agent):
        def act(self, state: Filled, ctx: AgentContext) -> Any:
            return state

    class Part(Agent):
        def act(self, state: Filled, ctx: AgentContext) -> Any:
            return {"town": state.town, "answer": "done"}

    team = Orchestrator([Part()], state=Filled, checkpointer="memory:")
    outer = Orchestrator([Orchestrator([Part()], state=Filled, name="inner")], state=Filled)
    for _ in range(2):
        assert team.run(Filled(question="q"), thread="t").answer == "done"
    assert outer.run("q").answer == "done"
    assert Orchestrator([Returning(), Part()], state=Filled).run("q").answer == "done"


class Modelled(pydantic.BaseModel):
    """The same as a model of pydantic, which does not validate defaults."""

    question: str = ""
    town: LaterTown = {}  # type: ignore[typeddict-item]
    answer: str = ""


@pytest.mark.parametrize("written", [{"answer": "done"}, {"answer": "done", "town": {}}])
def test_an_empty_default_of_a_model_may_be_given_back(written: dict[str, Any]) -> None:
    team = Orchestrator([Returns(written)], state=Modelled)
    assert team.run("q").answer == "done"
    assert team.run(Modelled(question="q")).answer == "done"
    assert Orchestrator([team], state=Modelled).run("q").answer == "done"


def test_a_model_checks_a_dict_that_is_not_empty() -> None:
    with pytest.raises(StateError, match="`name` of the key `town`: Field required"):
        Orchestrator([Returns({"town": {"population": 3}})], state=Modelled).run("q")


def test_an_empty_dict_that_is_no_default_lacks_fields() -> None:
    State = TypedDict("State", {"town": Town, "answer": str}, total=False)  # noqa: UP013
    with pytest.raises(StateError, match="field `name` of the key `town` must be given"):
        Orchestrator([Returns({"town": {}})], state=State).run("q")
    with pytest.raises(StateError, match="field `name` of the key `town` must be given"):
        Orchestrator([Returns({"town": {"population": 3}})], state=Filled).run("q")
