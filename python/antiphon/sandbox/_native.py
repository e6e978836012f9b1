"""The engines in Rust: CPython in worker processes, jailed or not."""

from __future__ import annotations

import functools
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from antiphon._antiphon import CancellationToken as NativeToken
from antiphon._antiphon import NativeSandbox, sandbox_probe
from antiphon.sandbox import _guest
from antiphon.sandbox._engine import EngineKind
from antiphon.sandbox._host_calls import CallFailed

if TYPE_CHECKING:
    from collections.abc import Mapping

    from antiphon.sandbox._engine import Probe

__all__ = ["PROCESS", "SUBPROCESS", "NativeEngine", "named_call"]


class NativeEngine:
    """A native engine.

    Args:
        settings: the settings that every engine takes.
    """

    def __init__(self, settings: Mapping[str, Any]) -> None:
        self._sandbox = NativeSandbox(_complete(settings))

    @property
    def native(self) -> NativeSandbox:
        """The engine of the extension module, for a native system."""
        return self._sandbox

    def run(self, job: Any, call: Any, stop: Any) -> dict[str, Any]:
        """Run a job in a clean interpreter."""
        return self._sandbox.run(job, None if call is None else named_call(call), stop)

    def session(self) -> _Session:
        """Open an interpreter that keeps its variables."""
        return _Session(self._sandbox.session())

    def close(self) -> None:
        """End every worker."""
        self._sandbox.close()


class _Session:
    """A native session.

    Args:
        session: the session of the extension module.
    """

    def __init__(self, session: Any) -> None:
        self._session = session

    def run(self, job: Any, call: Any, stop: Any) -> dict[str, Any]:
        """Run a job with the variables of the jobs before it."""
        found: dict[str, Any] = self._session.run(
            job, None if call is None else named_call(call), stop
        )
        return found

    def close(self) -> None:
        """End it."""
        self._session.close()


def _probe(engine: str, **settings: bool) -> Probe:
    """Start a worker and examine each layer."""
    return cast("Probe", sandbox_probe(_complete({"engine": engine, **settings})))


PROCESS = EngineKind(
    probe=functools.partial(_probe, "process"),
    make=NativeEngine,
    stopper=NativeToken,
    stops_itself=True,
)
SUBPROCESS = EngineKind(
    probe=functools.partial(_probe, "subprocess"),
    make=NativeEngine,
    stopper=NativeToken,
    files=False,
    by_choice=False,
    stops_itself=True,
)


def _complete(settings: Mapping[str, Any]) -> dict[str, Any]:
    return {
        **settings,
        "python": sys.executable,
        "guest": str(Path(str(_guest.__file__)).parent),
    }


def named_call(call: Any) -> Any:
    """Return the same call, with failures as exceptions of the class name that the guest sees."""

    def calling(name: str, args: list[Any], kwargs: dict[str, Any]) -> Any:
        try:
            return call(name, args, kwargs)
        except CallFailed as failure:
            raise type(failure.type, (RuntimeError,), {})(failure.message) from failure

    return calling
