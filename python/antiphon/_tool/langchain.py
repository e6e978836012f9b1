"""A LangChain tool as a tool, known by its shape: nothing here imports LangChain."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from antiphon._content import decode_tool_result, encode_tool_result, is_content, read_parts
from antiphon._tool.context import ToolContext
from antiphon._tool.lifespan import resource_of
from antiphon._tool.timed_call import acall_tool, call_tool
from antiphon.errors import StateError, ToolError, ValidationError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from antiphon._schema import JsonSchema


def is_langchain_tool(value: Any) -> bool:
    """Whether it has what LangChain's tools have."""
    return (
        not isinstance(value, type)
        and isinstance(getattr(value, "name", None), str)
        and isinstance(getattr(value, "description", None), str)
        and hasattr(value, "tool_call_schema")
        and callable(getattr(value, "invoke", None))
        and callable(getattr(value, "ainvoke", None))
    )


def is_toolkit(value: Any) -> bool:
    """Whether it has what LangChain's toolkits have."""
    return (
        not isinstance(value, type)
        and not callable(value)
        and callable(getattr(value, "get_tools", None))
    )


class LangChainBody:
    """A LangChain tool: its own name, description, schema and validation.

    Arguments that LangChain injects are hidden, as LangChain hides them. A call
    is asynchronous if the tool has an asynchronous implementation.
    """

    is_method = False
    results: JsonSchema | None = None
    context_type: Any = None

    def __init__(self, tool: Any) -> None:
        self.function = tool
        self.origin: str = tool.name
        self.name: str = tool.name
        self.description: str = tool.description
        self.parameters: JsonSchema = _schema_of(tool)
        self.is_async = _is_async(tool)

    def check(self, arguments: Mapping[str, Any]) -> None:
        """Nothing: LangChain checks what it is called with."""

    def invoke(self, arguments: Mapping[str, Any], context: ToolContext | None) -> Any:
        """Calls the tool as LangChain's agents do: the content, or an awaitable of it.

        Raises:
            ToolError: the tool reports a failure (``tool_failed``). What it raises
                itself is passed on.
        """
        call = {
            "type": "tool_call",
            "id": context.call_id if context is not None else "",
            "name": self.name,
            "args": dict(arguments),
        }
        if self.is_async:
            return self._awaited(call)
        return _content(self.name, self.function.invoke(call))

    async def _awaited(self, call: dict[str, Any]) -> Any:
        return _content(self.name, await self.function.ainvoke(call))


def as_structured_tool(tool: Any) -> Any:
    """A tool of antiphon's as one of LangChain's; see `Tool.as_langchain`."""
    if tool.approval is not False:
        raise ValidationError(
            f"calls of tool `{tool.name}` need approval, which LangChain does not ask for",
            code="approval_unavailable",
            details={"tool": tool.name},
            hint="make a tool without `approval` for LangChain, or use it in a team of agents",
        )
    try:
        from langchain_core.tools import StructuredTool
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] != "langchain_core":
            raise
        message = "`Tool.as_langchain` needs LangChain: pip install langchain-core"
        raise ImportError(message, name=error.name) from error

    def call(**arguments: Any) -> Any:
        return _blocks(call_tool(tool, arguments, _context_of_call(tool)), tool.name)

    async def acall(**arguments: Any) -> Any:
        return _blocks(await acall_tool(tool, arguments, _context_of_call(tool)), tool.name)

    return StructuredTool(
        name=tool.name,
        description=tool.description,
        args_schema=tool.parameters,
        func=call,
        coroutine=acall,
    )


def _context_of_call(tool: Any) -> ToolContext[Any]:
    import uuid  # few tools come here

    number = uuid.uuid4().hex
    resource = resource_of(tool, number)
    return ToolContext(name=tool.name, call_id=number, idempotency_key=number, resource=resource)


def _schema_of(tool: Any) -> JsonSchema:
    declared = tool.tool_call_schema
    for method in ("model_json_schema", "schema"):  # pydantic 2, pydantic 1
        if callable(make := getattr(declared, method, None)):
            declared = make()
            break
    if not isinstance(declared, dict):
        raise ValidationError(
            f"a LangChain tool has no JSON schema for its arguments: {tool.name}",
            code="tool_function",
            hint="set its `args_schema` to a pydantic model or a JSON schema",
        )
    # The root repeats the tool's name and description.
    return {key: declared[key] for key in declared if key not in {"title", "description"}}


def _is_async(tool: Any) -> bool:
    if hasattr(tool, "coroutine"):
        return tool.coroutine is not None
    owner = next((kind for kind in type(tool).__mro__ if "_arun" in vars(kind)), None)
    # The inherited one runs the synchronous implementation on a separate thread.
    return owner is not None and not owner.__module__.startswith("langchain_core.")


def _blocks(value: Any, tool: str) -> Any:
    """A result as LangChain's messages take it: images and files as standard content blocks."""
    if not is_content(value):
        return value
    return [
        {"type": "text", "text": json.dumps(part["value"], ensure_ascii=False)}
        if part["type"] == "data"
        else part
        for part in encode_tool_result(value, tool)["content"]
    ]


_BLOCKS = {"text", "image", "image_url", "file"}


def _content(name: str, reply: Any) -> Any:
    """What the model shall read, from a LangChain tool message: a text, or content parts."""
    if getattr(reply, "type", None) != "tool":
        return reply  # a graph's `Command`, for instance
    if getattr(reply, "status", "success") == "error":
        raise ToolError(str(reply.content), code="tool_failed", details={"tool": name})
    content = reply.content
    if not isinstance(content, list) or not content or not all(map(_is_block, content)):
        return content
    try:
        parts = read_parts(content)
    except StateError:
        return content  # blocks of another meaning, which are data
    return parts if isinstance(parts, str) else decode_tool_result({"content": parts})


def _is_block(part: Any) -> bool:
    return isinstance(part, dict) and part.get("type") in _BLOCKS
