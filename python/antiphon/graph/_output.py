"""What ``invoke`` returns with ``version="v2"``."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from antiphon.graph._flight import Flight
    from antiphon.graph._runtime import Interrupt

__all__ = ["GraphOutput"]


@dataclass(frozen=True)
class GraphOutput:
    """What a run came to, apart from the questions it asks.

    Attributes:
        value: the state: an instance of the output schema if that is a dataclass or a pydantic
            model and all its fields are there, else a dict.
        interrupts: the open questions; hand the whole to `CompiledGraph.resume` to answer them.
    """

    value: Any
    interrupts: tuple[Interrupt, ...] = ()
    flight: Flight | None = field(default=None, repr=False, compare=False)
    """The run that waits, if it does."""

    def __reduce__(self) -> tuple[Any, ...]:
        return GraphOutput, (self.value, self.interrupts)
