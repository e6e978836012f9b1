"""Plan and execute: a task as a plan of stages, which is revised when a step fails."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, Literal, TypedDict, Unpack

from antiphon._builtin_tools.calculator import calculator
from antiphon._roles import RoleSpec, as_tools, tools_in
from antiphon._text import counted, first_of
from antiphon._tool.lifespan import Lifespans
from antiphon._tool.tool import Tool
from antiphon.errors import ValidationError
from antiphon.systems._system import System
from antiphon.systems.plan_execute_result import PlanExecuteResult
from antiphon.systems.progress import Activity, ProgressLine, ProgressReporter
from antiphon.systems.queue import read_queue
from antiphon.toolset import Toolset

if TYPE_CHECKING:
    import os
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from antiphon._thread_store import Durability
    from antiphon._watch.watcher import Watch
    from antiphon.budget import Budget
    from antiphon.checkpoint import Saver
    from antiphon.models import Model
    from antiphon.systems.progress import EventReports, ProgressItem
    from antiphon.systems.queue import Queue
    from antiphon.systems.stream import AsyncSystemStream, SystemStream

__all__ = ["PlanExecute", "PlanExecuteSettings"]

_Mode = Literal["EXECUTE_FULL_PLAN", "PLAN_ONLY", "EXECUTE_PLANNED_TASK", "SYNTHESIZE_ONLY"]
"""How much of a task is done."""


class PlanExecuteSettings(TypedDict, total=False):
    """The settings; docs/guides/plan-execute.md describes each."""

    templates: Sequence[Mapping[str, Any]]
    workers: Mapping[str, Mapping[str, Any]]
    role_profiles: Mapping[str, str | Sequence[str]]
    max_revisions: int
    max_total_replans: int
    max_replans_same_failure: int
    max_reasks: int
    strict_plan: bool
    approve_plan: bool
    execution: Literal["stages", "dag"]
    stage_concurrency: int
    step_timeout_s: float
    send_context_summary: bool
    reuse_completed_steps: bool
    carry_outputs: bool
    summary_threshold_chars: int
    summary_input_chars: int
    finding_chars: int
    preview_chars: int
    synthesis_chars: int
    pages_to_explore: int
    explore_empty: Literal["completed", "failed"]
    temperature: float | None
    question_timeout_s: float


def _report_plan(data: dict[str, Any]) -> Iterator[ProgressItem]:
    yield ProgressLine(f"plan: {counted(len(data['plan']), 'stage')}")
    for number, stage in enumerate(data["plan"], 1):
        for step in stage:
            yield ProgressLine(f"stage {number}: {step['tool_name']}: {step['narrative_step']}", 2)


def _report_step(data: dict[str, Any]) -> list[ProgressItem]:
    return [Activity(f"stage {data['stageIndex']}: {data['narrativeStep']}")]


class _PlanProgress(ProgressReporter):
    event_reports: ClassVar[EventReports] = {
        "PLANNING_STARTED": lambda _: [Activity("planner plans")],
        "PLANNING_COMPLETED": _report_plan,
        "PLAN_REPAIRED": lambda data: [
            ProgressLine(f"put right in the plan: {first_of(data['repairs'])}")
        ],
        "PLAN_VALIDATION_FAILED": lambda data: [
            ProgressLine(f"wrong in the plan: {first_of(data['violations'])}")
        ],
        "REPLANNING_STARTED": lambda _: [Activity("planner revises the plan")],
        "REPLANNING_SUCCESS": _report_plan,
        "EXECUTION_STEP_DISPATCHED": _report_step,
        "EXECUTION_STEP_ORCHESTRATOR_START": _report_step,
        "EXECUTION_STEP_COMPLETED": lambda data: [ProgressLine(f"done: {data['narrativeStep']}")],
        "EXECUTION_STEP_REUSED": lambda data: [
            ProgressLine(f"done before: {data['narrativeStep']}")
        ],
        "EXECUTION_STEP_FAILED": lambda data: [
            ProgressLine(f"failed: {data['narrativeStep']}: {data['errorDetails']['message']}")
        ],
        "FINAL_SYNTHESIS_START": lambda _: [Activity("synthesiser words the answer")],
    }


class PlanExecute(System[PlanExecuteResult]):
    """Carries out a task as a plan of stages, and revises the plan when a step fails.

    The planner sees the task and the tools, and makes a plan: stages that run one after the other,
    each with steps that run side by side. A step can refer to the output of an earlier one:
    ``@{outputs.s1.result_data.0.link}``. Code validates the plan, resolves the references and calls
    the tools. When a step fails, the planner makes a better plan from all that is known; steps that
    are done are not repeated. The task ends with an answer, or with an explanation of what failed.

    Args:
        model: the model of every role that has no implementation, as for `ReviewLoop`.
        tools: what plans may call: tools of `antiphon.tools` (``web_search``, ``read_page``,
            ``files``, ``download``, ``write_pdf``), which plans know as ``WebSearchTool``,
            ``ReadWebpageTool``, ``FileSystemTool`` and ``FileDownloaderTool``; and functions,
            `Tool`s, LangChain tools or `antiphon.Toolset`s under their own names. The calculator,
            ``CalculatorTool``, is always there.
        planner: the implementation of the role: an `antiphon.Agent` without tools, a model's
            name, a model, or a function of the brief (a dict with ``task``, ``tools``,
            ``revision``, ``rejected_plan``, ``violations`` and ``schema``), which returns
            ``{"stages": [[{"stepId": ..., "assigned_agent_role": ..., "tool_name": ...,
            "sub_task_input": {...}, "narrative_step": ...}]]}``.
        step_executor: writes the text of steps with ``LLMStepExecutor``; a function gets ``task``
            and ``prompt``, in which results of earlier steps stand between tags, and returns
            ``{"text": ...}``.
        summariser: summarises long results.
        context_keeper: says how the task stands.
        synthesiser: words the answer, or explains what failed.
        prompts: texts or paths that replace prompts, by their names in `System.prompts`.
        checkpointer: the store of the tasks, as for `ReviewLoop`.
        durability: as for `ReviewLoop`.
        budget: as for `ReviewLoop`.
        queue: where steps wait for workers (`antiphon.systems.Worker`): a `Queue`, or the URL of
            one (``nats://host:4222``, see `Queue.connect`). Workers carry out the steps of all
            roles but the ``Orchestrator``, with their own `tools`. Default: steps are carried
            out here.
        key_profiles: tools with other credentials, by the name of a profile: each takes the place
            of the one of `tools` with the same name for roles that work with the profile
            (``role_profiles``). With a queue, workers have profiles of their own (`Worker`).
        **settings: ``max_revisions`` (2), ``strict_plan`` (``False``), ``approve_plan``
            (``False``; a person approves or changes each plan), ``execution`` (``"stages"``; with
            ``"dag"`` steps wait for what they refer to alone), ``stage_concurrency`` (8),
            ``step_timeout_s`` (30), ``role_profiles`` (by role: the name of its key profile, or
            several that are tried in order), ``workers`` (roles beside ``ResearchAgent`` and
            ``UtilityAgent``, each with ``description`` and ``tools``), ``templates``,
            ``question_timeout_s`` (600); docs/guides/plan-execute.md lists all.

    Raises:
        ValidationError: a setting, role or tool is invalid (``system_setting_invalid``,
            ``role_invalid``, ``role_tools_invalid``); or there is no model
            (``model_unavailable``).
        ToolTransportError: the queue cannot be reached (``queue_unreachable``).
        AuthError: the provider requires a key, and none was found (``model_key_missing``).

    Example:
        >>> from antiphon.models import scripted
        >>> def population(city: str) -> int:
        ...     return {"Lyon": 520_774}[city]
        >>> step = {
        ...     "stepId": "s1",
        ...     "assigned_agent_role": "UtilityAgent",
        ...     "tool_name": "population",
        ...     "sub_task_input": {"city": "Lyon"},
        ...     "narrative_step": "look up Lyon",
        ... }
        >>> context = {"updatedSummaryOfProgress": "found", "updatedNextObjective": "answer"}
        >>> model = scripted(
        ...     [
        ...         {"json": {"stages": [[step]]}},
        ...         {"json": context},
        ...         {"json": {"answer": "Lyon has 520,774 people."}},
        ...     ]
        ... )
        >>> result = PlanExecute(model, tools=[population]).run("How many people live in Lyon?")
        >>> result.answer, result.status
        ('Lyon has 520,774 people.', 'COMPLETED')
    """

    name = "plan_execute"
    works_with_files = True
    _result = PlanExecuteResult
    progress_reporter = _PlanProgress
    _roles: ClassVar[Mapping[str, RoleSpec]] = {
        "planner": RoleSpec("planner", ("stages",), speaks=False, view=dict),
        "step_executor": RoleSpec("step_executor", ("text",), speaks=True, view=dict),
        "summariser": RoleSpec("summariser", ("summary",), speaks=True, view=dict),
        "context_keeper": RoleSpec(
            "context_keeper",
            ("updatedSummaryOfProgress", "updatedNextObjective"),
            speaks=False,
            view=dict,
        ),
        "synthesiser": RoleSpec("synthesiser", ("answer",), speaks=True, view=dict),
    }

    def __init__(
        self,
        model: str | Sequence[str | Model] | Model | None = None,
        *,
        tools: Iterable[Any] = (),
        planner: Any = None,
        step_executor: Any = None,
        summariser: Any = None,
        context_keeper: Any = None,
        synthesiser: Any = None,
        prompts: Mapping[str, str | os.PathLike[str]] | None = None,
        checkpointer: Saver | str | None = None,
        durability: Durability = "async",
        budget: Budget | None = None,
        queue: Queue | str | None = None,
        key_profiles: Mapping[str, Iterable[Any]] | None = None,
        **settings: Unpack[PlanExecuteSettings],
    ) -> None:
        roles = {
            "planner": planner,
            "step_executor": step_executor,
            "summariser": summariser,
            "context_keeper": context_keeper,
            "synthesiser": synthesiser,
        }
        super().__init__(
            model,
            roles=roles,
            checkpointer=checkpointer,
            durability=durability,
            budget=budget,
            prompts=prompts,
            parts={"tools": tools, "queue": queue, "key_profiles": key_profiles or {}},
            **settings,
        )

    def run(
        self,
        question: str = "",
        *,
        mode: _Mode = "EXECUTE_FULL_PLAN",
        plan: Sequence[Sequence[Mapping[str, Any]]] | None = None,
        role_profiles: Mapping[str, str | Sequence[str]] | None = None,
        thread: str | None = None,
        context: Any = None,
        watch: Watch = None,
    ) -> PlanExecuteResult:
        """Carry out a task and wait for it, as `System.run`.

        Args:
            question: the task; may be blank if the thread keeps it.
            mode: ``EXECUTE_FULL_PLAN``; ``PLAN_ONLY``, then the thread keeps the plan;
                ``EXECUTE_PLANNED_TASK``, the plan that is given or that the thread keeps;
                ``SYNTHESIZE_ONLY``, from the results that the thread keeps.
            plan: a plan to execute, such as `PlanExecuteResult.plan_json`; stages, each a list of
                steps.
            role_profiles: the key profiles that roles work with, in place of those of the
                settings, such as ``{"ResearchAgent": ["paid", "free"]}``.
            thread: keeps the task.
            context: as in `System.run`.
            watch: as in `System.run`.

        Raises:
            ValidationError: as `System.run`.
            StateError: as `System.run`.
        """
        return super().run(
            question,
            mode=mode,
            plan=plan,
            role_profiles=role_profiles,
            thread=thread,
            context=context,
            watch=watch,
        )

    async def arun(
        self,
        question: str = "",
        *,
        mode: _Mode = "EXECUTE_FULL_PLAN",
        plan: Sequence[Sequence[Mapping[str, Any]]] | None = None,
        role_profiles: Mapping[str, str | Sequence[str]] | None = None,
        thread: str | None = None,
        context: Any = None,
        watch: Watch = None,
    ) -> PlanExecuteResult:
        """Carry out a task, awaited, as `System.arun`.

        Args:
            question: as in `run`.
            mode: as in `run`.
            plan: as in `run`.
            role_profiles: as in `run`.
            thread: as in `run`.
            context: as in `System.run`.
            watch: as in `System.arun`.
        """
        return await super().arun(
            question,
            mode=mode,
            plan=plan,
            role_profiles=role_profiles,
            thread=thread,
            context=context,
            watch=watch,
        )

    def stream(
        self,
        question: str = "",
        *,
        mode: _Mode = "EXECUTE_FULL_PLAN",
        plan: Sequence[Sequence[Mapping[str, Any]]] | None = None,
        role_profiles: Mapping[str, str | Sequence[str]] | None = None,
        thread: str | None = None,
        context: Any = None,
        watch: Watch = None,
    ) -> SystemStream[PlanExecuteResult]:
        """Carry out a task event by event, as `System.stream`.

        Args:
            question: as in `run`.
            mode: as in `run`.
            plan: as in `run`.
            role_profiles: as in `run`.
            thread: as in `run`.
            context: as in `System.run`.
            watch: as in `System.stream`.
        """
        return super().stream(
            question,
            mode=mode,
            plan=plan,
            role_profiles=role_profiles,
            thread=thread,
            context=context,
            watch=watch,
        )

    def astream(
        self,
        question: str = "",
        *,
        mode: _Mode = "EXECUTE_FULL_PLAN",
        plan: Sequence[Sequence[Mapping[str, Any]]] | None = None,
        role_profiles: Mapping[str, str | Sequence[str]] | None = None,
        thread: str | None = None,
        context: Any = None,
        watch: Watch = None,
    ) -> AsyncSystemStream[PlanExecuteResult]:
        """`stream` for ``async for``.

        Args:
            question: as in `run`.
            mode: as in `run`.
            plan: as in `run`.
            role_profiles: as in `run`.
            thread: as in `run`.
            context: as in `System.run`.
            watch: as in `System.stream`.
        """
        return super().astream(
            question,
            mode=mode,
            plan=plan,
            role_profiles=role_profiles,
            thread=thread,
            context=context,
            watch=watch,
        )

    def _parts(
        self, known: Mapping[str, dict[str, Any]], parts: Mapping[str, Any]
    ) -> dict[str, Any]:
        del known
        given = Tool.collect(Toolset.flatten(parts["tools"]))
        if all(tool.name != "calculate" for tool in given):
            given = [*given, calculator()]
        queue = parts["queue"]
        native = None if queue is None else read_queue(queue).native
        profiles = {name: as_tools(own) for name, own in parts["key_profiles"].items()}
        self._profile_tools = [
            tool for own in profiles.values() for tool in tools_in({"tools": own})
        ]
        return {"tools": {self.name: as_tools(given)}, "queue": native, "key_profiles": profiles}

    def _lifespans(self, options: Mapping[str, Any]) -> Lifespans:
        tools = [tool for own in self._tools.values() for tool in own]
        return Lifespans([*tools, *self._profile_tools], options["user_context"])

    def _input(
        self,
        question: Any,
        *,
        mode: str = "EXECUTE_FULL_PLAN",
        plan: Sequence[Sequence[Mapping[str, Any]]] | None = None,
        role_profiles: Mapping[str, str | Sequence[str]] | None = None,
        file: Any = None,
    ) -> dict[str, Any]:
        if file is not None:
            raise ValidationError(
                f"a task does not accept a file: {file}",
                code="input_invalid",
                hint="give it a tool that reads the file",
            )
        given: dict[str, Any] = {"question": question, "mode": mode}
        if plan is not None:
            given["plan"] = [[dict(step) for step in stage] for stage in plan]
        if role_profiles is not None:
            given["role_profiles"] = dict(role_profiles)
        return {"question": given}
