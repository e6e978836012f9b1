"""What a state class says about the values of its fields."""

from __future__ import annotations

import dataclasses
import types
import typing
from typing import Any

from antiphon._state_schema import is_model
from antiphon.errors import StateError


class Fields:
    """What a class says about the values of its fields: types, defaults, which must be given."""

    def __init__(self, kind: type) -> None:
        self._kind = kind
        self._model = is_model(kind)
        self._hints = typing.get_type_hints(kind)
        self.required = self._required()
        self._adapters = self._validators() if self._model else {}

    def check(self, name: str) -> dict[str, Any]:
        """The engine's check of a field's type, if a plain one says enough."""
        if self._model or name not in self._hints:
            return {}
        kinds = _kinds(self._hints[name])
        return {} if kinds is None else {"check": kinds}

    def defaults(self) -> dict[str, Any]:
        """A new value for each field that has a default."""
        if self._model:
            fields: dict[str, Any] = self._kind.model_fields  # type: ignore[attr-defined]
            return {
                name: field.get_default(call_default_factory=True)
                for name, field in fields.items()
                if not field.is_required()
            }
        found: dict[str, Any] = {}
        if dataclasses.is_dataclass(self._kind):
            for field in dataclasses.fields(self._kind):
                if field.default is not dataclasses.MISSING:
                    found[field.name] = field.default
                elif field.default_factory is not dataclasses.MISSING:
                    found[field.name] = field.default_factory()
        return found

    def coerced(self, values: dict[str, Any]) -> dict[str, Any]:
        """The values as pydantic stores them; others as they are."""
        return {
            name: self._coerce(name, value) if name in self._adapters else value
            for name, value in values.items()
        }

    def _coerce(self, name: str, value: Any) -> Any:
        import pydantic

        try:
            return self._adapters[name].validate_python(value)
        except pydantic.ValidationError as error:
            found = error.errors(include_url=False, include_context=False)[0]
            raise StateError(
                f"the key `{name}` cannot take what was written: {found['msg']}",
                code="write_mistyped",
                details={"key": name},
            ) from error

    def _required(self) -> set[str]:
        if self._model:
            fields: dict[str, Any] = self._kind.model_fields  # type: ignore[attr-defined]
            return {name for name, field in fields.items() if field.is_required()}
        if dataclasses.is_dataclass(self._kind):
            missing = dataclasses.MISSING
            fields_ = dataclasses.fields(self._kind)
            return {f.name for f in fields_ if f.default is f.default_factory is missing}
        return set()

    def _validators(self) -> dict[str, Any]:
        import pydantic

        fields: dict[str, Any] = self._kind.model_fields  # type: ignore[attr-defined]
        config = pydantic.ConfigDict(arbitrary_types_allowed=True)
        made = {}
        for name, field in fields.items():
            own: Any = field.annotation
            if field.metadata:
                own = typing.Annotated[(own, *field.metadata)]
            try:
                made[name] = pydantic.TypeAdapter(own, config=config)
            except pydantic.PydanticUserError:  # the type brings a configuration of its own
                made[name] = pydantic.TypeAdapter(own)
        return made


def _kinds(hint: Any) -> tuple[type, ...] | None:
    """The classes that a value of that hint belongs to; none where that cannot be said."""
    origin = typing.get_origin(hint)
    if origin in (typing.Union, types.UnionType):
        parts = [_kinds(part) for part in typing.get_args(hint)]
        if any(part is None for part in parts):
            return None
        return tuple(kind for part in parts for kind in part or ())
    if origin is typing.Literal:
        return tuple({type(value) for value in typing.get_args(hint)})
    kind = type(None) if hint is None else origin or hint
    if not isinstance(kind, type) or kind is object or typing.is_typeddict(hint):
        return (dict,) if typing.is_typeddict(hint) else None
    if getattr(kind, "_is_protocol", False):
        return None
    return {float: (float, int), complex: (complex, float, int)}.get(kind, (kind,))
