"""The contract between a sandbox and its engines.

An engine is a module with an `EngineKind`; `_engines.ENGINES` lists them. Nothing else in the
package names one.
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from typing import TYPE_CHECKING, Any, Protocol, TypedDict

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

__all__ = ["Engine", "EngineKind", "EngineSession", "Probe", "probe_package", "session_ended"]


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


def probe_package(
    engine: str, isolation: str, package: str, use: Callable[[], dict[str, Any]]
) -> Probe:
    """Probe an engine that is a Python package: `use` tries it, and returns its layers."""
    found = Probe(engine=engine, ok=False, isolation=isolation, version="", layers={}, missing=[])
    try:
        found["version"] = version(package)
        found["layers"] = use()
        found["ok"] = True
    except (PackageNotFoundError, ImportError):
        found["missing"] = [f"the package {package}: pip install 'antiphon[{engine}]'"]
    except Exception as error:  # noqa: BLE001 - reported as the reason
        found["missing"] = [f"{package} does not work here: {error}"]
    return found


class EngineSession(Protocol):
    """An interpreter that keeps its variables between runs."""

    def run(self, job: Any, call: Any, cancel: Any) -> dict[str, Any]:
        """Run a job with the variables of the jobs before it."""

    def close(self) -> None:
        """End the interpreter."""


class Engine(Protocol):
    """Runs jobs."""

    def run(self, job: Any, call: Any, cancel: Any) -> dict[str, Any]:
        """Run a job in a clean interpreter; return its outcome, also when it failed."""

    def session(self) -> EngineSession:
        """Open an interpreter that keeps its variables."""

    def close(self) -> None:
        """End every worker."""


def session_ended(**about: str) -> dict[str, Any]:
    """Return the outcome of a job for a session whose interpreter has ended."""
    fault = {"kind": "crashed", "message": "the session has ended with an earlier run"}
    return {"error": fault, "usage": {}, **about}


@dataclass(frozen=True, slots=True, kw_only=True)
class EngineKind:
    """The properties of an engine, and how to create one.

    Attributes:
        probe: finds out what the engine provides on this machine.
        make: creates an engine from its settings.
        packages: the packages that it contains; ``None`` if it takes them from this environment.
        pauses: whether a run can pause at a call and resume in another process.
        tables: whether it takes Arrow without any package.
        files: whether it can show files to the code.
        by_choice: whether ``auto`` may choose it.
        ends_runs: whether `Engine.close` ends its runs, also while their worker starts.
    """

    probe: Callable[..., Probe]
    make: Callable[[Mapping[str, Any]], Engine]
    packages: frozenset[str] | None = None
    pauses: bool = False
    tables: bool = False
    files: bool = True
    by_choice: bool = True
    ends_runs: bool = False
