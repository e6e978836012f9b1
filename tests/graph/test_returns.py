"""What a node may return (rules 28, 29)."""

from dataclasses import dataclass
from typing import Any

import pytest
from pydantic import BaseModel

from support.oracle import Events, Impl, Run
from support.states import Log, Plain, say


@dataclass
class Both:
    """Both keys of `Plain`, with defaults."""

    a: str | None = None
    b: str = "default"


def one(impl: Impl, returned: Any, schema: Any = Plain) -> Any:
    """A graph of one node that returns `returned`."""
    return impl.sequence(schema, ("n", lambda s: returned))


def test_known_keys_are_written_and_unknown_ones_ignored(impl: Impl, run: Run) -> None:
    assert run(one(impl, {"a": 1, "typo": 2}), {"b": 0}) == {"a": 1, "b": 0}


@pytest.mark.parametrize("nothing", [None, {}, {"typo": 1}])
def test_a_node_that_returns_nothing_writes_nothing(impl: Impl, run: Run, nothing: Any) -> None:
    assert run(one(impl, nothing), {"a": 1}) == {"a": 1}


@pytest.mark.parametrize("nothing", [None, {}, {"typo": 1}])
def test_the_update_event_of_nothing_is_none(impl: Impl, events: Events, nothing: Any) -> None:
    assert events(one(impl, nothing), {"a": 1}) == [{"n": None}]


def test_an_explicit_none_is_a_write(impl: Impl, run: Run, events: Events) -> None:
    assert run(one(impl, {"a": None}), {"a": 1}) == {"a": None}
    assert events(one(impl, {"a": None}), {"a": 1}) == [{"n": {"a": None}}]


@pytest.mark.parametrize("wrong", ["text", 3, [], ["a"], [{"a": 1}], {"a"}, object()])
def test_anything_else_is_an_invalid_update(impl: Impl, run: Run, wrong: Any) -> None:
    with pytest.raises(impl.InvalidUpdateError):
        run(one(impl, wrong), {"a": 0})


def test_a_list_with_a_command_may_mix_commands_and_dicts(impl: Impl, run: Run) -> None:
    mixed = [{"log": ["dict"]}, impl.Command(update={"log": ["command"]}, goto="z")]
    graph = impl.build(Log, {"n": lambda s: mixed, "z": say("z")}, [(impl.START, "n")])
    assert run(graph, {}) == {"log": ["dict", "command", "z"]}


def test_a_tuple_of_commands_is_accepted(impl: Impl, run: Run) -> None:
    commands = (impl.Command(update={"log": ["1"]}), impl.Command(update={"log": ["2"]}))
    assert run(one(impl, commands, Log), {}) == {"log": ["1", "2"]}


def test_two_plain_writes_by_one_task_conflict(impl: Impl, run: Run) -> None:
    twice = [impl.Command(update={"a": 1}), impl.Command(update={"a": 2})]
    with pytest.raises(impl.InvalidUpdateError):
        run(one(impl, twice), {})


def test_an_instance_writes_all_its_fields_defaults_included(impl: Impl, run: Run) -> None:
    graph = impl.sequence(Both, ("n", lambda s: Both(a="new")))
    assert run(graph, {"a": "old", "b": "old"}) == {"a": "new", "b": "default"}


def test_a_dataclass_instance_writes_its_nones_too(impl: Impl, run: Run) -> None:
    graph = impl.sequence(Both, ("n", lambda s: Both(b="new")))
    assert run(graph, {"a": "old", "b": "old"}) == {"a": None, "b": "new"}


def test_a_pydantic_instance_leaves_out_a_default_none_that_was_not_set(
    impl: Impl, run: Run
) -> None:

    class Model(BaseModel):
        a: str | None = None
        b: str = "default"

    set_none = impl.sequence(Model, ("n", lambda s: Model(a=None)))
    assert run(set_none, {"a": "old", "b": "old"}) == {"a": None, "b": "default"}
    left_none = impl.sequence(Model, ("n", lambda s: Model(b="new")))
    assert run(left_none, {"a": "old", "b": "old"}) == {"a": "old", "b": "new"}


@pytest.mark.only("antiphon")
def test_strict_rejects_unknown_keys_and_names_them(impl: Impl, run: Run) -> None:
    graph = impl.sequence(Plain, ("n", lambda s: {"typo": 1}), strict=True)
    with pytest.raises(impl.InvalidUpdateError, match="typo"):
        run(graph, {"a": 0})
