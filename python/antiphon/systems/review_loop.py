"""The review loop: a planner, a researcher and an expert, and a critic who reviews each."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from antiphon._antiphon import ReviewLoop as Native
from antiphon._choice import standing
from antiphon._role import Part, Question, aask_all, as_role, as_tools, ask_all
from antiphon.agent import Agent
from antiphon.errors import ValidationError
from antiphon.event import Event
from antiphon.models import Model, scripted
from antiphon.systems._file import read_file
from antiphon.systems._parts import parts
from antiphon.systems.result import ReviewLoopResult
from antiphon.systems.stream import AsyncReviewLoopStream, ReviewLoopStream

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from antiphon._antiphon import Event as NativeEvent
    from antiphon.systems._file import FileGiven

    _Show = Callable[[NativeEvent], None]

__all__ = ["ReviewLoop"]


class ReviewLoop:
    """Answers one question at a time with a planner, a researcher, an expert and a critic.

    The planner splits the question into research steps and expert steps. Each piece of work
    goes to the critic, who approves it or sends it back with feedback; after ``retry_limit``
    rejections the question is given up. A finalizer words the answer. One object serves any
    number of questions, also at once from several threads or tasks.

    Args:
        model: who plays every role that is not named: a name such as ``openai:gpt-5-mini``
            or ``local:1.5b``, a list of names, or a `antiphon.models.Model`. Default:
            ``ANTIPHON_MODEL``, else the provider whose key is in the environment, else a small
            model on this machine, which is fetched the first time.
        planner: who plans, if not `model`: an `antiphon.Agent` (an instance or a class), a
            name, a model, or a function, synchronous or not, that takes the brief (a dict with
            ``step``, ``instruction``, ``question``, ``attempt``, ``schema``, what was planned,
            found and answered so far). An agent's ``run`` and a function return what fits the
            role: ``{"research_steps": [...], "expert_steps": [...]}``. What an agent is given,
            and which of its options count, stands in docs/guides/review-loop.md.
        critic: who reviews; returns ``{"decision": "approve" or "reject", "feedback": ...}``.
        researcher: who looks things up; returns ``{"result": ...}``.
        expert: who answers; returns ``{"expert_answer": ..., "reasoning_trace": ...}``.
        finalizer: who words the answer; returns ``{"final_answer": ...,
            "final_reasoning_trace": ...}``.
        tools: what researcher and expert may call: functions, `Tool`s or LangChain tools.
        research_tools: those of the researcher alone. Default: `tools`.
        expert_tools: those of the expert alone. Default: `tools`.
        **settings: ``retry_limit`` (5), ``question_timeout_s`` (600), ``max_reasks`` (1),
            ``temperature`` (0), ``tool_timeout_s`` (30), ``research_mode`` (``sequential`` or
            ``parallel``), ``answer_format`` (``plain`` or ``gaia``), and those that
            docs/guides/review-loop.md lists.

    Raises:
        ValidationError: a setting, role or tool cannot be used (``system_setting_invalid``,
            ``role_invalid``, ``role_tools_invalid``); or there is no model
            (``model_unavailable``).
        AuthError: the model wants a key, and there is none (``model_key_missing``).

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
        **settings: Any,
    ) -> None:
        given = {
            "planner": planner,
            "critic": critic,
            "researcher": researcher,
            "expert": expert,
            "finalizer": finalizer,
        }
        every = parts(minimal=settings.get("critic_context") == "minimal")
        known = {
            name: as_role(every[name], role) for name, role in given.items() if role is not None
        }
        used = _tools(known, list(tools), {"researcher": research_tools, "expert": expert_tools})

        def build(actor: dict[str, Any]) -> Native:
            roles = {name: _played(name, known.get(name, {}), actor) for name in given}
            return Native(settings, {**roles, **used})

        self._native = build({"model": scripted([])})  # what is wrong is said before it costs
        if any(known.get(name, {}).keys().isdisjoint({"act", "model"}) for name in given):
            opened = standing(model) if model is None or isinstance(model, str) else model
            self._native = build(_everyone(opened))

    def run(
        self,
        question: str,
        *,
        file: FileGiven | None = None,
        watch: Callable[[Event], None] | None = None,
    ) -> ReviewLoopResult:
        """Answers a question and waits for it. Ctrl-C stops it.

        Args:
            question: what is asked.
            file: a text file that comes with it: a path, or a name and bytes; UTF-8, at most
                64 KiB.
            watch: called on this thread with each event, pieces of replies included.

        Raises:
            ValidationError: the question is blank (``question_blank``), or the file cannot be
                used (``attachment_unreadable``, ``attachment_too_large``,
                ``attachment_not_text``). Whatever happens later is an outcome of the result.
        """
        show = None if watch is None else lambda event: watch(Event.of(event))
        return self._ask(question, read_file(file), show)

    async def arun(self, question: str, *, file: FileGiven | None = None) -> ReviewLoopResult:
        """Answers a question, awaited. Cancelling the awaiting task stops it.

        Coroutines of roles run on the caller's event loop.

        Args:
            question: as in `run`.
            file: as in `run`.

        Raises:
            ValidationError: as in `run`.
        """
        return await self._await(question, read_file(file))

    def stream(self, question: str, *, file: FileGiven | None = None) -> ReviewLoopStream:
        """Answers a question on a thread of its own, event by event.

        Args:
            question: as in `run`.
            file: as in `run`.

        Returns:
            What gives the events, and afterwards the `ReviewLoopStream.result`.

        Raises:
            ValidationError: as in `run`; for the question once the stream is read.
        """
        attached = read_file(file)
        return ReviewLoopStream(lambda show: self._ask(question, attached, show))

    def astream(self, question: str, *, file: FileGiven | None = None) -> AsyncReviewLoopStream:
        """`stream` for ``async for``, on the caller's event loop.

        Args:
            question: as in `run`.
            file: as in `run`.

        Returns:
            What gives the events, and afterwards the `AsyncReviewLoopStream.result`.

        Raises:
            ValidationError: as in `stream`.
        """
        attached = read_file(file)
        return AsyncReviewLoopStream(lambda show: self._await(question, attached, show))

    def batch(self, questions: Iterable[str], *, concurrency: int = 8) -> list[ReviewLoopResult]:
        """Answers several questions, some at a time, with a progress bar for whoever watches.

        Args:
            questions: what is asked.
            concurrency: how many are under way at a time. Default: 8.

        Returns:
            The results, in the order of the questions.

        Raises:
            ValidationError: a question is blank (``question_blank``), or there is only a text
                where a list should be (``input_invalid``); none has been asked.
        """
        return ask_all(self.arun, questions, concurrency=concurrency, label=_LABEL)

    async def abatch(
        self, questions: Iterable[str], *, concurrency: int = 8
    ) -> list[ReviewLoopResult]:
        """`batch` on the caller's event loop.

        Args:
            questions: as in `batch`.
            concurrency: as in `batch`.
        """
        return await aask_all(self.arun, questions, concurrency=concurrency, label=_LABEL)

    def __repr__(self) -> str:
        return "ReviewLoop()"

    def _ask(self, question: str, file: Any, show: _Show | None) -> ReviewLoopResult:
        native = self._native.ask(question, file=file, watch=show, about=Question())
        return ReviewLoopResult.of(native)

    async def _await(self, question: str, file: Any, show: _Show | None = None) -> ReviewLoopResult:
        about = Question(asyncio.get_running_loop())
        native: Any = await self._native.aask(question, file=file, watch=show, about=about)
        return ReviewLoopResult.of(native)


def _everyone(given: Any) -> dict[str, Any]:
    """Whoever plays all roles that are not named."""
    if isinstance(given, Agent) or (isinstance(given, type) and issubclass(given, Agent)):
        raise ValidationError(
            f"an agent plays one role, and was given for all of them: {given!r}",
            code="role_invalid",
            hint="name the role: `ReviewLoop(critic=MyCritic())`",
        )
    return as_role(Part("model", (), speaks=False, view=dict), given)


def _played(name: str, role: dict[str, Any], actor: dict[str, Any]) -> dict[str, Any]:
    """A role with the model of all roles, where it brings none."""
    if "act" in role or not role:
        return role or {**actor, "tags": {"agent": name}}
    if "act" in actor and "model" not in role:
        raise ValidationError(
            f"the agent that plays the {name} has no model, and what plays all roles is none",
            code="role_invalid",
            details={"role": name},
            hint="give the agent a `model`",
        )
    return {**actor, "tags": {"agent": name}, **role}


def _tools(
    known: dict[str, dict[str, Any]], shared: list[Any], named: dict[str, Iterable[Any] | None]
) -> dict[str, Any]:
    """The tools of researcher and expert.

    What is shared goes to those of the two that have none of their own: a function and an
    agent's `run` see to themselves, and so does an agent that lists its tools.
    """
    found = {}
    for name, own in named.items():
        role = known.get(name, {})
        brings = "act" in role or "tools" in role
        given = own if own is not None else [] if brings else shared
        found[f"{_LISTS[name]}_tools"] = as_tools(given)
    return found


_LABEL = "review loop"
_LISTS = {"researcher": "research", "expert": "expert"}
