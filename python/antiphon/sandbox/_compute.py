"""A sandbox as a tool of an agent."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from antiphon.errors import ToolError
from antiphon.sandbox._sandbox import Sandbox
from antiphon.tools import Tool, tool

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["compute"]

_ABOUT = (
    "Runs Python in isolation. Returns its output and the value of its last expression. "
    "There is no network, and no variable is kept between calls."
)


def compute(
    sandbox: Sandbox | None = None,
    *,
    inputs: Mapping[str, Any] | None = None,
    name: str = "compute",
    max_calls: int | None = None,
) -> Tool:
    """Create a tool that runs an agent's code in a sandbox.

    Args:
        sandbox: the sandbox. Default: `Sandbox()`.
        inputs: variables of the code in each call, as in `Sandbox.run`; the tool's description
            lists their names and types.
        name: the name of the tool.
        max_calls: how often it may be called in one run of the agent.

    Returns:
        The tool. Its result is text: the output of the code, its value, the first rows of
        tables; failures include the line of the code.

    Raises:
        SandboxUnavailable: no engine can be used here.
        ValidationError: the name is invalid for a tool (``tool_name``).

    Example:
        >>> asked = compute(inputs={"prices": [3, 4]})
        >>> asked.name
        'compute'
    """
    box = Sandbox() if sandbox is None else sandbox
    given = dict(inputs or {})

    @tool(name=name, description=_description(box, given), side_effect="none", max_calls=max_calls)
    async def run(code: str) -> str:
        """Runs code.

        Args:
            code: Python; its last expression is the value.
        """
        result = await box.arun(code, inputs=given)
        if result.error is not None:
            raise ToolError(str(result), code="tool_failed")
        return str(result)

    return run


def _description(box: Sandbox, inputs: Mapping[str, Any]) -> str:
    parts = [_ABOUT]
    if box.packages:
        parts.append(f"Packages: {', '.join(box.packages)}.")
    if inputs:
        described = ", ".join(f"{name} ({type(value).__name__})" for name, value in inputs.items())
        parts.append(f"Variables: {described}.")
    return " ".join(parts)
