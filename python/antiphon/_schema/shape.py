"""The interface of a type hint that was read: it has a schema, and builds values from JSON."""

from __future__ import annotations

import reprlib
from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeAlias

if TYPE_CHECKING:
    from antiphon._schema.definitions import Definitions, JsonSchema

Path: TypeAlias = tuple[str | int, ...]
"""The place of a value: field names and list positions, outermost first."""

_BRIEF = reprlib.Repr()
_BRIEF.maxstring = _BRIEF.maxother = _BRIEF.maxlong = 80


class Mismatch(Exception):
    """A value does not fit its type."""

    def __init__(self, path: Path, reason: str, value: object) -> None:
        super().__init__(path, reason, value)
        self.path, self.reason, self.value = path, reason, value

    def sentence(self, root: str) -> str:
        """Return the error message: place, reason and value."""
        return f"`{render(self.path, root)}` {self.reason}: {_BRIEF.repr(self.value)}"


def render(path: Path, root: str) -> str:
    """Return a path as text, for instance ``order.items[0].price``."""
    text = root
    for part in path:
        if isinstance(part, int):
            text += f"[{part}]"
        else:
            text += f".{part}" if text else part
    return text


class Shape(ABC):
    """A type hint that was read."""

    noun: str
    """The type for an error message: ``a whole number``."""

    @abstractmethod
    def schema(self, definitions: Definitions) -> JsonSchema:
        """Return the schema; shared types go into `definitions` and leave a ``$ref``."""

    @abstractmethod
    def build(self, value: Any, path: Path) -> Any:
        """Return the Python value for a JSON value.

        Raises:
            Mismatch: the value does not fit.
        """

    def key_schema(self) -> JsonSchema | None:
        """Return the schema of an object's keys of this type; ``None`` if it cannot be one."""
        return None

    def build_key(self, key: str, path: Path) -> Any:
        """Return the Python key for a key of a JSON object."""
        return self.build(key, path)

    def surplus(self, value: Any) -> int:  # noqa: ARG002 - only records have fields
        """Return how many fields of `value` are unknown; a union prefers the fewest."""
        return 0

    def misfit(self, path: Path, value: object) -> Mismatch:
        """Return the error for a value of another type."""
        return Mismatch(path, f"should be {self.noun}", value)


@dataclass(slots=True)
class AnyShape(Shape):
    """No constraint: ``Any``, ``object`` or no hint at all."""

    noun: str = "any value"

    def schema(self, definitions: Definitions) -> JsonSchema:  # noqa: ARG002 - it has no parts
        return {}

    def build(self, value: Any, path: Path) -> Any:  # noqa: ARG002 - it always fits
        return value

    def key_schema(self) -> JsonSchema | None:
        return {}


@dataclass(slots=True)
class Wrapper(Shape):
    """A type that builds its values as the type inside does."""

    inner: Shape

    @property
    def noun(self) -> str:  # type: ignore[override]
        return self.inner.noun

    def build(self, value: Any, path: Path) -> Any:
        return self.inner.build(value, path)

    def key_schema(self) -> JsonSchema | None:
        return self.inner.key_schema()

    def build_key(self, key: str, path: Path) -> Any:
        return self.inner.build_key(key, path)

    def surplus(self, value: Any) -> int:
        return self.inner.surplus(value)


@dataclass(slots=True)
class NamedShape(Wrapper):
    """A type with a definition under ``$defs``; it may contain itself."""

    inner: Shape = field(default_factory=AnyShape, repr=False, kw_only=True)
    name: str

    def schema(self, definitions: Definitions) -> JsonSchema:
        definitions.define(self.name, self.inner)
        return {"$ref": f"#/$defs/{self.name}"}


@dataclass(slots=True)
class DescribedShape(Wrapper):
    """A type with a description in the hint itself, which overrides any docstring."""

    text: str

    def schema(self, definitions: Definitions) -> JsonSchema:
        return {**self.inner.schema(definitions), "description": self.text}
