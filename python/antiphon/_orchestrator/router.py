"""A model that chooses who of a team is next."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from antiphon._orchestrator.flow import member
from antiphon._orchestrator.output import Output
from antiphon._orchestrator.spec import Spec, read_spec
from antiphon.agent import Agent
from antiphon.errors import ValidationError

if TYPE_CHECKING:
    from collections.abc import Sequence

FINISH = "finish"
"""What a router answers to end the run."""

_TASK = """\
You lead a team. Read the conversation and choose who acts next.
Choose `finish` as soon as the question is answered.

The team:
"""


class Router(Agent):
    """Chooses who of the team acts next."""


def read_router(given: Any, specs: Sequence[Spec]) -> Spec:
    """The agent that chooses.

    Args:
        given: an agent, or whatever stands for a model.
        specs: those it chooses among.

    Raises:
        ValidationError: its name is taken, an agent is called ``finish``, or it has an
            output of its own (``team_invalid``); or the agent is refused.
    """
    is_agent = isinstance(given, Agent) or (isinstance(given, type) and issubclass(given, Agent))
    spec = read_spec(member(given) if is_agent else Router(model=given))
    names = [other.name for other in specs]
    if spec.name in names or FINISH in names:
        taken = spec.name if spec.name in names else FINISH
        raise ValidationError(
            f"a team with a router cannot have an agent called: {taken}",
            code="team_invalid",
            details={"name": taken},
            hint='give it another: `name="..."`',
        )
    if spec.run is not None:
        return spec
    if spec.output is not None:
        raise ValidationError(
            f"a router answers with a choice, it takes no `output` of its own: {spec.name}",
            code="team_invalid",
        )
    own = "" if isinstance(spec.agent, Router) else f"{spec.instructions}\n\n"
    return replace(spec, instructions=own + _TASK + _listing(specs), output=_choice(names))


def _listing(specs: Sequence[Spec]) -> str:
    lines = (f"- {spec.name}: {spec.description or 'no description'}" for spec in specs)
    return "\n".join(lines)


def _choice(names: Sequence[str]) -> Output:
    choice = {"type": "string", "enum": [*names, FINISH]}
    schema = {
        "type": "object",
        "properties": {"next": choice},
        "required": ["next"],
        "additionalProperties": False,
    }
    return Output(schema, "the choice of a router")
