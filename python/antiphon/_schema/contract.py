"""A type as a JSON schema, and as a constructor of values that satisfy it."""

from __future__ import annotations

from functools import reduce
from operator import getitem
from typing import TYPE_CHECKING, Any

from antiphon._schema.reader import Reader
from antiphon._schema.shape import Mismatch, Shape, render
from antiphon.errors import ValidationError

if TYPE_CHECKING:
    from antiphon._schema.definitions import JsonSchema
    from antiphon._schema.shape import Path


class Contract:
    """A type, read once, for many values.

    Args:
        tp: any hint that `Reader` supports: standard types, ``Optional``, unions, ``Literal``,
            enums, collections, dataclasses, typed dictionaries, named tuples, pydantic models,
            generics of these.
        where: the owner of the type, for errors.

    Raises:
        ValidationError: the type has no JSON schema (``unsupported_type``), or a hint in it
            cannot be resolved (``unresolved_type``).

    Example:
        >>> Contract(tuple[int, ...]).construct([1, 2])
        (1, 2)
    """

    def __init__(self, tp: Any, where: str = "the value") -> None:
        reader = Reader()
        self._shape = reader.read(tp, where)
        self.schema: JsonSchema = reader.definitions.finish(self._shape.schema(reader.definitions))
        """JSON schema of the type, draft 2020-12; shared and recursive parts under ``$defs``."""

    def construct(self, value: Any, root: str = "value") -> Any:
        """Return the annotated Python object for a JSON value.

        Args:
            value: a result of ``json.loads``.
            root: its name in errors.

        Raises:
            ValidationError: the value does not fit (``invalid_value``); the message and
                ``details["path"]`` name the place.
        """
        return build(self._shape, value, root)


def build(shape: Shape, value: Any, root: str) -> Any:
    """Build a value, or raise the error that users see."""
    try:
        return shape.build(value, ())
    except Mismatch as misfit:
        raise ValidationError(
            misfit.sentence(root),
            code="invalid_value",
            details={"path": render(misfit.path, root), "reason": misfit.reason},
        ) from misfit


_VALUE = "value"
"""Field of the object that wraps other values: providers accept only schemas of objects."""


class Output:
    """The type or JSON schema that an answer must satisfy.

    Args:
        given: a type hint, or a JSON schema as a dict.
        where: its owner, for errors.

    Raises:
        ValidationError: as `Contract`.
    """

    def __init__(self, given: Any, where: str) -> None:
        self._contract = None if isinstance(given, dict) else Contract(given, where)
        plain: dict[str, Any] = given if self._contract is None else self._contract.schema
        self._wrapped = not _is_object(plain)
        self.schema = _wrap(plain) if self._wrapped else plain

    @property
    def fields(self) -> frozenset[str]:
        """The names of its fields; empty if it is no object."""
        return frozenset() if self._wrapped else frozenset(_target(self.schema)["properties"])

    def construct(self, value: Any) -> Any:
        """Return the annotated Python object for an answer of the model."""
        plain = value[_VALUE] if self._wrapped else value
        return plain if self._contract is None else self._contract.construct(plain, "answer")

    def construct_rest(self, value: Any) -> tuple[Any, list[str]]:
        """As `construct`, of a value of which some may have changed since it fitted.

        Returns:
            The object, ``None`` if nothing can be made of the value; and the places that became
            null, or went, because the type refuses them.
        """
        refused: list[str] = []
        while True:
            try:
                return self.construct(value), refused
            except ValidationError as error:
                misfit = error.__cause__
                if not isinstance(misfit, Mismatch):
                    raise
                if (place := render(misfit.path, "answer")) not in refused:
                    refused.append(place)
                inner = value[_VALUE] if self._wrapped else value
                if not _emptied(inner, misfit.path):
                    return None, refused


def _emptied(value: Any, path: Path) -> bool:
    """Makes what stands at a path null, or takes it out of its list, or what it belongs to."""
    for end in range(len(path), 0, -1):
        *parents, last = path[:end]
        try:
            place = reduce(getitem, parents, value)
            is_null = place[last] is None
        except (KeyError, IndexError, TypeError):
            # Not all that pydantic says about a place is a key.
            continue
        if not is_null:
            place[last] = None
            return True
        if isinstance(place, list) and isinstance(last, int):
            del place[last]
            return True
    return False


def _is_object(schema: dict[str, Any]) -> bool:
    target = _target(schema)
    return target.get("type") == "object" and "properties" in target


def _target(schema: dict[str, Any]) -> dict[str, Any]:
    """Resolve a reference to one of the schema's own definitions."""
    while "$ref" in schema:
        name = schema["$ref"].rpartition("/")[2]
        definitions = schema.get("$defs", {})
        schema = {**definitions.get(name, {}), "$defs": definitions}
    return schema


def _wrap(schema: dict[str, Any]) -> dict[str, Any]:
    inner = {key: value for key, value in schema.items() if key not in {"$defs", "$schema"}}
    wrapped: dict[str, Any] = {
        "type": "object",
        "properties": {_VALUE: inner},
        "required": [_VALUE],
        "additionalProperties": False,
    }
    return {**wrapped, "$defs": schema["$defs"]} if "$defs" in schema else wrapped
