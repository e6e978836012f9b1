"""Search on the web by a function of the user."""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Any

from antiphon._builtin_tools.opening import open_family
from antiphon._tool.tool import Tool
from antiphon.errors import ToolError, ValidationError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

_FILTERS = ("language", "region", "period")
_NAMED = ("count", "page", *_FILTERS)


def search_with(function: Callable[..., Any], settings: Mapping[str, Any], timeout: float) -> Tool:
    """The tool `web_search` around a function; see `antiphon.tools.web_search`.

    Raises:
        ValidationError: it is no function, or cannot be called with a query
            (``tool_setting_invalid``).
    """
    if not callable(function):
        raise ValidationError(
            f"`function` must be a function that searches: {function!r}",
            code="tool_setting_invalid",
            hint='name engines by `backends=["brave"]`',
        )
    native, arrange = open_family("web_search", settings)
    name = getattr(function, "__name__", type(function).__name__)
    taken = _taken(function, name)
    fields = native.parameters["properties"]
    # A direct call fills no defaults in.
    defaults = {key: field["default"] for key, field in fields.items() if "default" in field}

    def asked(given: dict[str, Any]) -> Any:
        given = defaults | given
        return function(given["query"], **{key: given.get(key) for key in taken})

    def shaped(given: dict[str, Any], found: Any) -> Any:
        ignored = [key for key in _FILTERS if given.get(key) is not None and key not in taken]
        notes = [f"`{name}` has no filter for {key}; it was not applied" for key in ignored]
        return arrange.call(
            {
                "results": _listed(name, found),
                "count": (defaults | given)["count"],
                "backend": name,
                "notes": notes,
            }
        )

    def search(given: dict[str, Any]) -> Any:
        return shaped(given, asked(given))

    async def asearch(given: dict[str, Any]) -> Any:
        return shaped(given, await asked(given))

    return Tool.from_schema(
        native.name,
        native.parameters,
        asearch if inspect.iscoroutinefunction(function) else search,
        description=native.description,
        side_effect="read",
        timeout=timeout,
    )


def _taken(function: Callable[..., Any], name: str) -> list[str]:
    """The arguments beside the query that a function declares."""
    try:
        signature = inspect.signature(function)
        taken = [
            key
            for key in _NAMED
            if key in signature.parameters
            or any(one.kind is one.VAR_KEYWORD for one in signature.parameters.values())
        ]
        signature.bind("query", **dict.fromkeys(taken))
    except (TypeError, ValueError) as error:
        raise ValidationError(
            f"`function` cannot be called with a query ({error}): {name}",
            code="tool_setting_invalid",
            hint="write for instance `def search(query: str, count: int) -> list[dict]: ...`",
        ) from error
    return taken


def _listed(name: str, found: Any) -> list[Any]:
    if isinstance(found, list) and all(isinstance(one, dict) for one in found):
        return found
    raise ToolError(
        f"`{name}` must return a list of dicts with `url`, found: {type(found).__name__}",
        code="search_failed",
    )
