"""LangGraph's names and meaning on antiphon's native engine; it needs no LangGraph.

Build a `StateGraph` of nodes and edges over a shared state, compile it, and run it with
``invoke``, ``stream``, ``batch`` or their async twins.
"""

from __future__ import annotations

from antiphon._antiphon import Command, Overwrite, RetryPolicy, Send
from antiphon.graph._builder import END, START, StateGraph
from antiphon.graph._compiled import CompiledGraph
from antiphon.graph._drawing import Drawing, DrawnEdge
from antiphon.graph._errors import (
    EmptyInputError,
    GraphBubbleUp,
    GraphInterrupt,
    GraphRecursionError,
    InvalidUpdateError,
    NodeTimeoutError,
)
from antiphon.graph._faults import (
    GraphBuildError,
    NodeCancelledError,
    ParentCommand,
    StepTimeoutError,
    UnknownLabelError,
    UnknownTargetError,
    UnmergeableUpdateError,
)
from antiphon.graph._messages import (
    REMOVE_ALL_MESSAGES,
    MessagesState,
    RemoveMessage,
    add_messages,
)
from antiphon.graph._node import NodeOptions
from antiphon.graph._output import GraphOutput
from antiphon.graph._pause import Paused
from antiphon.graph._place import Durability
from antiphon.graph._reducers import append
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
from antiphon.graph._timeout import TimeoutPolicy

__all__ = [
    "END",
    "REMOVE_ALL_MESSAGES",
    "START",
    "Command",
    "CompiledGraph",
    "CompiledStateGraph",
    "Drawing",
    "DrawnEdge",
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
