"""What a zygote imports before it forks, so that no worker has to."""

from __future__ import annotations

import contextlib
import importlib
import sys
import threading
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

_PARTS = {
    # Before 3.11 its list of fonts is made under a timer, which is a thread, and a worker may
    # start none; it also looks for a folder that it may write to, which `/cache` only is here.
    "matplotlib": ("matplotlib.pyplot",),
    # The package itself is empty: with its parts a worker would map 200 MB of libraries.
    "statsmodels": ("statsmodels.api",),
}
"""Modules that come with a package because importing them takes what a worker does not have."""
_PATIENCE = 10.0


def load(names: Iterable[str]) -> None:
    """Imports packages with the parts of them that a worker could not import.

    Args:
        names: modules; one that fails is left to the code that imports it.
    """
    for name in names:
        _import(name)
        for part in _PARTS.get(name, ()):
            _import(part)
    _wait_for_threads()


def needs_threads() -> bool:
    """Whether something is loaded that does nothing without threads of its own."""
    return "polars" in sys.modules


def start_threads() -> None:
    """Has polars start the threads that stay, by something small that needs them.

    Those that read files are started by need, and end when they are idle: no number of them that
    is started here is enough for sure, so that there are none.
    """
    import polars as pl

    # What fails here fails in the job as well, where somebody sees it.
    with contextlib.suppress(BaseException):
        frame = pl.DataFrame({"key": ["a", "b"], "n": [1, 2]})
        frame.sort("n").group_by("key").agg(pl.col("n").sum()).join(frame, on="key")
        frame.lazy().filter(pl.col("n") > 1).collect(engine="streaming")


def _import(name: str) -> None:
    # The code that imports it will see why.
    with contextlib.suppress(Exception):
        importlib.import_module(name)


def _wait_for_threads() -> None:
    """Lets timers end that an import has cancelled: a fork would have their locks, not them."""
    for thread in threading.enumerate():
        if thread is not threading.main_thread():
            thread.join(_PATIENCE)
