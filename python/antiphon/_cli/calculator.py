"""The sandbox as the calculator of a system that has an expert."""

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
    """The tools of the expert: a sandbox, wherever this machine offers one with isolation.

    Args:
        options: ``no_tools`` asks for none.
        system: the system; one without the role gets none.
        view: reports that the machine has no sandbox.
    """
    if options.no_tools or "expert_tools" not in inspect.signature(system).parameters:
        return {}
    from antiphon.sandbox import compute

    try:
        return {"expert_tools": [compute()]}
    except SandboxUnavailable as error:
        if view is not None:
            view.say(f"the expert has no calculator: {error.message}")
        return {}
