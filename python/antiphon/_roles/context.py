"""The context of an agent's ``act`` in a role."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NoReturn

from antiphon._json_values import encode_or
from antiphon._node.human_input import HumanInput
from antiphon._orchestrator.context import AgentContext
from antiphon._orchestrator.flow import AgentNames
from antiphon.budget import Budget
from antiphon.errors import StateError

if TYPE_CHECKING:
    from antiphon._antiphon import Context
    from antiphon._orchestrator.agent_spec import Spec
    from antiphon._orchestrator.model_request import ModelRequest


class RoleContext(AgentContext[Any]):
    """The context of an agent's ``act`` in a role of a system.

    It is the `antiphon.AgentContext` of a team's agents, but a role only replies: the system
    decides what runs next, so `goto`, `send`, `end` and `ask` are refused. `call`, `model`, `emit`
    and the rest work as in a team. `attempt` counts the attempts of the agent's own ``retry``; the
    state's ``attempt`` counts the requests of the system.
    """

    __slots__ = ("_role",)

    def __init__(self, ctx: Context, spec: Spec, role: str) -> None:
        super().__init__(ctx, spec, AgentNames(()), errors=(), human_input=HumanInput(ctx))
        self._role = role

    @property
    def role(self) -> str:
        """The role's name, such as ``planner`` or ``critic``."""
        return self._role

    @property
    def context(self) -> Any:
        """What the caller passed as ``context=`` with the question; ``None`` if nothing."""
        caller: Any = self._ctx.context
        return caller.context

    @property
    def thread(self) -> str | None:
        """The thread that stores the question; ``None`` without one."""
        caller: Any = self._ctx.context
        thread: str | None = caller.thread
        return thread

    @property
    def budget(self) -> Budget:
        """Without limits: a system has no budget, and the engine enforces the agent's own."""
        return Budget()

    def _owner(self) -> object:
        return self._ctx.context

    def emit(self, payload: Any, name: str | None = None) -> None:
        """Emits an event of kind ``custom``.

        Args:
            payload: the event's ``data``; a non-dict payload is wrapped as ``{"value": payload}``,
                and a value that JSON lacks becomes its type's name.
            name: the event's name. Default: ``custom``.
        """
        self._ctx.emit(encode_or(payload, f"<{type(payload).__name__}>"), name)

    def goto(self, *_: Any, **__: Any) -> NoReturn:
        """Refused: the system decides what runs next.

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
        """Refused: a role cannot pause its system.

        Raises:
            StateError: always (``role_verb_unavailable``).
        """
        self._refuse("ask")

    def _refuse(self, verb: str) -> NoReturn:
        raise StateError(
            f"an agent in the role {self._role} has no `ctx.{verb}`: {self.agent}",
            code="role_verb_unavailable",
            details={"role": self._role, "verb": verb},
            hint="return the reply of the role; the system decides what runs next",
        )

    def _request(
        self, prompt: Any, model: Any, output: Any, options: dict[str, Any]
    ) -> ModelRequest:
        request = super()._request(prompt, model, output, options)
        self._ctx.when_cancelled(request.run.cancel)
        return request
