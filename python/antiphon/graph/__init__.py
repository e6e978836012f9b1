"""LangGraph's names and semantics on antiphon's native engine; LangGraph is not required.

Build a `StateGraph` of nodes and edges over a shared state, compile it, and run it with
``invoke``, ``stream``, ``batch`` or their async versions.
"""

from __future__ import annotations

from antiphon._antiphon import Command, Overwrite, RetryPolicy, Send
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
from antiphon._thread_store import Durability
from antiphon.graph._builder import StateGraph
from antiphon.graph._compiled import CompiledGraph
from antiphon.graph._declaration import END, START, NodeOptions, TimeoutPolicy
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

__all__ = [
    "END",
    "REMOVE_ALL_MESSAGES",
    "START",
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
    "Interrupt",
    "InvalidUpdateError",
    "MessagesState",
    "NodeCancelledError",
    "NodeError",
    "NodeOptions",
    "NodeTimeoutError",
    "Overwrite",
    "ParentCommand",
    "Paused",
    "PregelTask",
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
    "UnknownLabelError",
    "UnknownTargetError",
    "UnmergeableUpdateError",
    "Version",
    "add_messages",
    "append",
    "get_config",
    "get_runtime",
    "get_stream_writer",
    "interrupt",
]

CompiledStateGraph = CompiledGraph
"""LangGraph's name of `CompiledGraph`."""
