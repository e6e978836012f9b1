"""The decorator that turns functions into tools.

Example:
    >>> @tool(side_effect="none", timeout=5)
    ... def area(width: float, height: float) -> float:
    ...     '''Area of a rectangle.
    ...
    ...     Args:
    ...         width: in metres.
    ...         height: in metres.
    ...     '''
    ...     return width * height
    >>> area(2, 3)
    6
    >>> area.parameters["properties"]["width"]
    {'type': 'number', 'description': 'in metres.'}
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar, overload

from antiphon._keywords import check_keywords
from antiphon._tool.options import MAX_RESULT, SideEffect, ToolOptions
from antiphon._tool.tool import KEYWORDS, FunctionTool

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Unpack

    from antiphon._antiphon import RetryPolicy
    from antiphon._tool.approval import Approval
    from antiphon._tool.gate import CircuitBreaker

__all__ = ["tool"]

_P = ParamSpec("_P")
_R = TypeVar("_R")


@overload
def tool(function: Callable[_P, _R], /) -> FunctionTool[_P, _R]: ...


@overload
def tool(
    *,
    name: str | None = None,
    description: str | None = None,
    timeout: float | None = None,
    max_concurrency: int | None = None,
    breaker: CircuitBreaker | bool = False,
    retry: RetryPolicy | int | None = None,
    max_calls: int | None = None,
    approval: Approval = False,
    idempotent: bool = False,
    cache: bool | None = None,
    side_effect: SideEffect = "external",
    max_result: int = MAX_RESULT,
) -> Callable[[Callable[_P, _R]], FunctionTool[_P, _R]]: ...


def tool(function: Callable[..., Any] | None = None, /, **options: Unpack[ToolOptions]) -> Any:
    """Turns a function into a tool. It can still be called as before.

    Args:
        function: the function, when used bare: ``@tool``.
        **options: those of `Tool`, when used with arguments: ``@tool(timeout=5)``.

    Returns:
        The tool, or a decorator that makes it.

    Raises:
        ValidationError: as `Tool`.
    """
    check_keywords("`tool`", options, KEYWORDS)
    if function is None:
        return lambda wrapped: FunctionTool(wrapped, **options)
    return FunctionTool(function, **options)
