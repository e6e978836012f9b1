"""What a role is, for code that plays it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["Part"]


@dataclass(frozen=True, slots=True)
class Part:
    """A role of a system.

    Attributes:
        name: what it is called.
        replies: the fields of its reply; the one that a bare text stands for comes first.
        speaks: whether the reply may be a bare text, with the other fields left empty.
        view: makes the state that an agent's ``run`` gets from the engine's brief.
    """

    name: str
    replies: tuple[str, ...]
    speaks: bool
    view: Callable[[dict[str, Any]], dict[str, Any]]
