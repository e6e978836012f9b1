"""The sandbox engines of this machine, and the runner of a sandbox for ready systems."""

from __future__ import annotations

import warnings
from typing import Any

from antiphon.errors import AntiphonError
from antiphon.sandbox._engines import ENGINES, choose, probe
from antiphon.sandbox._sandbox import runner_of

__all__ = ["report_engines", "runner_of"]


def report_engines() -> dict[str, Any]:
    """The engines of this machine as JSON values, for ``antiphon doctor``.

    Returns:
        ``engines``: the probe of each; ``auto``: the engine that ``auto`` selects, or ``None``
        with a ``problem``; ``landlock_only``: whether the engine ``process``, if its probe
        failed, would run with ``i_accept_landlock_only=True``.
    """
    report: dict[str, Any] = {"auto": None, "engines": [probe(name) for name in ENGINES]}
    try:
        with warnings.catch_warnings():
            # The report has the content of its warnings.
            warnings.simplefilter("ignore", RuntimeWarning)
            report["auto"] = choose("auto")
    except AntiphonError as error:
        report["problem"] = error.message
    if not probe("process")["ok"]:
        report["landlock_only"] = probe("process", landlock_only=True)["ok"]
    return report
