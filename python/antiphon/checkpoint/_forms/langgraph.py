"""What LangGraph puts into checkpoints beside the state."""

from __future__ import annotations

from functools import cache
from typing import Any

from antiphon._antiphon import Form
from antiphon.checkpoint._forms.records import record_of
from antiphon.checkpoint._forms.shape import exactly, items


@cache
def forms() -> dict[type, Form]:
    """The forms by type."""
    from langgraph import types
    from langgraph.checkpoint.serde.types import _DeltaSnapshot
    from langgraph.store.base import Item

    return {
        types.Send: Form(112, lambda value: [value.node, value.arg, value.timeout], _send),
        types.Interrupt: _record(113, types.Interrupt),
        types.Command: _record(114, types.Command),
        types.Overwrite: _record(115, types.Overwrite),
        types.TimeoutPolicy: _record(116, types.TimeoutPolicy),
        types.PregelTask: _record(117, types.PregelTask),
        types.StateSnapshot: _record(118, types.StateSnapshot),
        _DeltaSnapshot: _record(119, _DeltaSnapshot),
        Item: Form(120, lambda value: {name: getattr(value, name) for name in _ITEM}, _item),
    }


_ITEM = ("value", "key", "namespace", "created_at", "updated_at")


def _send(value: Any) -> Any:
    from langgraph.types import Send

    node, argument, timeout = items(3, value)
    return Send(node, argument, timeout=timeout)


def _item(value: Any) -> Any:
    from langgraph.store.base import Item

    parts = exactly(dict, value)
    return Item(**{name: parts[name] for name in _ITEM})


def _record(number: int, kind: type) -> Form:
    record = record_of(kind)
    assert record is not None  # noqa: S101  # a dataclass or a named tuple
    return Form(number, record.pack, record.unpack, fields=True)
