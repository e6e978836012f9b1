"""What a call is given, made ready for the engine: input, context and limit."""

from __future__ import annotations

from dataclasses import is_dataclass
from typing import TYPE_CHECKING, Any

from antiphon._antiphon import Command, Send
from antiphon._graph_errors import EmptyInputError, GraphBuildError, InvalidUpdateError
from antiphon._state_schema import ROOT, Schema, is_model
from antiphon._validation import LARGEST_ID, is_count
from antiphon.graph._config import RECURSION_LIMIT
from antiphon.graph._update import is_annotated, wrote

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["concurrency_of", "context_of", "counted", "entry", "limit_of"]


def entry(given: Any, schema: Schema, *, kept: bool = False) -> dict[str, Any] | Command | None:
    """The first writes of a run, or how it goes on.

    Args:
        given: what the caller passed: a dict, an instance, a command, or a root value.
        schema: the input schema; other keys are dropped.
        kept: whether the run is in a thread, which may go on.

    Raises:
        EmptyInputError: there is nothing in it.
        InvalidUpdateError: it is no state.
        TypeError: a command leads to something that is neither a name nor a `Send`.
        RuntimeError: a command resumes.
    """
    if given is None:
        if kept:
            return None
        raise EmptyInputError("the graph was given no input: None")
    if isinstance(given, Command):
        return _resuming(given) if kept and given.resume is not None else _command(given)
    if schema.is_root:
        return {ROOT: given}
    if isinstance(given, dict):
        keys = schema.channels.keys()
        return given if given.keys() <= keys else {key: given[key] for key in given if key in keys}
    if is_annotated(given):
        return {key: value for key, value in wrote(given).items() if key in schema.channels}
    raise InvalidUpdateError(
        f"a graph takes a dict or an instance of its schema, found: {type(given).__name__}"
    )


def context_of(given: Any, schema: type | None) -> Any:
    """The context that nodes get: a dict becomes an instance of a class that can be made of it."""
    if schema is None or not isinstance(given, dict):
        return given
    return schema(**given) if is_dataclass(schema) or is_model(schema) else given


def limit_of(config: Mapping[str, Any]) -> int:
    """The limit of supersteps.

    Raises:
        GraphBuildError: it is no whole number, or below 1.
    """
    return counted(config.get("recursion_limit", RECURSION_LIMIT), "recursion_limit")


def concurrency_of(config: Mapping[str, Any]) -> int | None:
    """How many nodes may run at once; none for any number.

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
        f"`{name}` must be a whole number of at least 1, found: {given!r}", code="call_invalid"
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
            "a command that resumes neither updates nor goes anywhere: Command(resume=...)",
            code="call_invalid",
            hint="call `update_state` before, and resume then",
        )
    return command
