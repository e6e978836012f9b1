"""The arguments of a call, as a model would write them."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from antiphon.errors import ToolError, ValidationError

if TYPE_CHECKING:
    from antiphon._tool.bodies import ToolBody

_SHOWN = 80
"""Characters of arguments that a hint repeats."""


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


def check_bound(body: ToolBody, name: str) -> None:
    """Refuses a method that was taken from its class.

    Raises:
        ToolError: it is one (``tool_unbound``).
    """
    if body.is_method:
        raise ToolError(
            f"a tool that is a method was called without an instance: {name}",
            code="tool_unbound",
            hint="take it from an instance: `thing.method`, not `Thing.method`",
        )


def check_awaited(name: str, arguments: Mapping[str, Any], awaitable: Any) -> Any:
    """What an async tool returned, unless nothing can await it here.

    Raises:
        ToolError: no event loop runs on this thread (``tool_async``).
    """
    from asyncio import get_running_loop  # 20 ms that only async tools need

    try:
        get_running_loop()
    except RuntimeError:
        if inspect.iscoroutine(awaitable):
            awaitable.close()
        shown = repr(dict(arguments))
        raise ToolError(
            f"an async tool was called where no event loop runs: {name}",
            code="tool_async",
            hint=f"write `asyncio.run({name}.acall({shown if len(shown) < _SHOWN else '…'}))`; "
            f"in a coroutine, `await {name}.acall(…)`",
        ) from None
    return awaitable
