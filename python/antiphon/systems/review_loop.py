"""The review loop: a planner, a researcher and an expert, and a critic who reviews each."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from antiphon._antiphon import ReviewLoop as Native
from antiphon._choice import standing
from antiphon.event import Event
from antiphon.models import Model, scripted
from antiphon.systems._file import read_file
from antiphon.systems._role import as_role, as_tools
from antiphon.systems.result import ReviewLoopResult
from antiphon.systems.stream import ReviewLoopStream

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from antiphon._antiphon import Event as NativeEvent
    from antiphon.systems._file import FileGiven

__all__ = ["ReviewLoop"]


class ReviewLoop:
    """Answers one question at a time with a planner, a researcher, an expert and a critic.

    The planner splits the question into research steps and expert steps. Each piece of work
    goes to the critic, who approves it or sends it back with feedback; after ``retry_limit``
    rejections the question is given up. A finalizer words the answer. One object serves any
    number of questions, also at once from several threads or tasks.

    Args:
        model: who plays every role that is not named: a name such as ``openai:gpt-5-mini``
            or ``local:1.5b``, or a `antiphon.models.Model`. Default: ``ANTIPHON_MODEL``, else
            the provider whose key is in the environment, else a small model on this machine,
            which is fetched the first time.
        planner: who plans, if not `model`: a name, a `Model`, or a function, synchronous or
            not, that takes the brief (a dict with ``step``, ``instruction``, ``question``,
            ``attempt``, ``schema``, what was planned, found and answered so far) and
            returns what fits ``schema``: ``{"research_steps": [...], "expert_steps": [...]}``.
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
        model: str | Model | None = None,
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
        shared = list(tools)
        given = {
            "planner": planner,
            "critic": critic,
            "researcher": researcher,
            "expert": expert,
            "finalizer": finalizer,
        }
        known = {name: as_role(name, role) for name, role in given.items() if role is not None}
        # What is shared goes to the models among the two; a function has its own.
        both = {name: shared if "act" not in known.get(name, {}) else [] for name in _WITH_TOOLS}
        named = {
            "research_tools": both["researcher"] if research_tools is None else research_tools,
            "expert_tools": both["expert"] if expert_tools is None else expert_tools,
        }
        used = {name: as_tools(found) for name, found in named.items()}

        def build(actor: dict[str, Any]) -> Native:
            return Native(settings, {**dict.fromkeys(given, actor), **known, **used})

        nobody = {"model": scripted([]), "prompt": None}
        self._native = build(nobody)  # says what is wrong before a model costs anything
        if len(known) < len(given):
            opened = standing(model) if model is None or isinstance(model, str) else model
            self._native = build(as_role("model", opened))

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

        Args:
            question: as in `run`.
            file: as in `run`.

        Raises:
            ValidationError: as in `run`.
        """
        native: Any = await self._native.aask(question, file=read_file(file))
        return ReviewLoopResult.of(native)

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

    def __repr__(self) -> str:
        return "ReviewLoop()"

    def _ask(
        self,
        question: str,
        file: Any,
        show: Callable[[NativeEvent], None] | None,
    ) -> ReviewLoopResult:
        return ReviewLoopResult.of(self._native.ask(question, file=file, watch=show))


_WITH_TOOLS = ("researcher", "expert")
