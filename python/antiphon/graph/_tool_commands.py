"""LangChain tools that return commands of antiphon."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

from langchain_core.messages.tool import ToolOutputMixin

from antiphon._antiphon import Command

if TYPE_CHECKING:
    from langchain_core.tools import BaseTool


class CommandOutput(ToolOutputMixin):
    """Carries what LangChain would turn into text: a command, or a list with commands.

    Attributes:
        value: what the tool returned.
    """

    def __init__(self, value: Any) -> None:
        self.value = value

    def __repr__(self) -> str:
        return repr(self.value)


def returning_commands(tool: BaseTool) -> BaseTool:
    """The tool with its functions wrapped, so that commands leave it in a `CommandOutput`."""
    wrapped: dict[str, Any] = {}
    function, coroutine = getattr(tool, "func", None), getattr(tool, "coroutine", None)
    if function is not None:
        wrapped["func"] = _sync(function)
    if coroutine is not None:
        wrapped["coroutine"] = _async(coroutine)
    return tool.model_copy(update=wrapped) if wrapped else tool


def _sync(function: Any) -> Any:
    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        return _carried(function(*args, **kwargs))

    return call


def _async(function: Any) -> Any:
    @functools.wraps(function)
    async def call(*args: Any, **kwargs: Any) -> Any:
        return _carried(await function(*args, **kwargs))

    return call


def _carried(value: Any) -> Any:
    several = isinstance(value, list) and any(isinstance(one, Command) for one in value)
    return CommandOutput(value) if several or isinstance(value, Command) else value
