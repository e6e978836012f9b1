"""The engines in Rust: CPython in worker processes, jailed or not."""

from __future__ import annotations

import functools
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from antiphon._antiphon import NativeSandbox, sandbox_probe
from antiphon.sandbox import _guest
from antiphon.sandbox._engine import EngineKind

if TYPE_CHECKING:
    from collections.abc import Mapping

    from antiphon.sandbox._engine import Probe

__all__ = ["PROCESS", "SUBPROCESS"]


def _probe(engine: str, **settings: bool) -> Probe:
    """Start a worker and examine each layer."""
    return cast("Probe", sandbox_probe(_complete({"engine": engine, **settings})))


def _make(settings: Mapping[str, Any]) -> NativeSandbox:
    return NativeSandbox(_complete(settings))


def _complete(settings: Mapping[str, Any]) -> dict[str, Any]:
    folder = Path(str(_guest.__file__)).parent
    # Its folder, and not the link: where the link leads, there is no environment.
    program = Path(sys.executable)
    python = program.parent.resolve() / program.name
    return {**settings, "python": str(python), "guest": str(folder)}


PROCESS = EngineKind(
    probe=functools.partial(_probe, "process"),
    make=_make,
    ends_runs=True,
)
SUBPROCESS = EngineKind(
    probe=functools.partial(_probe, "subprocess"),
    make=_make,
    files=False,
    by_choice=False,
    ends_runs=True,
)
