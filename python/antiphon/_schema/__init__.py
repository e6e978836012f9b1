"""Type hints as JSON schemas, and JSON values as the annotated objects.

`reader` parses a hint once into a tree of shapes. Each shape has both a schema and a constructor,
so that the two always agree.
"""

from __future__ import annotations

from antiphon._schema.contract import Contract
from antiphon._schema.definitions import JsonSchema

__all__ = ["Contract", "JsonSchema"]
