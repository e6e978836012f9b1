"""What a node returned, or a caller put in, as plain updates."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from antiphon._antiphon import Command
from antiphon._graph_errors import InvalidUpdateError
from antiphon._state_schema import annotated_keys, is_model

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["adapt", "is_annotated", "wrote"]


def adapt(value: Any) -> dict[str, Any] | list[dict[str, Any] | Command | None]:
    """Reads a node's return value that is neither nothing, an exact dict nor a `Command`.

    Args:
        value: a dict of a subclass, a list or tuple with at least one `Command` in it, a
            list of pairs, or an instance of an annotated class.

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
            f"a node returns a dict, a `Command` or nothing, found: {type(value).__name__}",
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
