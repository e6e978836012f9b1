"""A LangChain chat model as a model, known by its shape: nothing here imports LangChain first."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from antiphon._model.function import Listener

_FINISH = {"length": "length", "max_tokens": "length", "content_filter": "content_filter"}


def is_chat_model(value: Any) -> bool:
    """Whether it is one of LangChain's chat models."""
    module = sys.modules.get("langchain_core.language_models")
    return module is not None and isinstance(value, module.BaseChatModel)


class LangChainModel:
    """Asks a LangChain chat model on behalf of the engine.

    Args:
        model: a chat model, bound to whatever settings it likes.
    """

    def __init__(self, model: Any) -> None:
        self._model = model

    @property
    def name(self) -> str:
        """What traces call it."""
        return f"langchain:{type(self._model).__name__}"

    async def __call__(self, request: dict[str, Any], ctx: Listener) -> dict[str, Any]:
        """One request of the engine, answered.

        Args:
            request: the request.
            ctx: is shown the pieces of the reply, if somebody watches.
        """
        model = self._model
        if request.get("tools"):
            model = model.bind_tools([_tool(spec) for spec in request["tools"]])
        options = {key: request[key] for key in ("temperature",) if request.get(key) is not None}
        messages = _messages(request)
        if ctx.watched:
            reply = await _streamed(model.astream(messages, **options), ctx)
        else:
            reply = await model.ainvoke(messages, **options)
        return _reply(reply, type(self._model).__name__)

    def __repr__(self) -> str:
        # The model's own repr may show its key.
        return f"LangChainModel({type(self._model).__name__})"


async def _streamed(pieces: AsyncIterator[Any], ctx: Listener) -> Any:
    whole: Any = None
    async for piece in pieces:
        if text := _text(piece.content):
            ctx.chunk(text)
        whole = piece if whole is None else whole + piece
    return whole


def arguments_text(call: Any) -> str:
    """The arguments of a tool call as the text that a model wrote."""
    given = call.get("args") or {}
    return given if isinstance(given, str) else json.dumps(given, ensure_ascii=False)


def _messages(request: dict[str, Any]) -> list[Any]:
    kinds = sys.modules["langchain_core.messages"]
    made = [_message(kinds, message) for message in request["messages"]]
    schema = request.get("schema")
    if schema is not None:
        wanted = json.dumps(schema["json"], ensure_ascii=False)
        made.append(
            kinds.HumanMessage(
                content="Answer with one JSON value that fits this JSON schema, "
                f"and with nothing else:\n{wanted}"
            )
        )
    return made


def _message(kinds: Any, message: dict[str, Any]) -> Any:
    content, role = message["content"], message["role"]
    if role == "tool":
        return kinds.ToolMessage(content=content, tool_call_id=message.get("tool_call_id", ""))
    if role == "assistant":
        calls = [
            {"name": call["name"], "args": _arguments(call), "id": call["id"]}
            for call in message.get("tool_calls", ())
        ]
        return kinds.AIMessage(content=content, tool_calls=calls)
    kind = kinds.SystemMessage if role == "system" else kinds.HumanMessage
    return kind(content=content)


def _arguments(call: dict[str, Any]) -> dict[str, Any]:
    try:
        read = json.loads(call["arguments"] or "{}")
    except ValueError:  # what a model wrote may be malformed; the model gets to see that it was
        return {"malformed": call["arguments"]}
    return read if isinstance(read, dict) else {"value": read}


def _tool(spec: dict[str, Any]) -> dict[str, Any]:
    function = {key: spec[key] for key in ("name", "description", "parameters")}
    return {"type": "function", "function": function}


def _reply(reply: Any, model: str) -> dict[str, Any]:
    calls = [*(getattr(reply, "tool_calls", None) or ())]
    calls += [*(getattr(reply, "invalid_tool_calls", None) or ())]
    usage = getattr(reply, "usage_metadata", None) or {}
    metadata = getattr(reply, "response_metadata", None) or {}
    reason = metadata.get("finish_reason") or metadata.get("stop_reason")
    finish = _FINISH.get(str(reason))
    return {
        "text": _text(reply.content),
        "tool_calls": [
            {
                "id": call.get("id") or f"call_{place}",
                "name": call.get("name") or "",
                "arguments": arguments_text(call),
            }
            for place, call in enumerate(calls, 1)
        ],
        "usage": {key: usage.get(key, 0) for key in ("input_tokens", "output_tokens")},
        "model": metadata.get("model_name") or model,
        **({} if finish is None else {"finish": finish}),
    }


def _text(content: Any) -> str:
    if isinstance(content, str):
        return content
    texts = (part if isinstance(part, str) else part.get("text", "") for part in content)
    return "".join(texts)
