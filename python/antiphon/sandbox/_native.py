"""The engines in Rust: real CPython in workers of this machine, jailed or not."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from antiphon._antiphon import NativeSandbox, sandbox_probe
from antiphon.sandbox import _guest
from antiphon.sandbox._calls import CallFailed

if TYPE_CHECKING:
    from collections.abc import Mapping

    from antiphon.sandbox._probe import Probe

__all__ = ["NativeEngine", "native_probe"]


class NativeEngine:
    """An engine of the native half.

    Args:
        settings: what every engine takes.
    """

    def __init__(self, settings: Mapping[str, Any]) -> None:
        self._sandbox = NativeSandbox(_complete(settings))

    def run(self, job: Any, call: Any, stop: Any) -> dict[str, Any]:
        """Runs a job in a clean interpreter."""
        return self._sandbox.run(job, None if call is None else _named(call), stop)

    def session(self) -> _Session:
        """Opens an interpreter that is kept."""
        return _Session(self._sandbox.session())

    def close(self) -> None:
        """Ends every worker."""
        self._sandbox.close()


class _Session:
    """An interpreter that is kept.

    Args:
        session: the native one.
    """

    def __init__(self, session: Any) -> None:
        self._session = session

    def run(self, job: Any, call: Any, stop: Any) -> dict[str, Any]:
        """Runs a job among the names of those before it."""
        found: dict[str, Any] = self._session.run(job, None if call is None else _named(call), stop)
        return found

    def close(self) -> None:
        """Ends it."""
        self._session.close()


def native_probe(name: str, **settings: bool) -> Probe:
    """What a native engine promises here: it starts a worker and looks at each layer."""
    return cast("Probe", sandbox_probe(_complete({"engine": name, **settings})))


def _complete(settings: Mapping[str, Any]) -> dict[str, Any]:
    return {
        **settings,
        "python": sys.executable,
        "guest": str(Path(str(_guest.__file__)).parent),
    }


def _named(call: Any) -> Any:
    """The same call, but that a failure's class has the name that the guest shall see."""

    def calling(name: str, args: list[Any], kwargs: dict[str, Any]) -> Any:
        try:
            return call(name, args, kwargs)
        except CallFailed as failure:
            raise type(failure.type, (RuntimeError,), {})(failure.message) from failure

    return calling
