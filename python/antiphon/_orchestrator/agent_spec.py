"""An agent's options and what its class says about it, read and checked once."""

from __future__ import annotations

import functools
import inspect
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from antiphon._antiphon import RetryPolicy
from antiphon._event_loop import is_async
from antiphon._schema.contract import Output
from antiphon._text import snake_case
from antiphon._validation import is_count, is_number, is_seconds
from antiphon.agent import Agent
from antiphon.budget import Budget
from antiphon.errors import ValidationError
from antiphon.tools import FunctionTool, Tool

if TYPE_CHECKING:
    from collections.abc import Callable


def name_of(agent: Agent) -> str:
    """What an agent is called in its team."""
    return agent.name or snake_case(type(agent).__name__)


def docstring_of(agent: Agent) -> tuple[str, str]:
    """The first line of the docstring of an agent's class, and the rest of it."""
    for kind in type(agent).__mro__:
        if kind is Agent:
            break
        if kind.__doc__:
            first, _, rest = inspect.cleandoc(kind.__doc__).partition("\n")
            return first.strip(), rest.strip()
    return "", ""


def option_of(agent: Agent, name: str) -> Any:
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

    agent: Agent
    name: str
    description: str
    instructions: str
    model: Any
    tools: tuple[Tool, ...]
    output: Output | None
    reads: tuple[str, ...]
    writes: tuple[str, ...]
    retry: tuple[RetryPolicy, ...]
    timeout: float | None
    budget: Budget | None
    on_error: str | None
    limits: dict[str, Any] = field(default_factory=dict)
    """What the engine's loop takes as it is: turns, calls, tokens, temperature."""

    @property
    def act(self) -> Callable[..., Any] | None:
        """The agent's own method, if it does not run declaratively."""
        method: Callable[..., Any] | None = getattr(self.agent, "act", None)
        return method

    @property
    def asynchronous(self) -> bool:
        """Whether `act` gives a coroutine."""
        return is_async(self.act)


def read_spec(agent: Agent, *, needs_model: bool = True) -> Spec:
    """An agent's options; without `needs_model` it may have neither a model nor an ``act``.

    Raises:
        ValidationError: one of them is wrong, or the agent has neither a model nor an ``act``
            (``agent_invalid``); or a tool or the output is refused.
    """
    name = _name(agent)
    first, rest = docstring_of(agent)
    description = _text(agent, name, "description", first)
    spec = Spec(
        agent=agent,
        name=name,
        description=description,
        instructions=_text(agent, name, "instructions", rest or description),
        model=option_of(agent, "model"),
        tools=_tools(agent, name),
        output=_output(agent, name),
        reads=_keys(name, "reads", agent.reads),
        writes=_keys(name, "writes", agent.writes),
        retry=read_retry(agent.retry, f"agent `{name}`"),
        timeout=read_seconds(agent.timeout, f"agent `{name}`"),
        budget=read_budget(agent.budget, f"agent `{name}`"),
        on_error=agent.on_error,
        limits=_limits(agent, name),
    )
    _check(spec, needs_model=needs_model)
    return spec


def read_retry(given: Any, where: str) -> tuple[RetryPolicy, ...]:
    """A retry policy, or a number of attempts."""
    if given is None:
        return ()
    if isinstance(given, RetryPolicy):
        return (given,)
    if is_count(given):
        return (RetryPolicy(max_attempts=given),)
    raise _invalid("retry", where, "a `RetryPolicy` or a number of attempts", repr(given))


def read_seconds(given: Any, where: str) -> float | None:
    """A time-out in seconds."""
    if given is None or is_seconds(given):
        return None if given is None else float(given)
    raise _invalid("timeout", where, "a number of seconds above zero", repr(given))


def read_budget(given: Any, where: str) -> Budget | None:
    """A budget."""
    if given is None or isinstance(given, Budget):
        return given
    hint = "write `Budget(model_calls=20)`"
    raise _invalid("budget", where, "a `Budget`", type(given).__name__, hint)


def read_count(given: Any, option: str, where: str) -> int:
    """A whole number of at least 1."""
    if is_count(given):
        return given
    raise _invalid(option, where, "a whole number of at least 1", repr(given))


def _invalid(
    option: str, where: str, expected: str, found: str, hint: str | None = None
) -> ValidationError:
    return ValidationError(
        f"`{option}` of {where} must be {expected}: {found}",
        code="agent_invalid",
        details={"option": option},
        hint=hint,
    )


def _name(agent: Agent) -> str:
    name: Any = name_of(agent)
    if not isinstance(name, str) or not name.strip() or name.startswith("__") or "#" in name:
        raise ValidationError(
            f"an agent's name must be a non-empty string that does not begin with `__` "
            f"and contains no `#`: {name!r}",
            code="agent_invalid",
            details={"option": "name"},
        )
    return str(name)


def _text(agent: Agent, name: str, option: str, default: str) -> str:
    given = getattr(agent, option)
    if given is None:
        return default
    if not isinstance(given, str):
        raise _invalid(option, f"agent `{name}`", "text", type(given).__name__)
    return inspect.cleandoc(given)


def _tools(agent: Agent, name: str) -> tuple[Tool, ...]:
    given = agent.tools
    if not isinstance(given, list | tuple):
        raise _invalid("tools", f"agent `{name}`", "a list", type(given).__name__)
    made = (Tool.from_any(value) for value in given)
    # A method of the class that stands in the class's own list has no instance yet.
    bound = [tool.__get__(agent) if isinstance(tool, FunctionTool) else tool for tool in made]
    return tuple(Tool.collect(bound))


def _output(agent: Agent, name: str) -> Output | None:
    given = option_of(agent, "output")
    return None if given is None else Output(given, f"`output` of agent `{name}`")


def _keys(name: str, option: str, given: Any) -> tuple[str, ...]:
    keys = (given,) if isinstance(given, str) else tuple(given)
    wrong = [key for key in keys if not isinstance(key, str) or not key]
    if wrong or (option == "writes" and not keys):
        raise ValidationError(
            f"`{option}` of agent `{name}` must name keys of the state: {given!r}",
            code="agent_invalid",
            details={"option": option},
        )
    return keys


def _limits(agent: Agent, name: str) -> dict[str, Any]:
    where = f"agent `{name}`"
    limits: dict[str, Any] = {
        "max_turns": read_count(agent.max_turns, "max_turns", where),
        "max_tool_calls": read_count(agent.max_tool_calls, "max_tool_calls", where),
    }
    if agent.max_output_tokens is not None:
        tokens = read_count(agent.max_output_tokens, "max_output_tokens", where)
        limits["max_output_tokens"] = tokens
    given: Any = agent.temperature
    if given is not None:
        if not is_number(given):
            raise _invalid("temperature", where, "a non-negative number", repr(given))
        limits["temperature"] = float(given)
    return limits


def _check(spec: Spec, *, needs_model: bool) -> None:
    _check_act(spec)
    if needs_model and spec.act is None and spec.model is None:
        raise ValidationError(
            f"an agent needs a `model` or its own `act(self, state, ctx)`: {spec.name}",
            code="agent_invalid",
            details={"option": "model"},
            hint='for instance `model = "openai:gpt-5-mini"`',
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
