"""The ``$defs`` of one schema: names, references, inlining."""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


JsonSchema: TypeAlias = dict[str, Any]
"""A JSON schema, draft 2020-12."""

_PREFIX = "#/$defs/"
_BY_NAME = frozenset({"$defs", "dependentSchemas", "patternProperties", "properties"})
_DATA = frozenset({"const", "default", "enum", "example", "examples", "required", "type"})


class _HasSchema(Protocol):
    def schema(self, definitions: Definitions) -> JsonSchema: ...


class Definitions:
    """Collects the named types of one schema."""

    def __init__(self) -> None:
        self._own: dict[str, JsonSchema | None] = {}
        self._foreign: dict[str, JsonSchema] = {}

    def reserve(self, name: str) -> str:
        """Return a unique name close to `name`."""
        name = self._free(re.sub(r"[^A-Za-z0-9_.-]+", "_", name).strip("_") or "Type")
        self._own[name] = None
        return name

    def define(self, name: str, shape: _HasSchema) -> None:
        """Add the schema of a reserved name, once: a type may contain itself."""
        if self._own.get(name) is None:
            self._own[name] = {}
            self._own[name] = shape.schema(self)

    def adopt(self, schema: JsonSchema) -> JsonSchema:
        """Move the ``$defs`` of a foreign schema here; rename duplicates."""
        theirs: dict[str, JsonSchema] = schema.pop("$defs", {})
        names = {name: self._name_for(name, body) for name, body in theirs.items()}
        for name, body in theirs.items():
            self._foreign[names[name]] = _rename(body, names)
        return _rename(schema, names)

    def finish(self, root: JsonSchema) -> JsonSchema:
        """Return the complete schema; only shared and recursive types stay under ``$defs``."""
        bodies = {name: body for name, body in self._own.items() if body is not None}
        bodies |= self._foreign
        while (name := _target(root)) is not None:
            root = {**bodies[name], **{key: root[key] for key in root if key != "$ref"}}
        reached = _reachable(root, bodies)
        counts = Counter(_references(root))
        for name in reached:
            counts.update(_references(bodies[name]))
        inline = {
            name: bodies[name]
            for name in reached & self._own.keys()
            if counts[name] == 1 and name not in _reachable(bodies[name], bodies)
        }
        root = _expand(root, inline)
        kept = {name: _expand(bodies[name], inline) for name in sorted(reached - inline.keys())}
        return {**root, "$defs": kept} if kept else root

    def _name_for(self, name: str, body: JsonSchema) -> str:
        same = self._foreign.get(name) == body
        return name if same else self._free(name)

    def _free(self, name: str) -> str:
        candidate, number = name, 2
        while candidate in self._own or candidate in self._foreign:
            candidate, number = f"{name}_{number}", number + 1
        return candidate


def _target(schema: JsonSchema) -> str | None:
    """Return the definition that a schema refers to, if any."""
    reference = schema.get("$ref")
    if isinstance(reference, str) and reference.startswith(_PREFIX):
        return reference.removeprefix(_PREFIX)
    return None


def _map(schema: JsonSchema, change: Callable[[JsonSchema], JsonSchema]) -> JsonSchema:
    """Apply `change` to each schema directly inside; data is left alone."""

    def inside(key: str, value: Any) -> Any:
        if key in _DATA:
            return value
        if key in _BY_NAME and isinstance(value, dict):
            return {name: change(body) for name, body in value.items()}
        if isinstance(value, dict):
            return change(value)
        if isinstance(value, list):
            return [change(item) if isinstance(item, dict) else item for item in value]
        return value

    return {key: inside(key, value) for key, value in schema.items()}


def _references(schema: JsonSchema) -> Iterator[str]:
    """Yield the definitions that a schema refers to, once per reference."""
    if (name := _target(schema)) is not None:
        yield name
    inner: list[JsonSchema] = []

    def visit(body: JsonSchema) -> JsonSchema:
        inner.append(body)
        return body

    _map(schema, visit)
    for body in inner:
        yield from _references(body)


def _reachable(schema: JsonSchema, bodies: dict[str, JsonSchema]) -> set[str]:
    """Return the definitions that a schema needs, directly or indirectly."""
    found: set[str] = set()
    waiting = list(_references(schema))
    while waiting:
        name = waiting.pop()
        if name not in found and name in bodies:
            found.add(name)
            waiting.extend(_references(bodies[name]))
    return found


def _expand(schema: JsonSchema, inline: dict[str, JsonSchema]) -> JsonSchema:
    """Replace each reference to one of `inline` by its body."""
    name = _target(schema)
    if name in inline:
        rest = {key: value for key, value in schema.items() if key != "$ref"}
        schema = {**inline[name], **rest}
    return _map(schema, lambda body: _expand(body, inline))


def _rename(schema: JsonSchema, names: dict[str, str]) -> JsonSchema:
    """Rename the references of a schema, including those of a discriminator."""
    schema = _map(schema, lambda body: _rename(body, names))
    if (name := _target(schema)) in names:
        schema["$ref"] = _PREFIX + names[name]
    table = schema.get("discriminator")
    if isinstance(table, dict) and isinstance(table.get("mapping"), dict):
        mapping = {
            value: _PREFIX + names.get(target.removeprefix(_PREFIX), target)
            if target.startswith(_PREFIX)
            else target
            for value, target in table["mapping"].items()
        }
        schema["discriminator"] = {**table, "mapping": mapping}
    return schema
