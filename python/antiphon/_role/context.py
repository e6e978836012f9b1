"""What the ``run`` of an agent that plays a role can reach beside its state."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NoReturn

from antiphon._json_values import encode_or
from antiphon._node.human_input import HumanInput
from antiphon._orchestrator.context import AgentContext
from antiphon._orchestrator.flow import Roster
from antiphon.budget import Budget
from antiphon.errors import StateError

if TYPE_CHECKING:
    from antiphon._antiphon import Context
    from antiphon._orchestrator.agent_spec import Spec
    from antiphon._orchestrator.model_request import ModelRequest

__all__ = ["RoleContext"]


class RoleContext(AgentContext):
    """What the ``run`` of an agent can reach that plays a role in a system.

    It is the `antiphon.AgentContext` of a team's agents, but a role only replies: what comes
    next is for the system to say, so `goto`, `send`, `end` and `ask` are refused. `call`,
    `model`, `emit` and the rest work as they do in a team; `attempt` counts the attempts that
    the agent's own ``retry`` allows, the state's ``attempt`` how often the system has asked.
    """

    __slots__ = ("_role",)

    def __init__(self, ctx: Context, spec: Spec, role: str) -> None:
        super().__init__(ctx, spec, Roster(()), errors=(), asking=HumanInput(ctx))
        self._role = role

    @property
    def role(self) -> str:
        """Which role it is: ``planner``, ``critic``, ``researcher``, ``expert``, ``finalizer``."""
        return self._role

    @property
    def budget(self) -> Budget:
        """Without limits: a review loop has no budget, and an agent's own the engine keeps."""
        return Budget()

    def emit(self, payload: Any, name: str | None = None) -> None:
        """Tells whoever watches the question, as an event of kind ``custom``.

        Args:
            payload: becomes the event's ``data``; what is no dict stands under ``value``, what
                JSON lacks becomes its type's name.
            name: the event's name. Default: ``custom``.
        """
        self._ctx.emit(encode_or(payload, f"<{type(payload).__name__}>"), name)

    def goto(self, *_: Any, **__: Any) -> NoReturn:
        """Refused: the system says what comes next.

        Raises:
            StateError: always (``role_verb_unavailable``).
        """
        self._refuse("goto")

    def send(self, *_: Any, **__: Any) -> NoReturn:
        """Refused, as `goto` is.

        Raises:
            StateError: always (``role_verb_unavailable``).
        """
        self._refuse("send")

    def end(self, *_: Any, **__: Any) -> NoReturn:
        """Refused, as `goto` is.

        Raises:
            StateError: always (``role_verb_unavailable``).
        """
        self._refuse("end")

    def ask(self, *_: Any, **__: Any) -> NoReturn:
        """Refused: a question to a review loop cannot be paused.

        Raises:
            StateError: always (``role_verb_unavailable``).
        """
        self._refuse("ask")

    def _refuse(self, verb: str) -> NoReturn:
        raise StateError(
            f"an agent that plays the {self._role} has no `ctx.{verb}`: {self.agent}",
            code="role_verb_unavailable",
            details={"role": self._role, "verb": verb},
            hint="return the reply of the role: the system decides what comes next",
        )

    def _inquiry(
        self, prompt: Any, model: Any, output: Any, options: dict[str, Any]
    ) -> ModelRequest:
        inquiry = super()._inquiry(prompt, model, output, options)
        self._ctx.when_cancelled(inquiry.run.cancel)
        return inquiry
