"""Imports of the zygote, which its workers inherit."""

from __future__ import annotations

import contextlib
import importlib
import sys
import threading
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

_PARTS = {
    # Before 3.11 it lists fonts under a timer, which is a thread, and workers cannot start one; it
    # also needs a writable folder, and only the zygote can write to `/cache`.
    "matplotlib": ("matplotlib.pyplot",),
    # The package itself imports nothing: each worker would load 200 MB of libraries.
    "statsmodels": ("statsmodels.api",),
}
"""Modules to import with a package, because a worker could not import them."""
_TIMEOUT = 10.0


def load(names: Iterable[str]) -> None:
    """Import packages, with the modules of them that a worker could not import."""
    for name in names:
        _import(name)
        for part in _PARTS.get(name, ()):
            _import(part)
    _wait_for_threads()


def needs_threads() -> bool:
    """Whether a loaded library starts threads."""
    return "polars" in sys.modules


def start_threads() -> None:
    """Make polars start its permanent threads with a small query.

    Its threads for reading files are started on demand and end when idle, so that starting them
    here would not help.
    """
    import polars as pl

    # A failure here occurs in the job again, where the user sees it.
    with contextlib.suppress(BaseException):
        frame = pl.DataFrame({"key": ["a", "b"], "n": [1, 2]})
        frame.sort("n").group_by("key").agg(pl.col("n").sum()).join(frame, on="key")
        frame.lazy().filter(pl.col("n") > 1).collect(engine="streaming")


def _import(name: str) -> None:
    # The code that imports it gets the same error.
    with contextlib.suppress(Exception):
        importlib.import_module(name)


def _wait_for_threads() -> None:
    """Join timers that imports have cancelled: a fork would inherit their locks, but not them."""
    for thread in threading.enumerate():
        if thread is not threading.main_thread():
            thread.join(_TIMEOUT)
