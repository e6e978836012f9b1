"""The class of agents."""

from __future__ import annotations

import difflib
from typing import TYPE_CHECKING, Any

from antiphon.errors import ValidationError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from antiphon._antiphon import RetryPolicy
    from antiphon.budget import Budget

__all__ = ["Agent"]


class Agent:
    """A member of a team. Subclass it in one of two ways.

    *Declare* it, and the loop of model and tool calls runs natively::

        class Geographer(Agent):
            '''Answers questions about places.

            Give numbers with their year.
            '''
            model = "openai:gpt-5-mini"
            tools = [population]

    *Or* implement a method ``act(self, state, ctx)``, sync or async. It receives the state and
    an `antiphon.AgentContext`, and returns a dict (an update of the state), a text (the answer),
    nothing, or the result of ``ctx.goto(...)``, ``ctx.send(...)`` or ``ctx.end(...)``.

    Each attribute below can be set in the class, or by keyword when the agent is created:
    ``Geographer(reads=["feedback"])``.

    Attributes:
        name: unique in the team. Default: the class's name in snake case.
        description: one sentence that routers read. Default: the first line of the docstring.
        instructions: the system prompt. Default: the docstring below its first line, else the
            description.
        model: ``"provider:name"``, a model of `antiphon.models`, a LangChain chat model, or a
            function of the request.
        tools: functions, `Tool`s or LangChain tools that the model may call; methods of the
            agent are bound to it.
        output: the type of the answer: a pydantic model, dataclass, TypedDict, another type
            hint, or a JSON schema as a dict. Default: text.
        reads: keys of the state that the prompt includes as data.
        writes: the key that the result is written to; with several, each takes the field of
            that name from `output`. Default: ``answer``.
        retry: a `RetryPolicy`, or how many attempts. Default: the team's, else one attempt.
        timeout: seconds one attempt may take. Default: the team's, else no limit.
        budget: its budget for one turn. Default: no limit of its own.
        max_turns: model calls in one turn of the agent. Default: 25.
        max_tool_calls: tool calls in one turn of the agent. Default: 20.
        max_output_tokens: the limit of each reply. Default: the model's.
        temperature: 0 is the least random. Default: the model's.
        on_error: ``"raise"``; ``"record"``: the team continues, and the result lists the error;
            or the name of a fallback agent. Default: the team's.

    Raises:
        ValidationError: a keyword is none of these, or a subclass defines ``run``
            (``agent_invalid``).
    """

    name: str | None = None
    description: str | None = None
    instructions: str | None = None
    model: Any = None
    tools: Sequence[Any] = ()
    output: Any = None
    reads: Sequence[str] = ()
    writes: str | Sequence[str] = "answer"
    retry: RetryPolicy | int | None = None
    timeout: float | None = None
    budget: Budget | None = None
    max_turns: int = 25
    max_tool_calls: int = 20
    max_output_tokens: int | None = None
    temperature: float | None = None
    on_error: str | None = None

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if "run" in vars(cls):
            raise ValidationError(
                f"agent class `{cls.__name__}` defines a method that is not its own: run",
                code="agent_invalid",
                details={"option": "run"},
                hint="name it act: `def act(self, state, ctx)`, sync or async",
            )

    def __init__(self, **options: Any) -> None:
        known = Agent.__annotations__
        for name, value in options.items():
            if name not in known:
                near = difflib.get_close_matches(name, known, 1)
                raise ValidationError(
                    f"unknown option of an agent of class `{type(self).__name__}`: {name}",
                    code="agent_invalid",
                    details={"option": name},
                    hint=f"did you mean `{near[0]}`?" if near else f"use one of {', '.join(known)}",
                )
            setattr(self, name, value)

    def __repr__(self) -> str:
        name = f" {self.name!r}" if self.name else ""
        return f"<{type(self).__name__}{name}>"
