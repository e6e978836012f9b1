"""What agents write to the state: messages they were given, elements of lists, changes in place."""

from __future__ import annotations

import copy
import operator
import re
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import (  # noqa: UP035 - `List` of older code
    Annotated,
    Any,
    Generic,
    List,
    Literal,
    NamedTuple,
    NewType,
    TypedDict,
    TypeVar,
)
from uuid import UUID

import numpy as np
import pytest
import typing_extensions

from antiphon import Agent, AgentContext, Orchestrator
from antiphon.errors import StateError, ValidationError
from antiphon.models import get
from antiphon.state import append, extend, merge


class Gathered(TypedDict, total=False):
    """A state of keys with reducers."""

    rows: Annotated[list[int], extend]
    log: Annotated[list[str], append]
    total: Annotated[int, operator.add]
    plain: list[int]


class Returns(Agent):
    """Returns what a function makes of the state."""

    def __init__(self, make: Any) -> None:
        super().__init__(name="returns")
        self.make = make

    def act(self, state: Any, ctx: AgentContext) -> Any:
        return self.make(state, ctx)


WHOLE = [
    lambda state, _: state,
    lambda state, _: {**state},
    lambda state, _: {**state, "answer": "done"},
    lambda state, ctx: ctx.end("done", update=state),
]


@pytest.mark.parametrize("make", WHOLE)
def test_returning_the_state_writes_nothing_that_was_given(make: Any) -> None:
    given = {"question": "q", "rows": [1], "log": ["a"], "total": 1, "plain": [1]}
    team = Orchestrator([[Returns(make), Writes(name="other")]], state=Gathered)
    state: dict[str, Any] = {**team.run(given).state}
    assert {key: state[key] for key in given} == {**given, "plain": [2]}


class Writes(Agent):
    """Writes a key without a reducer."""

    def act(self, state: Any, ctx: AgentContext) -> Any:
        return {"plain": [2]}


def test_an_equal_value_is_a_write_and_the_given_one_is_none() -> None:
    given = {"question": "q", "rows": [1], "log": ["a"], "total": 1}

    def state_after(make: Any) -> list[Any]:
        state = Orchestrator([Returns(make)], state=Gathered).run(given).state
        return [state["rows"], state["log"], state["total"]]

    assert state_after(lambda *_: {"rows": [1], "log": "a", "total": 1}) == [[1, 1], ["a", "a"], 2]
    assert state_after(lambda s, _: {**s, "rows": [1], "log": "a"}) == [[1, 1], ["a", "a"], 1]
    assert state_after(lambda s, _: {"rows": s["rows"]}) == [[1], ["a"], 1]
    assert state_after(lambda s, _: {**s, "total": 5}) == [[1], ["a"], 6]


def test_the_state_may_be_changed_and_returned() -> None:
    def change(state: Any, _: Any) -> Any:
        state["plain"].append(2)
        state["answer"] = "done"
        return state

    given = {"question": "q", "rows": [1], "plain": [1]}
    result = Orchestrator([Returns(change)], state=Gathered).run(given)
    assert (result.state["plain"], result.state["rows"], result.answer) == ([1, 2], [1], "done")


@pytest.mark.parametrize(
    "make",
    [
        lambda state, _: state,
        lambda state, _: {**state, "n": 5},
        lambda state, _: copy.deepcopy(state),
        lambda state, ctx: ctx.end("a", update=state),
        lambda state, _: {"messages": state["messages"]},
    ],
)
def test_returning_the_state_repeats_no_message(make: Any) -> None:
    result = Returns(make).run("q")
    assert [message["content"] for message in result.messages if message["role"] == "user"] == ["q"]


def test_a_message_that_is_added_to_those_of_the_state_is_the_only_new_one() -> None:
    said = {"role": "assistant", "content": "q"}
    result = Returns(lambda state, _: {"messages": [*state["messages"], said]}).run("q")
    assert [message["role"] for message in result.messages] == ["user", "assistant"]


def test_an_equal_message_may_be_said_twice() -> None:
    said = {"role": "user", "content": "q"}
    result = Returns(lambda _, __: {"messages": [dict(said), dict(said)]}).run("q")
    assert len(result.messages) == 3


def test_a_copy_of_a_message_with_an_id_is_no_new_message() -> None:
    said = {"role": "assistant", "content": "ok", "id": "m1"}
    first = Returns(lambda _, __: {"messages": [dict(said)]})
    again = Returns(lambda state, _: {"messages": [dict(one) for one in state["messages"][1:]]})
    again.name = "again"
    result = Orchestrator([first, again]).run("q")
    assert [message["content"] for message in result.messages] == ["q", "ok"]
    again.make = lambda state, _: copy.deepcopy(state)
    result = Orchestrator([first, again]).run("q")
    assert [message["content"] for message in result.messages] == ["q", "ok"]


class Declared(TypedDict, total=False):
    extra: int


@pytest.mark.parametrize("state", [None, Declared])
def test_a_message_with_a_known_id_takes_the_place_of_the_older_one(state: Any) -> None:
    draft = {"role": "assistant", "content": "draft", "id": "m1"}
    first = Returns(lambda _, __: {"messages": [dict(draft), "a note"]})
    edits = Returns(lambda _, __: {"messages": [{**draft, "content": "final"}, "done"]})
    edits.name = "edits"
    result = Orchestrator([first, edits], state=state).run("q")
    assert [one["content"] for one in result.messages] == ["q", "final", "a note", "done"]


def test_an_id_of_any_type_names_a_message() -> None:
    number = UUID(int=7)
    first = Returns(
        lambda _, __: {"messages": [{"role": "user", "content": "draft", "id": number}]}
    )
    edits = Returns(lambda _, __: {"messages": [{"role": "user", "content": "done", "id": number}]})
    edits.name = "edits"
    result = Orchestrator([first, edits]).run("q")
    assert [one["content"] for one in result.messages] == ["q", "done"]


def test_ids_of_different_types_name_different_messages() -> None:
    said = [
        {"role": "user", "content": text, "id": number}
        for text, number in (("one", 1), ("true", True), ("text", "1"), ("uno", 1))
    ]
    result = Returns(lambda _, __: {"messages": said}).run("q")
    assert [one["content"] for one in result.messages] == ["q", "uno", "true", "text"]


class Nameless:
    """A message whose id cannot be read."""

    type = "ai"

    def __init__(self, content: str) -> None:
        self.content = content

    @property
    def id(self) -> str:
        """Nothing."""
        raise RuntimeError("no id yet")


def test_a_message_whose_id_cannot_be_read_loses_no_other() -> None:
    first = Returns(lambda _, __: {"messages": [Nameless("unnamed")]})
    named = Returns(lambda _, __: {"messages": [{"role": "user", "content": "named", "id": "m"}]})
    named.name = "named"
    result = Orchestrator([first, named]).run("q")
    contents = [one["content"] if isinstance(one, dict) else one.content for one in result.messages]
    assert contents == ["q", "unnamed", "named"]


def test_ids_that_are_given_twice_in_one_update_are_one_message() -> None:
    said = [{"role": "user", "content": text, "id": "m"} for text in ("one", "two")]
    result = Returns(lambda _, __: {"messages": said}).run("q")
    assert [one["content"] for one in result.messages] == ["q", "two"]


def test_a_further_turn_may_replace_a_message_of_the_thread() -> None:
    team = Orchestrator([Returns(lambda _, __: {"answer": "ok"})], checkpointer="memory:")
    first = {"role": "user", "content": "colour?", "id": "m1"}
    team.run({"messages": [first, "please"]}, thread="t")
    result = team.run({"messages": [{**first, "content": "color?"}]}, thread="t")
    assert [one["content"] for one in result.messages][:2] == ["color?", "please"]
    assert len(result.messages) == 2


def test_a_message_that_an_inner_team_replaces_is_replaced_in_the_outer_one() -> None:
    draft = {"role": "assistant", "content": "draft", "id": "m1"}
    first = Returns(lambda _, __: {"messages": [dict(draft)]})
    edits = Returns(lambda _, __: {"messages": [{**draft, "content": "final"}]})
    inner = Orchestrator([edits], name="inner")
    result = Orchestrator([first, inner]).run("q")
    assert [one["content"] for one in result.messages] == ["q", "final"]


def test_langchain_messages_are_replaced_by_their_ids() -> None:
    messages = pytest.importorskip("langchain_core.messages")
    first = Returns(lambda _, __: {"messages": [messages.AIMessage("draft", id="m1")]})
    edits = Returns(lambda _, __: {"messages": [messages.AIMessage("final", id="m1")]})
    edits.name = "edits"
    result = Orchestrator([first, edits]).run("q")
    assert [getattr(one, "content", None) for one in result.messages[1:]] == ["final"]


class Jokes(TypedDict, total=False):
    one: Annotated[list[str], append]
    more: Annotated[list[str], extend]
    plain: list[str]


@pytest.mark.parametrize(
    ("update", "naming"),
    [
        ({"one": ["a"]}, "one item of the key `one` must be str: list"),
        ({"one": 3}, "one item of the key `one` must be str: 3"),
        ({"more": ["a", 3]}, "item 1 of the key `more` must be str: 3"),
        ({"plain": [None]}, "item 0 of the key `plain` must be str: None"),
    ],
)
def test_elements_of_lists_are_checked(update: Any, naming: str) -> None:
    team = Orchestrator([Returns(lambda _, __: update)], state=Jokes)
    with pytest.raises(StateError, match=naming) as caught:
        team.run("q")
    assert caught.value.code == "write_mistyped"
    is_list_for_item = update == {"one": ["a"]}
    assert ("`append` adds one item" in str(caught.value.hint)) == is_list_for_item


class Part(TypedDict, total=False):
    name: str
    parts: list[Part]


UserId = NewType("UserId", int)
Positive = NewType("Positive", Annotated[int, "above zero"])
T = TypeVar("T")


class Point(NamedTuple, Generic[T]):
    x: T
    y: T


class Grid(list[list[T]], Generic[T]):
    """A list of rows."""


Json: Any = typing_extensions.TypeAliasType("Json", "list[Json] | int")
Pairs: Any = typing_extensions.TypeAliasType("Pairs", list[tuple[T, T]], type_params=(T,))  # type: ignore[arg-type]
Lost: Any = typing_extensions.TypeAliasType("Lost", "list[NotDefined]")  # noqa: F821


class Four(TypedDict, total=False):
    a: int
    b: int
    c: int
    d: int


class Nested(TypedDict, total=False):
    four: Four
    maybe: list[int] | None
    many: tuple[int, ...]
    pair: tuple[int, str]
    table: dict[str, int]
    grid: list[list[int]]
    rows: Annotated[list[dict[str, int]], append]
    added: Annotated[list[int], operator.add]
    fields: Annotated[dict[str, int], merge]
    either: list[int] | dict[str, str]
    unit: Literal["kg", "m"]
    part: Part
    ids: set[UserId]
    names: Sequence[str]
    stream: Iterable[int]
    anything: Any
    things: list[Any]
    details: dict[str, Any]
    bare: Annotated[list, append]  # type: ignore[type-arg]
    older: Annotated[List, append]  # type: ignore[type-arg]  # noqa: UP006
    several: tuple[int, *tuple[str, ...]]
    point: Point[int]
    square: Grid[int]
    positive: Positive
    json: Json
    pairs: Pairs[int]
    lost: Lost
    default: defaultdict[str, int]


@pytest.mark.parametrize(
    ("update", "naming"),
    [
        ({"maybe": [1, "x"]}, "item 1 of the key `maybe` must be int: 'x'"),
        ({"maybe": 3}, "the key `maybe` must be list or None: 3"),
        ({"many": (1, "x")}, "item 1 of the key `many` must be int: 'x'"),
        ({"pair": (1, 2)}, "item 1 of the key `pair` must be str: 2"),
        ({"pair": (1,)}, "the key `pair` must be a tuple of length 2: length 1"),
        ({"table": {"k": "x"}}, "entry 'k' of the key `table` must be int: 'x'"),
        ({"table": {3: 3}}, "a dict key of the key `table` must be str: 3"),
        ({"grid": [[1], [2, None]]}, "item 1 of item 1 of the key `grid` must be int: None"),
        ({"rows": {"n": "x"}}, "entry 'n' of one item of the key `rows` must be int: 'x'"),
        ({"added": ["x"]}, "item 0 of the key `added` must be int: 'x'"),
        ({"fields": {"n": []}}, "entry 'n' of the key `fields` must be int: list"),
        ({"either": {"k": 1}}, "entry 'k' of the key `either` must be str: 1"),
        ({"either": 1}, "the key `either` must be list or dict: 1"),
        ({"unit": "lb"}, "the key `unit` must be 'kg' or 'm': 'lb'"),
        (
            {"part": {"parts": [{"name": 3}]}},
            "field `name` of item 0 of field `parts` of the key `part` must be str: 3",
        ),
        ({"ids": {"x"}}, "item 0 of the key `ids` must be int: 'x'"),
        ({"names": ["a", 3]}, "item 1 of the key `names` must be str: 3"),
        ({"point": (1, 2)}, "the key `point` must be Point: tuple"),
        ({"positive": "x"}, "the key `positive` must be int: 'x'"),
        ({"json": [1, ["x"]]}, "item 0 of item 1 of the key `json` must be list or int: 'x'"),
        (
            {"pairs": [(1, 2), (3, "x")]},
            "item 1 of item 1 of the key `pairs` must be int: 'x'",
        ),
        ({"default": defaultdict(None, a="x")}, "entry 'a' of the key `default` must be int: 'x'"),
    ],
)
def test_what_stands_inside_of_a_value_is_checked(update: Any, naming: str) -> None:
    team = Orchestrator([Returns(lambda _, __: update)], state=Nested)
    with pytest.raises(StateError, match=f"^{re.escape(naming)}") as caught:
        team.run("q")
    (key,) = update
    assert (caught.value.code, caught.value.details["key"]) == ("write_mistyped", key)
    assert f"`{key}: " in str(caught.value.hint)
    assert any("`returns`" in note for note in caught.value.__notes__)


@pytest.mark.parametrize(
    "update",
    [
        {"maybe": None},
        {"many": ()},
        {"pair": (1, "a")},
        {"either": [1]},
        {"part": {"parts": [{"parts": []}], "unknown": object()}},
        {"ids": {1}},
        {"names": ("a", "b")},
        {"grid": [[True]]},
        {"anything": object()},
        {"things": [1, "a", None]},
        {"details": {"a": object()}},
        {"several": (1, "a", "b")},
        {"point": Point(1, 2)},
        {"square": Grid([[1]])},
        {"positive": 1},
        {"json": [1, [2, [3]]]},
        {"pairs": [(1, 2)]},
        {"lost": [object()]},
    ],
)
def test_values_that_fit_their_hints_are_taken(update: Any) -> None:
    team = Orchestrator([Returns(lambda _, __: update)], state=Nested)
    (key,) = update
    assert dict(team.run("q").state)[key] == update[key]


class Numbers(TypedDict, total=False):
    whole: int
    share: float
    listed: list[int] | None
    is_any: bool
    choice: Literal[1, 2]


@pytest.mark.parametrize(
    "update",
    [
        {"whole": np.int64(3)},
        {"choice": np.int64(2)},
        {"share": np.float32(0.5)},
        {"share": np.int64(3)},
        {"listed": [1, np.uint8(2)]},
        {"is_any": np.bool_(True)},
    ],
)
def test_a_number_of_numpy_counts_as_that_of_python(update: Any) -> None:
    team = Orchestrator([Returns(lambda _, __: update)], state=Numbers, checkpointer="memory:")
    (key,) = update
    found = dict(team.run("q", thread="t").state)[key]
    assert (found, type(found)) == (update[key], type(update[key]))
    assert team.state("t").state[key] == update[key]


@pytest.mark.parametrize(
    ("update", "expected"),
    [
        ({"whole": np.float64(3)}, "`whole` must be int"),
        ({"whole": np.array([3])}, "`whole` must be int: ndarray"),
        ({"share": Fraction(1, 2)}, "`share` must be float or int: Fraction"),
        ({"is_any": np.int64(1)}, "`is_any` must be bool: int64"),
        ({"whole": np.timedelta64(3, "ns")}, "`whole` must be int: timedelta64"),
        ({"share": np.timedelta64(3, "ns")}, "`share` must be float or int: timedelta64"),
        ({"choice": np.int64(3)}, "`choice` must be 1 or 2: int64"),
        ({"choice": np.bool_(True)}, "`choice` must be 1 or 2: bool"),
        ({"choice": np.timedelta64(1, "ns")}, "`choice` must be 1 or 2: timedelta64"),
    ],
)
def test_another_number_of_numpy_does_not_fit(update: Any, expected: str) -> None:
    with pytest.raises(StateError, match=expected):
        Orchestrator([Returns(lambda _, __: update)], state=Numbers).run("q")


@pytest.mark.parametrize("key", ["bare", "older"])
def test_a_list_without_a_type_takes_any_element(key: str) -> None:
    team = Orchestrator([Returns(lambda _, __: {key: object})], state=Nested)
    assert dict(team.run("q").state)[key] == [object]


def test_the_first_wrong_field_is_named_in_each_process() -> None:
    wrong = {"four": dict.fromkeys("dcba", "x")}
    with pytest.raises(StateError, match=r"^field `a` of the key `four`"):
        Orchestrator([Returns(lambda _, __: wrong)], state=Nested).run("q")


def test_an_iterator_is_not_consumed_by_the_check() -> None:
    team = Orchestrator([Returns(lambda _, __: {"stream": iter([1])})], state=Nested)
    assert list(team.run("q").state["stream"]) == [1]


def test_a_value_that_contains_itself_is_checked_to_a_depth() -> None:
    loop: dict[str, Any] = {"name": "a"}
    loop["parts"] = [loop]
    team = Orchestrator([Returns(lambda _, __: {"part": loop})], state=Nested)
    part = team.run("q").state["part"]
    assert part["parts"][0] is part


def test_the_value_in_the_error_is_bounded_and_without_known_secrets() -> None:
    get("openai:gpt-5-mini", api_key="~sk-4f8a1b2c3d4e5f60718293a4")
    with pytest.raises(StateError) as caught:
        Orchestrator(
            [Returns(lambda _, __: {"table": {"k": "~sk-4f8a1b2c3d4e5f60718293a4"}})], state=Nested
        ).run("q")
    assert "must be int: '***'" in caught.value.message
    with pytest.raises(StateError) as caught:
        Orchestrator([Returns(lambda _, __: {"table": {"k": "x" * 5_000}})], state=Nested).run("q")
    assert len(caught.value.message) < 200


def test_elements_of_a_further_turn_are_checked() -> None:
    team = Orchestrator(
        [Returns(lambda _, __: {"answer": "a"})], state=Jokes, checkpointer="memory:"
    )
    team.run({"question": "q", "one": ["a"]}, thread="t")
    with pytest.raises(ValidationError, match="one item of the key `one` must be str: list"):
        team.run({"question": "q", "one": ["b"]}, thread="t")
    result = team.run({"question": "q", "one": "b"}, thread="t")
    assert dict(result.state)["one"] == ["a", "b"]
    with pytest.raises(ValidationError, match="item 0 of the key `plain` must be str: 3"):
        team.run({"question": "q", "plain": [3]}, thread="t")


def test_elements_of_the_input_are_checked() -> None:
    team = Orchestrator([Returns(lambda _, __: {"one": "b"})], state=Jokes)
    assert team.run({"question": "q", "one": ["a"]}).state["one"] == ["a", "b"]
    with pytest.raises(ValidationError, match="item 0 of the key `one`") as caught:
        team.run({"question": "q", "one": [3]})
    assert caught.value.code == "input_invalid"


def test_a_change_in_place_that_is_lost_is_reported() -> None:
    def change(state: Any, _: Any) -> str:
        state["rows"].append(1)
        return "done"

    with pytest.warns(RuntimeWarning, match="agent `returns` changed its copy of `rows`"):
        result = Returns(change).run({"question": "q", "rows": []})
    assert result.state["rows"] == []


@pytest.mark.parametrize("key", ["seen", "question"])
def test_a_key_that_is_only_set_in_the_copy_of_the_state_is_reported(key: str) -> None:
    def change(state: Any, _: Any) -> str:
        state[key] = "lost"
        return "done"

    with pytest.warns(RuntimeWarning, match=f"agent `returns` changed its copy of `{key}`"):
        result = Returns(change).run("q")
    assert result.state.get(key) != "lost"


def test_a_misspelt_answer_is_reported_where_the_state_takes_any_key() -> None:
    with pytest.warns(RuntimeWarning, match=r"agent `returns` wrote .* `anser`, .* mean `answer`"):
        result = Returns(lambda *_: {"anser": "x"}).run("q")
    assert (result.answer, result.state["anser"]) == (None, "x")


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize(
    "written", [{"answers": []}, {"first_answer": "x"}, {"dancer": 1}, {"answer": "x", "anser": 1}]
)
def test_other_keys_are_not_taken_for_a_misspelt_answer(written: Any) -> None:
    Returns(lambda *_: written).run("q")
    Returns(lambda *_: {"anser": "y"}).run({"question": "q", "anser": "x"})


def test_an_attribute_that_is_only_set_in_the_copy_of_the_state_is_reported() -> None:
    @dataclass
    class Seen:
        times: int = 0

    def change(state: Any, _: Any) -> None:
        state.times = 1

    with pytest.warns(RuntimeWarning, match="agent `returns` changed its copy of `times`"):
        result = Orchestrator([Returns(change)], state=Seen).run("q")
    assert result.state.times == 0


def test_an_answer_that_is_set_and_returned_is_no_lost_change() -> None:
    def change(state: Any, _: Any) -> str:
        state["answer"] = "done"
        return str(state["answer"])

    assert Returns(change).run("q").answer == "done"


def test_a_change_in_place_that_is_returned_is_none() -> None:
    def change(state: Any, _: Any) -> Any:
        state["rows"].append(1)
        return {"rows": state["rows"]}

    assert Returns(change).run({"question": "q", "rows": []}).state["rows"] == [1]


def test_a_coroutine_that_nobody_awaited_is_named() -> None:
    async def later() -> str:
        return "x"

    with pytest.raises(StateError, match=r"a coroutine that nobody awaited: .*later") as caught:
        Returns(lambda _, __: later()).run("q")
    assert "await" in str(caught.value.hint)


@pytest.mark.parametrize(("given", "meant"), [("a.db", "sqlite:a.db"), ("memory", "memory:")])
def test_a_checkpointer_without_a_scheme_is_offered_one(given: str, meant: str) -> None:
    with pytest.raises(ValidationError, match=f'did you mean "{re.escape(meant)}"'):
        Orchestrator([Returns(None)], checkpointer=given)


def test_a_url_of_sqlalchemy_is_refused_with_both_readings() -> None:
    with pytest.raises(ValidationError, match=r": sqlite:///runs\.db") as caught:
        Orchestrator([Returns(None)], checkpointer="sqlite:///runs.db")
    assert caught.value.code == "store_setting_invalid"


def test_a_missing_argument_names_the_method_alone() -> None:
    team: Any = Orchestrator([Returns(None)], checkpointer="memory:")
    with pytest.raises(TypeError, match=r"^state\(\) missing 1 required"):
        team.state()
