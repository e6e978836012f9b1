"""Limits on what a run may spend."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any

from antiphon._keywords import checked_init
from antiphon.errors import ValidationError

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["Budget"]


@checked_init
@dataclass(frozen=True, slots=True, kw_only=True)
class Budget:
    """The budget of a run, or of one agent in it. Default of each: no limit.

    A spent budget is not a failure: the run ends with the outcome ``budget`` and its partial
    result.

    Attributes:
        model_calls: calls of models.
        tool_calls: calls of tools.
        input_tokens: tokens that models read.
        output_tokens: tokens that models write.
        retries: attempts beyond the first, of all agents together.
        wall_time: seconds from the start.

    Raises:
        ValidationError: a limit is negative or not a number (``budget_invalid``), or unknown
            (``call_invalid``).

    Example:
        >>> Budget(model_calls=20, wall_time=60)
        Budget(model_calls=20, wall_time=60)
    """

    model_calls: int | None = None
    tool_calls: int | None = None
    input_tokens: int | None = None
    output_tokens: int | None = None
    retries: int | None = None
    wall_time: float | None = None

    def __post_init__(self) -> None:
        for name, value in self.limits().items():
            kinds = (int, float) if name == "wall_time" else (int,)
            if isinstance(value, bool) or not isinstance(value, kinds) or not value >= 0:
                raise ValidationError(
                    f"`{name}` of a budget must be a non-negative number: {value!r}",
                    code="budget_invalid",
                    details={"limit": name},
                )

    def limits(self) -> dict[str, Any]:
        """The limits that are set, by name."""
        every = ((field.name, getattr(self, field.name)) for field in fields(self))
        return {name: value for name, value in every if value is not None}

    def left(self, spent: Mapping[str, int]) -> Budget:
        """The counts that are left after `spent`; time is not included.

        Args:
            spent: by the names of the limits.
        """
        counts = self.limits()
        counts.pop("wall_time", None)
        return Budget(**{name: max(0, limit - spent[name]) for name, limit in counts.items()})

    def __repr__(self) -> str:
        set_here = (f"{name}={value!r}" for name, value in self.limits().items())
        return f"Budget({', '.join(set_here)})"
