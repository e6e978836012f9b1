"""An agent's options and what its class says about it, read and checked once."""

from __future__ import annotations

import functools
import inspect
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from antiphon._event_loop import is_async
from antiphon._orchestrator.options import (
    invalid_option,
    read_budget,
    read_count,
    read_on_error,
    read_retry,
    read_seconds,
    read_temperature,
    read_tools,
)
from antiphon._schema.contract import Output
from antiphon._text import snake_case
from antiphon.errors import ValidationError
from antiphon.tools import FunctionTool, Tool
from antiphon.toolset import Toolset

if TYPE_CHECKING:
    from collections.abc import Callable

    from antiphon._antiphon import RetryPolicy
    from antiphon._orchestrator.declaration import AgentDeclaration
    from antiphon.budget import Budget


def name_of(agent: AgentDeclaration) -> str:
    """What an agent is called in its team."""
    return agent.name or snake_case(type(agent).__name__)


def summary_of(agent: AgentDeclaration) -> str:
    """The first line of the docstring of an agent's class."""
    for kind in type(agent).__mro__:
        if kind.__module__.partition(".")[0] == __package__.partition(".")[0]:
            break
        if kind.__doc__:
            return inspect.cleandoc(kind.__doc__).partition("\n")[0].strip()
    return ""


def option_of(agent: AgentDeclaration, name: str) -> Any:
    """An option as it was given: a function that stands in the class is not bound to the agent.

    One that was written as a method of the class is.
    """
    if name in vars(agent):
        return vars(agent)[name]
    found = inspect.getattr_static(type(agent), name)
    if isinstance(found, staticmethod):
        return found.__func__
    if inspect.isfunction(found):
        kinds = {kind.__qualname__ for kind in type(agent).__mro__}
        is_method = found.__qualname__.rpartition(".")[0] in kinds
        return functools.partial(found, agent) if is_method else found
    return getattr(agent, name)


@dataclass(frozen=True, slots=True)
class Spec:
    """An agent's options, read and checked; see `Agent` for what they mean."""

    agent: AgentDeclaration
    name: str
    description: str
    instructions: str | Callable[..., Any]
    """The system prompt, or a function of the state and the context that returns it."""
    model: Any
    tools: tuple[Tool, ...]
    output: Output | None
    reads: tuple[str, ...]
    writes: tuple[str, ...]
    retry: tuple[RetryPolicy, ...]
    timeout: float | None
    budget: Budget | None
    on_error: str | None
    fallback: Any
    handoffs: tuple[Any, ...]
    limits: dict[str, Any] = field(default_factory=dict)
    """Options passed unchanged to the engine's agent loop: calls, tokens, temperature."""

    @property
    def act(self) -> Callable[..., Any] | None:
        """The agent's own method, if it does not run declaratively."""
        method: Callable[..., Any] | None = getattr(self.agent, "act", None)
        return method

    @property
    def asynchronous(self) -> bool:
        """Whether `act` gives a coroutine."""
        return is_async(self.act)


def read_spec(agent: AgentDeclaration, *, needs_model: bool = True) -> Spec:
    """An agent's options; without `needs_model` it may have neither a model nor an ``act``.

    Raises:
        ValidationError: one of them is wrong, or the agent has neither a model nor an ``act``
            (``agent_invalid``); or a tool or the output is refused.
    """
    name = _name(agent)
    where = f"agent `{name}`"
    spec = Spec(
        agent=agent,
        name=name,
        description=_text(agent, name, "description", summary_of(agent)),
        instructions=_instructions(agent, name),
        model=option_of(agent, "model"),
        tools=_tools(agent, name),
        output=_output(agent, name),
        reads=_keys(name, "reads", agent.reads),
        writes=_keys(name, "writes", agent.writes),
        retry=read_retry(agent.retry, where),
        timeout=read_seconds(agent.timeout, where),
        budget=read_budget(agent.budget, where),
        on_error=read_on_error(agent.on_error, where),
        fallback=agent.fallback,
        handoffs=_handoffs(agent, name),
        limits=_limits(agent, name),
    )
    _check(spec, needs_model=needs_model)
    return spec


def _name(agent: AgentDeclaration) -> str:
    name: Any = name_of(agent)
    if not isinstance(name, str) or not name.strip() or name.startswith("__") or "#" in name:
        raise ValidationError(
            f"an agent's name must be a non-empty string that does not begin with `__` "
            f"and contains no `#`: {name!r}",
            code="agent_invalid",
            details={"option": "name"},
        )
    return str(name)


def _text(agent: AgentDeclaration, name: str, option: str, default: str) -> str:
    given = getattr(agent, option)
    if given is None:
        return default
    if not isinstance(given, str):
        raise invalid_option(option, f"agent `{name}`", "text", type(given).__name__)
    return inspect.cleandoc(given)


def _instructions(agent: AgentDeclaration, name: str) -> str | Callable[..., Any]:
    given = option_of(agent, "instructions")
    if not callable(given):
        return _text(agent, name, "instructions", "")
    takes = required_arguments(given)
    if takes not in {1, _STATE_AND_CONTEXT}:
        raise invalid_option(
            "instructions",
            f"agent `{name}`",
            "a text, or a function of the context, or of the state and the context",
            repr(given),
        )
    if takes == _STATE_AND_CONTEXT:
        found: Callable[..., Any] = given
        return found
    if is_async(given):

        async def acall(_state: Any, ctx: Any) -> Any:
            return await given(ctx)

        return acall
    return lambda _state, ctx: given(ctx)


_STATE_AND_CONTEXT = 2


def required_arguments(function: Callable[..., Any]) -> int:
    """The number of arguments that a function needs; 0 if it takes them only by name, or none."""
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return 0
    positional = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    needed = [one for one in parameters if one.default is one.empty]
    return len(needed) if all(one.kind in positional for one in needed) else 0


def _handoffs(agent: AgentDeclaration, name: str) -> tuple[Any, ...]:
    given: Any = agent.handoffs
    if isinstance(given, list | tuple):
        return tuple(given)
    expected = "a list of agents or their names"
    raise invalid_option("handoffs", f"agent `{name}`", expected, repr(given))


def _tools(agent: AgentDeclaration, name: str) -> tuple[Tool, ...]:
    given = read_tools(agent.tools, f"agent `{name}`")
    made = map(Tool.from_any, Toolset.flatten(given))
    # A method of the class that stands in the class's own list has no instance yet.
    bound = [tool.__get__(agent) if isinstance(tool, FunctionTool) else tool for tool in made]
    return tuple(Tool.collect(bound))


def _output(agent: AgentDeclaration, name: str) -> Output | None:
    given = option_of(agent, "output")
    return None if given is None else Output(given, f"`output` of agent `{name}`")


def _keys(name: str, option: str, given: Any) -> tuple[str, ...]:
    keys: Any = (given,) if isinstance(given, str) else given
    is_list = isinstance(keys, list | tuple | set | frozenset)
    wrong = not is_list or any(not isinstance(key, str) or not key for key in keys)
    if wrong or (option == "writes" and not keys):
        raise ValidationError(
            f"`{option}` of agent `{name}` must name keys of the state: {given!r}",
            code="agent_invalid",
            details={"option": option},
            hint=f'write `{option}="draft"` or `{option}=["draft", "score"]`',
        )
    return tuple(keys)


def _limits(agent: AgentDeclaration, name: str) -> dict[str, Any]:
    where = f"agent `{name}`"
    limits: dict[str, Any] = {
        option: read_count(getattr(agent, option), option, where)
        for option in ("max_model_calls", "max_tool_calls")
    }
    if agent.max_output_tokens is not None:
        tokens = read_count(agent.max_output_tokens, "max_output_tokens", where)
        limits["max_output_tokens"] = tokens
    temperature = read_temperature(agent.temperature, where)
    return limits if temperature is None else {**limits, "temperature": temperature}


def _check(spec: Spec, *, needs_model: bool) -> None:
    _check_act(spec)
    if needs_model and spec.act is None and spec.model is None:
        raise ValidationError(
            f"an agent needs a `model` or its own `act(self, state, ctx)`: {spec.name}",
            code="agent_invalid",
            details={"option": "model"},
            hint='for instance `model = "openai:gpt-5-mini"`',
        )
    if spec.fallback is not None and spec.on_error is not None:
        raise ValidationError(
            f"`fallback` and `on_error` of agent `{spec.name}` exclude each other",
            code="agent_invalid",
            details={"option": "fallback"},
            hint="an exception of the fallback is subject to its own `on_error`",
        )
    if spec.act is not None and spec.handoffs:
        raise invalid_option(
            "handoffs",
            f"agent `{spec.name}`",
            "empty, because it has an `act`",
            repr(list(spec.handoffs)),
            "return `ctx.goto(...)` from `act`",
        )
    fields = frozenset[str]() if spec.output is None else spec.output.fields
    missing = sorted(set(spec.writes) - fields)
    if len(spec.writes) > 1 and missing:
        raise ValidationError(
            f"agent `{spec.name}` writes several keys, but its `output` lacks the "
            f"fields: {', '.join(missing)}",
            code="agent_invalid",
            details={"option": "writes"},
        )


def _check_act(spec: Spec) -> None:
    """An agent's own method is called with two arguments; better said before anything costs."""
    act: Any = spec.act
    if act is None:
        return
    try:
        taken = inspect.signature(act)
        taken.bind(None, None)
    except ValueError:
        return  # built in, and keeps its signature to itself
    except TypeError:
        shown = f"act{taken}" if callable(act) else repr(act)
        raise ValidationError(
            f"`act` of agent `{spec.name}` must take the state and the context: {shown}",
            code="agent_invalid",
            details={"option": "act"},
            hint="write `def act(self, state, ctx)`, or `async def`",
        ) from None
