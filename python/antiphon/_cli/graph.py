"""``antiphon graph``: draws a ready system, an agent, a team or a graph."""

from __future__ import annotations

from typing import TYPE_CHECKING

from antiphon._cli.exit_codes import Exit
from antiphon._cli.target import import_object
from antiphon._cli.terminal import write
from antiphon.agent import Agent
from antiphon.errors import ValidationError
from antiphon.graph import CompiledGraph
from antiphon.models import scripted
from antiphon.orchestrator import Orchestrator
from antiphon.systems import System, find

if TYPE_CHECKING:
    import argparse

    from antiphon._diagram import Diagram


def graph(options: argparse.Namespace) -> Exit:
    """Prints Mermaid text, or an SVG image.

    Raises:
        ValidationError: no ready system has the name (``system_unknown``), or there is no such
            object, or none that has a diagram (``team_unknown``).
    """
    diagram = _diagram(options.target)
    write((diagram.draw_svg() if options.svg else diagram.draw_mermaid()).rstrip("\n"))
    return Exit.ANSWERED


def _diagram(target: str) -> Diagram:
    if ":" not in target:
        # No model is asked: the graph of a system is the same with any.
        return find(target.replace("-", "_"))(scripted([])).graph
    found = import_object(target, "TARGET")
    if isinstance(found, CompiledGraph):
        return found.get_graph()
    if isinstance(found, Agent | Orchestrator | System):
        return found.graph
    raise ValidationError(
        f"`{target}` is not an agent, orchestrator, compiled graph or system: "
        f"{type(found).__name__}",
        code="team_unknown",
    )
