"""What a running tool may know about its call."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from datetime import datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolContext:
    """One call of a tool, as the tool sees it.

    A parameter with this type is filled in by the engine and hidden from the
    model.

    Attributes:
        name: the tool's name.
        call_id: the model's id of this call; its result carries the same.
        idempotency_key: the same for every attempt at this call, also after a
            restart; pass it to services that know such keys.
        attempt: 1 for the first attempt.
        deadline: when the call is given up, with time zone; ``None`` if never.

    Example:
        >>> def pay(cents: int, call: ToolContext) -> str:
        ...     return f"{cents} cents under {call.idempotency_key}"
    """

    name: str
    call_id: str
    idempotency_key: str
    attempt: int = 1
    deadline: datetime | None = None
