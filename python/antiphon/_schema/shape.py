"""What every reading of a type hint can do: say its schema, build its values."""

from __future__ import annotations

import reprlib
from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeAlias

if TYPE_CHECKING:
    from antiphon._schema.definitions import Definitions, JsonSchema

Path: TypeAlias = tuple[str | int, ...]
"""Where a value stands: field names and list positions, outermost first."""

_BRIEF = reprlib.Repr()
_BRIEF.maxstring = _BRIEF.maxother = _BRIEF.maxlong = 80


class Mismatch(Exception):
    """A value does not fit its type."""

    def __init__(self, path: Path, reason: str, value: object) -> None:
        super().__init__(path, reason, value)
        self.path = path
        self.reason = reason
        self.value = value

    def sentence(self, root: str) -> str:
        """One sentence that names the place and ends with the value."""
        return f"`{render(self.path, root)}` {self.reason}: {_BRIEF.repr(self.value)}"


def render(path: Path, root: str) -> str:
    """A path as a reader writes it, for instance ``order.items[0].price``."""
    text = root
    for part in path:
        if isinstance(part, int):
            text += f"[{part}]"
        else:
            text += f".{part}" if text else part
    return text


class Shape(ABC):
    """A type hint, read. It says its schema and builds values from JSON."""

    noun: str
    """What a value must be, for a sentence: ``a whole number``."""

    @abstractmethod
    def schema(self, definitions: Definitions) -> JsonSchema:
        """The schema; shared types go into `definitions` and leave a ``$ref``."""

    @abstractmethod
    def build(self, value: Any, path: Path) -> Any:
        """The Python value for a JSON value.

        Raises:
            Mismatch: the value does not fit.
        """

    def key_schema(self) -> JsonSchema | None:
        """What a key of this type looks like in an object; ``None`` if it cannot be one."""
        return None

    def build_key(self, key: str, path: Path) -> Any:
        """The Python key for a key of a JSON object."""
        return self.build(key, path)

    def surplus(self, value: Any) -> int:
        """How many fields of `value` this type does not know; a union takes the least."""
        del value
        return 0

    def misfit(self, path: Path, value: object) -> Mismatch:
        """The complaint that `value` is something else."""
        return Mismatch(path, f"should be {self.noun}", value)


@dataclass(slots=True)
class Anything(Shape):
    """No constraint: ``Any``, ``object`` or no hint at all."""

    noun: str = "any value"

    def schema(self, definitions: Definitions) -> JsonSchema:
        """An empty schema."""
        del definitions
        return {}

    def build(self, value: Any, path: Path) -> Any:
        """The value as it is."""
        del path
        return value

    def key_schema(self) -> JsonSchema | None:
        """Any text."""
        return {}


@dataclass(slots=True)
class Named(Shape):
    """A type with a name of its own, told once under ``$defs``; it may contain itself."""

    name: str
    target: Shape = field(default_factory=Anything, repr=False)

    @property
    def noun(self) -> str:  # type: ignore[override]
        """The noun of what it names."""
        return self.target.noun

    def schema(self, definitions: Definitions) -> JsonSchema:
        """A reference."""
        definitions.define(self.name, self.target)
        return {"$ref": f"#/$defs/{self.name}"}

    def build(self, value: Any, path: Path) -> Any:
        """What the named type builds."""
        return self.target.build(value, path)

    def key_schema(self) -> JsonSchema | None:
        """As the named type."""
        return self.target.key_schema()

    def build_key(self, key: str, path: Path) -> Any:
        """As the named type."""
        return self.target.build_key(key, path)

    def surplus(self, value: Any) -> int:
        """As the named type."""
        return self.target.surplus(value)


@dataclass(slots=True)
class Described(Shape):
    """A type with a text written in the hint itself; it wins over any docstring."""

    inner: Shape
    text: str

    @property
    def noun(self) -> str:  # type: ignore[override]
        """The noun of the type inside."""
        return self.inner.noun

    def schema(self, definitions: Definitions) -> JsonSchema:
        """The schema inside, with the text."""
        return {**self.inner.schema(definitions), "description": self.text}

    def build(self, value: Any, path: Path) -> Any:
        """As the type inside."""
        return self.inner.build(value, path)

    def key_schema(self) -> JsonSchema | None:
        """As the type inside."""
        return self.inner.key_schema()

    def build_key(self, key: str, path: Path) -> Any:
        """As the type inside."""
        return self.inner.build_key(key, path)

    def surplus(self, value: Any) -> int:
        """As the type inside."""
        return self.inner.surplus(value)
