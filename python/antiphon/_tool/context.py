"""The context of a call of a tool."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeVar, overload

from antiphon._antiphon import isolated
from antiphon._schema.typed_answer import ask_for
from antiphon._type_params import ContextT, Generic
from antiphon.errors import StateError, ToolError, ValidationError

if TYPE_CHECKING:
    import logging
    from collections.abc import Callable, Iterable, Iterator
    from datetime import datetime

_T = TypeVar("_T")


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolContext(Generic[ContextT]):
    """The context of one call of a tool.

    The engine injects it into a parameter of this type, which the model does not see. With a type
    argument, as in ``ToolContext[Deps]``, the tool requires a run with a ``context``.

    Attributes:
        name: the tool's name.
        call_id: the model's id of this call; its result carries the same.
        idempotency_key: stable across attempts and restarts; pass it to services that accept
            idempotency keys.
        attempt: 1 for the first attempt.
        deadline: when the call times out, with time zone; ``None`` without a time-out.
        context: what the caller passed as ``context=`` where the run started or resumed; ``None``
            if nothing.
        state: the state of the team as the agent sees it, by key; read-only. Empty outside of
            teams.
        agent: the name of the agent; ``None`` outside of agents.
        thread: the thread that stores the run; ``None`` without one.
        resource: what the `lifespan` of the tool's `antiphon.Toolset` has opened for this run;
            ``None`` without one.
        context_summary: how the task stands that the call is a step of: what was done and found,
            and what comes next. Only for steps of a `PlanExecute` with
            ``send_context_summary=True``, also where a `Worker` carries them out; else ``None``.

    Example:
        >>> def pay(cents: int, call: ToolContext) -> str:
        ...     return f"{cents} cents under {call.idempotency_key}"
    """

    name: str
    call_id: str
    idempotency_key: str
    attempt: int = 1
    deadline: datetime | None = None
    # Not shown or compared: context and resource may hold credentials, the state may be large.
    context: ContextT = field(default=None, repr=False, compare=False)  # type: ignore[assignment]
    state: Mapping[str, Any] = field(default_factory=dict, repr=False, compare=False)
    agent: str | None = None
    thread: str | None = None
    resource: Any = field(default=None, repr=False, compare=False)
    context_summary: str | None = field(default=None, repr=False, compare=False)
    _ask: Callable[[Any], Any] | None = field(default=None, repr=False, compare=False)

    @property
    def can_ask(self) -> bool:
        """Whether `ask` asks a person."""
        return self._ask is not None

    @overload
    def ask(self, question: Any) -> Any: ...

    @overload
    def ask(self, question: Any, *, returns: type[_T]) -> _T: ...

    @overload
    def ask(self, question: Any, *, returns: Any) -> Any: ...

    def ask(self, question: Any, *, returns: Any = None) -> Any:
        """Asks a person, and pauses the run until the answer arrives.

        The tool is then called again from its first line, with the same idempotency key, and its
        questions are answered in the order of the calls. Ask before the tool changes anything.

        Args:
            question: any value that the run can store.
            returns: the type of the answer, as of `AgentContext.ask`. Default: any value.

        Returns:
            The answer; with `returns`, a value of that type.

        Raises:
            Interrupted: there is no answer yet. Let it pass.
            ValidationError: `returns` has no JSON schema (``unsupported_type``).
            StateError: the tool is called outside of a team or graph, or by a ready system
                (``question_misplaced``).
        """
        if self._ask is None:
            raise StateError(
                f"a tool cannot ask a person where no team or graph calls it: {self.name}",
                code="question_misplaced",
                details={"tool": self.name},
                hint="call the tool in a run of an `Orchestrator` or a graph",
            )
        if returns is None:
            return self._ask(question)
        return ask_for(self._ask, question, returns, f"the answer that tool `{self.name}` asks for")

    @property
    def logger(self) -> logging.Logger:
        """The logger ``antiphon.tool.NAME``."""
        import logging  # most tools log nothing

        return logging.getLogger(f"antiphon.tool.{self.name}")


class ReadOnlyState(Mapping[str, Any]):
    """A state that is loaded when it is first read; what it holds are copies for each reader."""

    __slots__ = ("_fields", "_load")

    def __init__(self, load: Callable[[], Mapping[str, Any]]) -> None:
        self._load = load
        self._fields: Mapping[str, Any] | None = None

    def __getitem__(self, key: str) -> Any:
        return isolated(self._read()[key])

    def __iter__(self) -> Iterator[str]:
        return iter(self._read())

    def __len__(self) -> int:
        return len(self._read())

    def __repr__(self) -> str:
        return f"ReadOnlyState({', '.join(self)})"

    def _read(self) -> Mapping[str, Any]:
        if self._fields is None:
            self._fields = self._load()
        return self._fields


def check_context(tools: Iterable[Any], context: Any, agent: str) -> None:
    """Returns if a run has the context that the tools of an agent require.

    Raises:
        ValidationError: it has none, and a tool requires one (``context_missing``).
    """
    for tool in tools if context is None else ():
        if tool.context_type is not None:
            kind = _name_of(tool.context_type)
            raise ValidationError(
                f"tool `{tool.name}` of agent `{agent}` requires a run with a context: {kind}",
                code="context_missing",
                details={"tool": tool.name, "agent": agent},
                hint=_hint(kind),
            )


def check_run_context(tool: str, wanted: Any, given: ToolContext[Any]) -> None:
    """Returns if a call has the context of a run that its tool requires.

    Raises:
        ToolError: it has none (``context_missing``).
    """
    if wanted is not None and given.context is None:
        kind = _name_of(wanted)
        raise ToolError(
            f"tool `{tool}` requires a run with a context: {kind}",
            code="context_missing",
            details={"tool": tool},
            hint=_hint(kind),
        )


def without_context(tool: str) -> ToolError:
    """The error of a direct call that lacks the context of the call."""
    return ToolError(
        f"a tool with a `ToolContext` parameter was called without one: {tool}",
        code="tool_context",
        hint="pass `context=ToolContext(...)`",
    )


def _name_of(wanted: Any) -> str:
    return getattr(wanted, "__name__", str(wanted))


def _hint(kind: str) -> str:
    return f"pass `context={kind}(...)` where the run starts, and again where it resumes"
