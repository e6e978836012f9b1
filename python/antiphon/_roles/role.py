"""The roles of ready systems, and what implements one: an agent, a model or a function."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from antiphon._antiphon import Command, Send
from antiphon._json_values import encode_result
from antiphon._model.adapters import is_chat_model
from antiphon._orchestrator.agent_spec import read_spec, required_arguments
from antiphon._orchestrator.declaration import AgentDeclaration, TeamBase, is_agent
from antiphon._orchestrator.flow import member
from antiphon._roles.callbacks import as_tools, model_adapter
from antiphon._roles.context import RoleContext
from antiphon._roles.reply import misfit, read_reply
from antiphon._roles.system_role import SystemBase, SystemRole
from antiphon._tool.approval import refuse_persons
from antiphon.errors import StateError, ValidationError
from antiphon.models import Model

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from antiphon._antiphon import Context
    from antiphon._orchestrator.agent_spec import Spec
    from antiphon._roles.spec import RoleSpec
    from antiphon.tools import Tool

_REFUSED = {
    "reads": "the system passes the state that a role needs",
    "writes": "the system places the reply of a role",
    "on_error": "the system handles errors: it asks again, or ends the question",
    "fallback": "the system handles errors: it asks again, or ends the question",
    "handoffs": "the system decides what runs next",
}


def as_role(spec: RoleSpec, given: Any) -> dict[str, Any]:
    """What fills a role, as the engine takes it.

    Args:
        spec: the role.
        given: an agent, a model, a function of the brief (and the context), a team, or another
            system.

    Raises:
        ValidationError: it is none of these, the agent has an option that a role does not take,
            the system has not the fields of the reply, or the role makes one request and it is a
            team or a system (``role_invalid``); or as `antiphon.models.get`.
        AuthError: as `antiphon.models.get`.
    """
    if is_agent(given):
        return _agent_role(spec, member(given))
    if isinstance(given, str | list | Model) or is_chat_model(given):
        return {"model": model_adapter(given, f"the {spec.name}")}
    if isinstance(given, TeamBase | SystemBase):
        if spec.asks_once:
            raise _asks_more(spec, given)
        return {"act": SystemRole(spec, given)}
    if callable(given) and not isinstance(given, type):
        return {"act": _acting(spec, given)}
    raise ValidationError(
        f"the {spec.name} must be an agent, a model's name, a model, a function or a system: "
        f"{type(given).__name__}",
        code="role_invalid",
        details={"role": spec.name},
        hint='for instance "openai:gpt-5-mini", `antiphon.models.scripted([...])`, a subclass of '
        "`antiphon.Agent`, or a function that takes the brief and returns the reply",
    )


def _asks_more(spec: RoleSpec, given: TeamBase | SystemBase) -> ValidationError:
    kind = "a team" if isinstance(given, TeamBase) else "a system"
    return ValidationError(
        f"{kind} makes more than one request as the {spec.name}: {type(given).__name__}",
        code="role_invalid",
        details={"role": spec.name},
        hint="give an agent, a model, or a function of the brief that asks as it needs",
    )


def tools_in(role: Mapping[str, Any]) -> tuple[Tool, ...]:
    """The tools that the implementation of a role brings; see `as_role`."""
    act = role.get("act")
    if act is not None:
        return act.tools if isinstance(act, _AgentAct) else ()
    return tuple(callback.tool for _, callback, _ in role.get("tools") or ())


_BRIEF_AND_CONTEXT = 2


def _acting(role: RoleSpec, function: Callable[..., Any]) -> Callable[..., Any]:
    takes_context = required_arguments(function) == _BRIEF_AND_CONTEXT
    spec = read_spec(AgentDeclaration(name=role.name), needs_model=False)

    def act(brief: dict[str, Any], ctx: Context) -> Any:
        caller: Any = ctx.context
        more = (RoleContext(ctx, spec, role.name),) if takes_context else ()
        return encode_result(caller.call(function, brief, *more, on=ctx))

    return act


def _agent_role(role: RoleSpec, agent: AgentDeclaration) -> dict[str, Any]:
    spec = read_spec(agent, needs_model=False)
    for option, reason in _REFUSED.items():
        if _sets(agent, option):
            raise ValidationError(
                f"agent `{spec.name}` has an option that the {role.name} does not take: {option}",
                code="role_invalid",
                details={"role": role.name, "option": option},
                hint=reason,
            )
    shared: dict[str, Any] = {"retry": list(spec.retry) or None, "timeout": spec.timeout}
    if spec.budget is not None:
        shared["limits"] = spec.budget.limits()
    if spec.act is not None:
        where = f"the code of the role `{role.name}`"
        way_out = "give the tool to an agent without `act`, whose model calls it"
        refuse_persons(spec.tools, where, way_out)
        act = _AgentAct(role, spec)
        return {"act": act, "tools": [dict(tool.spec) for tool in spec.tools], **shared}
    return {**_declaration(role, agent, spec), **shared}


def _declaration(role: RoleSpec, agent: AgentDeclaration, spec: Spec) -> dict[str, Any]:
    if not isinstance(spec.instructions, str):
        raise ValidationError(
            f"`instructions` of agent `{spec.name}` must be a text in the role `{role.name}`, "
            f"because they precede the role's own: {type(spec.instructions).__name__}",
            code="role_invalid",
            details={"role": role.name, "option": "instructions"},
            hint="give a text; for one that differs between calls, implement `act(self, brief, "
            "ctx)` and ask with `ctx.model([...])`",
        )
    made: dict[str, Any] = {"tags": {"agent": spec.name}}
    if spec.model is not None:
        made["model"] = model_adapter(spec.model, f"agent `{spec.name}`")
    if spec.instructions:
        made["instructions"] = spec.instructions
    if _sets(agent, "tools"):
        made["tools"] = as_tools(spec.tools)
    if spec.output is not None:
        made["output"] = spec.output.schema
    if _sets(agent, "temperature"):
        made["temperature"] = spec.limits.get("temperature")
    return made | {key: value for key, value in spec.limits.items() if _sets(agent, key)}


def _sets(agent: AgentDeclaration, option: str) -> bool:
    """Whether the agent or its class says something of that option."""
    kinds = type(agent).__mro__
    return option in vars(agent) or any(
        option in vars(kind) for kind in kinds[: kinds.index(AgentDeclaration)]
    )


class _AgentAct:
    """An agent's own ``act`` as a role."""

    def __init__(self, role: RoleSpec, spec: Spec) -> None:
        self._role = role
        self._spec = spec

    @property
    def tools(self) -> tuple[Tool, ...]:
        """The tools of the agent."""
        return self._spec.tools

    def __call__(self, brief: dict[str, Any], call: Context) -> Any:
        caller: Any = call.context
        ctx = RoleContext(call, self._spec, self._role.name)
        reply = caller.call(self._spec.act, self._role.view(brief), ctx, on=call)
        return self._read(reply)

    def _read(self, reply: Any) -> Any:
        role = self._role
        if isinstance(reply, Command | Send):
            raise StateError(
                f"an agent in the role {role.name} cannot choose the next agent: {self._spec.name}",
                code="role_verb_unavailable",
                details={"role": role.name},
                hint=self._hint(),
            )
        plain = read_reply(role, reply, self._hint())
        if self._spec.output is not None:
            try:
                self._spec.output.construct(plain)
            except ValidationError as error:
                complaint = "does not fit the `output` of its agent"
                raise misfit(role, complaint, error.message, self._hint()) from error
        return plain

    def _hint(self) -> str:
        fields = ", ".join(f"`{field}`" for field in self._role.replies)
        return f"`act` of agent `{self._spec.name}` returns a dict with {fields}"
