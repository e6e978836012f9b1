"""What an agentic search returns for a question."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any, Literal, Self

from antiphon._html import WARNING, escaped
from antiphon.systems.result import SystemResult

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

__all__ = [
    "AgenticSearchResult",
    "ComputedFigure",
    "ExecutionPlan",
    "FailedTask",
    "GatheredInformation",
    "SearchSource",
    "SearchTask",
    "TaskError",
    "TaskResult",
]

_LONGEST = 2_000
"""Characters of a text that are shown."""

_SearchOutcome = Literal[
    "answered", "answered_partial", "fallback_html", "unsupported", "no_tools", "error"
]
"""How a search ended."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ComputedFigure:
    """A number of an answer that stands in no result and follows from numbers that do.

    Attributes:
        stated: as the answer states it.
        operation: ``sum``, ``difference``, ``ratio`` or ``growth``.
        operands: the numbers of the results that it follows from.
    """

    stated: str
    operation: str
    operands: tuple[str, ...]

    def __str__(self) -> str:
        return f"{self.stated} is the {self.operation} of: {', '.join(self.operands)}"


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskError:
    """Why a task has no result.

    Attributes:
        type: the kind of failure, such as ``Timeout``, ``ToolError`` or ``DependencyFailed``.
        message: one sentence.
    """

    type: str
    message: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchTask:
    """One call of a tool.

    Attributes:
        task_number: its number, counted from 1 over all plans of the question.
        description: what it is for.
        tool_name: the tool.
        tool_arguments: the arguments: as planned until it starts, then as sent.
        left_out: optional arguments of the plan that were not sent: nothing was found with them,
            or their reference led to no value.
        depends_on: the tasks whose results it needs.
        status: how it stands.
        result: what the tool returned, whole, as JSON values.
        error: why it failed.
        shares_result_of: the equal task whose result it shares; the tool was called once.
        started_at: when it started.
        finished_at: when it ended.
    """

    task_number: int
    description: str
    tool_name: str
    tool_arguments: Any
    left_out: Mapping[str, Any]
    depends_on: tuple[int, ...]
    status: Literal["pending", "executing", "completed", "failed"]
    result: Any
    error: TaskError | None
    shares_result_of: int | None
    started_at: datetime | None
    finished_at: datetime | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ExecutionPlan:
    """The tasks of a question.

    Attributes:
        tasks: the tasks of all its plans, by number.
        reasoning: why the planner chose them.
        plan_created_at: when the last plan was made.
        source: ``model``, or ``fallback`` if the planner gave no usable plan.
    """

    tasks: tuple[SearchTask, ...]
    reasoning: str
    plan_created_at: datetime
    source: Literal["model", "fallback"]


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchSource:
    """A passage of a result that the answer relies on.

    Attributes:
        number: its number in the prompt, counted from 1 over all results.
        task_number: the task that found it.
        tool_name: the tool that returned it.
        title: what it is called.
        location: where it stands: an address, or a path.
        excerpt: its beginning.
    """

    number: int
    task_number: int
    tool_name: str
    title: str | None
    location: str | None
    excerpt: str


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskResult:
    """The result of one task.

    Attributes:
        task_number: the task.
        tool_name: its tool.
        description: what it was for.
        arguments: the arguments that were sent.
        result: what the tool returned.
    """

    task_number: int
    tool_name: str
    description: str
    arguments: Any
    result: Any


@dataclass(frozen=True, slots=True, kw_only=True)
class FailedTask:
    """A task without a result.

    Attributes:
        task_number: the task.
        tool_name: its tool.
        error: why it failed.
    """

    task_number: int
    tool_name: str
    error: TaskError | None


@dataclass(frozen=True, slots=True, kw_only=True)
class GatheredInformation:
    """The results of all tasks.

    Attributes:
        task_results: the results, in the order of the tasks.
        summary: the first 500 characters of the answer.
        sources_used: the tools that returned results, in the order of their first use.
        failed: the tasks without a result.
    """

    task_results: tuple[TaskResult, ...]
    summary: str | None
    sources_used: tuple[str, ...]
    failed: tuple[FailedTask, ...]


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class AgenticSearchResult(SystemResult):
    """What an agentic search returns for a question, beside the fields of `SystemResult`.

    Attributes:
        text: the answer as Markdown; empty if there is none.
        html: what can be shown in any case, as HTML that is safe to show: the answer, a list of
            what was found, or text that no result supports, after a sentence that says so; empty if
            a fault other than a spent budget ended the question.
        reasoning: how the answer was reached.
        sources: the passages that the answer relies on; all of them if the model named none.
        search_outcome: ``answered``; ``answered_partial`` if a task failed and another has a
            result; ``fallback_html`` if no model has put the results into words, or tasks failed
            and none has a result; ``unsupported`` if the answer states numbers, units or dates
            that no result holds; ``no_tools``; ``error``.
        unsupported: what the answer states that no result holds.
        computed: its numbers that no result holds, and from which of the results they follow.
        error_message: why there is no answer, or what it lacks.
        execution_plan: the tasks with their results.
        gathered_information: the results, gathered.
        thinking_steps: what was done, for a reader.
        is_followup: whether the question follows others in its thread.
    """

    text: str
    html: str
    reasoning: str
    sources: tuple[SearchSource, ...]
    search_outcome: _SearchOutcome
    unsupported: tuple[str, ...]
    computed: tuple[ComputedFigure, ...]
    error_message: str | None
    execution_plan: ExecutionPlan | None
    gathered_information: GatheredInformation
    thinking_steps: tuple[str, ...]
    is_followup: bool

    @property
    def answer(self) -> str | None:
        """The `text`; ``None`` if there is no answer."""
        return self.text or None

    @classmethod
    def of(cls, native: Mapping[str, Any]) -> Self:
        """The result as the engine has it, in Python's own types."""
        plan = native["execution_plan"]
        return super().of(
            {
                **native,
                "text": native["answer"],
                "sources": tuple(SearchSource(**one) for one in native["sources"]),
                "execution_plan": None if plan is None else _plan(plan),
                "gathered_information": _gathered(native["gathered_information"]),
                "thinking_steps": tuple(native["thinking_steps"]),
                "unsupported": tuple(native["unsupported"]),
                "computed": tuple(map(_computed, native["computed"])),
            }
        )

    def to_dict(self, *, events: bool = False) -> dict[str, Any]:
        """The result as JSON values.

        Args:
            events: whether to include the events. Default: no.
        """
        from dataclasses import asdict

        plain = super().to_dict(events=events)
        del plain["text"]
        plain["sources"] = [asdict(one) for one in self.sources]
        plan = self.execution_plan
        plain["execution_plan"] = None if plan is None else _with_times(asdict(plan))
        plain["gathered_information"] = asdict(self.gathered_information)
        plain["thinking_steps"] = list(self.thinking_steps)
        plain["unsupported"] = list(self.unsupported)
        plain["computed"] = [
            {**asdict(one), "operands": list(one.operands)} for one in self.computed
        ]
        return plain

    def _text_lines(self) -> Iterator[str]:
        if self.error_message is not None:
            yield self.error_message
        yield from self._basis()
        if self.caveat is not None:
            yield self.caveat

    def _basis(self) -> Iterator[str]:
        yield from (f"computed: {one}" for one in self.computed)
        yield from (_line(source) for source in self.sources)

    def _html_parts(self) -> Iterator[str]:
        for warning in (self.error_message, self.caveat):
            if warning is not None:
                yield f'<div style="color:{WARNING}">{escaped(warning)}</div>'
        if self.search_outcome in ("fallback_html", "unsupported", "no_tools"):
            yield self.html
        yield from _folded("computed", [str(one) for one in self.computed])
        yield from _folded("sources", [_line(source) for source in self.sources])
        yield from _folded("steps", list(self.thinking_steps))


def _folded(title: str, lines: list[str]) -> Iterator[str]:
    if not lines:
        return
    items = "".join(f"<li>{escaped(line, _LONGEST)}</li>" for line in lines)
    yield f'<details><summary style="font-size:12px">{len(lines)} {title}</summary>'
    yield f'<ol style="font-size:12px">{items}</ol></details>'


def _computed(native: Mapping[str, Any]) -> ComputedFigure:
    return ComputedFigure(**{**native, "operands": tuple(native["operands"])})


def _line(source: SearchSource) -> str:
    named = [part for part in (source.title, source.location) if part]
    return f"[{source.number}] {', '.join(named) or source.tool_name}: {source.excerpt}"


def _plan(native: Mapping[str, Any]) -> ExecutionPlan:
    return ExecutionPlan(
        tasks=tuple(map(_task, native["tasks"])),
        reasoning=native["reasoning"],
        plan_created_at=datetime.fromisoformat(native["plan_created_at"]),
        source=native["source"],
    )


def _task(native: Mapping[str, Any]) -> SearchTask:
    times = {name: _time(native[name]) for name in ("started_at", "finished_at")}
    given = {**native, **times, "depends_on": tuple(native["depends_on"])}
    return SearchTask(**{**given, "error": _error(native["error"])})


def _gathered(native: Mapping[str, Any]) -> GatheredInformation:
    failed = ({**one, "error": _error(one["error"])} for one in native["failed"])
    return GatheredInformation(
        task_results=tuple(TaskResult(**one) for one in native["task_results"]),
        summary=native["summary"],
        sources_used=tuple(native["sources_used"]),
        failed=tuple(FailedTask(**one) for one in failed),
    )


def _error(native: Mapping[str, Any] | None) -> TaskError | None:
    return None if native is None else TaskError(**native)


def _time(text: str | None) -> datetime | None:
    return None if text is None else datetime.fromisoformat(text)


def _with_times(plan: dict[str, Any]) -> dict[str, Any]:
    """The plan with its times as text."""
    text = {datetime: datetime.isoformat}

    def written(fields: dict[str, Any]) -> dict[str, Any]:
        return {name: text.get(type(value), _same)(value) for name, value in fields.items()}

    return {**written(plan), "tasks": [written(task) for task in plan["tasks"]]}


def _same(value: Any) -> Any:
    return value
