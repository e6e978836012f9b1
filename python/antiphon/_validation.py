"""Checks of options that are numbers; who asks words the error."""

from __future__ import annotations

import math
from typing import Any, TypeGuard

LARGEST_COUNT = 2**32 - 1
"""What counters of the engine hold."""
LARGEST_ID = 2**63 - 1
"""What ids and numbers of steps hold."""


def is_count(value: Any, largest: int = LARGEST_COUNT) -> TypeGuard[int]:
    """Whether it is a whole number from 1 on; ``True`` is none."""
    return isinstance(value, int) and not isinstance(value, bool) and 1 <= value <= largest


def is_number(value: Any) -> TypeGuard[float]:
    """Whether it is a finite number that is not negative; ``True`` is none."""
    number = isinstance(value, int | float) and not isinstance(value, bool)
    return number and math.isfinite(value) and value >= 0


def is_seconds(value: Any) -> TypeGuard[float]:
    """Whether it is a finite number above zero; ``True`` is none."""
    return is_number(value) and value > 0
