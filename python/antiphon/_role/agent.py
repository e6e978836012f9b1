"""An agent as a role: its own ``run``, or a model with what it brings along."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from antiphon._antiphon import Command, Send
from antiphon._json_values import encode_result
from antiphon._orchestrator.agent_spec import read_spec
from antiphon._orchestrator.state import fields_of, is_record
from antiphon._role.context import RoleContext
from antiphon._role.played import as_tools, played_by
from antiphon._tool.approval import refuse_persons
from antiphon.agent import Agent
from antiphon.errors import ModelOutputError, StateError, ToolError, ValidationError

if TYPE_CHECKING:
    from antiphon._antiphon import Context
    from antiphon._orchestrator.agent_spec import Spec
    from antiphon._role.part import Part

__all__ = ["agent_role"]

_REFUSED = {
    "reads": "a role is given what it needs of the state",
    "writes": "a role's reply goes where the system wants it",
    "on_error": "the system has its own way with errors: it asks again, or ends the question",
}


def agent_role(part: Part, agent: Agent) -> dict[str, Any]:
    """An agent as the engine takes it.

    Args:
        part: the role it plays.
        agent: declared, or with a ``run`` of its own.

    Raises:
        ValidationError: it has an option that a role has no use for (``role_invalid``), or as
            an agent of a team.
        AuthError: its model wants a key, and there is none.
    """
    spec = read_spec(agent, needs_model=False)
    for option, reason in _REFUSED.items():
        if _sets(agent, option):
            raise ValidationError(
                f"agent `{spec.name}` plays the {part.name}, which takes no such option: {option}",
                code="role_invalid",
                details={"role": part.name, "option": option},
                hint=reason,
            )
    shared: dict[str, Any] = {"retry": list(spec.retry) or None, "timeout": spec.timeout}
    if spec.budget is not None:
        shared["limits"] = spec.budget.limits()
    if spec.run is not None:
        refuse_persons(spec.tools, "a ready system", "use it in a team of agents")
        act = _Playing(part, spec)
        return {"act": act, "tools": [dict(tool.spec) for tool in spec.tools], **shared}
    return {**_declared(agent, spec), **shared}


def _declared(agent: Agent, spec: Spec) -> dict[str, Any]:
    made: dict[str, Any] = {"tags": {"agent": spec.name}}
    if spec.model is not None:
        made["model"] = played_by(spec.model, f"agent `{spec.name}`")
    if spec.instructions:
        made["instructions"] = spec.instructions
    if _sets(agent, "tools"):
        made["tools"] = as_tools(spec.tools)
    if spec.output is not None:
        made["output"] = spec.output.schema
    return made | {key: value for key, value in spec.limits.items() if _sets(agent, key)}


def _sets(agent: Agent, option: str) -> bool:
    """Whether the agent or its class says something of that option."""
    kinds = type(agent).__mro__
    return option in vars(agent) or any(
        option in vars(kind) for kind in kinds[: kinds.index(Agent)]
    )


class _Playing:
    """Has an agent's own ``run`` play a role."""

    def __init__(self, part: Part, spec: Spec) -> None:
        self._part = part
        self._spec = spec

    def __call__(self, brief: dict[str, Any], own: Context) -> Any:
        question: Any = own.context
        ctx = RoleContext(own, self._spec, self._part.name)
        reply = question.call(self._spec.run, self._part.view(brief), ctx, on=own)
        return self._read(reply)

    def _read(self, reply: Any) -> Any:
        part = self._part
        if isinstance(reply, Command | Send):
            raise StateError(
                f"an agent that plays the {part.name} cannot say who is next: {self._spec.name}",
                code="role_verb_unavailable",
                details={"role": part.name},
                hint=self._hint(),
            )
        if isinstance(reply, str) and part.speaks:
            return {**dict.fromkeys(part.replies, ""), part.replies[0]: reply}
        if not is_record(reply):
            raise self._misfit("should be a dict or another record but is", type(reply).__name__)
        return self._fitting({key: self._plain(key, one) for key, one in _fields(reply).items()})

    def _fitting(self, plain: dict[str, Any]) -> dict[str, Any]:
        """The reply itself, if the agent's own ``output`` takes it."""
        if self._spec.output is not None:
            try:
                self._spec.output.construct(plain)
            except ValidationError as error:
                complaint = "does not fit the `output` of its agent"
                raise self._misfit(complaint, error.message) from error
        return plain

    def _plain(self, key: str, value: Any) -> Any:
        try:
            return encode_result(value)
        except ToolError:
            kind = type(value).__name__
            raise self._misfit(f"has something as `{key}` that JSON lacks", kind, key) from None

    def _misfit(self, complaint: str, found: str, field: str = "") -> ModelOutputError:
        return ModelOutputError(
            f"the reply of the {self._part.name} {complaint}: {found}",
            code="role_reply_invalid",
            details={"role": self._part.name, "field": field},
            hint=self._hint(),
        )

    def _hint(self) -> str:
        fields = ", ".join(f"`{field}`" for field in self._part.replies)
        return f"`run` of agent `{self._spec.name}` returns a dict with {fields}"


def _fields(reply: Any) -> dict[str, Any]:
    """All fields of a record; of a pydantic model those too that were left at their defaults."""
    names = getattr(type(reply), "model_fields", None)
    return fields_of(reply) if names is None else {name: getattr(reply, name) for name in names}
