"""Toolsets: tools that belong together, and what they open for a run.

Example:
    >>> from contextlib import contextmanager
    >>> from antiphon import ToolContext, Toolset, tool
    >>> @contextmanager
    ... def connect():
    ...     yield {"Lyon": 520_774}
    >>> @tool
    ... def count(city: str, call: ToolContext) -> int:
    ...     return call.resource[city]
    >>> Toolset([count], prefix="people_", lifespan=connect).tools
    (FunctionTool('people_count'),)
"""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING, Any

from antiphon._tool.lifespan import read_lifespan
from antiphon._tool.options import check_list, check_name
from antiphon._tool.tool import Tool
from antiphon.errors import ValidationError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

__all__ = ["Toolset"]


class Toolset:
    """Tools that belong together; accepted in the ``tools=`` of agents and ready systems.

    Args:
        tools: functions, `Tool`s or LangChain tools.
        prefix: what the names of the tools begin with, such as ``db_``. Default: nothing.
        lifespan: a function without arguments that returns a context manager, sync or async, for
            instance one that `contextlib.asynccontextmanager` has made. Each run enters it before
            its first step, and leaves it when it ends, fails, pauses or is cancelled; a resumed
            run enters it again. Tools get the value that it yields as `ToolContext.resource`.
            Default: none.

    Graphs and LangChain do not open toolsets.

    Raises:
        ValidationError: a tool is refused as by `Tool`, two have the same name
            (``tool_duplicate``), a name is too long with its prefix (``tool_name``), or
            `lifespan` is no such function (``tool_option``).

    Example:
        >>> def north(): ...
        >>> def south(): ...
        >>> Toolset([north, south], prefix="go_")
        Toolset(go_north, go_south)
    """

    def __init__(
        self,
        tools: Iterable[Any],
        *,
        prefix: str = "",
        lifespan: Callable[..., Any] | None = None,
    ) -> None:
        if not isinstance(prefix, str):
            raise ValidationError(
                f"`prefix` of a toolset must be a string: {prefix!r}",
                code="tool_option",
                hint='for instance `prefix="db_"`',
            )
        self.lifespan = read_lifespan(lifespan)
        self.tools = tuple(self._own(one, prefix) for one in Tool.collect(tools))
        self.resources: dict[int, Any] = {}
        """What `lifespan` has yielded, by run; for the engine."""

    @classmethod
    def flatten(cls, given: Iterable[Any]) -> list[Any]:
        """A list of tools and toolsets, with the tools of the toolsets in their place.

        Raises:
            ValidationError: it is no list (``tool_function``).
        """
        return [
            tool
            for one in check_list(given)
            for tool in (one.tools if isinstance(one, cls) else [one])
        ]

    def _own(self, given: Tool, prefix: str) -> Tool:
        own = copy.copy(given)
        own.name = check_name(f"{prefix}{given.name}", given.name)
        own.toolset = self
        return own

    def __repr__(self) -> str:
        return f"Toolset({', '.join(tool.name for tool in self.tools)})"
