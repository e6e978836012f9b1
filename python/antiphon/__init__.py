"""Teams of agents on a native engine."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from antiphon._antiphon import Send
    from antiphon._orchestrator.context import AgentContext
    from antiphon._orchestrator.flow import END
    from antiphon._orchestrator.run_context import RunContext
    from antiphon._retry_policy import RetryPolicy
    from antiphon.agent import Agent
    from antiphon.budget import Budget
    from antiphon.content import File, Image
    from antiphon.errors import AntiphonError
    from antiphon.event import Event
    from antiphon.orchestrator import Orchestrator
    from antiphon.result import Question, Result, RunResult, Usage
    from antiphon.tools import Tool, ToolCall, ToolContext, tool
    from antiphon.toolset import Toolset

__all__ = [
    "END",
    "Agent",
    "AgentContext",
    "AntiphonError",
    "Budget",
    "Event",
    "File",
    "Image",
    "Orchestrator",
    "Question",
    "Result",
    "RetryPolicy",
    "RunContext",
    "RunResult",
    "Send",
    "Tool",
    "ToolCall",
    "ToolContext",
    "Toolset",
    "Usage",
    "tool",
]

_HOMES = {
    "END": "_orchestrator.flow",
    "Agent": "agent",
    "AgentContext": "_orchestrator.context",
    "AntiphonError": "errors",
    "Budget": "budget",
    "Event": "event",
    "File": "content",
    "Image": "content",
    "Orchestrator": "orchestrator",
    "Question": "result",
    "Result": "result",
    "RunResult": "result",
    "RetryPolicy": "_retry_policy",
    "RunContext": "_orchestrator.run_context",
    "Send": "_antiphon",
    "Tool": "tools",
    "ToolCall": "tools",
    "ToolContext": "tools",
    "Toolset": "toolset",
    "Usage": "result",
    "tool": "tools",
}
_MODULES = (
    "checkpoint",
    "content",
    "errors",
    "graph",
    "models",
    "sandbox",
    "state",
    "systems",
    "tools",
)


def __getattr__(name: str) -> Any:
    # Looked up on demand: the native half and the metadata cost more than the whole import.
    if name in _HOMES:
        value = getattr(import_module(f"antiphon.{_HOMES[name]}"), name)
        globals()[name] = value
        return value
    if name in _MODULES:
        return import_module(f"antiphon.{name}")
    if name == "__version__":
        from importlib.metadata import version

        return version("antiphon")
    message = f"module `antiphon` has no attribute: {name}"
    raise AttributeError(message)


def __dir__() -> list[str]:
    dunders = (name for name in globals() if name.startswith("__"))
    return sorted({*dunders, "__version__", *__all__, *_MODULES})
