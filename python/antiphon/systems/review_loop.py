"""The review loop: a planner, a researcher and an expert, and a critic who reviews each."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, Literal, TypedDict, Unpack

from antiphon._attachment import read_file
from antiphon.systems._review_progress import ReviewProgress
from antiphon.systems._review_roles import ROLE_SPECS, brief_view
from antiphon.systems._roles import tools_of
from antiphon.systems._system import System
from antiphon.systems.review_loop_result import ReviewLoopResult

if TYPE_CHECKING:
    import os
    from collections.abc import Iterable, Mapping, Sequence

    from antiphon._attachment import FileGiven
    from antiphon._roles import RoleSpec
    from antiphon._thread_store import Durability
    from antiphon._watch.watcher import Watch
    from antiphon.budget import Budget
    from antiphon.checkpoint import Saver
    from antiphon.models import Model
    from antiphon.systems.stream import AsyncSystemStream, SystemStream

__all__ = ["ReviewLoop", "ReviewLoopSettings"]


class ReviewLoopSettings(TypedDict, total=False):
    """The settings of a review loop; docs/guides/review-loop.md describes each."""

    retry_limit: int
    per_agent_limits: Mapping[str, int] | None
    researcher_limit_scope: Literal["question", "step"]
    recursion_limit: int
    researcher_max_tool_calls: int
    expert_max_tool_calls: int
    temperature: float | None
    max_reasks: int
    tool_timeout_s: float
    question_timeout_s: float
    research_mode: Literal["sequential", "parallel"]
    max_research_steps: int
    max_expert_steps: int
    critic_context: Literal["full", "minimal"]
    finalizer_on_failure: Literal["bypass", "model"]
    answer_format: Literal["plain", "short", "gaia"]
    feedback_type: Literal["instruction", "feedback"]
    strict_state: bool
    stop_on_no_progress: bool
    check_answerability: bool
    escalate_to_planner: bool


class ReviewLoop(System[ReviewLoopResult]):
    """Answers a question with a planner, a researcher and an expert, whose work a critic reviews.

    The planner splits the question into research steps and expert steps. The critic approves each
    piece of work or rejects it with feedback; after ``retry_limit`` rejections the loop gives up.
    The expert's answer is delivered in its own words, unless ``answer_format`` asks for a short
    form, which a finalizer words. One object serves any number of questions, also concurrently
    from several threads or tasks.

    Args:
        model: the model of every role that has no implementation: a name such as
            ``openai:gpt-5-mini`` or ``local:1.5b``, a list of names, or a
            `antiphon.models.Model`. Default: ``ANTIPHON_MODEL``, else the provider whose key is
            in the environment, else a small model on this machine, which is downloaded on first
            use.
        planner: the implementation of the role: an `antiphon.Agent` (an instance or a class), a
            model's name, a model, or a sync or async function that takes the brief (a dict with
            ``step``, ``instruction``, ``question``, ``attempt``, ``schema``, and the plan,
            findings and answers so far) and, if it needs a second argument, the
            `antiphon.AgentContext` of the role. An agent's ``act`` and a function return the
            reply of the role: ``{"research_steps": [...], "expert_steps": [...]}``.
            docs/guides/review-loop.md lists the input and the supported options of agents.
        critic: as `planner`; returns ``{"decision": "approve", "reject" or "not_known",
            "feedback": ...}``, and ``"needs_research": True`` to send a rejected answer back to the
            planner, with ``escalate_to_planner=True``.
        researcher: as `planner`; returns ``{"result": ...}``.
        expert: as `planner`; returns ``{"expert_answer": ..., "reasoning_trace": ...}``, and
            ``"known": False`` if the answer says why nobody can know.
        finalizer: as `planner`; returns ``{"final_answer": ..., "final_reasoning_trace": ...}``.
            Asked for a short form, or if it is given here.
        tools: tools of the researcher and the expert: functions, `Tool`s, LangChain tools or
            `antiphon.Toolset`s.
        research_tools: tools of the researcher only. Default: `tools`.
        expert_tools: tools of the expert only. Default: `tools`.
        prompts: texts or paths that replace prompts, by their names in `System.prompts`.
        checkpointer: the store of the questions' threads: a saver of `antiphon.checkpoint`, or a
            URL such as ``sqlite:runs.db``. Default: questions are not stored.
        durability: when a step is stored: ``sync``, before the next starts; ``async``, while the
            next runs, and before the end is shown (a killed process loses the pending commits: at
            most about 1,024, or 16 MiB); ``exit``, only at the end. Default: ``async``.
        budget: what one question may spend in calls, tokens and time. Default: the settings alone
            limit it.
        **settings: ``retry_limit`` (5), ``question_timeout_s`` (600), ``max_reasks`` (1),
            ``temperature`` (each model's own), ``tool_timeout_s`` (30), ``research_mode``
            (``sequential`` or ``parallel``), ``answer_format`` (``plain``, ``short`` or ``gaia``);
            docs/guides/review-loop.md lists all.

    Raises:
        ValidationError: a setting, role or tool is invalid (``system_setting_invalid``,
            ``role_invalid``, ``role_tools_invalid``); or there is no model
            (``model_unavailable``).
        AuthError: the provider requires a key, and none was found (``model_key_missing``).

    Example:
        >>> from antiphon.models import scripted
        >>> loop = ReviewLoop(
        ...     planner=lambda brief: {"research_steps": [], "expert_steps": ["count"]},
        ...     expert=lambda brief: {"expert_answer": "3", "reasoning_trace": "counted"},
        ...     critic=lambda brief: {"decision": "approve"},
        ...     finalizer=scripted([{"json": {"final_answer": "3", "final_reasoning_trace": ""}}]),
        ...     researcher=lambda brief: {"result": "nothing"},
        ... )
        >>> loop.run("How many letters does 'sea' have?")
        ReviewLoopResult(outcome='answered', answer='3')
    """

    name = "review_loop"
    _result = ReviewLoopResult
    progress_reporter = ReviewProgress
    _roles = ROLE_SPECS

    def __init__(
        self,
        model: str | Sequence[str | Model] | Model | None = None,
        *,
        planner: Any = None,
        critic: Any = None,
        researcher: Any = None,
        expert: Any = None,
        finalizer: Any = None,
        tools: Iterable[Any] = (),
        research_tools: Iterable[Any] | None = None,
        expert_tools: Iterable[Any] | None = None,
        prompts: Mapping[str, str | os.PathLike[str]] | None = None,
        checkpointer: Saver | str | None = None,
        durability: Durability = "async",
        budget: Budget | None = None,
        **settings: Unpack[ReviewLoopSettings],
    ) -> None:
        super().__init__(
            model,
            roles={
                "planner": planner,
                "critic": critic,
                "researcher": researcher,
                "expert": expert,
                "finalizer": finalizer,
            },
            checkpointer=checkpointer,
            durability=durability,
            budget=budget,
            prompts=prompts,
            parts={
                "own": {"researcher": research_tools, "expert": expert_tools},
                "all": tools,
            },
            **settings,
        )

    def run(
        self,
        question: str,
        *,
        thread: str | None = None,
        file: FileGiven | None = None,
        context: Any = None,
        watch: Watch = None,
    ) -> ReviewLoopResult:
        """Answer a question and wait for it, as `System.run`.

        Args:
            question: the question.
            thread: as in `System.run`.
            file: a text file to attach: a path, or a name and bytes; UTF-8, at most 64 KiB.
            context: as in `System.run`.
            watch: as in `System.run`.

        Raises:
            ValidationError: as `System.run`; or the file is invalid
                (``attachment_unreadable``, ``attachment_too_large``, ``attachment_not_text``).
            StateError: as `System.run`.
        """
        return super().run(question, thread=thread, context=context, watch=watch, file=file)

    async def arun(
        self,
        question: str,
        *,
        thread: str | None = None,
        file: FileGiven | None = None,
        context: Any = None,
        watch: Watch = None,
    ) -> ReviewLoopResult:
        """Answer a question, awaited, as `System.arun`.

        Args:
            question: the question.
            thread: as in `System.run`.
            file: as in `run`.
            context: as in `System.run`.
            watch: as in `System.arun`.
        """
        return await super().arun(question, thread=thread, context=context, watch=watch, file=file)

    def stream(
        self,
        question: str,
        *,
        thread: str | None = None,
        file: FileGiven | None = None,
        context: Any = None,
        watch: Watch = None,
    ) -> SystemStream[ReviewLoopResult]:
        """Answer a question event by event, as `System.stream`.

        Args:
            question: the question.
            thread: as in `System.run`.
            file: as in `run`.
            context: as in `System.run`.
            watch: as in `System.stream`.
        """
        return super().stream(question, thread=thread, file=file, context=context, watch=watch)

    def astream(
        self,
        question: str,
        *,
        thread: str | None = None,
        file: FileGiven | None = None,
        context: Any = None,
        watch: Watch = None,
    ) -> AsyncSystemStream[ReviewLoopResult]:
        """`stream` for ``async for``.

        Args:
            question: the question.
            thread: as in `System.run`.
            file: as in `run`.
            context: as in `System.run`.
            watch: as in `System.stream`.
        """
        return super().astream(question, thread=thread, file=file, context=context, watch=watch)

    def _part(self, name: str, settings: Mapping[str, Any]) -> RoleSpec:
        minimal = settings.get("critic_context") == "minimal"
        return replace(ROLE_SPECS[name], view=partial(brief_view, name, minimal=minimal))

    def _working_roles(
        self, settings: Mapping[str, Any], prompts: Mapping[str, str]
    ) -> Iterable[str]:
        words_answers = (
            settings.get("answer_format", "plain") != "plain"
            or settings.get("finalizer_on_failure") == "model"
            or any(name.split(".")[0] == "finalizer" for name in prompts)
        )
        return [name for name in self._roles if words_answers or name != "finalizer"]

    def _parts(
        self, known: Mapping[str, dict[str, Any]], parts: Mapping[str, Any]
    ) -> dict[str, Any]:
        return {"tools": tools_of(known, parts["all"], parts["own"])}

    def _input(self, question: Any, *, file: FileGiven | None = None) -> dict[str, Any]:
        messages = question
        if isinstance(question, str):
            messages = [{"role": "user", "content": question}]
        attached = read_file(file)
        attachments = {} if attached is None else dict([attached])
        return {"question": {"messages": messages}, "attachments": attachments}
