"""Tools: functions that a model may call, and the built-in ones.

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

from antiphon._builtin_tools.calculator import calculator
from antiphon._builtin_tools.document_search import document_search
from antiphon._builtin_tools.download import download
from antiphon._builtin_tools.files import files
from antiphon._builtin_tools.http_api import http_api
from antiphon._builtin_tools.read_page import read_page
from antiphon._builtin_tools.sql import sql
from antiphon._builtin_tools.sql_over_mcp import sql_over_mcp
from antiphon._builtin_tools.web_search import web_search
from antiphon._builtin_tools.write_pdf import write_pdf
from antiphon._json_values import encode_result
from antiphon._tool.approval import Approval, ToolCall
from antiphon._tool.context import ToolContext
from antiphon._tool.decorator import tool
from antiphon._tool.gate import CircuitBreaker
from antiphon._tool.tool import FunctionTool, Tool, ToolSpec

__all__ = [
    "Approval",
    "CircuitBreaker",
    "FunctionTool",
    "Tool",
    "ToolCall",
    "ToolContext",
    "ToolSpec",
    "calculator",
    "document_search",
    "download",
    "encode_result",
    "files",
    "http_api",
    "read_page",
    "sql",
    "sql_over_mcp",
    "tool",
    "web_search",
    "write_pdf",
]
