"""Alternatives: values (``Literal``, ``Enum``) or types (a union)."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, Any

from antiphon._json_values import SCALARS, codes_of
from antiphon._schema.shape import Mismatch, Path, Shape

if TYPE_CHECKING:
    from antiphon._schema.definitions import Definitions, JsonSchema


@dataclass(slots=True)
class Choice(Shape):
    """One of a few values, each encoded as a JSON scalar."""

    codes: list[tuple[Any, Any]]
    """Pairs of JSON scalar and Python value."""

    @property
    def noun(self) -> str:  # type: ignore[override]
        return "one of " + ", ".join(repr(code) for code, _ in self.codes)

    def schema(self, definitions: Definitions) -> JsonSchema:  # noqa: ARG002 - it has no parts
        codes = [code for code, _ in self.codes]
        types = {SCALARS[type(code)] for code in codes}
        return {"type": types.pop(), "enum": codes} if len(types) == 1 else {"enum": codes}

    def build(self, value: Any, path: Path) -> Any:
        for code, member in self.codes:
            # 1 == True in Python, not in JSON.
            if isinstance(code, bool) is isinstance(value, bool) and code == value:
                return member
        raise self.misfit(path, value)

    def key_schema(self) -> JsonSchema | None:
        codes = [code for code, _ in self.codes]
        return {"enum": codes} if all(isinstance(code, str) for code in codes) else None


def literal(values: tuple[Any, ...]) -> Choice | None:
    """Read ``Literal[...]``; ``None`` if one of the values is not representable in JSON."""
    codes = []
    for value in values:
        if isinstance(value, Enum):
            codes += [pair for pair in codes_of(type(value)) if pair[1] is value]
        elif type(value) in SCALARS:
            codes.append((value, value))
        else:
            return None
    return Choice(codes)


@dataclass(slots=True)
class Union(Shape):
    """One of several types; the first that fits, and among records the closest."""

    members: list[Shape]

    @property
    def noun(self) -> str:  # type: ignore[override]
        return " or ".join(dict.fromkeys(member.noun for member in self.members))

    def schema(self, definitions: Definitions) -> JsonSchema:
        schemas: list[JsonSchema] = []
        for member in self.members:
            schema = member.schema(definitions)
            if schema not in schemas:
                schemas.append(schema)
        if {} in schemas:
            return {}
        return {"anyOf": schemas} if len(schemas) > 1 else schemas[0]

    def build(self, value: Any, path: Path) -> Any:
        misfits: list[Mismatch] = []
        for member in sorted(self.members, key=lambda member: member.surplus(value)):
            try:
                return member.build(value, path)
            except Mismatch as misfit:
                misfits.append(misfit)
        # An error deep inside means that the outside did fit: it is the most informative.
        deepest = max(misfits, key=lambda misfit: len(misfit.path))
        raise deepest if len(deepest.path) > len(path) else self.misfit(path, value)

    def surplus(self, value: Any) -> int:
        return min(member.surplus(value) for member in self.members)

    def key_schema(self) -> JsonSchema | None:
        schemas = [member.key_schema() for member in self.members]
        found = [schema for schema in schemas if schema is not None]
        if len(found) < len(schemas):
            return None
        return {} if {} in found else {"anyOf": found}

    def build_key(self, key: str, path: Path) -> Any:
        for member in self.members:
            try:
                return member.build_key(key, path)
            except Mismatch:
                continue
        raise self.misfit(path, key)
