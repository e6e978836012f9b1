"""Checks of numeric options; the caller raises the error."""

from __future__ import annotations

import math
from typing import Any, TypeGuard

LARGEST_COUNT = 2**32 - 1
"""The largest value of the engine's counters."""
LARGEST_ID = 2**63 - 1
"""The largest id or step number."""


def is_count(value: Any, largest: int = LARGEST_COUNT) -> TypeGuard[int]:
    """Whether it is an integer from 1 to `largest`; ``True`` is not."""
    is_whole = type(value) is int or (isinstance(value, int) and not isinstance(value, bool))
    return is_whole and 1 <= value <= largest


def is_number(value: Any) -> TypeGuard[float]:
    """Whether it is a finite number from 0; ``True`` is not."""
    number = isinstance(value, int | float) and not isinstance(value, bool)
    return number and math.isfinite(value) and value >= 0


def is_seconds(value: Any) -> TypeGuard[float]:
    """Whether it is a finite number above 0; ``True`` is not."""
    return is_number(value) and value > 0
