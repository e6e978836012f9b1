"""What antiphon itself puts into states."""

from __future__ import annotations

from functools import cache
from typing import Any

from antiphon._antiphon import Command, Form, Overwrite, Send
from antiphon.checkpoint._forms.records import record_of
from antiphon.checkpoint._forms.shape import items
from antiphon.graph._messages import RemoveMessage
from antiphon.result import Question, Usage


@cache
def forms() -> dict[type, Form]:
    """The forms by type."""
    return {
        Send: Form(72, lambda value: [value.node, value.arg, value.timeout], _send),
        Command: Form(73, _pack_command, _command),
        Overwrite: Form(74, lambda value: [value.value], lambda value: Overwrite(*items(1, value))),
        RemoveMessage: _record(75, RemoveMessage),
        Question: _record(76, Question),
        Usage: _record(77, Usage),
    }


def _send(value: Any) -> Send:
    node, argument, timeout = items(3, value)
    return Send(node, argument, timeout=timeout)


def _pack_command(value: Command) -> list[Any]:
    return [value.graph, value.update, value.resume, value.goto, value.only, value.end]


def _command(value: Any) -> Command:
    graph, update, resume, goto, only, end = items(6, value)
    return Command(graph=graph, update=update, resume=resume, goto=goto, only=only, end=end)


def _record(number: int, kind: type) -> Form:
    record = record_of(kind)
    assert record is not None  # noqa: S101  # a dataclass
    return Form(number, record.pack, record.unpack, fields=True)
