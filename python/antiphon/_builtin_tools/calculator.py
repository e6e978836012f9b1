"""The calculator."""

from __future__ import annotations

from typing import TYPE_CHECKING

from antiphon._builtin_tools.opening import open_tool

if TYPE_CHECKING:
    from antiphon._tool.tool import Tool


def calculator() -> Tool:
    """The tool ``calculate``: exact arithmetic, units, dates and statistics in one expression.

    It reads no files, uses no network, and needs no sandbox: expressions have a grammar of their
    own. Results say whether they are exact.

    Example:
        >>> calculator().call({"expression": "0.1 + 0.2"})["result"]
        '0.3'
        >>> calculator().call({"expression": "60 mph to km/h"})["result"]
        '96.56064 km/h'
    """
    return open_tool("calculator")
