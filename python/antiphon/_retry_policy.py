"""`RetryPolicy` of the engine, which can be pickled and copied."""

from __future__ import annotations

import copyreg
from typing import Any

from antiphon._antiphon import RetryPolicy

__all__ = ["RetryPolicy"]

_ARGUMENTS = (
    "initial_interval",
    "backoff_factor",
    "max_interval",
    "max_attempts",
    "jitter",
    "retry_on",
)
"""In the order of the constructor."""


def _reduce(policy: RetryPolicy) -> tuple[type[RetryPolicy], tuple[Any, ...]]:
    return RetryPolicy, tuple(getattr(policy, name) for name in _ARGUMENTS)


copyreg.pickle(RetryPolicy, _reduce)
