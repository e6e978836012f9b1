"""Who plays a role, as the engine takes it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from antiphon._model.adapters import is_chat_model
from antiphon._orchestrator.flow import member
from antiphon._role.agent import agent_role
from antiphon._role.played import played_by
from antiphon.agent import Agent
from antiphon.errors import ValidationError
from antiphon.models import Model
from antiphon.tools import encode_result

if TYPE_CHECKING:
    from collections.abc import Callable

    from antiphon._antiphon import Context
    from antiphon._role.part import Part

__all__ = ["as_role"]


def as_role(part: Part, given: Any) -> dict[str, Any]:
    """An agent, a model, or a callable of the brief.

    Args:
        part: the role.
        given: who plays it.

    Raises:
        ValidationError: it is none of these (``role_invalid``), or as `antiphon.models.get`
            or `agent_role`.
        AuthError: as `antiphon.models.get`.
    """
    if isinstance(given, Agent) or (isinstance(given, type) and issubclass(given, Agent)):
        return agent_role(part, member(given))
    if isinstance(given, str | list | Model) or is_chat_model(given):
        return {"model": played_by(given, f"the {part.name}")}
    if callable(given) and not isinstance(given, type):
        return {"act": _acting(given)}
    raise ValidationError(
        f"the {part.name} has to be an agent, a model's name, a model or a function: "
        f"{type(given).__name__}",
        code="role_invalid",
        details={"role": part.name},
        hint='for instance "openai:gpt-5-mini", `antiphon.models.scripted([...])`, a subclass of '
        "`antiphon.Agent`, or a function that takes the brief and returns the reply",
    )


def _acting(function: Callable[[dict[str, Any]], Any]) -> Callable[..., Any]:
    def act(brief: dict[str, Any], ctx: Context) -> Any:
        question: Any = ctx.context
        return encode_result(question.call(function, brief, on=ctx))

    return act
