"""Settings, input, context and updates, as the engine takes them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import is_dataclass
from typing import TYPE_CHECKING, Any, cast

from antiphon._antiphon import Command, Send
from antiphon._graph_errors import EmptyInputError, GraphBuildError, InvalidUpdateError
from antiphon._state_schema import ROOT, Schema, annotated_keys, is_model
from antiphon._validation import LARGEST_ID, is_count

if TYPE_CHECKING:
    from typing import TypeAlias

    from antiphon._type_params import InputT
    from antiphon.graph._runtime import RunnableConfig

    GraphInput: TypeAlias = InputT | Mapping[str, Any] | Command | None
    """What a graph takes. A dict may have any of the keys, which no type of a TypedDict says."""

RECURSION_LIMIT = 10_007
"""Supersteps, unless the config says otherwise."""


def merge(*configs: Mapping[str, Any] | None) -> RunnableConfig:
    """Merges configs: tags add up, metadata and configurable merge, of the rest the last wins.

    Raises:
        GraphBuildError: a config or a part of it is not what it must be (``call_invalid``).
    """
    merged: Any = {
        "tags": [],
        "metadata": {},
        "configurable": {},
        "callbacks": None,
        "recursion_limit": RECURSION_LIMIT,
    }
    for config in configs:
        if config is None:
            continue
        for key, value in _checked(config, "config").items():
            if key in _PARTS:
                _merge_part(merged, key, value)
            elif value is not None:
                merged[key] = value
    return cast("RunnableConfig", merged)


_PARTS = frozenset({"tags", "metadata", "configurable"})


def _merge_part(merged: Any, key: str, value: Any) -> None:
    if key == "tags":
        merged[key] += [tag for tag in value or () if tag not in merged[key]]
    else:
        merged[key].update(_checked(value, key))


def _checked(given: Any, name: str) -> Mapping[str, Any]:
    # To ask an abstract class takes longer than all the rest of it.
    if type(given) is dict or given is None or isinstance(given, Mapping):
        return given or {}
    kind = type(given).__name__
    raise GraphBuildError(f"`{name}` must be a dict, found: {kind}", code="call_invalid")


def entry(given: Any, schema: Schema, *, kept: bool = False) -> dict[str, Any] | Command | None:
    """The first writes of a run; a run in a thread may also continue. Unknown keys are dropped.

    Raises:
        EmptyInputError: there is nothing in it.
        InvalidUpdateError: it is no state.
        TypeError: a command leads to something that is neither a name nor a `Send`.
        RuntimeError: a command resumes.
    """
    channels = schema.channels
    if isinstance(given, dict) and ROOT not in channels:
        return _known(given, channels)
    if given is None:
        if kept:
            return None
        raise EmptyInputError("the graph was given no input: None")
    if isinstance(given, Command):
        return _resuming(given) if kept and given.resume is not None else _command(given)
    if ROOT in channels:
        return {ROOT: given}
    if is_annotated(given):
        return _known(wrote(given), channels)
    if isinstance(given, Mapping):
        return {key: given[key] for key in given if key in channels}
    raise InvalidUpdateError(
        f"a graph takes a dict or an instance of its schema, found: {type(given).__name__}"
    )


def _known(given: dict[str, Any], channels: Mapping[str, Any]) -> dict[str, Any]:
    for key in given:
        if key not in channels:
            break
    else:
        return given
    return {key: given[key] for key in given if key in channels}


def context_of(given: Any, schema: type | None) -> Any:
    """The context of nodes; a dict is converted to the context schema."""
    if schema is None or not isinstance(given, dict):
        return given
    return schema(**given) if is_dataclass(schema) or is_model(schema) else given


def limit_of(config: Mapping[str, Any]) -> int:
    """The limit of supersteps.

    Raises:
        GraphBuildError: it is no whole number, or below 1.
    """
    given = config.get("recursion_limit", RECURSION_LIMIT)
    return RECURSION_LIMIT if given is RECURSION_LIMIT else counted(given, "recursion_limit")


def concurrency_of(config: Mapping[str, Any]) -> int | None:
    """How many nodes may run at once; ``None`` for any number.

    Raises:
        GraphBuildError: it is no whole number, or below 1.
    """
    given = config.get("max_concurrency")
    return None if given is None else counted(given, "max_concurrency")


def counted(given: Any, name: str) -> int:
    """A whole number of at least 1.

    Raises:
        GraphBuildError: it is something else.
    """
    if is_count(given, LARGEST_ID):
        return given
    raise GraphBuildError(
        f"`{name}` must be an integer of at least 1: {given!r}", code="call_invalid"
    )


def _command(command: Command) -> Command:
    if command.resume is not None:
        raise RuntimeError(
            "only a graph with a checkpointer is resumed by a command, others by `graph.resume` "
            "with what `invoke` returned, found: Command(resume=...)"
        )
    targets = command.goto if isinstance(command.goto, list | tuple) else (command.goto,)
    for target in targets:
        if not isinstance(target, str | Send):
            raise TypeError(
                f"`goto` takes the names of nodes and `Send`s, found: {type(target).__name__}"
            )
    if command.update is None and not targets:
        raise EmptyInputError("the graph was given nothing to start from: Command()")
    return command


def _resuming(command: Command) -> Command:
    if command.update is not None or command.goto not in ((), [], None):
        raise GraphBuildError(
            "`Command(resume=...)` cannot be combined with `update` or `goto`",
            code="call_invalid",
            hint="call `update_state` first, then resume",
        )
    return command


def adapt(value: Any) -> dict[str, Any] | list[dict[str, Any] | Command | None]:
    """A node's return value that is neither ``None``, an exact dict nor a `Command`, as updates.

    Raises:
        InvalidUpdateError: it is something else.
    """
    if isinstance(value, dict):
        return dict(value)
    if isinstance(value, list | tuple) and any(isinstance(item, Command) for item in value):
        return [_one(item) for item in value]
    return wrote(value)


def wrote(value: Any) -> dict[str, Any]:
    """The fields of an annotated instance as an update.

    All of them, defaults included, but for a model's ``None`` that is a default and was not set.

    Raises:
        InvalidUpdateError: `value` is no such instance.
    """
    keys = () if value is None else annotated_keys(type(value))
    if not keys:
        raise InvalidUpdateError(
            f"a node must return a dict, a `Command` or nothing, found: {type(value).__name__}",
            code="invalid_graph_node_return_value",
            hint="return the keys that change, for instance `{'answer': 42}`",
        )
    silent: set[str] = set()
    if is_model(type(value)):
        fields = type(value).model_fields
        unset = set(fields) - value.model_fields_set
        silent = {key for key in unset if fields[key].default is None}
    found = {key: getattr(value, key) for key in keys if hasattr(value, key)}
    return {key: item for key, item in found.items() if item is not None or key not in silent}


def is_annotated(value: Any) -> bool:
    """Whether a value is an instance of a class with annotated fields."""
    return not isinstance(value, dict) and bool(annotated_keys(type(value)))


def _one(item: Any) -> dict[str, Any] | Command | None:
    if item is None or isinstance(item, Command):
        return item
    return dict(cast("Mapping[str, Any]", item)) if isinstance(item, dict) else wrote(item)
