"""The review loop: a planner, a researcher and an expert, and a critic who reviews each."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from antiphon._antiphon import ReviewLoop as Native
from antiphon._model.default_model import default_model
from antiphon._role import Question, aask_all, as_role, ask_all
from antiphon.models import Model, scripted
from antiphon.systems._awaiting import awaited
from antiphon.systems._batch import FileBatches
from antiphon.systems._cast import everyone, played, tools_of
from antiphon.systems._file import read_file
from antiphon.systems._parts import parts
from antiphon.systems._place import Places, thread_of
from antiphon.systems.result import ReviewLoopResult
from antiphon.systems.stream import AsyncReviewLoopStream, ReviewLoopStream

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from antiphon._lines import Task
    from antiphon._thread_store import Durability
    from antiphon.checkpoint import Saver
    from antiphon.event import Event
    from antiphon.systems._file import FileGiven

    _Show = Callable[[Event], None]

__all__ = ["ReviewLoop"]


class ReviewLoop(FileBatches):
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
        checkpointer: where questions are kept, each in a thread, so that one which was lost can
            go on: a saver of `antiphon.checkpoint`, or a URL such as ``sqlite:runs.db``.
            Default: nowhere.
        durability: when what happened is safe: ``sync``, before the question goes on;
            ``async``, while it goes on and before its end is shown (a process that is killed
            loses what is on its way then: about 1,024 commits or 16 MiB at most); ``exit``, at
            its end alone. Default: ``async``.
        **settings: ``retry_limit`` (5), ``question_timeout_s`` (600), ``max_reasks`` (1),
            ``temperature`` (each model's own), ``tool_timeout_s`` (30), ``research_mode``
            (``sequential`` or ``parallel``), ``answer_format`` (``plain`` or ``gaia``), and those
            that docs/guides/review-loop.md lists.

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
        checkpointer: Saver | str | None = None,
        durability: Durability = "async",
        **settings: Any,
    ) -> None:
        self._places = Places(checkpointer, durability)
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
        used = tools_of(known, list(tools), {"researcher": research_tools, "expert": expert_tools})

        def build(actor: dict[str, Any]) -> Native:
            roles = {name: played(name, known.get(name, {}), actor) for name in given}
            return Native(settings, {**roles, **used})

        self._native = build({"model": scripted([])})  # what is wrong is said before it costs
        if any(known.get(name, {}).keys().isdisjoint({"act", "model"}) for name in given):
            opened = default_model(model) if model is None or isinstance(model, str) else model
            self._native = build(everyone(opened))

    def run(
        self,
        question: str,
        *,
        thread: str | None = None,
        file: FileGiven | None = None,
        watch: Callable[[Event], None] | None = None,
    ) -> ReviewLoopResult:
        """Answers a question and waits for it. Ctrl-C stops it.

        Args:
            question: what is asked.
            thread: where it is kept, by any name. Another question that was there is put aside,
                also one that was under way. Default: a thread of its own, if there is a
                checkpointer.
            file: a text file that comes with it: a path, or a name and bytes; UTF-8, at most
                64 KiB.
            watch: called on this thread with each event, pieces of replies included.

        Raises:
            ValidationError: the question is blank (``question_blank``), or the file cannot be
                used (``attachment_unreadable``, ``attachment_too_large``,
                ``attachment_not_text``); or there is a thread and no checkpointer
                (``thread_unkept``).
            StateError: another run writes to the thread (``thread_busy``), or its store fails
                before the question has begun. Whatever happens later is an outcome of the
                result.
        """
        put = {"file": read_file(file), **self._places.put(thread)}
        return self._ask(question, put, watch)

    async def arun(
        self, question: str, *, thread: str | None = None, file: FileGiven | None = None
    ) -> ReviewLoopResult:
        """Answers a question, awaited. Cancelling the awaiting task stops it.

        Coroutines of roles run on the caller's event loop.

        Args:
            question: as in `run`.
            thread: as in `run`.
            file: as in `run`.

        Raises:
            ValidationError: as in `run`.
            StateError: as in `run`.
        """
        return await self._await(question, {"file": read_file(file), **self._places.put(thread)})

    def resume(
        self, thread: str, *, watch: Callable[[Event], None] | None = None
    ) -> ReviewLoopResult:
        """Goes on with the question in a thread, after a crash, a failure or a cancellation.

        Nothing that was stored is done again. The question's time begins anew, and the trace of
        the result has what happens from now on. A question that is over is answered with what
        it came to, and no model is asked.

        Args:
            thread: its name.
            watch: as in `run`.

        Raises:
            ValidationError: the thread holds no question (``thread_empty``), or there is no
                checkpointer (``thread_unkept``).
            StateError: another run writes to the thread (``thread_busy``), what it holds is
                damaged or of another system (``checkpoint_corrupt``, ``checkpoint_misfit``), or
                its store fails.
        """
        return self._ask("", self._places.old(thread), watch)

    async def aresume(self, thread: str) -> ReviewLoopResult:
        """`resume` on the caller's event loop.

        Args:
            thread: as in `resume`.

        Raises:
            ValidationError: as in `resume`.
            StateError: as in `resume`.
        """
        return await self._await("", self._places.old(thread))

    def stream(
        self, question: str, *, thread: str | None = None, file: FileGiven | None = None
    ) -> ReviewLoopStream:
        """Answers a question on a thread of its own, event by event.

        Args:
            question: as in `run`.
            thread: as in `run`.
            file: as in `run`.

        Returns:
            What gives the events, and afterwards the `ReviewLoopStream.result`.

        Raises:
            ValidationError: as in `run`; for the question once the stream is read.
        """
        put = {"file": read_file(file), **self._places.put(thread)}
        return ReviewLoopStream(lambda show: self._ask(question, put, show))

    def astream(
        self, question: str, *, thread: str | None = None, file: FileGiven | None = None
    ) -> AsyncReviewLoopStream:
        """`stream` for ``async for``, on the caller's event loop.

        Args:
            question: as in `run`.
            thread: as in `run`.
            file: as in `run`.

        Returns:
            What gives the events, and afterwards the `AsyncReviewLoopStream.result`.

        Raises:
            ValidationError: as in `stream`.
        """
        put = {"file": read_file(file), **self._places.put(thread)}
        return AsyncReviewLoopStream(lambda show: self._await(question, put, show))

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

    async def _settle(self, task: Task) -> ReviewLoopResult:
        put = {"file": read_file(task.file), **self._places.task(task)}
        return await self._await(task.question, put)

    def __repr__(self) -> str:
        return "ReviewLoop()"

    def _ask(self, question: str, put: dict[str, Any], show: _Show | None) -> ReviewLoopResult:
        native = self._native.ask(question, watch=show, about=Question(), **put)
        return ReviewLoopResult.of(native, thread_of(put))

    async def _await(
        self, question: str, put: dict[str, Any], show: _Show | None = None
    ) -> ReviewLoopResult:
        ask, about = self._native.aask, Question(asyncio.get_running_loop())
        native = await awaited(
            lambda stop: ask(question, watch=show, about=about, stop=stop, **put)
        )
        return ReviewLoopResult.of(native, thread_of(put))


_LABEL = "review loop"
