"""Type hints as JSON schemas, and JSON values as the annotated objects.

A hint is read once into a tree of shapes (`reader`); each shape says its
schema and builds its values, so that the two cannot drift apart.
"""

from __future__ import annotations

from antiphon._schema.contract import Contract, construct, schema_of
from antiphon._schema.definitions import JsonSchema

__all__ = ["Contract", "JsonSchema", "construct", "schema_of"]
