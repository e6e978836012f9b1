"""What all ready systems share: one way to ask, stream, batch, keep and resume a question."""

from __future__ import annotations

import asyncio
from functools import partial
from inspect import signature
from typing import TYPE_CHECKING, Any, ClassVar, Generic, TypeVar

from antiphon._antiphon import NativeSystem, enclosing_context, systems
from antiphon._batch import gather
from antiphon._event_loop import run_blocking
from antiphon._orchestrator.options import read_budget, read_count
from antiphon._orchestrator.team_member import tightest
from antiphon._replaced_prompts import read_prompts
from antiphon._roles import CallerContext, SystemBase, as_role
from antiphon._sync_async import Operation, Routine, run_async, run_sync
from antiphon._tool.context import check_context
from antiphon._tool.lifespan import Lifespans
from antiphon._watch.watcher import closing_watcher, read_watch, watching
from antiphon.errors import StateError, ValidationError
from antiphon.systems._await import await_result
from antiphon.systems._batches import Batches
from antiphon.systems._inputs import read_answers, read_question
from antiphon.systems._lazy_native_system import UNUSED, LazyNativeSystem
from antiphon.systems._roles import (
    check_names,
    check_settings,
    implementation_of,
    tools_by_role,
)
from antiphon.systems._threads import SystemThreads, thread_of
from antiphon.systems.progress import ProgressReporter
from antiphon.systems.result import PlainResult, SystemResult
from antiphon.systems.stream import AsyncSystemStream, SystemStream

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Iterable, Mapping

    from antiphon._antiphon import CancellationToken
    from antiphon._batch_file import Task
    from antiphon._roles import RoleSpec
    from antiphon._watch.watcher import Watch, Watcher
    from antiphon.budget import Budget
    from antiphon.event import Event

    _Show = Callable[[Event], object]

__all__ = ["System"]

_R = TypeVar("_R", bound=SystemResult)


class System(Batches[_R], SystemThreads, SystemBase, Generic[_R]):
    """A ready system: a native graph of agents that answers questions.

    A subclass names the system and its result, and gives `run`, `arun`, `stream` and `astream`
    the arguments of its input. ``docs/guides/write-a-system.md`` shows one.

    Attributes:
        name: the name in the registry (`antiphon.systems.systems`).
        works_with_files: whether its plans read and write files, with tools of a folder.
        writes_reports: whether its results can be written to a file, as
            `antiphon.systems.report_file.WritableReport`.
        progress_reporter: describes the progress of a question for people at a terminal.
    """

    name: ClassVar[str]
    works_with_files: ClassVar[bool] = False
    writes_reports: ClassVar[bool] = False
    progress_reporter: ClassVar[type[ProgressReporter]] = ProgressReporter
    _result: ClassVar[type[SystemResult]] = PlainResult
    _roles: ClassVar[Mapping[str, RoleSpec]]
    """The roles, with the replies that an agent or a function returns for them."""

    def __init__(
        self,
        model: Any = None,
        *,
        roles: Mapping[str, Any] | None = None,
        prompts: Mapping[str, str | os.PathLike[str]] | None = None,
        checkpointer: Any = None,
        durability: Any = "async",
        budget: Budget | None = None,
        parts: Mapping[str, Any] | None = None,
        **settings: Any,
    ) -> None:
        self._keep_in(checkpointer, durability)
        self._budget = read_budget(budget, f"the {self._label}")
        check_settings(self.name, settings, signature(type(self)).parameters)
        check_names(self.name, roles or {}, self._roles)
        known = {
            name: as_role(self._part(name, settings), role)
            for name, role in (roles or {}).items()
            if role is not None
        }
        texts = read_prompts(prompts, "System.prompts", "planner")
        own = self._parts(known, parts or {})
        self._tools = tools_by_role(known, own.get("tools", {}))

        def build(implementation: dict[str, Any]) -> NativeSystem:
            resolved = {
                name: implementation_of(name, known.get(name, {}), implementation)
                for name in self._roles
            }
            return NativeSystem(self.name, settings, {"roles": resolved, "prompts": texts, **own})

        needed = self._working_roles(settings, texts)
        has_none = [known.get(name, {}).keys().isdisjoint({"act", "model"}) for name in needed]
        self._lazy = LazyNativeSystem(build, model, is_needed=any(has_none))

    @property
    def prompts(self) -> dict[str, str]:
        """The prompts as they are read, by ``NAME.small`` and ``NAME.large``.

        `prompts=` replaces them: by ``NAME`` for all models, or for those of one tier. A model
        with fewer than 10 billion parameters, by its name, is small. Fields such as
        ``{{tools}}`` are filled for each question.
        """
        return dict(self._native.prompts)

    def run(self, question: str, *data: Any, **options: Any) -> _R:
        """Answer a question and wait for it. Ctrl-C cancels it.

        Args:
            question: the question.
            *data: what the question is about, as the system lists it.
            **options: what else the system lists, and:
                ``thread``: the thread that keeps the question. Its previous content is put
                aside, also a question that was still running, but not one that waits for a
                person. Default: a new thread, if there is a checkpointer.
                ``context``: any value that tools reach as ``ToolContext.context``, and agents and
                functions of roles as ``ctx.context``, such as connections and the user. It is
                never stored or shown. Default: none; within a node of another run, that run's.
                ``watch``: receives each `Event` as it happens, pieces of replies included, such
                as ``print``, called on this thread; or True for a live view on standard error, or
                in a notebook's cell. Its exceptions are warnings; the question continues.

        Raises:
            ValidationError: the question is blank (``question_blank``) or no text
                (``question_malformed``), what comes with it cannot be used, `watch` is not a
                function (``input_invalid``), there is a
                ``thread`` and no checkpointer (``thread_unkept``), or a tool requires a context,
                and there is none (``context_missing``).
            StateError: another run writes to the thread (``thread_busy``), its last question
                waits for an answer (``thread_paused``), or its store fails before the question
                has started. Later failures are outcomes of the result.
        """
        with watching(options.pop("watch", None)) as show:
            return self._ask(self._put(None, question, *data, **options), show)

    async def arun(self, question: str, *data: Any, **options: Any) -> _R:
        """Answer a question, awaited. Cancelling the awaiting task cancels it.

        Coroutines of roles run on the caller's event loop.

        Args:
            question: as in `run`.
            *data: as in `run`.
            **options: as in `run`, but ``watch`` is called on separate threads, one event after
                the other.

        Raises:
            ValidationError: as in `run`.
            StateError: as in `run`.
        """
        with watching(options.pop("watch", None)) as show:
            put = self._put(asyncio.get_running_loop(), question, *data, **options)
            return await self._await(put, show)

    def stream(self, question: str, *data: Any, **options: Any) -> SystemStream[_R]:
        """Answer a question on a separate thread, event by event.

        Args:
            question: as in `run`.
            *data: as in `run`.
            **options: as in `run`, but ``watch`` is called on another thread.

        Returns:
            An iterator over the events; `SystemStream.result` holds the result afterwards.

        Raises:
            ValidationError: as in `run`; for the question once the stream is read.
        """
        watcher = read_watch(options.pop("watch", None))
        put = self._put(None, question, *data, **options)

        def ask(show: _Show, token: CancellationToken) -> _R:
            with closing_watcher(watcher):
                return self._ask(put, _both(watcher, show), token)

        return SystemStream(ask)

    def astream(self, question: str, *data: Any, **options: Any) -> AsyncSystemStream[_R]:
        """`stream` for ``async for``, on the caller's event loop.

        Args:
            question: as in `run`.
            *data: as in `run`.
            **options: as in `stream`.

        Raises:
            ValidationError: as in `stream`.
        """
        watcher = read_watch(options.pop("watch", None))
        put = self._put(None, question, *data, **options)

        async def ask(show: _Show, token: CancellationToken) -> _R:
            here = self._call_options(asyncio.get_running_loop())
            with closing_watcher(watcher):
                return await self._await({**put, **here}, _both(watcher, show), token)

        return AsyncSystemStream(ask)

    def resume(
        self,
        run: _R | str,
        *answers: Any,
        watch: Watch = None,
        context: Any = None,
    ) -> _R:
        """Resume a question, after a pause, a crash, a failure or a cancellation.

        No stored step runs again. The time limit starts anew, and the trace of the result has
        the events from now on. A question that has ended returns its result without a call of a
        model.

        Args:
            run: the name of a thread; or a result. One that no thread keeps can be resumed
                while it is paused, once, in this process.
            *answers: the answer to the open question, or a dict of answers by the ids in
                ``result.questions`` if several are open. Without any, a paused question stays
                paused.
            watch: as in `run`.
            context: as in `run`; it is not stored, so a tool that requires one needs it again.

        Raises:
            ValidationError: the thread holds no question (``thread_empty``), there is no
                checkpointer (``thread_unkept``), an answer belongs to no open question
                (``question_unknown``, ``answer_invalid``) or does not decide about a call
                (``approval_invalid``), or a result without a thread gets no
                answer, is not paused or was resumed before (``answer_invalid``).
            StateError: another run writes to the thread (``thread_busy``), its content is
                damaged or of another system (``checkpoint_corrupt``, ``checkpoint_misfit``), or
                its store fails.
        """
        put = {
            **self._call_options(None),
            **self._old_question(run, answers),
            **read_answers(answers),
            "context": _inherited(context),
        }
        with watching(watch) as show:
            return self._ask(put, show)

    async def aresume(
        self,
        run: _R | str,
        *answers: Any,
        watch: Watch = None,
        context: Any = None,
    ) -> _R:
        """`resume` on the caller's event loop.

        Args:
            run: as in `resume`.
            *answers: as in `resume`.
            watch: as in `arun`.
            context: as in `resume`.

        Raises:
            ValidationError: as in `resume`.
            StateError: as in `resume`.
        """
        resumed = self._call_options(asyncio.get_running_loop())
        put = {**resumed, **self._old_question(run, answers), **read_answers(answers)}
        put["context"] = _inherited(context)
        with watching(watch) as show:
            return await self._await(put, show)

    def recover(
        self, *, concurrency: int = 8, context: Any = None, watch: Watch = None
    ) -> list[_R]:
        """Resumes all questions that were lost; see `orphans`.

        Call it when a program starts. Several processes may call it at the same time: each
        question is resumed by one of them.

        Args:
            concurrency: how many run at a time. Default: 8.
            context: for all questions, as in `resume`.
            watch: as in `batch`.

        Returns:
            Their results, in the order of the threads' names, without those that another
            process has resumed.

        Raises:
            ValidationError: there is no checkpointer (``thread_unkept``).
            StateError: the store fails, or a thread cannot be read.
        """
        return run_blocking(self.arecover(concurrency=concurrency, context=context, watch=watch))  # type: ignore[no-any-return]

    async def arecover(
        self, *, concurrency: int = 8, context: Any = None, watch: Watch = None
    ) -> list[_R]:
        """`recover` on the caller's event loop."""

        async def one(thread: str) -> _R | None:
            try:
                return await self.aresume(thread, context=context, watch=show)
            except StateError as error:
                if error.code != "thread_busy":
                    raise
                return None

        read_count(concurrency, "concurrency", "recovering")
        threads = await self.aorphans()
        with watching(watch) as show:
            results = await gather(one, threads, concurrency)
        return [result for result in results if result is not None]

    def __repr__(self) -> str:
        return f"{type(self).__name__}()"

    @property
    def result_fields(self) -> frozenset[str]:
        """The names of the fields of its results, as its schema has them."""
        (schema,) = (one["output_schema"] for one in systems() if one["name"] == self.name)
        return frozenset(schema["properties"])

    async def run_part(
        self,
        question: str,
        left: Budget,
        show: Callable[[Event], object],
        *,
        watched: bool,
        context: Any,
    ) -> _R:
        """Answers a question as a part of another question; see `SystemBase`."""
        put = {
            **self._input(read_question(question)),
            **self._call_options(asyncio.get_running_loop()),
            "context": context,
            "limits": tightest(self._budget, left),
        }
        result = await self._await(put, show if watched else None)
        if not watched:
            for event in result.events:
                show(event)
        return result

    @property
    def _limits(self) -> dict[str, Any] | None:
        """What one question may spend, beside the settings."""
        return None if self._budget is None else self._budget.limits()

    @property
    def _label(self) -> str:
        return self.name.replace("_", " ")

    def _working_roles(
        self, settings: Mapping[str, Any], prompts: Mapping[str, str]
    ) -> Iterable[str]:
        """The roles that have work with these settings, replaced prompts and the system's tools."""
        del settings, prompts
        return self._roles

    def _part(self, name: str, settings: Mapping[str, Any]) -> RoleSpec:
        """The role of that name under these settings."""
        del settings
        return self._roles[name]

    def _parts(
        self, known: Mapping[str, dict[str, Any]], parts: Mapping[str, Any]
    ) -> dict[str, Any]:
        """Tools and sandbox, as the engine takes them."""
        del known
        return dict(parts)

    def _input(self, question: Any, *data: Any, **inputs: Any) -> dict[str, Any]:
        """The input as the engine takes it: ``question``, and ``attachments`` if there are any."""
        if data or inputs:
            given = ", ".join([*map(repr, data), *inputs])
            raise TypeError(f"{self.name} takes a question, and got beside it: {given}")
        return {"question": {"question": question}}

    def _call_options(self, loop: asyncio.AbstractEventLoop | None) -> dict[str, Any]:
        """What a question needs of the caller beside its input."""
        del loop
        return {}

    def _put(
        self,
        loop: asyncio.AbstractEventLoop | None,
        question: Any,
        *data: Any,
        thread: str | None = None,
        context: Any = None,
        **inputs: Any,
    ) -> dict[str, Any]:
        given = self._input(read_question(question), *data, **inputs)
        kept = self._new_question(thread)
        return {**given, **self._call_options(loop), **kept, "context": _inherited(context)}

    async def _settle(self, task: Task, context: Any) -> _R:
        inputs = {} if task.file is None else {"file": task.file}
        try:
            given = self._input(read_question(task.question), **inputs)
        except TypeError as error:
            raise ValidationError(str(error), code="input_invalid") from error
        here = {**self._call_options(asyncio.get_running_loop()), "context": context}
        with watching(None) as show:
            return await self._await({**given, **here, **self._question_of_file(task)}, show)

    def _ask(
        self, put: dict[str, Any], show: _Show | None, token: CancellationToken | None = None
    ) -> _R:
        options = self._options(None, put, show)
        question = options.pop("question", None)

        def ask() -> Routine[dict[str, Any]]:
            call: Any = partial(self._lazy.ready().ask, question, cancel=token, **options)
            native: dict[str, Any] = yield Operation(call, call)
            return native

        native = run_sync(self._lifespans(options).around(ask()))
        return self._result_of(_with_models(native, options), put)

    def _lifespans(self, options: Mapping[str, Any]) -> Lifespans:
        tools = (tool for own in self._tools.values() for tool in own)
        return Lifespans(tools, options["user_context"])

    async def _await(
        self, put: dict[str, Any], show: _Show | None, token: CancellationToken | None = None
    ) -> _R:
        options = self._options(asyncio.get_running_loop(), put, show)
        question = options.pop("question", None)

        async def aask() -> dict[str, Any]:
            system = await self._lazy.aready()
            call = partial(system.aask, question, **options)
            return await await_result(lambda cancel: call(cancel=cancel), token)

        def ask() -> Routine[dict[str, Any]]:
            native: dict[str, Any] = yield Operation(dict, aask)
            return native

        native = await run_async(self._lifespans(options).around(ask()))
        return self._result_of(_with_models(native, options), put)

    def _options(
        self, loop: asyncio.AbstractEventLoop | None, put: Mapping[str, Any], show: _Show | None
    ) -> dict[str, Any]:
        """The options of a native question; `put` has its input and the caller's context."""
        options = dict(put)
        context = options.pop("context")
        for role, tools in self._tools.items():
            check_context(tools, context, role)
        about = CallerContext(loop, thread_of(put), context=context)
        return {"limits": self._limits, **options, "watch": show, "user_context": about}

    def _result_of(self, native: dict[str, Any], put: dict[str, Any]) -> _R:
        result: Any = self._result.of({**native, "thread": thread_of(put)})
        found: _R = result
        return found


def _both(watcher: Watcher | None, show: _Show) -> _Show:
    """What passes an event to a watcher, if there is one, and on."""
    if watcher is None:
        return show

    def pass_on(event: Event) -> None:
        watcher(event)
        show(event)

    return pass_on


def _with_models(native: dict[str, Any], options: Mapping[str, Any]) -> dict[str, Any]:
    """The result with the models of the systems that have answered in roles."""
    about: CallerContext = options["user_context"]
    models = dict.fromkeys([*native["models"], *about.models])
    return {**native, "models": [name for name in models if name != UNUSED]}


def _inherited(context: Any) -> Any:
    """The context of a question; within a node, that of the node's run unless it is given."""
    outer = enclosing_context() if context is None else None
    return context if outer is None else outer.context
