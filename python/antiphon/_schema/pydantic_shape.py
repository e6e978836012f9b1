"""Types that pydantic reads: its models, constraints and own types.

Nothing here imports pydantic: a process with such a type has imported it.
"""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Any

from antiphon._schema.shape import Mismatch, Path, Shape

if TYPE_CHECKING:
    from antiphon._schema.definitions import Definitions, JsonSchema

_HOOKS = (
    "__get_pydantic_core_schema__",
    "__get_pydantic_json_schema__",
    "__pydantic_validator__",
)


def pydantic() -> Any:
    """Return the module, if the process has imported it."""
    return sys.modules.get("pydantic")


def is_pydantic(thing: Any) -> bool:
    """Whether pydantic has to read a type, or an item of metadata."""
    if pydantic() is None:
        return False
    kind = thing if isinstance(thing, type) else type(thing)
    owner = kind.__module__.partition(".")[0]
    return owner in {"pydantic", "annotated_types"} or any(hasattr(thing, hook) for hook in _HOOKS)


def is_field(thing: Any) -> bool:
    """Whether it is a result of ``pydantic.Field(...)``."""
    # pydantic imports this module with the first model.
    fields = sys.modules.get("pydantic.fields")
    return fields is not None and isinstance(thing, fields.FieldInfo)


class PydanticShape(Shape):
    """A type read and built by pydantic."""

    noun = "what its pydantic type describes"

    def __init__(self, tp: Any) -> None:
        self._adapter = pydantic().TypeAdapter(tp)
        # Now, so that a type without a schema is refused where it is declared.
        self._schema: JsonSchema = self._adapter.json_schema()

    def schema(self, definitions: Definitions) -> JsonSchema:
        return definitions.adopt(dict(self._schema))

    def build(self, value: Any, path: Path) -> Any:
        try:
            return self._adapter.validate_json(json.dumps(value))
        except pydantic().ValidationError as error:
            first = error.errors(include_url=False)[0]
            message = first["msg"][:1].lower() + first["msg"][1:]
            inside = tuple(part for part in first["loc"] if isinstance(part, str | int))
            raise Mismatch((*path, *inside), f"is refused ({message})", first["input"]) from error
        except (TypeError, ValueError) as error:
            raise Mismatch(path, "is not JSON", value) from error

    def surplus(self, value: Any) -> int:
        known = self._schema.get("properties")
        return len(value.keys() - known.keys()) if known and isinstance(value, dict) else 0
