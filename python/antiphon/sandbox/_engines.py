"""The registry of engines, and the choice of one."""

from __future__ import annotations

import functools
import warnings
from typing import TYPE_CHECKING, Literal

from antiphon.errors import SandboxUnavailable, ValidationError
from antiphon.sandbox._monty.engine import MONTY
from antiphon.sandbox._native import PROCESS, SUBPROCESS
from antiphon.sandbox._wasm.engine import WASM

if TYPE_CHECKING:
    from collections.abc import Collection

    from antiphon.sandbox._engine import EngineKind, Probe

__all__ = ["ENGINES", "EngineName", "accept_no_isolation", "choose", "layers", "probe"]

EngineName = Literal["auto", "process", "wasm", "monty", "subprocess"]
"""``auto``, or the name of an engine."""


ENGINES: dict[str, EngineKind] = {
    "process": PROCESS,
    "wasm": WASM,
    "monty": MONTY,
    "subprocess": SUBPROCESS,
}
"""The engines by name, the strongest first."""


@functools.cache
def probe(name: str, *, landlock_only: bool = False) -> Probe:
    """Probe an engine on this machine; the result is cached for the process.

    With `landlock_only`, Landlock without a private root suffices for `process`.
    """
    if landlock_only and name == "process":
        return PROCESS.probe(landlock_only=True)
    return ENGINES[name].probe()


def layers(found: Probe) -> tuple[str, ...]:
    """Return the names of the layers that hold for every run of an engine with this probe."""
    # A control group is used where one can be created; nothing relies on it.
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
    """Return the engine to use: the named one, or for ``auto`` the strongest that is suitable.

    Raises:
        ValidationError: there is no such engine, or it lacks a required property
            (``sandbox_engine_invalid``).
        SandboxUnavailable: it, or every suitable engine, fails its probe.
    """
    if name != "auto" and name not in ENGINES:
        known = ", ".join(["auto", *ENGINES])
        raise ValidationError(
            f"unknown sandbox engine: {name}",
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
    reasons = "; ".join(f"`{each}`: {why}" for each, why in refusals.items())
    raise SandboxUnavailable(
        f"no sandbox engine is available: {reasons}",
        code="sandbox_unavailable",
        details={"engines": refusals},
        hint="install an extra: pip install 'antiphon[wasm]' or 'antiphon[monty]'; "
        "`antiphon doctor` shows more",
    )


def _lack_here(found: Probe, *, files: bool) -> str | None:
    """Return why a suitable engine cannot be used on this machine, if so."""
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
    """Check the consent to the engine without isolation, and warn once per process."""
    if given is not True:
        raise ValidationError(
            "the engine `subprocess` provides no isolation",
            code="sandbox_engine_invalid",
            hint="pass `i_accept_no_isolation=True` for code that you trust",
        )
    _warn_once()


@functools.cache
def _warn_once() -> None:
    warnings.warn(
        "code runs in a sandbox without isolation: it has all permissions of this user",
        RuntimeWarning,
        stacklevel=5,
    )


def _lack(kind: EngineKind, packages: Collection[str], *, files: bool, pauses: bool) -> str | None:
    absent = [] if kind.packages is None else sorted(set(packages) - kind.packages)
    if absent:
        return f"has no package: {', '.join(absent)}"
    if files and not kind.files:
        return "cannot be given files: pass their content as inputs"
    if pauses and not kind.pauses:
        return "cannot pause"
    return None
