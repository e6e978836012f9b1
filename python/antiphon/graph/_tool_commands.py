"""LangChain tools that return commands of antiphon."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

from langchain_core.messages.tool import ToolOutputMixin

from antiphon._antiphon import Command, Send

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


def with_one_exit(replies: list[Any]) -> list[Any]:
    """Replies whose packets for the enclosing graph are in one command, since one leaves a node."""
    leaving = [reply for reply in replies if _sends_out(reply)]
    if len(leaving) < 2:  # noqa: PLR2004 - one is one already
        return replies
    writes = [pair for reply in leaving for pair in _pairs(reply.update)]
    sends = [send for reply in leaving for send in reply.goto]
    exits = Command(graph=Command.PARENT, update=writes or None, goto=sends)
    return [*(reply for reply in replies if reply not in leaving), exits]


def _sends_out(reply: Any) -> bool:
    """Whether it is a command for the enclosing graph that leads on by packets alone."""
    if not isinstance(reply, Command) or reply.graph != Command.PARENT:
        return False
    sends = isinstance(reply.goto, list) and all(isinstance(one, Send) for one in reply.goto)
    return sends and (reply.update is None or isinstance(reply.update, dict | list))


def _pairs(update: Any) -> list[Any]:
    return list(update.items()) if isinstance(update, dict) else list(update or ())


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
