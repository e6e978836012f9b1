"""JSON schemas of what a graph takes and returns, by pydantic."""

from __future__ import annotations

import typing
from typing import TYPE_CHECKING, Any

from antiphon._state_schema import is_model

if TYPE_CHECKING:
    from antiphon.graph._plan import GraphPlan


class JsonSchemas:
    """The schemas of a compiled graph. They need pydantic, which comes with LangChain."""

    _plan: GraphPlan

    def get_input_schema(self, config: Any = None) -> type[Any]:
        """A pydantic model of the input.

        Args:
            config: has no influence.
        """
        del config
        return _model_of(self._plan.input.kind, f"{self._plan.name}_input")

    def get_output_schema(self, config: Any = None) -> type[Any]:
        """A pydantic model of the output.

        Args:
            config: has no influence.
        """
        del config
        return _model_of(self._plan.output.kind, f"{self._plan.name}_output")

    def get_input_jsonschema(self, config: Any = None) -> dict[str, Any]:
        """The JSON schema of the input.

        Args:
            config: has no influence.
        """
        del config
        return _schema_of(self._plan.input.kind)

    def get_output_jsonschema(self, config: Any = None) -> dict[str, Any]:
        """The JSON schema of the output.

        Args:
            config: has no influence.
        """
        del config
        return _schema_of(self._plan.output.kind)

    def get_context_jsonschema(self) -> dict[str, Any] | None:
        """The JSON schema of the context; None if the graph has no `context_schema`."""
        kind = self._plan.context_schema
        return None if kind is None else _schema_of(kind)


def _schema_of(kind: Any) -> dict[str, Any]:
    from pydantic import TypeAdapter

    return TypeAdapter(_readable(kind)).json_schema()


def _model_of(kind: Any, name: str) -> type[Any]:
    if is_model(kind):
        found: type[Any] = kind
        return found
    import pydantic

    root: Any = pydantic.RootModel
    made: type[Any] = pydantic.create_model(name, __base__=root[_readable(kind)])
    return made


def _readable(kind: Any) -> Any:
    """The type as pydantic reads it: before Python 3.12 it refuses `typing.TypedDict`."""
    if type(kind) is not getattr(typing, "_TypedDictMeta", None):
        return kind
    import typing_extensions

    hints = typing.get_type_hints(kind, include_extras=True)
    fields = {}
    for key, hint in hints.items():
        bare = _bare(hint)
        needed = key in kind.__required_keys__
        fields[key] = bare if needed else typing_extensions.NotRequired[bare]
    return typing_extensions.TypedDict(kind.__name__, fields)  # type: ignore[operator]


def _bare(hint: Any) -> Any:
    """A hint without `Required` and `NotRequired` around it."""
    outer = typing.get_origin(hint) in (typing.Required, typing.NotRequired)
    return typing.get_args(hint)[0] if outer else hint
