"""Agents as nodes of the engine's graph, and the router."""

from __future__ import annotations

import difflib
import functools
import inspect
import warnings
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeAlias

from antiphon._antiphon import Command, Send, current_context
from antiphon._content import encode_tool_result, text_of
from antiphon._event_loop import is_async
from antiphon._node.human_input import HumanInput
from antiphon._node.tool_calls import tool_context
from antiphon._orchestrator.agent_spec import Spec, read_spec
from antiphon._orchestrator.context import AgentContext
from antiphon._orchestrator.declaration import AgentDeclaration, TeamBase
from antiphon._orchestrator.flow import END, is_member, member
from antiphon._orchestrator.messages import opening, said, sent, tool_messages
from antiphon._orchestrator.model_request import cut_text
from antiphon._orchestrator.run_context import RunContext
from antiphon._orchestrator.seen_state import SeenState
from antiphon._orchestrator.state import CUT, StateView, fields_of, is_record, noted
from antiphon._orchestrator.team_prompts import ROUTER
from antiphon._orchestrator.updates import Unfinished, returned, spoken
from antiphon._pause import Interrupted, NodeInterrupted, pause_in
from antiphon._schema.contract import Output
from antiphon._state_schema import fields_of_state
from antiphon._sync_async import run_async
from antiphon._tool.approval import ToolCall, approver, decide, decide_call
from antiphon._tool.context import ReadOnlyState
from antiphon._tool.lifespan import resource_of
from antiphon.errors import BudgetError, StateError, ValidationError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from antiphon._antiphon import Context, NativeTool
    from antiphon._orchestrator.flow import AgentNames
    from antiphon._orchestrator.state import State
    from antiphon._orchestrator.team_prompts import TeamPrompts
    from antiphon.tools import Tool, ToolContext

    _Callable: TypeAlias = tuple[Callable[..., Any], bool]
    """A callable, and whether it is async."""
    _Tool: TypeAlias = tuple[
        dict[str, Any], Callable[..., Any] | NativeTool, bool, _Callable | None
    ]
    """A spec, what the engine calls, whether that is async, and what approves of calls."""


def _reader(
    spec: Spec, state: State, agent_names: AgentNames, *, chooses: bool
) -> Callable[[Any, SeenState], Any]:
    """What reads the return value of an agent's ``act``, given the state that it saw."""

    def read(reply: Any, seen: SeenState) -> Any:
        changed = seen.changed()
        if chooses:
            reply = chosen(reply, spec, agent_names)
        read = returned(reply, state, spec.name, (seen.state, changed))
        written = _written(reply)
        _warn_of_lost(changed - written.keys(), spec.name)
        if state.keys is None and "answer" not in written:
            _warn_of_misspelt(written.keys() - seen.keys, spec.name)
        return read

    return read


def _written(reply: Any) -> Mapping[str, Any]:
    """The keys that a return value writes."""
    update = reply.update if isinstance(reply, Command) else reply
    if isinstance(update, str):
        return {"answer": update}
    return fields_of(update) if is_record(update) else {}


@functools.lru_cache(256)
def _resembles_answer(key: object) -> bool:
    # `answers` and `first_answer` are keys of their own.
    if not isinstance(key, str) or "answer" in key:
        return False
    return bool(difflib.get_close_matches(key.lower(), ["answer"], cutoff=0.8))


def _warn_of_misspelt(keys: Iterable[str], agent: str) -> None:
    """An open state takes any key, also one that was meant to be the answer."""
    for key in filter(_resembles_answer, keys):
        warnings.warn(
            f"agent `{agent}` wrote a key that the state did not have, `{key}`, and no `answer`; "
            "did you mean `answer`?",
            RuntimeWarning,
            stacklevel=2,
        )


def _warn_of_lost(keys: Iterable[str], agent: str) -> None:
    """Each agent gets a copy of the state, so that a change in place affects no other."""
    for key in sorted(keys):
        warnings.warn(
            f"agent `{agent}` changed its copy of `{key}` in the state, and the change is "
            f"lost; return it in an update: {{{key!r}: ...}}",
            RuntimeWarning,
            stacklevel=2,
        )


def _until_cut(spec: Spec) -> Callable[[Any, AgentContext[Any]], Any]:
    """An agent's ``act``, which returns what there is of a reply that was cut off."""
    act = spec.act
    assert act is not None  # noqa: S101 - the caller has looked

    def unfinished(error: BaseException) -> Unfinished:
        text = cut_text(error)
        if text is None:
            raise error
        return Unfinished(spoken(text, spec.name))

    def call(seen: Any, context: AgentContext[Any]) -> Any:
        try:
            return act(seen, context)
        except (BudgetError, BaseExceptionGroup) as error:
            return unfinished(error)

    async def acall(seen: Any, context: AgentContext[Any]) -> Any:
        try:
            return await act(seen, context)
        except (BudgetError, BaseExceptionGroup) as error:
            return unfinished(error)

    return acall if spec.asynchronous else call


def calling(
    spec: Spec, state: State, agent_names: AgentNames, *, chooses: bool = False
) -> Callable[[Any, Context], Any]:
    """An agent's own ``act`` as a callable of the engine."""
    act = _until_cut(spec)
    read = _reader(spec, state, agent_names, chooses=chooses)

    def arguments(given: Any, ctx: Context) -> tuple[HumanInput, SeenState, AgentContext]:
        human_input = HumanInput(ctx)
        shown, errors = _seen(given)
        is_state = isinstance(given, StateView)
        load = functools.partial(_load, ctx, state)
        seen = SeenState(shown, load if is_state else None)
        context: AgentContext[Any] = AgentContext(
            ctx, spec, agent_names, errors=errors, human_input=human_input, load_state=load
        )
        return human_input, seen, context

    def call(given: Any, ctx: Context) -> Any:
        human_input, seen, context = arguments(given, ctx)
        try:
            reply = act(seen.state, context)
        except Interrupted as pause:
            # A call on another thread may not have ended.
            human_input.settle(pause.__antiphon_question__)
            raise
        return read(reply, seen)

    async def acall(given: Any, ctx: Context) -> Any:
        human_input, seen, context = arguments(given, ctx)
        try:
            reply = await act(seen.state, context)
        except (Interrupted, BaseExceptionGroup) as left:
            pause = pause_in(left, Interrupted)
            if pause is None:
                raise
        else:
            return read(reply, seen)
        await human_input.settle_async(pause.__antiphon_question__)
        raise NodeInterrupted(pause)

    return acall if spec.asynchronous else call


class AgentLoopOptions:
    """A declarative agent as options of the engine's loop."""

    def __init__(
        self,
        spec: Spec,
        state: State,
        *,
        takes_over: bool,
        handoffs: Mapping[str, dict[str, Any]],
        prompts: TeamPrompts,
    ) -> None:
        self._spec = spec
        self._state = state
        self._takes_over = takes_over
        self._handoffs = handoffs
        self._prompts = prompts

    def options(self) -> dict[str, Any]:
        """The arguments of `Builder.agent`, without the model."""
        spec = self._spec
        made: dict[str, Any] = {
            **spec.limits,
            **self._opening(),
            "close": self._close,
            "tools": [self._tool(tool) for tool in spec.tools],
            "handoffs": list(self._handoffs.values()),
            "tags": {"agent": spec.name},
        }
        return made if spec.output is None else {**made, "output": spec.output.schema}

    def _opening(self) -> dict[str, Any]:
        """How a conversation begins: a function of the user may block, or be async."""
        instructions = self._spec.instructions
        if isinstance(instructions, str):
            return {"open": lambda given, _ctx: self._messages(given, instructions)}
        if not is_async(instructions):
            return {
                "open": lambda given, ctx: self._messages(
                    given, instructions(*self._given(given, ctx))
                ),
                "open_async": False,
            }

        async def open_async(given: Any, ctx: Context) -> list[dict[str, Any]]:
            return self._messages(given, await instructions(*self._given(given, ctx)))

        return {"open": open_async, "open_async": True}

    def _given(self, given: Any, ctx: Context) -> tuple[Any, RunContext]:
        seen, errors = _seen(given)
        return seen, RunContext(ctx, self._spec, errors)

    def _messages(self, given: Any, instructions: Any) -> list[dict[str, Any]]:
        spec = self._spec
        if not isinstance(instructions, str):
            raise StateError(
                f"`instructions` of agent `{spec.name}` returned no text: "
                f"{type(instructions).__name__}",
                code="node_return_invalid",
            )
        if isinstance(given, StateView):
            errors = {"errors": given.errors} if self._takes_over and given.errors else {}
            return opening(spec, given.state, errors, instructions, prompts=self._prompts)
        state, data = sent(given, spec.reads)
        return opening(spec, state, data, instructions, prompts=self._prompts)

    def _close(self, given: Any, reply: dict[str, Any], ctx: Context) -> Any:
        del given, ctx
        if reply["handoff"] is not None:
            return self._hand_over(reply)
        spec = self._spec
        content = reply["messages"][-1]["content"]
        value = text_of(content) if spec.output is None else spec.output.construct(reply["value"])
        if len(spec.writes) == 1:
            update = {spec.writes[0]: value}
        else:
            update = {key: _field(value, key) for key in spec.writes}
        # The agent's own write to `messages` replaces its reply.
        turn = tool_messages(reply["messages"], spec.name)
        turn_update = {"messages": [*turn, said("assistant", content, spec.name)]}
        written = noted(self._state.write({**turn_update, **update}, spec.name))
        # A value that fits the output is whole.
        if reply["finish"] == "length" and spec.output is None:
            return Command(update={**written, CUT: True}, end=True)
        return written

    def _hand_over(self, reply: dict[str, Any]) -> Command:
        tools = self._handoffs.items()
        target = next(name for name, tool in tools if tool["name"] == reply["handoff"])
        text, own = reply["text"], self._spec.name
        handed = tool_messages(reply["messages"], own)
        handed += [said("assistant", text, own)] if text.strip() else []
        return Command(
            goto=[target], update=self._state.write({"messages": handed}, own), only=True
        )

    def _tool(self, tool: Tool) -> _Tool:
        """A tool as the engine calls it, from JSON to JSON, and the function that approves."""

        def call(arguments: dict[str, Any], about: dict[str, Any]) -> Any:
            result = tool.start(arguments, self._tool_context(tool, about))
            return encode_tool_result(result, tool.name)

        async def acall(arguments: dict[str, Any], about: dict[str, Any]) -> Any:
            result = await tool.start(arguments, self._tool_context(tool, about))
            return encode_tool_result(result, tool.name)

        if tool.native is not None:
            return dict(tool.spec), tool.native.handle, False, _approver(tool)
        return dict(tool.spec), acall if tool.is_async else call, tool.is_async, _approver(tool)

    def _tool_context(self, tool: Tool, about: dict[str, Any]) -> ToolContext[Any]:
        ctx = current_context()
        caller = {
            "context": ctx.context,
            "state": ReadOnlyState(functools.partial(_load, ctx, self._state)),
            "agent": self._spec.name,
            "thread": ctx.run.thread,
            "resource": resource_of(tool, ctx.run),
        }
        return tool_context(ctx, tool, (about["idempotency_key"], about["call_id"]), caller)


class RouterLoopOptions(AgentLoopOptions):
    """A model that chooses the next agent, as options of the engine's loop."""

    def _close(self, given: Any, reply: dict[str, Any], ctx: Context) -> Command:
        del given, ctx
        chosen = reply["value"]["next"]
        return Command(end=True) if chosen == FINISH else Command(goto=[chosen], only=True)


def chosen(reply: Any, spec: Spec, agent_names: AgentNames) -> Any:
    """What a router in Python returned: names are agents to go to.

    Raises:
        StateError: it chooses no agent (``target_unknown``).
    """
    if isinstance(reply, Command | Send | Unfinished):
        return reply
    names = reply if isinstance(reply, list | tuple) and reply else [reply]
    if names in ([FINISH], [END]):
        return Command(end=True)
    if all(isinstance(one, Send) or one in agent_names for one in names):
        return Command(goto=list(names), only=True)
    raise StateError(
        f"router `{spec.name}` must return the name of an agent or `{FINISH}`: {reply!r:.200}",
        code="target_unknown",
        details={"known": [*agent_names, FINISH]},
        hint=f"its agents are {', '.join(agent_names)}; `{FINISH}` ends the run",
    )


def _seen(given: Any) -> tuple[Any, Sequence[Mapping[str, Any]]]:
    if isinstance(given, StateView):
        return given.state, given.errors
    return given, ()


def _field(value: Any, key: str) -> Any:
    return value[key] if isinstance(value, dict) else getattr(value, key)


def _approver(tool: Tool) -> _Callable | None:
    """The function that approves a tool's calls, as the engine calls it."""
    approve = approver(tool)
    if approve is None:
        return None

    def asked(arguments: dict[str, Any], about: dict[str, Any]) -> ToolCall:
        return ToolCall(name=tool.name, arguments=arguments, call_id=about["call_id"])

    def decide_now(arguments: dict[str, Any], about: dict[str, Any]) -> bool | str:
        return decide_call(approve, asked(arguments, about))

    async def decide_later(arguments: dict[str, Any], about: dict[str, Any]) -> bool | str:
        return await run_async(decide(approve, asked(arguments, about)))

    return (decide_later, True) if is_async(approve) else (decide_now, False)


def _load(ctx: Context, state: State) -> Mapping[str, Any]:
    """The state at the start of the superstep, by key, which nobody may change."""
    return fields_of_state(state.show(ctx.run.values))


FINISH = "finish"
"""A router's answer that ends the run."""


class Router(AgentDeclaration):
    """Chooses who of the team acts next."""


def read_router(given: Any, specs: Sequence[Spec], prompts: TeamPrompts) -> Spec:
    """The agent or model that chooses among the agents.

    Raises:
        ValidationError: its name is taken, an agent is called ``finish``, or it has an
            output (``team_invalid``); or the agent is refused.
    """
    if isinstance(given, TeamBase):
        raise ValidationError(
            f"a team cannot be the router of another: {given!r}",
            code="team_invalid",
            hint="give a model, or an agent whose `act` runs the team and returns a name",
        )
    spec = read_spec(member(given) if is_member(given) else Router(given))
    names = [other.name for other in specs]
    if spec.name in names or FINISH in names:
        taken = spec.name if spec.name in names else FINISH
        raise ValidationError(
            f"a team with a router cannot have an agent named: {taken}",
            code="team_invalid",
            details={"name": taken},
            hint='give it another: `name="..."`',
        )
    if spec.act is not None:
        return spec
    if spec.output is not None:
        raise ValidationError(
            f"a router cannot have its own `output`: {spec.name}",
            code="team_invalid",
        )
    if spec.handoffs:
        raise ValidationError(f"a router has no `handoffs`: {spec.name}", code="team_invalid")
    task = prompts.fill(ROUTER, agents=_listing(specs))
    return replace(spec, instructions=_led(spec.instructions, task), output=_choice(names))


def _led(own: str | Callable[..., Any], task: str) -> str | Callable[..., Any]:
    """The instructions of a router: its own, and its task."""
    if isinstance(own, str):
        return f"{own}\n\n{task}" if own else task
    if is_async(own):

        async def acall(state: Any, ctx: Any) -> str:
            return f"{await own(state, ctx)}\n\n{task}"

        return acall
    return lambda state, ctx: f"{own(state, ctx)}\n\n{task}"


def expected_of(router: Spec, specs: Sequence[Spec]) -> str:
    """The reply that a router expects of its model, for its error."""
    names = " | ".join(f'"{name}"' for name in (*(spec.name for spec in specs), FINISH))
    expected = f'the router expects {{"next": {names}}}'
    if not inspect.isroutine(router.model):
        return expected
    return (
        f"{expected}; a function as `router=` is called as a model, with a request: "
        "to choose by the state, pass an agent whose `act` returns a name"
    )


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
