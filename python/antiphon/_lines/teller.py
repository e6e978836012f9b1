"""What a batch tells whoever watches."""

from __future__ import annotations

import uuid
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Literal

from antiphon.event import Event

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["Teller"]


class Teller:
    """Makes events of a batch, in order.

    Args:
        watch: called with each.
    """

    def __init__(self, watch: Callable[[Event], object]) -> None:
        self._watch = watch
        self._batch = str(uuid.uuid4())
        self._count = 0

    def tell(
        self, name: str, data: dict[str, Any], level: Literal["info", "warning"] = "info"
    ) -> None:
        """One more thing that happened."""
        self._count += 1
        now = datetime.now(UTC)
        self._watch(Event(self._batch, self._count, now, (), "custom", name, data, level))
