"""The arguments of a call, as a model would write them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from antiphon.errors import ValidationError

if TYPE_CHECKING:
    from antiphon._tool.bodies import ToolBody


def check_arguments(body: ToolBody, name: str, arguments: Any) -> None:
    """Refuses arguments that are no mapping.

    Raises:
        ValidationError: they are none (``invalid_value``).
    """
    if isinstance(arguments, Mapping):
        return
    parameter = next(iter(body.parameters.get("properties", ())), None)
    value = '"…"' if arguments is None else repr(arguments)
    example = "{}" if parameter is None else f'{{"{parameter}": {value}}}'
    raise ValidationError(
        f"the arguments of tool `{name}` must be a dict by parameter: {arguments!r}",
        code="invalid_value",
        hint=f"write `.call({example})`",
    )
