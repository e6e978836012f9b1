"""What takes several calls of the engine, written once for those who wait and those who await."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

if TYPE_CHECKING:
    from collections.abc import Generator

    from antiphon._antiphon import Engine, Run

_T = TypeVar("_T")


@dataclass(frozen=True, slots=True)
class Call:
    """A call of the engine whose answer comes from a store.

    Attributes:
        method: the method; its twin for those who await begins with ``a``.
        arguments: what it takes.
        options: what it takes by name.
    """

    method: str
    arguments: tuple[Any, ...]
    options: dict[str, Any] = field(default_factory=dict)
    of: Any = None
    """Whose method it is. Default: the engine's."""


Steps: TypeAlias = "Generator[Call | Run, Any, _T]"
"""Yields calls and gets their answers; a run that is yielded is driven to its end."""


def walk(engine: Engine, steps: Steps[_T]) -> _T:
    """Takes steps by plain calls."""
    given: Any = None
    while True:
        try:
            asked = steps.send(given)
        except StopIteration as end:
            result: _T = end.value
            return result
        if isinstance(asked, Call):
            given = getattr(asked.of or engine, asked.method)(*asked.arguments, **asked.options)
        else:
            given = None
            asked.drain()


async def awalk(engine: Engine, steps: Steps[_T]) -> _T:
    """Takes steps on the caller's event loop."""
    given: Any = None
    while True:
        try:
            asked = steps.send(given)
        except StopIteration as end:
            result: _T = end.value
            return result
        if isinstance(asked, Call):
            method = getattr(asked.of or engine, f"a{asked.method}")
            given = await method(*asked.arguments, **asked.options)
        else:
            given = await asked
