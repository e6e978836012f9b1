"""LangGraph's names and semantics on antiphon's native engine; LangGraph is not required.

Build a `StateGraph` of nodes and edges over a shared state, compile it, and run it with
``invoke``, ``stream``, ``batch`` or their async versions.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from antiphon._antiphon import Command, Overwrite, Send
from antiphon._diagram import Diagram, DiagramEdge
from antiphon._graph_errors import (
    AnswerError,
    EmptyInputError,
    GraphBubbleUp,
    GraphBuildError,
    GraphInterrupt,
    GraphRecursionError,
    InvalidUpdateError,
    NodeCancelledError,
    NodeTimeoutError,
    ParentCommand,
    StepTimeoutError,
    UnknownLabelError,
    UnknownTargetError,
    UnmergeableUpdateError,
)
from antiphon._messages import (
    REMOVE_ALL_MESSAGES,
    MessagesState,
    RemoveMessage,
    add_messages,
)
from antiphon._retry_policy import RetryPolicy
from antiphon._thread_store import Durability
from antiphon.graph._builder import StateGraph
from antiphon.graph._compiled import CompiledGraph
from antiphon.graph._declaration import END, START, NodeOptions, TimeoutPolicy
from antiphon.graph._managed_values import AgentState, IsLastStep, RemainingSteps
from antiphon.graph._run_handle import GraphOutput, Paused
from antiphon.graph._runtime import (
    ExecutionInfo,
    Interrupt,
    NodeError,
    RunnableConfig,
    Runtime,
    StreamWriter,
    get_config,
    get_runtime,
    get_stream_writer,
    interrupt,
)
from antiphon.graph._snapshot import PregelTask, StateSnapshot
from antiphon.graph._stream import StreamMode, Version
from antiphon.state import append

if TYPE_CHECKING:
    from antiphon.graph._react_agent import create_react_agent
    from antiphon.graph._tool_injection import InjectedState, ToolRuntime
    from antiphon.graph._tool_node import ToolNode, tools_condition

__all__ = [
    "END",
    "REMOVE_ALL_MESSAGES",
    "START",
    "AgentState",
    "AnswerError",
    "Command",
    "CompiledGraph",
    "CompiledStateGraph",
    "Diagram",
    "DiagramEdge",
    "Durability",
    "EmptyInputError",
    "ExecutionInfo",
    "GraphBubbleUp",
    "GraphBuildError",
    "GraphInterrupt",
    "GraphOutput",
    "GraphRecursionError",
    "InjectedState",
    "Interrupt",
    "InvalidUpdateError",
    "IsLastStep",
    "MessagesState",
    "NodeCancelledError",
    "NodeError",
    "NodeOptions",
    "NodeTimeoutError",
    "Overwrite",
    "ParentCommand",
    "Paused",
    "PregelTask",
    "RemainingSteps",
    "RemoveMessage",
    "RetryPolicy",
    "RunnableConfig",
    "Runtime",
    "Send",
    "StateGraph",
    "StateSnapshot",
    "StepTimeoutError",
    "StreamMode",
    "StreamWriter",
    "TimeoutPolicy",
    "ToolNode",
    "ToolRuntime",
    "UnknownLabelError",
    "UnknownTargetError",
    "UnmergeableUpdateError",
    "Version",
    "add_messages",
    "append",
    "create_react_agent",
    "get_config",
    "get_runtime",
    "get_stream_writer",
    "interrupt",
    "tools_condition",
]

CompiledStateGraph = CompiledGraph
"""LangGraph's name of `CompiledGraph`."""

_OF_LANGCHAIN = {
    "InjectedState": "_tool_injection",
    "ToolNode": "_tool_node",
    "ToolRuntime": "_tool_injection",
    "create_react_agent": "_react_agent",
    "tools_condition": "_tool_node",
}
"""Names whose modules import LangChain, by module."""


def __getattr__(name: str) -> Any:
    if name not in _OF_LANGCHAIN:
        message = f"module `antiphon.graph` has no attribute: {name}"
        raise AttributeError(message)
    import importlib

    try:
        module = importlib.import_module(f"antiphon.graph.{_OF_LANGCHAIN[name]}")
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] != "langchain_core":
            raise
        message = f"`{name}` needs LangChain: pip install langchain-core"
        raise ImportError(message, name=error.name) from error
    globals()[name] = getattr(module, name)
    return globals()[name]


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
