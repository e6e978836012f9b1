"""What a task returns that was planned and carried out."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any, Literal, Self

from antiphon._html import WARNING, escaped
from antiphon.systems.result import SystemResult

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

__all__ = ["ExecutedStep", "PlanExecuteResult", "PlanStep", "StepError"]

_LONGEST = 2_000
"""Characters of a text that are shown."""

_Status = Literal[
    "RECEIVED",
    "PLANNING",
    "PLAN_GENERATED",
    "EXECUTING",
    "SYNTHESIZING",
    "COMPLETED",
    "FAILED_PLANNING",
    "FAILED_EXECUTION",
    "CANCELLED",
]
"""How far a task came."""
_Source = Literal["pre_synthesized", "synthesized", "digest", "failure_explanation"]
"""Where the last words come from."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanStep:
    """One step of a plan.

    Attributes:
        step_id: its id, unique in the whole plan.
        assigned_agent_role: who carries it out.
        tool_name: with which tool.
        sub_task_input: what the tool is given; texts may hold references.
        narrative_step: what it is for.
    """

    step_id: str
    assigned_agent_role: str
    tool_name: str
    sub_task_input: dict[str, Any]
    narrative_step: str


@dataclass(frozen=True, slots=True, kw_only=True)
class StepError:
    """Why a step failed.

    Attributes:
        type: the kind of failure, such as ``Timeout``, ``Policy`` or ``ReferenceResolution``.
        message: one sentence.
        reference: the reference that leads nowhere.
    """

    type: str
    message: str
    reference: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ExecutedStep:
    """A step as it was carried out.

    Attributes:
        step: the step as planned, with its references.
        stage_index: its stage, counted from 1.
        status: how it ended.
        result: what its tool returned, whole, as JSON values.
        summary: a summary of it, if it was long.
        error: why it failed.
        partial_errors: what failed of it, by source.
        reused: whether the output is that of an earlier attempt.
        started_at: when it began.
        finished_at: when it ended.
    """

    step: PlanStep
    stage_index: int
    status: Literal["COMPLETED", "FAILED", "SKIPPED"]
    result: Any
    summary: Any
    error: StepError | None
    partial_errors: dict[str, str]
    reused: bool
    started_at: datetime | None
    finished_at: datetime | None


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class PlanExecuteResult(SystemResult):
    """What a task returns, beside the fields of `SystemResult`.

    Attributes:
        success: whether the task is done, or its plan made if only that was asked for.
        message: one sentence about how it ended.
        status: how far it came.
        original_task: what was to be done.
        plan: the plan that was tried last: stages, each with its steps.
        plan_source: ``template``, ``llm``, ``llm_revision`` or ``saved``.
        executed_plan: its steps as they were carried out.
        final_answer: the answer, or an explanation of what failed.
        final_answer_source: where that comes from.
        current_working_context: what is known across all attempts.
        attempts: attempts to carry out a plan.
        attempt_history: all of them, as JSON values.
        replan_history: the requests for revised plans, as JSON values.
        error_summary: why there is no answer, as JSON values.
        warnings: what a reader should know.
    """

    text: str
    success: bool
    message: str
    status: _Status
    original_task: str
    plan: tuple[tuple[PlanStep, ...], ...]
    plan_source: Literal["template", "llm", "llm_revision", "saved"] | None
    executed_plan: tuple[ExecutedStep, ...]
    final_answer: str | None
    final_answer_source: _Source | None
    current_working_context: dict[str, Any]
    attempts: int
    attempt_history: tuple[dict[str, Any], ...]
    replan_history: tuple[dict[str, Any], ...]
    error_summary: dict[str, Any] | None
    warnings: tuple[str, ...]

    @property
    def answer(self) -> str | None:
        """The answer of a completed task; ``None`` if there is none."""
        return self.text or None

    @property
    def explanation(self) -> str | None:
        """What failed; ``None`` if there is an answer."""
        return self.final_answer if self.answer is None else None

    @property
    def plan_json(self) -> list[list[dict[str, Any]]]:
        """The plan as JSON values, for `PlanExecute.run` with ``plan=``."""
        return [[_written(step) for step in stage] for stage in self.plan]

    @classmethod
    def of(cls, native: Mapping[str, Any]) -> Self:
        """The result as the engine has it, in Python's own types."""
        return super().of(
            {
                **native,
                "text": native["answer"],
                "plan": tuple(tuple(map(_step, stage)) for stage in native["plan"]),
                "executed_plan": tuple(map(_executed, native["executed_plan"])),
                "attempt_history": tuple(native["attempt_history"]),
                "replan_history": tuple(native["replan_history"]),
                "warnings": tuple(native["warnings"]),
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
        plain["plan"] = self.plan_json
        plain["executed_plan"] = [_with_times(asdict(one)) for one in self.executed_plan]
        for name in ("attempt_history", "replan_history", "warnings"):
            plain[name] = list(plain[name])
        return plain

    def _text_lines(self) -> Iterator[str]:
        if not self.success and self.final_answer is not None:
            yield self.final_answer
        yield from (_line(step) for step in self.executed_plan)
        yield from self.warnings
        if self.caveat is not None:
            yield self.caveat

    def _html_parts(self) -> Iterator[str]:
        for warning in (*self.warnings, self.caveat):
            if warning is not None:
                yield f'<div style="color:{WARNING}">{escaped(warning)}</div>'
        if not self.success and self.final_answer is not None:
            yield f"<p>{escaped(self.final_answer, _LONGEST)}</p>"
        if self.executed_plan:
            lines = (_line(step) for step in self.executed_plan)
            items = "".join(f"<li>{escaped(line, _LONGEST)}</li>" for line in lines)
            title = f"{len(self.executed_plan)} steps"
            yield f'<details><summary style="font-size:12px">{title}</summary>'
            yield f'<ol style="font-size:12px">{items}</ol></details>'


def _line(step: ExecutedStep) -> str:
    ended = step.status.lower() if step.error is None else f"failed: {step.error.message}"
    missing = "".join(f"; not done: {one}: {why}" for one, why in step.partial_errors.items())
    return f"{step.step.narrative_step} ({step.step.tool_name}): {ended}{missing}"


def _step(native: Mapping[str, Any]) -> PlanStep:
    names = ("assigned_agent_role", "tool_name", "sub_task_input", "narrative_step")
    return PlanStep(step_id=native["stepId"], **{name: native[name] for name in names})


def _written(step: PlanStep) -> dict[str, Any]:
    return {
        "stepId": step.step_id,
        "assigned_agent_role": step.assigned_agent_role,
        "tool_name": step.tool_name,
        "sub_task_input": step.sub_task_input,
        "narrative_step": step.narrative_step,
    }


def _executed(native: Mapping[str, Any]) -> ExecutedStep:
    error = native["error_details"]
    return ExecutedStep(
        step=_step(native),
        stage_index=native["stage_index"],
        status=native["status"],
        result=native["raw_result_data"],
        summary=native["processed_result_data"],
        error=None if error is None else StepError(**error),
        partial_errors={one["source"]: one["message"] for one in native["partial_errors"]},
        reused=native["reused"],
        started_at=_time(native["started_at"]),
        finished_at=_time(native["finished_at"]),
    )


def _time(text: str | None) -> datetime | None:
    return None if text is None else datetime.fromisoformat(text)


def _with_times(step: dict[str, Any]) -> dict[str, Any]:
    """The step with its times as text."""
    times = ("started_at", "finished_at")
    return {**step, **{name: step[name] and step[name].isoformat() for name in times}}
