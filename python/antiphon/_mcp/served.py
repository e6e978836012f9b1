"""What a server offers: one tool for each thing that it serves."""

from __future__ import annotations

import uuid
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from antiphon._content import encode_tool_result
from antiphon._event_loop import submit
from antiphon._json_values import encode_or
from antiphon._mcp.run_call import call_run
from antiphon._orchestrator.agent_spec import name_of, option_of, summary_of
from antiphon._sync_async import run_async
from antiphon._tool.approval import (
    ToolCall,
    approver,
    decide,
    enforce,
    json_arguments,
    refuse_persons,
)
from antiphon.agent import Agent
from antiphon.errors import ToolError, ValidationError
from antiphon.orchestrator import Orchestrator
from antiphon.systems import System
from antiphon.tools import Tool
from antiphon.toolset import Toolset

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterable
    from concurrent.futures import Future

    from antiphon._antiphon import CallClient

_QUESTION = {
    "type": "object",
    "properties": {"question": {"type": "string", "description": "The question or task."}},
    "required": ["question"],
    "additionalProperties": False,
}


@dataclass(frozen=True)
class ServedTool:
    """A tool as clients see it, and the code behind it."""

    name: str
    description: str
    parameters: dict[str, Any]
    call: Callable[[dict[str, Any], CallClient], Awaitable[Any]]
    side_effect: str = "external"
    idempotent: bool = False

    def native(self) -> tuple[dict[str, Any], Callable[..., Future[Any]]]:
        """Its declaration, and the function that starts its calls."""
        spec = {
            "name": self.name,
            "description": self.description,
            "parameters": self.parameters,
            "side_effect": self.side_effect,
            "idempotent": self.idempotent,
        }
        return spec, self._start

    def _start(self, arguments: dict[str, Any], client: CallClient) -> Future[Any]:
        return submit(self._contained(arguments, client))

    async def _contained(self, arguments: dict[str, Any], client: CallClient) -> Any:
        """The call, whose code cannot end the server."""
        try:
            return await self.call(arguments, client)
        except (KeyboardInterrupt, SystemExit) as error:
            message = f"{type(error).__name__}: {error}"
            details = {"tool": self.name}
            raise ToolError(message, code="tool_failed", details=details) from error


def served_tools(things: Iterable[Any]) -> list[ServedTool]:
    """The tools of several things.

    Raises:
        ValidationError: one cannot be served (``mcp_target``), or needs the approval of a person
            for its calls (``approval_unavailable``).
    """
    return [tool for thing in things for tool in _tools_of(thing)]


def _tools_of(thing: Any) -> list[ServedTool]:
    if isinstance(thing, Toolset):
        return [_of_tool(tool) for tool in thing.tools]
    if isinstance(thing, Orchestrator):
        about = thing.description or f"Answers a question as the team `{thing.name}`."
        return [_of_run(thing, thing.name, about)]
    if isinstance(thing, System):
        return [_of_run(thing, thing.name, _first_line(type(thing)))]
    if isinstance(thing, Agent):
        about = option_of(thing, "description") or summary_of(thing)
        return [_of_run(thing, name_of(thing), str(about))]
    if isinstance(thing, Tool) or (callable(thing) and not isinstance(thing, type)):
        return [_of_tool(Tool.from_any(thing))]
    raise ValidationError(
        f"an MCP server cannot serve this: {type(thing).__name__}",
        code="mcp_target",
        hint="serve agents, orchestrators, ready systems, tools, toolsets or functions",
    )


def _of_tool(tool: Tool) -> ServedTool:
    refuse_persons([tool], "an MCP server", "let the client's own users approve its calls")

    approve = approver(tool)

    async def call(arguments: dict[str, Any], client: CallClient) -> Any:
        del client  # a tool neither reports nor asks
        if approve is not None:
            shown = json_arguments(tool, arguments)
            asked = ToolCall(name=tool.name, arguments=shown, call_id=uuid.uuid4().hex)
            enforce(tool.name, await run_async(decide(approve, asked)))
        return encode_tool_result(await tool.acall(arguments), tool.name)

    return ServedTool(
        name=tool.name,
        description=tool.description,
        parameters=tool.parameters,
        call=call,
        side_effect=tool.side_effect,
        idempotent=bool(tool.idempotent),
    )


def _of_run(runner: Any, name: str, description: str) -> ServedTool:
    async def call(arguments: dict[str, Any], client: CallClient) -> Any:
        question = arguments.get("question")
        if not isinstance(question, str) or not question.strip() or len(arguments) != 1:
            raise ValidationError(
                f"the arguments of `{name}` are one text, `question`: {sorted(arguments)}",
                code="invalid_value",
            )
        answer = await call_run(runner, question, client)
        return answer if isinstance(answer, str) else encode_or(answer, str(answer))

    return ServedTool(name=name, description=description, parameters=_QUESTION, call=call)


def _first_line(kind: type) -> str:
    return (kind.__doc__ or "").strip().partition("\n")[0]
