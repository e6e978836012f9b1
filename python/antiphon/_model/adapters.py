"""Functions and LangChain chat models as models. Nothing here imports LangChain."""

from __future__ import annotations

import inspect
import json
import sys
from typing import TYPE_CHECKING, Any, Protocol

from antiphon._antiphon import Model, PieceRedactor
from antiphon._content import is_content
from antiphon._event_loop import is_async
from antiphon._model.content_parts import (
    chat_text_and_media,
    list_text_and_media,
    reply_sent_back,
    sent_content,
)
from antiphon._model.opening import open_any
from antiphon.errors import ModelOutputError, ValidationError

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable


class FunctionModel:
    """A function as a model of the engine.

    Args:
        function: takes the request, a dict with ``messages`` and, where there are any,
            ``tools``, ``schema`` and ``temperature``, and, if it has a parameter ``context``, the
            context of the run as that keyword; returns a text, a list of parts, or a dict with
            ``text``, ``media`` (a list of parts), ``tool_calls``, ``usage`` and ``model``. A
            generator yields the text piece by piece, and may yield such a dict at its end.
    """

    def __init__(self, function: Callable[..., Any]) -> None:
        self._function = function
        self._takes_context = _takes_context(function)

    @property
    def name(self) -> str:
        """The name in traces."""
        return f"function:{getattr(self._function, '__name__', type(self._function).__name__)}"

    def __call__(self, request: dict[str, Any], ctx: Listener) -> Any:
        """The reply to a request; an awaitable if the function is async."""
        options = {"context": getattr(ctx, "context", None)} if self._takes_context else {}
        reply = self._function(request, **options)
        if inspect.isgenerator(reply):
            pieces = _ChunkedReply(ctx)
            for piece in reply:
                pieces.take(piece)
            return pieces.whole()
        if inspect.isasyncgen(reply):
            return self._gathered(reply, _ChunkedReply(ctx))
        return self._later(reply) if inspect.isawaitable(reply) else read_reply(reply)

    async def _later(self, reply: Any) -> Any:
        return read_reply(await reply)

    async def _gathered(self, reply: Any, pieces: _ChunkedReply) -> Any:
        async for piece in reply:
            pieces.take(piece)
        return pieces.whole()


def _takes_context(function: Callable[..., Any]) -> bool:
    try:
        return "context" in inspect.signature(function).parameters
    except ValueError:  # some builtins have none
        return False


class Listener(Protocol):
    """The context of a node or of a call, which emits the chunks of a reply."""

    @property
    def watched(self) -> bool:
        """Whether the run is streamed."""

    def chunk(self, text: str) -> None:
        """Emits a chunk."""


class _ChunkedReply:
    """A reply in chunks: texts, and at the end a dict with the rest."""

    def __init__(self, ctx: Listener) -> None:
        self._shown = _ShownText(ctx) if ctx.watched else None
        self._texts: list[str] = []
        self._rest: dict[str, Any] | None = None

    def take(self, piece: Any) -> None:
        if self._rest is not None or not isinstance(piece, str | dict):
            found = type(piece).__name__ if self._rest is None else "something after the dict"
            raise ModelOutputError(
                f"a model function must yield strings and at most one dict at its end: {found}",
                code="model_reply_malformed",
            )
        if isinstance(piece, dict):
            self._rest = piece
            return
        self._texts.append(piece)
        if self._shown is not None:
            self._shown.take(piece)

    def whole(self) -> Any:
        if self._shown is not None:
            self._shown.end()
        return read_reply({"text": "".join(self._texts), **(self._rest or {})})


class _ShownText:
    """Emits the chunks of a reply without known keys, also where a key is in two chunks."""

    def __init__(self, ctx: Listener) -> None:
        self._ctx = ctx
        self._redactor = PieceRedactor()

    def take(self, text: str) -> None:
        self._emit(self._redactor.push(text))

    def end(self) -> None:
        self._emit(self._redactor.finish())

    def _emit(self, text: str) -> None:
        if text:
            self._ctx.chunk(text)


def answers_later(function: Any) -> bool:
    """Whether a function is async: a coroutine function or an asynchronous generator."""
    call = getattr(function, "__call__", None)  # noqa: B004 - the method itself is wanted
    generates = inspect.isasyncgenfunction(function) or inspect.isasyncgenfunction(call)
    return generates or is_async(function)


def read_reply(reply: Any) -> Any:
    """The return value of a function, as the engine takes it.

    Raises:
        ModelOutputError: it is neither a text, nor a list of parts, nor a dict of the known
            fields, or a call of a tool is none (``model_reply_malformed``).
    """
    if isinstance(reply, str):
        return {"text": reply}
    if isinstance(reply, list) or is_content(reply):
        text, media = list_text_and_media(reply)
        return {"text": text, "media": media}
    known = {"text", "media", "tool_calls", "finish", "usage", "model"}
    if not isinstance(reply, dict) or not set(reply) <= known:
        found = sorted(set(reply) - known) if isinstance(reply, dict) else type(reply).__name__
        raise ModelOutputError(
            f"a model function must return a string, a list of parts or a dict, found: {found}",
            code="model_reply_malformed",
            hint=f"return a string, or a dict with some of {', '.join(sorted(known))}",
        )
    given = reply.get("tool_calls") or ()
    if not isinstance(given, list | tuple):
        raise _no_calls(f"no list: {type(given).__name__}")
    calls = [_tool_call(call, place) for place, call in enumerate(given, 1)]
    more, media = list_text_and_media(reply.get("media") or ())
    texts = [text for text in (reply.get("text"), more) if text]
    return {**reply, "text": "\n".join(texts), "media": media, "tool_calls": calls}


def _tool_call(call: Any, place: int) -> dict[str, str]:
    if not isinstance(call, dict):
        raise _no_calls(f"a call is no dict: {type(call).__name__}")
    for field in _OTHER_ARGUMENTS:
        if field in call and "arguments" not in call:
            raise _no_calls(f"a call has `{field}` in place of `arguments`")
    name, given = call.get("name"), call.get("arguments") or {}
    if not isinstance(name, str) or not name:
        raise _no_calls(f"a call has no name: {name!r}")
    if not isinstance(given, str | dict):
        raise _no_calls(f"the arguments of `{name}` are no dict: {type(given).__name__}")
    try:
        arguments = given if isinstance(given, str) else json.dumps(given, ensure_ascii=False)
    except (TypeError, ValueError) as error:
        raise _no_calls(f"the arguments of `{name}` are no JSON: {error}") from error
    return {"id": str(call.get("id") or f"call_{place}"), "name": name, "arguments": arguments}


_OTHER_ARGUMENTS = ("function", "args", "input", "parameters")
"""What calls of other shapes have in place of their arguments, which would be lost."""


def _no_calls(complaint: str) -> ModelOutputError:
    return ModelOutputError(
        f"the `tool_calls` of a model function cannot be read: {complaint}",
        code="model_reply_malformed",
        hint='a call is `{"name": "population", "arguments": {"city": "Lyon"}}`, perhaps with an '
        "`id`; of OpenAI's calls, give the `name` and the `arguments` of `function`",
    )


def as_model(given: Any, where: str) -> Model | tuple[FunctionModel | LangChainModel, bool]:
    """A name, a list of names, a `Model`, a LangChain chat model or a function, for the engine.

    Raises:
        ValidationError: it is none of these (``model_invalid``), or as `model`.
        AuthError: as `model`.
    """
    if isinstance(given, Model):
        return given
    if isinstance(given, str | list | tuple):
        return open_any(given, {})
    if is_chat_model(given):
        return LangChainModel(given), True
    if callable(given) and not isinstance(given, type):
        return FunctionModel(given), answers_later(given)
    raise ValidationError(
        f"`model` of {where} has to be a name, a model or a function: {type(given).__name__}",
        code="model_invalid",
        hint='for instance `model = "openai:gpt-5-mini"`, or `antiphon.models.scripted([...])`',
    )


_FINISH = {"length": "length", "max_tokens": "length", "content_filter": "content_filter"}


def is_chat_model(value: Any) -> bool:
    """Whether a value is a LangChain chat model."""
    module = sys.modules.get("langchain_core.language_models")
    return module is not None and isinstance(value, module.BaseChatModel)


class LangChainModel:
    """A LangChain chat model for the engine."""

    def __init__(self, model: Any) -> None:
        self._model = model

    @property
    def name(self) -> str:
        """The name in traces."""
        return f"langchain:{type(self._model).__name__}"

    async def __call__(self, request: dict[str, Any], ctx: Listener) -> dict[str, Any]:
        """The reply to a request."""
        model = self._model
        if request.get("tools"):
            model = model.bind_tools([_langchain_tool(spec) for spec in request["tools"]])
        options = {key: request[key] for key in ("temperature",) if request.get(key) is not None}
        messages = _messages(request)
        if ctx.watched:
            reply = await _streamed(model.astream(messages, **options), ctx)
        else:
            reply = await model.ainvoke(messages, **options)
        return _reply_of_message(reply, type(self._model).__name__)

    def __repr__(self) -> str:
        # The model's own repr may show its key.
        return f"LangChainModel({type(self._model).__name__})"


async def _streamed(pieces: AsyncIterator[Any], ctx: Listener) -> Any:
    whole: Any = None
    shown = _ShownText(ctx)
    async for piece in pieces:
        text, _ = chat_text_and_media(piece.content)
        if text:
            shown.take(text)
        whole = piece if whole is None else whole + piece
    shown.end()
    return whole


def arguments_text(call: Any) -> str:
    """The arguments of a tool call as JSON text."""
    given = call.get("args") or {}
    return given if isinstance(given, str) else json.dumps(given, ensure_ascii=False)


def _messages(request: dict[str, Any]) -> list[Any]:
    kinds = sys.modules["langchain_core.messages"]
    made = [one for message in request["messages"] for one in _sent_messages(kinds, message)]
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


def _sent_messages(kinds: Any, message: dict[str, Any]) -> list[Any]:
    content, role = message["content"], message["role"]
    if role == "tool":
        call_id = message.get("tool_call_id", "")
        return [kinds.ToolMessage(content=sent_content(content), tool_call_id=call_id)]
    if role == "assistant":
        calls = [
            {"name": call["name"], "args": _arguments(call), "id": call["id"]}
            for call in message.get("tool_calls", ())
        ]
        said, media = reply_sent_back(content)
        reply = kinds.AIMessage(content=said, tool_calls=calls)
        return [reply, *([kinds.HumanMessage(content=media)] if media else [])]
    kind = kinds.SystemMessage if role == "system" else kinds.HumanMessage
    return [kind(content=sent_content(content))]


def _arguments(call: dict[str, Any]) -> dict[str, Any]:
    try:
        read = json.loads(call["arguments"] or "{}")
    except ValueError:  # what a model wrote may be malformed; the model gets to see that it was
        return {"malformed": call["arguments"]}
    return read if isinstance(read, dict) else {"value": read}


def _langchain_tool(spec: dict[str, Any]) -> dict[str, Any]:
    function = {key: spec[key] for key in ("name", "description", "parameters")}
    return {"type": "function", "function": function}


def _reply_of_message(reply: Any, model: str) -> dict[str, Any]:
    calls = [*(getattr(reply, "tool_calls", None) or ())]
    calls += [*(getattr(reply, "invalid_tool_calls", None) or ())]
    usage = getattr(reply, "usage_metadata", None) or {}
    metadata = getattr(reply, "response_metadata", None) or {}
    reason = metadata.get("finish_reason") or metadata.get("stop_reason")
    finish = _FINISH.get(str(reason))
    text, media = chat_text_and_media(reply.content)
    return {
        "text": text,
        "media": media,
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
