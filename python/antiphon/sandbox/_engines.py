"""The engines, what each promises here, and which one is taken."""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, Protocol

from antiphon.errors import SandboxUnavailable, ValidationError
from antiphon.sandbox._monty import engine as monty
from antiphon.sandbox._stop import Stop

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from antiphon.sandbox._probe import Probe

__all__ = ["ENGINES", "Engine", "EngineName", "EngineSession", "Kind", "Stopper", "choose", "probe"]

EngineName = Literal["auto", "monty"]
"""``auto``, or the engine that shall run the code."""


class Stopper(Protocol):
    """Stops the run that it is given to."""

    def stop(self, reason: str) -> None:
        """Stops it; the first reason counts."""


class EngineSession(Protocol):
    """An interpreter that keeps its names from run to run."""

    def run(self, job: Any, call: Any, stop: Any) -> dict[str, Any]:
        """Runs a job among the names of those before it."""

    def close(self) -> None:
        """Ends it."""


class Engine(Protocol):
    """What runs jobs."""

    def run(self, job: Any, call: Any, stop: Any) -> dict[str, Any]:
        """Runs a job in a clean interpreter; returns when it has ended, however it did."""

    def session(self) -> EngineSession:
        """Opens an interpreter that is kept."""

    def close(self) -> None:
        """Ends every worker."""


@dataclass(frozen=True, slots=True)
class Kind:
    """An engine that can be chosen.

    Attributes:
        probe: finds out what it promises here.
        make: makes one for its settings.
        stopper: makes what stops a run of it.
        packages: whether its interpreter is this one, with packages of this environment.
        pauses: whether a run can pause at a call and go on in another process.
        by_choice: whether `auto` may take it.
    """

    probe: Callable[[], Probe]
    make: Callable[[Mapping[str, Any]], Engine]
    stopper: Callable[[], Stopper]
    packages: bool = True
    pauses: bool = False
    by_choice: bool = True


ENGINES: dict[str, Kind] = {
    "monty": Kind(monty.probe, monty.MontyEngine, Stop, packages=False, pauses=True),
}
"""The engines by name, the strongest first."""


@functools.cache
def probe(name: str) -> Probe:
    """What an engine promises here; found out once in a process."""
    return ENGINES[name].probe()


def choose(name: str, *, packages: bool, pauses: bool) -> str:
    """The engine to take.

    Args:
        name: of an engine, or ``auto``.
        packages: whether packages of this environment are needed.
        pauses: whether runs shall be able to pause.

    Raises:
        ValidationError: there is no such engine, or it cannot do what is needed
            (``sandbox_engine_invalid``).
        SandboxUnavailable: it, or every engine that could, does not pass its probe.
    """
    if name != "auto" and name not in ENGINES:
        known = ", ".join(["auto", *ENGINES])
        raise ValidationError(
            f"a sandbox has no such engine: {name}",
            code="sandbox_engine_invalid",
            hint=f"the engines are {known}",
        )
    refusals: dict[str, str] = {}
    for each in (
        [name] if name != "auto" else [key for key, kind in ENGINES.items() if kind.by_choice]
    ):
        lack = _lack(ENGINES[each], packages=packages, pauses=pauses)
        if lack is None:
            found = probe(each)
            if found["ok"]:
                return each
            lack = "; ".join(found["missing"])
        elif name != "auto":
            raise ValidationError(
                f"the engine `{name}` {lack}", code="sandbox_engine_invalid", hint="take another"
            )
        refusals[each] = lack
    told = "; ".join(f"`{each}`: {why}" for each, why in refusals.items())
    raise SandboxUnavailable(
        f"no engine for the sandbox can be used here: {told}",
        code="sandbox_unavailable",
        details={"engines": refusals},
        hint="install an extra: pip install 'antiphon[monty]'; `antiphon doctor` shows more",
    )


def _lack(kind: Kind, *, packages: bool, pauses: bool) -> str | None:
    if packages and not kind.packages:
        return "runs no packages"
    if pauses and not kind.pauses:
        return "cannot pause"
    return None
