"""Generator functions as nodes."""

from __future__ import annotations

import functools
import inspect
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable


def is_generator(action: Any) -> bool:
    """Whether calling it returns a sync or async generator."""
    return inspect.isgeneratorfunction(action) or inspect.isasyncgenfunction(action)


def joining(action: Callable[..., Any]) -> Callable[..., Any]:
    """A function that returns the sum of what a generator function yields.

    If the parts cannot be added, as dicts, the last one counts. LangGraph does the same.
    """
    if inspect.isasyncgenfunction(action):

        @functools.wraps(action)
        async def ajoined(*arguments: Any, **keywords: Any) -> Any:
            output = None
            async for part in action(*arguments, **keywords):
                output = _joined(output, part)
            return output

        return ajoined

    @functools.wraps(action)
    def joined(*arguments: Any, **keywords: Any) -> Any:
        output = None
        for part in action(*arguments, **keywords):
            output = _joined(output, part)
        return output

    return joined


def _joined(output: Any, part: Any) -> Any:
    if output is None:
        return part
    try:
        return output + part
    except TypeError:
        return part
