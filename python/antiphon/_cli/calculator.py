"""The calculator of a system that has an expert: a sandbox, or the built-in one."""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Any

from antiphon.errors import SandboxUnavailable

if TYPE_CHECKING:
    import argparse

    from antiphon._cli.progress import ProgressView
    from antiphon.systems import System


def calculator(
    options: argparse.Namespace, system: type[System[Any]], view: ProgressView | None
) -> dict[str, Any]:
    """The tools of the expert: a sandbox, or the built-in calculator on a machine without one.

    Args:
        options: ``no_tools`` asks for none.
        system: the system; one without the role gets none.
        view: reports that the machine has no sandbox.
    """
    if options.no_tools or "expert_tools" not in inspect.signature(system).parameters:
        return {}
    from antiphon.sandbox import compute
    from antiphon.tools import calculator as builtin_calculator

    try:
        return {"expert_tools": [compute()]}
    except SandboxUnavailable as error:
        if view is not None:
            view.say(f"the expert calculates without Python: {error.message}")
        return {"expert_tools": [builtin_calculator()]}
