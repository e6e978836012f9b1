"""The contract between a sandbox and its engines.

An engine is a module with an `EngineKind`; `_engines.ENGINES` lists them. Nothing else in the
package names one.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol, TypedDict

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

__all__ = ["CancellationToken", "Engine", "EngineKind", "EngineSession", "Probe"]


class Probe(TypedDict):
    """The properties of an engine on this machine.

    Keys:
        engine: its name.
        ok: whether it can be used.
        isolation: the barrier between the code and the machine.
        version: the version of the interpreter that runs the code.
        layers: each layer of the isolation with its state.
        missing: what is missing, as text for a person.
    """

    engine: str
    ok: bool
    isolation: str
    version: str
    layers: dict[str, Any]
    missing: list[str]


class CancellationToken(Protocol):
    """Stops the run that it was passed to."""

    def stop(self, reason: str) -> None:
        """Stop the run; the first reason counts."""


class EngineSession(Protocol):
    """An interpreter that keeps its variables between runs."""

    def run(self, job: Any, call: Any, stop: Any) -> dict[str, Any]:
        """Run a job with the variables of the jobs before it."""

    def close(self) -> None:
        """End the interpreter."""


class Engine(Protocol):
    """Runs jobs."""

    def run(self, job: Any, call: Any, stop: Any) -> dict[str, Any]:
        """Run a job in a clean interpreter; return its outcome, also when it failed."""

    def session(self) -> EngineSession:
        """Open an interpreter that keeps its variables."""

    def close(self) -> None:
        """End every worker."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EngineKind:
    """The properties of an engine, and how to create one.

    Attributes:
        probe: finds out what the engine provides on this machine.
        make: creates an engine from its settings.
        stopper: creates what stops a run.
        packages: the packages that it contains; ``None`` if it takes them from this environment.
        pauses: whether a run can pause at a call and resume in another process.
        tables: whether it takes Arrow without any package.
        files: whether it can show files to the code.
        by_choice: whether ``auto`` may choose it.
        stops_itself: whether Ctrl-C and `Engine.close` end its runs without a stopper.
    """

    probe: Callable[..., Probe]
    make: Callable[[Mapping[str, Any]], Engine]
    stopper: Callable[[], CancellationToken]
    packages: frozenset[str] | None = None
    pauses: bool = False
    tables: bool = False
    files: bool = True
    by_choice: bool = True
    stops_itself: bool = False
