"""The computation: a model writes code, a sandbox runs it, and the model words the result."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar, TypedDict, Unpack, cast

from antiphon._event_loop import run_blocking
from antiphon._roles import RoleSpec, ask_all, check_questions
from antiphon._text import first_of
from antiphon._watch.watcher import watching
from antiphon.errors import ValidationError
from antiphon.sandbox import Sandbox
from antiphon.sandbox.engines import runner_of
from antiphon.systems._inputs import plain_fact
from antiphon.systems._system import System
from antiphon.systems.computation_result import ComputationResult
from antiphon.systems.progress import ProgressLine, ProgressReporter
from antiphon.tools import encode_result

if TYPE_CHECKING:
    import asyncio
    import os
    from collections.abc import Iterable, Sequence

    from antiphon._thread_store import Durability
    from antiphon._watch.watcher import Watch
    from antiphon.budget import Budget
    from antiphon.checkpoint import Saver
    from antiphon.models import Model
    from antiphon.systems.progress import EventReports
    from antiphon.systems.stream import AsyncSystemStream, SystemStream

    _Inputs = Mapping[str, Any] | Sequence[Mapping[str, Any] | None] | None

__all__ = ["Computation", "ComputationSettings"]


class ComputationSettings(TypedDict, total=False):
    """The settings of a computation; docs/guides/computation.md describes each."""

    max_attempts: int
    temperature: float | None
    max_reasks: int
    max_highlights: int
    max_shown: int
    guidance: str
    packages: Sequence[str]
    summarise: bool
    reasoning: bool
    cross_check: bool | None
    question_timeout_s: float


def _attempt_outcome(fault: str | None, no_answer: str | None) -> str:
    if fault is not None:
        return f"failed: {fault.replace('_', ' ')}"
    return no_answer or "the code has run"


class _ComputationProgress(ProgressReporter):
    activities: ClassVar[Mapping[str, str]] = {
        "plan": "planner writes code",
        "find_column": "planner looks for the column that is meant",
        "cross_check": "planner writes other code, to compare the results",
        "run": "the code runs",
        "summarise": "summariser words the answer",
    }
    event_reports: ClassVar[EventReports] = {
        "code_ran": lambda data: [
            ProgressLine(
                f"attempt {data['attempt']}: {_attempt_outcome(data['fault'], data['no_answer'])}"
            )
        ],
        "results_compared": lambda data: [
            ProgressLine("both results agree" if data["agree"] else "the results differ")
        ],
        "not_answerable": lambda data: [ProgressLine(f"no answer: {data['reason']}")],
        "wording_rejected": lambda data: [
            ProgressLine(f"answer rejected: {first_of(data['differences'])}")
        ],
    }


class Computation(System[ComputationResult]):
    """Answers questions about data with code: a model writes it, a sandbox runs it.

    The model sees the question and a description of the inputs; for a table, its columns, types
    and first rows. It writes Python, which runs only in the sandbox. Errors go back to the model
    until the code has a result or the attempts are used up. Then the model words the result. One
    object serves any number of questions, also concurrently from several threads or tasks.

    Args:
        model: the model that writes the code and words the result: a name such as
            ``openai:gpt-5-mini`` or ``local:1.5b``, a list of names, a `antiphon.models.Model`,
            or a LangChain chat model. Default: as for `ReviewLoop`.
        planner: the implementation of the role that writes the code: an `antiphon.Agent`, a
            name, a model, or a function as for `ReviewLoop`, which returns
            ``{"reasoning": ..., "python": ..., "explain": ...}``, or says in ``missing`` what
            the inputs do not hold. Default: `model`.
        summariser: the implementation of the role that words the result; returns
            ``{"answer": ..., "highlights": [...]}``. Default: `model`; not needed with
            ``summarise=False``.
        prompts: texts or paths that replace prompts, by their names in `System.prompts`.
        checkpointer: the store of the questions' threads, as for `ReviewLoop`.
        durability: as for `ReviewLoop`.
        budget: as for `ReviewLoop`.
        sandbox: the sandbox that runs the code, with its limits, tools, files and packages.
            Default: a new `Sandbox`, with pandas and numpy if they are installed.
        **settings: ``max_attempts`` (2) pieces of code, ``max_highlights`` (5), ``max_shown``
            (4,000) characters of a result that the model reads, ``guidance`` (advice for wording
            the answer), ``summarise`` (``True``), ``reasoning`` (``True``: the model explains its
            approach before it writes code; the smallest models do better without),
            ``cross_check`` (for small models only: whether other code has to come to the same
            result),
            ``temperature`` (the model's own), ``max_reasks`` (1), ``question_timeout_s`` (120
            seconds), ``packages`` (those named in the prompt; default: the sandbox's).

    Raises:
        ValidationError: a setting is invalid (``system_setting_invalid``), or there is no model
            (``model_unavailable``).
        SandboxUnavailable: no sandbox engine is available.
        AuthError: the provider requires a key, and none was found (``model_key_missing``).

    Example:
        >>> from antiphon.models import scripted
        >>> model = scripted(
        ...     [
        ...         {"json": {"reasoning": "", "python": "result = sum(sales)", "explain": ""}},
        ...         {"json": {"answer": "Sales came to 60.", "highlights": []}},
        ...     ]
        ... )
        >>> computed = Computation(model).run("What do sales come to?", {"sales": [10, 20, 30]})
        >>> computed.answer, computed.value
        ('Sales came to 60.', 60)
    """

    name = "computation"
    _result = ComputationResult
    progress_reporter = _ComputationProgress
    _roles: ClassVar[Mapping[str, RoleSpec]] = {
        "planner": RoleSpec(
            "planner", ("python", "explain", "reasoning", "missing"), speaks=True, view=dict
        ),
        "summariser": RoleSpec(
            "summariser", ("answer", "highlights", "fits"), speaks=False, view=dict
        ),
    }

    def __init__(
        self,
        model: str | Sequence[str | Model] | Model | None = None,
        *,
        planner: Any = None,
        summariser: Any = None,
        sandbox: Sandbox | None = None,
        prompts: Mapping[str, str | os.PathLike[str]] | None = None,
        checkpointer: Saver | str | None = None,
        durability: Durability = "async",
        budget: Budget | None = None,
        **settings: Unpack[ComputationSettings],
    ) -> None:
        self._sandbox = _own_sandbox() if sandbox is None else sandbox
        if not isinstance(self._sandbox, Sandbox):
            raise ValidationError(
                f"`sandbox` must be a Sandbox: {type(self._sandbox).__name__}",
                code="system_setting_invalid",
                hint='pass `Sandbox(packages=["pandas"])`',
            )
        self._runner = runner_of(self._sandbox)
        settings.setdefault("packages", list(self._sandbox.packages))
        super().__init__(
            model,
            roles={"planner": planner, "summariser": summariser},
            checkpointer=checkpointer,
            durability=durability,
            budget=budget,
            prompts=prompts,
            **settings,
        )

    def run(
        self,
        question: str,
        inputs: Mapping[str, Any] | None = None,
        *,
        facts: Mapping[str, Any] | None = None,
        thread: str | None = None,
        context: Any = None,
        watch: Watch = None,
    ) -> ComputationResult:
        """Answer a question and wait for it, as `System.run`. Ctrl-C also stops the code.

        Args:
            question: the question.
            inputs: the data, by variable name: tables, lists, numbers, as in `Sandbox.run`.
            facts: further facts for the model, such as the date, as JSON values. They become
                part of the prompt: pass no secrets.
            thread: as in `System.run`; it stores the data too.
            context: for the code of roles, as in `System.run`.
            watch: as in `System.run`.

        Raises:
            ValidationError: as `System.run`; or an input is invalid
                (``sandbox_input_invalid``).
            StateError: as `System.run`.
        """
        return super().run(
            question, inputs, facts=facts, thread=thread, context=context, watch=watch
        )

    async def arun(
        self,
        question: str,
        inputs: Mapping[str, Any] | None = None,
        *,
        facts: Mapping[str, Any] | None = None,
        thread: str | None = None,
        context: Any = None,
        watch: Watch = None,
    ) -> ComputationResult:
        """Answer a question, awaited, as `System.arun`. Cancelling it also kills the code.

        Args:
            question: the question.
            inputs: as in `run`.
            facts: as in `run`.
            thread: as in `run`.
            context: as in `run`.
            watch: as in `System.arun`.
        """
        return await super().arun(
            question, inputs, facts=facts, thread=thread, context=context, watch=watch
        )

    def stream(
        self,
        question: str,
        inputs: Mapping[str, Any] | None = None,
        *,
        facts: Mapping[str, Any] | None = None,
        thread: str | None = None,
        context: Any = None,
        watch: Watch = None,
    ) -> SystemStream[ComputationResult]:
        """Answer a question event by event, as `System.stream`.

        Args:
            question: the question.
            inputs: as in `run`.
            facts: as in `run`.
            thread: as in `run`.
            context: as in `run`.
            watch: as in `System.stream`.
        """
        return super().stream(
            question, inputs, facts=facts, thread=thread, context=context, watch=watch
        )

    def astream(
        self,
        question: str,
        inputs: Mapping[str, Any] | None = None,
        *,
        facts: Mapping[str, Any] | None = None,
        thread: str | None = None,
        context: Any = None,
        watch: Watch = None,
    ) -> AsyncSystemStream[ComputationResult]:
        """`stream` for ``async for``.

        Args:
            question: the question.
            inputs: as in `run`.
            facts: as in `run`.
            thread: as in `run`.
            context: as in `run`.
            watch: as in `System.stream`.
        """
        return super().astream(
            question, inputs, facts=facts, thread=thread, context=context, watch=watch
        )

    def batch(
        self,
        questions: Iterable[str],
        inputs: _Inputs = None,
        *,
        facts: Mapping[str, Any] | None = None,
        concurrency: int = 8,
        context: Any = None,
        watch: Watch = None,
    ) -> list[ComputationResult]:
        """Answer several questions, as `System.batch`.

        Args:
            questions: the questions.
            inputs: the data of all questions, as in `run`; or a list with the data of each.
            facts: further facts for the model, as in `run`; the same for all questions.
            concurrency: how many run at a time. Default: 8.
            context: for the code of roles, as in `System.run`; the same for all questions.
            watch: as in `System.batch`.

        Raises:
            ValidationError: as `System.batch`; or there are not as many inputs as questions
                (``input_invalid``).
        """
        asked = self.abatch(
            questions,
            inputs,
            facts=facts,
            concurrency=concurrency,
            context=context,
            watch=watch,
        )
        return run_blocking(asked)  # type: ignore[no-any-return]

    async def abatch(
        self,
        questions: Iterable[str],
        inputs: _Inputs = None,
        *,
        facts: Mapping[str, Any] | None = None,
        concurrency: int = 8,
        context: Any = None,
        watch: Watch = None,
    ) -> list[ComputationResult]:
        """`batch` on the caller's event loop.

        Args:
            questions: as in `batch`.
            inputs: as in `batch`.
            facts: as in `batch`.
            concurrency: as in `batch`.
            context: as in `batch`.
            watch: as in `batch`.
        """
        asked = check_questions(questions, concurrency)
        data = _inputs_of_each(inputs, len(asked))
        _require_facts(facts)

        async def ask(question: str, own: Mapping[str, Any] | None) -> ComputationResult:
            return await self.arun(question, own, facts=facts, context=context, watch=show)

        with watching(watch) as show:
            return await ask_all(ask, asked, data, concurrency=concurrency, label=self._label)

    def _working_roles(
        self, settings: Mapping[str, Any], prompts: Mapping[str, str]
    ) -> Iterable[str]:
        del prompts
        return ["planner", "summariser"] if settings.get("summarise", True) else ["planner"]

    def _parts(
        self, known: Mapping[str, dict[str, Any]], parts: Mapping[str, Any]
    ) -> dict[str, Any]:
        del known, parts
        return {"sandbox": self._runner.engine}

    def _input(
        self,
        question: Any,
        inputs: Mapping[str, Any] | None = None,
        *,
        facts: Mapping[str, Any] | None = None,
        file: Any = None,
    ) -> dict[str, Any]:
        if file is not None:
            raise ValidationError(
                f"a computation does not accept a file: {file}",
                code="input_invalid",
                hint="read the file and pass its rows as an input",
            )
        _require_mapping("inputs", inputs, '`inputs={"sales": table}`')
        _require_facts(facts)
        job = self._runner.job("", inputs, ())
        task = {name: job[name] for name in ("inputs", "functions") if job[name]}
        return {
            "question": {
                "question": question,
                "facts": encode_result(dict(facts or {})),
                **task,
            },
            "attachments": job["tables"],
        }

    def _call_options(self, loop: asyncio.AbstractEventLoop | None) -> dict[str, Any]:
        return {"call": self._runner.calls(loop)}

    def _result_of(self, native: dict[str, Any], put: dict[str, Any]) -> ComputationResult:
        sandbox_fields = {"engine": self._sandbox.engine, "isolation": self._sandbox.isolation}
        return super()._result_of({**native, **sandbox_fields}, put)

    def __repr__(self) -> str:
        return f"Computation(sandbox={self._sandbox!r})"


def _own_sandbox() -> Sandbox:
    from importlib.util import find_spec

    packages = [name for name in ("numpy", "pandas", "pyarrow") if find_spec(name)]
    return Sandbox(packages=packages)


def _inputs_of_each(inputs: _Inputs, count: int) -> list[Mapping[str, Any] | None]:
    """The data of each question of a batch."""
    if not isinstance(inputs, list | tuple):
        _require_mapping("inputs", inputs, '`inputs={"sales": table}`')
        return [cast("Mapping[str, Any] | None", inputs)] * count
    if len(inputs) != count:
        raise ValidationError(
            f"there must be as many inputs as questions ({count}): {len(inputs)}",
            code="input_invalid",
            hint='pass one dict for all questions: `inputs={"sales": table}`',
        )
    for own in inputs:
        _require_mapping("inputs", own, '`inputs=[{"sales": january}, {"sales": february}]`')
    return list(inputs)


def _require_facts(facts: Any) -> None:
    _require_mapping("facts", facts, '`facts={"today": "2026-05-01"}`')
    for name, value in (facts or {}).items():
        plain_fact("facts", name, value)


def _require_mapping(name: str, given: Any, example: str) -> None:
    if given is not None and not isinstance(given, Mapping):
        raise ValidationError(
            f"`{name}` must be a dict of values by name: {type(given).__name__}",
            code="input_invalid",
            hint=f"pass {example}",
        )
