"""What a data analyst returns."""

from __future__ import annotations

from base64 import b64decode, b64encode
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING, Any, Literal, Self

from antiphon._html import SMALL, WARNING, escaped, folded
from antiphon.sandbox import SandboxFigure
from antiphon.systems.result import SystemResult
from antiphon.systems.tabular import TabularResult

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

__all__ = [
    "AgentError",
    "AgentName",
    "AgentResult",
    "OrchestratorResponse",
    "PlannerDecision",
    "TraceEvent",
]

_LONGEST = 2_000
"""Characters of a failure that a notebook shows."""


AgentName = Literal["sql", "api_docs", "computation", "planner", "composer"]


@dataclass(frozen=True, slots=True, kw_only=True)
class TraceEvent:
    """One event of a question.

    Attributes:
        event_type: ``message``, ``tool``, ``decision``, ``result`` or ``error``.
        agent: whose event it is.
        data: fields that depend on the event.
        message: a sentence.
        timestamp: when, in UTC.
    """

    event_type: Literal["message", "tool", "decision", "result", "error"]
    agent: AgentName | None
    data: dict[str, Any]
    message: str | None
    timestamp: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentError:
    """Why an agent has no answer.

    Attributes:
        type: the kind of failure, such as ``QueryError``.
        message: what went wrong; for a log, not for the reader of the answer.
        details: further facts, such as the ``attempts`` of the SQL agent.
    """

    type: str
    message: str
    details: dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentResult:
    """The result of an agent.

    Attributes:
        agent: whose result it is.
        status: ``succeeded``, ``failed`` or ``skipped``.
        answer: the answer in words.
        tabular: the rows that were found.
        figures: what code has drawn.
        error: why there is no answer.
        trace: the events, if the request asks for them.
        latency_ms: how long it took, in milliseconds.
    """

    agent: AgentName
    status: Literal["succeeded", "failed", "skipped"]
    answer: str | None
    tabular: TabularResult | None
    figures: tuple[SandboxFigure, ...]
    error: AgentError | None
    trace: tuple[TraceEvent, ...]
    latency_ms: float | None

    def to_dict(self) -> dict[str, Any]:
        """The fields as JSON values; of figures, how many there are."""
        error = self.error
        return {
            "agent": self.agent,
            "status": self.status,
            "answer": self.answer,
            "tabular": None if self.tabular is None else self.tabular.to_dict(),
            "figures": len(self.figures),
            "error": None
            if error is None
            else {"type": error.type, "message": error.message, "details": error.details},
            "trace": list(map(_event_dict, self.trace)),
            "latency_ms": self.latency_ms,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannerDecision:
    """Which agents work on a question.

    Attributes:
        rationale: why these.
        chosen_agents: the agents, in the order in which they work.
        confidence: how sure the planner is, from 0 to 1.
        guardrails: what the choice was limited to: ``candidates``, ``scores``, ``disabled``,
            ``preferred``, and whether the plan is a ``fallback``.
        depends_on: the agents whose results an agent needs.
    """

    rationale: str
    chosen_agents: tuple[AgentName, ...]
    confidence: float | None
    guardrails: dict[str, Any]
    depends_on: dict[AgentName, list[AgentName]]

    def to_dict(self) -> dict[str, Any]:
        """The fields as JSON values."""
        return {
            "rationale": self.rationale,
            "chosen_agents": list(self.chosen_agents),
            "confidence": self.confidence,
            "guardrails": self.guardrails,
            "depends_on": self.depends_on,
        }


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class OrchestratorResponse(SystemResult):
    """What a data analyst returns for a question, beside the fields of `SystemResult`.

    Attributes:
        text: the answer in words, also if it is that there is none.
        data: the rows of the first agent that has some.
        agent_results: the results of all agents of the plan, in its order.
        trace_events: what happened, if the request asks for it; `trace` has all calls.
        planner: which agents were chosen, and why.
        metadata: ``confidence``, ``agents``, ``skipped``, ``partial`` (some agents failed, or
            were not finished), ``limit`` (of the question that was reached on the way, such as
            ``model_calls``; else ``None``), ``turns``, ``truncated`` (agents whose source has
            more rows than were read),
            ``warnings`` (what to know of the query before relying on its rows, such as that a
            join repeats rows that it sums up), ``composer_fallback`` (the answer was composed
            without a model), and ``rejected_answers`` (how wordings differed from what was found).
    """

    text: str
    data: TabularResult | None = None
    agent_results: tuple[AgentResult, ...] = ()
    trace_events: tuple[TraceEvent, ...] = ()
    planner: PlannerDecision | None = None
    metadata: dict[str, Any] = field(default_factory=dict)

    @property
    def answer(self) -> str | None:
        """The `text`; ``None`` without one."""
        return self.text or None

    @property
    def sql(self) -> str:
        """The last query that was tried; empty if there is none."""
        state = self.state if isinstance(self.state, dict) else {}
        attempts = state.get("sql", {}).get("attempts", [])
        return str(attempts[-1]["query"]) if attempts else ""

    @property
    def figures(self) -> tuple[SandboxFigure, ...]:
        """The figures of all agents."""
        return tuple(figure for one in self.agent_results for figure in one.figures)

    @classmethod
    def of(cls, native: Mapping[str, Any]) -> Self:
        """The result as the engine has it, in Python's own types."""
        data, planner = native["data"], native["planner"]
        attachments = native["attachments"]
        return super().of(
            {
                **native,
                "text": native["answer"],
                "data": None if data is None else TabularResult.of(data, attachments),
                "agent_results": tuple(
                    _result(one, attachments) for one in native["agent_results"]
                ),
                "trace_events": tuple(map(_event, native["trace"])),
                "planner": None if planner is None else _decision(planner),
            }
        )

    def to_dict(self, *, events: bool = False) -> dict[str, Any]:
        """The result as JSON values.

        Args:
            events: whether to include the events. Default: no.
        """
        fields = super().to_dict(events=events)
        del fields["text"]
        fields["sql"] = self.sql
        fields["data"] = None if self.data is None else self.data.to_dict()
        fields["agent_results"] = [one.to_dict() for one in self.agent_results]
        fields["trace_events"] = list(map(_event_dict, self.trace_events))
        fields["planner"] = None if self.planner is None else self.planner.to_dict()
        return fields

    def _name(self) -> str:
        return "data_analyst"

    def _text_lines(self) -> Iterator[str]:
        yield from self._basis()

    def _basis(self) -> Iterator[str]:
        for one in self.agent_results:
            if one.tabular is not None and one.tabular.truncated:
                yield f"! {one.agent}: only the first {one.tabular.row_count:,} rows were read"
            if one.tabular is not None and one.tabular.cells_cut:
                yield f"! {one.agent}: long cells were cut"
            if one.error is not None:
                yield f"! {_failure(one, one.error)}"
        for warning in self.metadata.get("warnings", []):
            yield f"! sql: {warning}"
        if self.sql:
            yield f"query: {self.sql}"

    def _html_parts(self) -> Iterator[str]:
        if self.data is not None:
            yield self.data._repr_html_()
        for figure in self.figures:
            png = b64encode(figure.png).decode()
            yield f'<img style="max-width:100%" src="data:image/png;base64,{png}">'
        for one in self.agent_results:
            if one.error is not None:
                message = escaped(_failure(one, one.error), _LONGEST)
                yield f'<div style="color:{WARNING}">{message}</div>'
        for warning in self.metadata.get("warnings", []):
            yield f'<div style="color:{WARNING}">{escaped(f"sql: {warning}", _LONGEST)}</div>'
        if self.sql:
            yield folded("query", f'<div style="white-space:pre-wrap">{escaped(self.sql)}</div>')
        agents = ", ".join(self.metadata.get("agents", []))
        yield f'<div style="{SMALL}">{escaped(agents)}</div>'


def _failure(of: AgentResult, error: AgentError) -> str:
    kind = f" ({error.type})" if error.type else ""
    return f"{of.agent} {of.status}: {error.message}{kind}"


def _result(native: Mapping[str, Any], attachments: Mapping[str, bytes]) -> AgentResult:
    table, error = native["tabular"], native["error"]
    return AgentResult(
        agent=native["agent"],
        status=native["status"],
        answer=native["answer"],
        tabular=None if table is None else TabularResult.of(table, attachments),
        figures=tuple(SandboxFigure(b64decode(figure)) for figure in native["figures"]),
        error=None if error is None else AgentError(**error),
        trace=tuple(map(_event, native["trace"])),
        latency_ms=native["latency_ms"],
    )


def _event(native: Mapping[str, Any]) -> TraceEvent:
    return TraceEvent(**{**native, "timestamp": datetime.fromisoformat(native["timestamp"])})


def _event_dict(event: TraceEvent) -> dict[str, Any]:
    return {
        "event_type": event.event_type,
        "agent": event.agent,
        "data": event.data,
        "message": event.message,
        "timestamp": event.timestamp.isoformat(),
    }


def _decision(native: Mapping[str, Any]) -> PlannerDecision:
    return PlannerDecision(**{**native, "chosen_agents": tuple(native["chosen_agents"])})
