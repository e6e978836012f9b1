"""The options of an agent, as its class or its creator gives them."""

from __future__ import annotations

import difflib
from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Never, TypedDict, Unpack, overload

from antiphon._orchestrator.options import UNSET, check_given
from antiphon._text import snake_case
from antiphon._type_params import ContextT, Generic, OutputT
from antiphon.errors import ValidationError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from antiphon._antiphon import Event, RetryPolicy, Saver
    from antiphon._thread_store import Durability
    from antiphon.budget import Budget
    from antiphon.result import Result

    class AgentOptions(TypedDict, total=False):
        """The keyword options of agents but `output`."""

        name: str | None
        description: str | None
        instructions: str | Callable[..., Any] | None
        tools: Sequence[Any]
        reads: Sequence[str]
        writes: str | Sequence[str]
        handoffs: Sequence[AgentDeclaration | type[AgentDeclaration] | TeamBase | str]
        retry: RetryPolicy | int | None
        timeout: float | None
        budget: Budget | None
        max_model_calls: int
        max_tool_calls: int
        max_output_tokens: int | None
        temperature: float | None
        on_error: Literal["raise", "record"] | None
        fallback: AgentDeclaration | type[AgentDeclaration] | TeamBase | str | None
        checkpointer: Saver | str | None
        durability: Durability


class TeamBase(ABC):
    """A team, as another team knows it."""

    name: str
    description: str | None
    state_keys: frozenset[str] | None
    """The keys of its state; ``None`` if it is open."""

    @abstractmethod
    async def run_part(
        self,
        question: Any,
        left: Budget,
        show: Callable[[Event], object],
        *,
        watched: bool,
        context: Any = UNSET,
    ) -> Result:
        """Runs the team as a part of another run.

        Args:
            question: as for `Orchestrator.run`.
            left: what is left of the budget of the other run.
            show: receives the events: as they happen if `watched`, else at the end.
            watched: whether somebody watches the other run.
            context: the ``context=`` of the question to the system that has the team in a role.
                Default: the team runs in a node of another team, whose context it uses and whose
                run stores it.
        """


class AgentDeclaration(Generic[ContextT, OutputT]):
    """What a team knows of an agent; `antiphon.Agent` explains the options."""

    model: Any = None
    name: str | None = None
    description: str | None = None
    instructions: Any = None
    tools: Sequence[Any] = ()
    output: Any = None
    reads: Sequence[str] = ()
    writes: str | Sequence[str] = "answer"
    handoffs: Sequence[Any] = ()
    retry: RetryPolicy | int | None = None
    timeout: float | None = None
    budget: Budget | None = None
    max_model_calls: int = 25
    max_tool_calls: int = 20
    max_output_tokens: int | None = None
    temperature: float | None = None
    on_error: Literal["raise", "record"] | None = None
    fallback: Any = None
    checkpointer: Saver | str | None = None
    durability: Durability = "async"

    OPTIONS: ClassVar[frozenset[str]]
    """Their names."""

    @overload
    def __init__(
        self,
        model: Any = ...,
        *,
        output: type[OutputT],
        **options: Unpack[AgentOptions],
    ) -> None: ...

    @overload
    def __init__(
        self, model: Any = ..., *, output: Any = ..., **options: Unpack[AgentOptions]
    ) -> None: ...

    def __init__(
        self,
        model: Any = UNSET,
        *,
        name: str | None = UNSET,
        description: str | None = UNSET,
        instructions: str | Callable[..., Any] | None = UNSET,
        tools: Sequence[Any] = UNSET,
        output: Any = UNSET,
        reads: Sequence[str] = UNSET,
        writes: str | Sequence[str] = UNSET,
        handoffs: Sequence[AgentDeclaration | type[AgentDeclaration] | TeamBase | str] = UNSET,
        retry: RetryPolicy | int | None = UNSET,
        timeout: float | None = UNSET,
        budget: Budget | None = UNSET,
        max_model_calls: int = UNSET,
        max_tool_calls: int = UNSET,
        max_output_tokens: int | None = UNSET,
        temperature: float | None = UNSET,
        on_error: Literal["raise", "record"] | None = UNSET,
        fallback: AgentDeclaration | type[AgentDeclaration] | TeamBase | str | None = UNSET,
        checkpointer: Saver | str | None = UNSET,
        durability: Durability = UNSET,
        **unknown: Never,
    ) -> None:
        given: Mapping[str, Any] = locals()
        _check_keywords(type(self).__name__, unknown)
        present = {
            option: given[option]
            for option in AgentDeclaration.OPTIONS
            if given[option] is not UNSET
        }
        own = present.get("name", self.name) or snake_case(type(self).__name__)
        check_given(present, f"agent `{own}`")
        for option, value in present.items():
            setattr(self, option, value)

    def __repr__(self) -> str:
        name = f" {self.name!r}" if self.name else ""
        return f"<{type(self).__name__}{name}>"


def is_agent(item: Any) -> bool:
    """Whether it is an agent, or a class of agents."""
    kind = item if isinstance(item, type) else type(item)
    return issubclass(kind, AgentDeclaration)


AgentDeclaration.OPTIONS = frozenset(AgentDeclaration.__annotations__) - {"OPTIONS"}


def _check_keywords(kind: str, unknown: Mapping[str, Any]) -> None:
    for name in unknown:
        known = sorted(AgentDeclaration.OPTIONS)
        near = difflib.get_close_matches(name, known, 1)
        raise ValidationError(
            f"unknown option of an agent of class `{kind}`: {name}",
            code="agent_invalid",
            details={"option": name},
            hint=f"did you mean `{near[0]}`?" if near else f"use one of {', '.join(known)}",
        )
