"""How many threads the model may compute on.

More threads than free cores is far worse than too few: the runtime spins at
barriers, and a busy two-core machine was seen to fall from 36 to 3 tokens a second.
"""

from __future__ import annotations

import os
from pathlib import Path

from antiphon.errors import ValidationError

__all__ = ["usable_cores", "worker_threads"]

_VARIABLE = "ANTIPHON_LOCAL_THREADS"
_MOST_THREADS = 512
_QUOTA = Path("/sys/fs/cgroup/cpu.max")


def worker_threads(threads: int | None = None) -> int:
    """The argument, else ``ANTIPHON_LOCAL_THREADS``, else one thread less than the cores.

    Never less than 1.

    Raises:
        ValidationError: ``local_setting`` when the number is not between 1 and 512.
    """
    if threads is not None:
        return _checked(threads, "threads", threads)
    text = os.environ.get(_VARIABLE, "").strip()
    if text:
        return _checked(int(text) if text.isdecimal() else 0, _VARIABLE, text)
    return max(1, usable_cores() - 1)


def usable_cores() -> int:
    """Cores this process may use: its affinity mask, cut by a container's quota."""
    if hasattr(os, "sched_getaffinity"):
        cores = len(os.sched_getaffinity(0))
    else:
        cores = os.cpu_count() or 1
    quota = _quota()
    return cores if quota is None else max(1, min(cores, quota))


def _quota() -> int | None:
    try:
        limit, period = _QUOTA.read_text(encoding="ascii").split()
        return None if limit == "max" else int(limit) // int(period)
    except (OSError, ValueError, ZeroDivisionError):
        return None


def _checked(number: int, name: str, given: object) -> int:
    if type(number) is not int or not 1 <= number <= _MOST_THREADS:
        raise ValidationError(
            f"`{name}` must be a whole number between 1 and {_MOST_THREADS}: {given}",
            code="local_setting",
            details={"setting": name, "value": str(given)},
        )
    return number
