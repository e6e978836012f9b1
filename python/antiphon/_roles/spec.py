"""What a system says of its roles."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping


@dataclass(frozen=True, slots=True)
class RoleSpec:
    """A role of a system.

    Attributes:
        name: the name.
        replies: the fields of a reply; a bare text is the first one.
        speaks: whether a reply may be a bare text, with the other fields left empty.
        view: makes the state for an agent's ``act`` from the engine's brief.
        unanswered: fields that are added to the reply if its text explains why there is no answer.
        asks_once: whether the role makes one request to a model, which no team or system does.
    """

    name: str
    replies: tuple[str, ...]
    speaks: bool
    view: Callable[[dict[str, Any]], dict[str, Any]]
    unanswered: Mapping[str, Any] = field(default_factory=dict)
    asks_once: bool = False
