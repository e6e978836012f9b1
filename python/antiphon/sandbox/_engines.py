"""The engines, what each promises here, and which one is taken."""

from __future__ import annotations

import functools
import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, Protocol

from antiphon._antiphon import Stopper as NativeStopper
from antiphon.errors import SandboxUnavailable, ValidationError
from antiphon.sandbox._monty import engine as monty
from antiphon.sandbox._native import NativeEngine, native_probe
from antiphon.sandbox._stop import Stop
from antiphon.sandbox._wasm import engine as wasm

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping

    from antiphon.sandbox._probe import Probe

__all__ = [
    "ENGINES",
    "Engine",
    "EngineName",
    "EngineSession",
    "Kind",
    "Stopper",
    "accept_no_isolation",
    "choose",
    "layers",
    "probe",
]

EngineName = Literal["auto", "process", "wasm", "monty", "subprocess"]
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
        packages: those that it brings along; ``None`` if its interpreter is this one and takes
            them from this environment.
        pauses: whether a run can pause at a call and go on in another process.
        tables: whether it takes Arrow whatever packages there are.
        files: whether it can show files at places of their own.
        by_choice: whether `auto` may take it.
        hears: whether Ctrl-C ends a run of it on this thread without a stopper.
    """

    probe: Callable[[], Probe]
    make: Callable[[Mapping[str, Any]], Engine]
    stopper: Callable[[], Stopper]
    packages: frozenset[str] | None = None
    pauses: bool = False
    tables: bool = False
    files: bool = True
    by_choice: bool = True
    hears: bool = False


ENGINES: dict[str, Kind] = {
    "process": Kind(lambda: native_probe("process"), NativeEngine, NativeStopper, hears=True),
    "wasm": Kind(wasm.probe, wasm.WasmEngine, Stop, packages=wasm.PACKAGES, tables=True),
    "monty": Kind(monty.probe, monty.MontyEngine, Stop, packages=frozenset(), pauses=True),
    "subprocess": Kind(
        lambda: native_probe("subprocess"),
        NativeEngine,
        NativeStopper,
        files=False,
        by_choice=False,
        hears=True,
    ),
}
"""The engines by name, the strongest first."""


@functools.cache
def probe(name: str, *, landlock_only: bool = False) -> Probe:
    """What an engine promises here; found out once in a process.

    Args:
        name: the engine's.
        landlock_only: whether `process` may be used with Landlock and without a private root.
    """
    if landlock_only and name == "process":
        return native_probe(name, landlock_only=True)
    return ENGINES[name].probe()


def layers(found: Probe) -> tuple[str, ...]:
    """The names of the layers that hold for every run of an engine with this probe."""
    # A control group is made where that can be done, and relied on by nobody.
    held = (name for name, state in found["layers"].items() if state and name != "cgroup")
    return tuple(sorted(held))


def choose(
    name: str,
    *,
    packages: Collection[str] = (),
    files: bool = False,
    pauses: bool = False,
    landlock_only: bool = False,
) -> str:
    """The engine to take.

    Args:
        name: of an engine, or ``auto``.
        packages: that are needed.
        files: whether files shall be shown.
        pauses: whether runs shall be able to pause.
        landlock_only: as `probe`.

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
    broken: list[str] = []
    automatic = [each for each, kind in ENGINES.items() if kind.by_choice]
    for each in automatic if name == "auto" else [name]:
        lack = _lack(ENGINES[each], packages, files=files, pauses=pauses)
        if lack is None:
            found = probe(each, landlock_only=landlock_only)
            lack = _lack_here(found, files=files)
            if lack is None:
                if broken:
                    _warn_of_weaker(each, "; ".join(broken))
                return each
            broken.append(f"`{each}`: {lack}")
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
        hint="install an extra: pip install 'antiphon[wasm]' or 'antiphon[monty]'; "
        "`antiphon doctor` shows more",
    )


def _lack_here(found: Probe, *, files: bool) -> str | None:
    """What keeps an engine that could do it from doing it on this machine."""
    if not found["ok"]:
        return "; ".join(found["missing"])
    if files and found["isolation"] == "landlock":
        return "shows no files without a private root: pass their content as inputs"
    return None


@functools.cache
def _warn_of_weaker(taken: str, why: str) -> None:
    warnings.warn(
        f"the sandbox takes the engine `{taken}`, because a stronger one cannot be used here: "
        f"{why}; name the engine that you want, as in `Sandbox({taken!r})`",
        RuntimeWarning,
        stacklevel=5,
    )


def accept_no_isolation(*, given: bool) -> None:
    """Lets the engine that isolates nothing be used, and warns of it once in a process.

    Args:
        given: whether the caller accepts that.

    Raises:
        ValidationError: the caller does not (``sandbox_engine_invalid``).
    """
    if given is not True:
        raise ValidationError(
            "the engine `subprocess` keeps the code from nothing on this machine",
            code="sandbox_engine_invalid",
            hint="pass `i_accept_no_isolation=True` if you would run the code yourself",
        )
    _warn_once()


@functools.cache
def _warn_once() -> None:
    warnings.warn(
        "code runs in a sandbox without isolation: it can do whatever this user can",
        RuntimeWarning,
        stacklevel=5,
    )


def _lack(kind: Kind, packages: Collection[str], *, files: bool, pauses: bool) -> str | None:
    absent = [] if kind.packages is None else sorted(set(packages) - kind.packages)
    if absent:
        return f"has no package: {', '.join(absent)}"
    if files and not kind.files:
        return "has no place for files of its own: pass their content as inputs"
    if pauses and not kind.pauses:
        return "cannot pause"
    return None
