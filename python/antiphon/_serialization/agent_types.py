"""Stored forms of types of antiphon, LangChain and LangGraph."""

from __future__ import annotations

from functools import cache, partial
from typing import Any

from antiphon._antiphon import Command, Overwrite, Send, TypeCodec
from antiphon._messages import RemoveMessage
from antiphon._serialization.records import exactly, items, pack_model, record_codec, unpack_model
from antiphon.result import Question, Usage


@cache
def antiphon_codecs() -> dict[type, TypeCodec]:
    """Return the codecs by type."""
    return {
        Send: TypeCodec(72, lambda value: [value.node, value.arg, value.timeout], _send),
        Command: TypeCodec(73, _pack_command, _command),
        Overwrite: TypeCodec(
            74, lambda value: [value.value], lambda value: Overwrite(*items(1, value))
        ),
        RemoveMessage: record_codec(75, RemoveMessage),
        Question: record_codec(76, Question),
        Usage: record_codec(77, Usage),
    }


def _send(value: Any) -> Send:
    node, argument, timeout = items(3, value)
    return Send(node, argument, timeout=timeout)


def _pack_command(value: Command) -> list[Any]:
    return [value.graph, value.update, value.resume, value.goto, value.only, value.end]


def _command(value: Any) -> Command:
    graph, update, resume, goto, only, end = items(6, value)
    return Command(graph=graph, update=update, resume=resume, goto=goto, only=only, end=end)


@cache
def langchain_codecs() -> dict[type, TypeCodec]:
    """Return the codecs by type."""
    from langchain_core import messages
    from langchain_core.documents import Document

    named = (getattr(messages, name) for name in messages.__all__)
    classes = [kind for kind in named if isinstance(kind, type)]
    kinds = {kind.__name__: kind for kind in classes if issubclass(kind, messages.BaseMessage)}
    message = TypeCodec(80, _pack_message, lambda parts: _message(kinds, parts))
    document = TypeCodec(81, _pack_document, partial(unpack_model, Document))
    return {**dict.fromkeys(kinds.values(), message), Document: document}


def _pack_message(value: Any) -> list[Any]:
    return [type(value).__name__, *_pack_document(value)]


def _message(kinds: dict[str, type], parts: Any) -> Any:
    name, *rest = exactly(list, parts)
    return unpack_model(kinds[name], rest)


def _pack_document(value: Any) -> list[Any]:
    """Pack a model without the fields that have their default."""
    known = type(value).model_fields
    return pack_model(value, leave_out=lambda name: _is_default(known[name], getattr(value, name)))


def _is_default(field: Any, part: Any) -> bool:
    factory = field.default_factory
    if factory is not None:
        return factory in {list, dict} and type(part) is factory and not part
    return part is field.default


@cache
def langgraph_codecs() -> dict[type, TypeCodec]:
    """Return the codecs by type."""
    from langgraph import types
    from langgraph.checkpoint.serde.types import _DeltaSnapshot
    from langgraph.store.base import Item

    return {
        types.Send: TypeCodec(
            112, lambda value: [value.node, value.arg, value.timeout], _langgraph_send
        ),
        types.Interrupt: record_codec(113, types.Interrupt),
        types.Command: record_codec(114, types.Command),
        types.Overwrite: record_codec(115, types.Overwrite),
        types.TimeoutPolicy: record_codec(116, types.TimeoutPolicy),
        types.PregelTask: record_codec(117, types.PregelTask),
        types.StateSnapshot: record_codec(118, types.StateSnapshot),
        _DeltaSnapshot: record_codec(119, _DeltaSnapshot),
        Item: TypeCodec(
            120,
            lambda value: {name: getattr(value, name) for name in _ITEM_FIELDS},
            _langgraph_item,
        ),
    }


_ITEM_FIELDS = ("value", "key", "namespace", "created_at", "updated_at")


def _langgraph_send(value: Any) -> Any:
    from langgraph.types import Send

    node, argument, timeout = items(3, value)
    return Send(node, argument, timeout=timeout)


def _langgraph_item(value: Any) -> Any:
    from langgraph.store.base import Item

    parts = exactly(dict, value)
    return Item(**{name: parts[name] for name in _ITEM_FIELDS})
