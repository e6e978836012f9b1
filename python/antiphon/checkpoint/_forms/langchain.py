"""LangChain's messages and documents."""

from __future__ import annotations

from functools import cache, partial
from typing import Any

from antiphon._antiphon import Form
from antiphon.checkpoint._forms.records import pack_model, unpack_model
from antiphon.checkpoint._forms.shape import exactly


@cache
def forms() -> dict[type, Form]:
    """The forms by type."""
    from langchain_core import messages
    from langchain_core.documents import Document

    named = (getattr(messages, name) for name in messages.__all__)
    classes = [kind for kind in named if isinstance(kind, type)]
    kinds = {kind.__name__: kind for kind in classes if issubclass(kind, messages.BaseMessage)}
    message = Form(80, _pack_message, lambda parts: _message(kinds, parts))
    document = Form(81, _pack_document, partial(unpack_model, Document))
    return {**dict.fromkeys(kinds.values(), message), Document: document}


def _pack_message(value: Any) -> list[Any]:
    return [type(value).__name__, *_pack_document(value)]


def _message(kinds: dict[str, type], parts: Any) -> Any:
    name, *rest = exactly(list, parts)
    return unpack_model(kinds[name], rest)


def _pack_document(value: Any) -> list[Any]:
    """The parts of a model without the many fields that are as they always are."""
    known = type(value).model_fields
    return pack_model(value, leave_out=lambda name: _is_default(known[name], getattr(value, name)))


def _is_default(field: Any, part: Any) -> bool:
    factory = field.default_factory
    if factory is not None:
        return factory in {list, dict} and type(part) is factory and not part
    return part is field.default
