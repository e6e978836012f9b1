"""The number of compute threads for the model.

More threads than free cores is far worse than too few: the runtime spins at barriers. On a busy
machine with two cores, two threads gave 3 tokens per second and one gave 36.
"""

from __future__ import annotations

import os
from pathlib import Path

from antiphon.errors import ValidationError

__all__ = ["require_whole", "usable_cores", "worker_threads"]

_VARIABLE = "ANTIPHON_LOCAL_THREADS"
_MOST_THREADS = 512
_QUOTA = Path("/sys/fs/cgroup/cpu.max")


def worker_threads(threads: int | None = None) -> int:
    """Return the argument, else ``ANTIPHON_LOCAL_THREADS``, else one less than the cores.

    Raises:
        ValidationError: ``local_setting`` when the number is not between 1 and 512.
    """
    if threads is not None:
        return require_whole("threads", threads, 1, _MOST_THREADS)
    text = os.environ.get(_VARIABLE, "").strip()
    if text:
        number = int(text) if text.isdecimal() else text
        return require_whole(_VARIABLE, number, 1, _MOST_THREADS)
    return max(1, usable_cores() - 1)


def usable_cores() -> int:
    """Return the cores of this process: its affinity mask, limited by a container's quota."""
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


def require_whole(name: str, value: object, least: int, most: int) -> int:
    """Return an option that is a whole number in a range.

    Raises:
        ValidationError: it is not (``local_setting``).
    """
    if type(value) is int and least <= value <= most:
        return value
    raise ValidationError(
        f"`{name}` must be a whole number between {least} and {most}: {value}",
        code="local_setting",
        details={"setting": name, "value": str(value)},
    )
