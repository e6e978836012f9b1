"""What a run spends beside the engine's own count."""

from __future__ import annotations

from typing import TYPE_CHECKING

from antiphon.budget import Budget
from antiphon.errors import BudgetError

if TYPE_CHECKING:
    from collections.abc import Mapping


class Ledger:
    """Tokens of the models that agents ask themselves, and the run's limits.

    Args:
        budget: the team's budget.
    """

    def __init__(self, budget: Budget | None) -> None:
        self._limits = {} if budget is None else budget.limits()
        # Adding to a list is atomic; agents may run on threads.
        self._tokens: list[tuple[int, int]] = []

    def add(self, input_tokens: int, output_tokens: int) -> None:
        """Notes the tokens of a call."""
        self._tokens.append((input_tokens, output_tokens))

    def total(self, spent: Mapping[str, int]) -> dict[str, int]:
        """All that is spent, by dimension; `spent` is the engine's own count."""
        tokens = list(self._tokens)
        return {
            **spent,
            "input_tokens": spent["input_tokens"] + sum(one for one, _ in tokens),
            "output_tokens": spent["output_tokens"] + sum(two for _, two in tokens),
        }

    def left(self, spent: Mapping[str, int]) -> Budget:
        """What is left of the budget's counts; `spent` is the engine's own count."""
        total = self.total(spent)
        counts = {
            name: max(0, limit - total[name])
            for name, limit in self._limits.items()
            if name != "wall_time"
        }
        return Budget(**counts)

    def check(self, spent: Mapping[str, int]) -> None:
        """Makes sure that a model may still be asked.

        Raises:
            BudgetError: the tokens are spent (``budget_exhausted``).
        """
        left = self.left(spent)
        for name in ("input_tokens", "output_tokens"):
            if getattr(left, name) == 0:
                raise BudgetError(
                    f"the budget is spent: {name}",
                    code="budget_exhausted",
                    details={"dimension": name},
                )
