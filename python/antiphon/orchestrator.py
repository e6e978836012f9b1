"""Teams of agents: declaring, running, streaming and resuming them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, Literal, Never, TypeAlias

from antiphon._antiphon import Limits, StreamOptions, enclosing_context
from antiphon._orchestrator.assemble import Settings, assemble
from antiphon._orchestrator.declaration import TeamBase
from antiphon._orchestrator.options import (
    UNSET,
    read_budget,
    read_count,
    read_on_error,
    read_retry,
    read_seconds,
)
from antiphon._orchestrator.outcome import finish, is_limit, name_agent
from antiphon._orchestrator.resume import ResumableRuns
from antiphon._orchestrator.stream import AsyncStream, Stream
from antiphon._orchestrator.team_member import tightest
from antiphon._orchestrator.team_prompts import TeamPrompts
from antiphon._orchestrator.updates import entry, turn
from antiphon._pause import relay_questions
from antiphon._run_group import current_group
from antiphon._sync_async import Routine, async_method, run_async, sync_method
from antiphon._thread_store import Durability, ThreadStore, fresh_name, read_saver, thread_name
from antiphon._tool.lifespan import Lifespans
from antiphon._type_params import ContextT, Generic, StateT
from antiphon._watch.drive import driving
from antiphon._watch.watcher import read_watch, watching
from antiphon.errors import StateError, ValidationError

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Mapping, Sequence

    from antiphon._antiphon import Command, Event, RetryPolicy, Run, Saver, ThreadRef, TurnInput
    from antiphon._diagram import Diagram
    from antiphon._orchestrator.declaration import AgentDeclaration
    from antiphon._watch.drive import Show
    from antiphon._watch.watcher import Watch
    from antiphon.budget import Budget
    from antiphon.result import Result

    _Start: TypeAlias = tuple[dict[str, Any] | TurnInput, ThreadRef | None]

__all__ = ["Orchestrator"]


class Orchestrator(ResumableRuns[StateT, ContextT], TeamBase, Generic[StateT, ContextT]):
    """A team of agents, checked and compiled once, to be run any number of times.

    It can be shared between threads and event loops. Each method has an async version. Sync methods
    also work inside a running event loop, as in a notebook's cell.

    Args:
        agents: the agents, which run in the order of the list; a nested list runs in parallel,
            a list within that in order again. A team is accepted wherever an agent is: its run
            is a part of this one.
        flow: the successor of each agent: a name, a list of names, `END`, or a function
            ``route(state)`` that returns a name, a list of names or `Send`s, or `END`. It
            starts at the first agent, or at the successor of ``"__start__"``. An agent without a
            successor ends the run.
        router: an agent or a model that chooses the next agent after each turn, by the agents'
            descriptions, or ends the run.
        state: a TypedDict, dataclass or pydantic model, whose keys are added to ``question``,
            ``messages`` and ``answer``; ``Annotated`` gives them reducers (`antiphon.state`).
            Default: an open state, to which agents may add keys.
        retry: for agents that set none: a `RetryPolicy` or a number of attempts.
        timeout: for agents that set none: seconds an attempt may take.
        budget: the budget of one run. Default: no limit.
        max_steps: the supersteps of a run, after which it ends as ``step_limit``. Agents that run
            in parallel share one; the decision of a router is one. A list of more agents than
            this still runs once. Default: 25.
        on_error: for agents that set none. ``"raise"``: an agent's exception ends the
            run and is raised unchanged; ``"record"``: the team continues, runs do not raise, and
            the outcome is ``error``.
        fallback: for agents that set none: an agent, or the name of one, that runs in
            place of an agent that has failed. `on_error` applies to failures of the fallback.
        name: the name in traces, and in another team; `recover` resumes only runs with this
            name. Default: ``team``.
        description: one sentence that the routers of another team read. Default: none.
        prompts: texts or paths that replace what the team says to models by itself, by their
            names in `prompts`. Default: none.
        checkpointer: the store of its threads: a saver of `antiphon.checkpoint`, or its URL:
            ``memory:``, ``sqlite:FILE`` or ``postgres://...``. Default: none.
        durability: when a step is durable. ``sync``: before the next starts; ``async``: while
            the next runs, in order, and before the run ends or pauses (a killed process loses
            the pending commits: at most about 1,024, or 16 MiB); ``exit``: only when the run
            ends, fails or pauses. Default: ``async``.

    Raises:
        ValidationError: the declaration is invalid: an agent or one of its options
            (``agent_invalid``, ``agent_unknown``, ``team_invalid``), the state
            (``state_invalid``, ``graph_invalid``), a prompt (``prompt_unknown``,
            ``prompt_invalid``), a model or a tool.
        AuthError: a provider requires a key, and none was found (``model_key_missing``).
        StateError: the store cannot be opened; see `antiphon.checkpoint.SqliteSaver.open`.

    Example:
        >>> from antiphon import Agent, Orchestrator
        >>> class Greeter(Agent):
        ...     def act(self, state, ctx):
        ...         return f"hello {state['question']}"
        >>> Orchestrator([Greeter()]).run("world").answer
        'hello world'
    """

    def __init__(
        self,
        agents: Sequence[Any],
        *,
        flow: Mapping[str, Any] | None = None,
        router: Any = None,
        state: type[StateT] | None = None,
        retry: RetryPolicy | int | None = None,
        timeout: float | None = None,
        budget: Budget | None = None,
        max_steps: int = 25,
        on_error: Literal["raise", "record"] = "raise",
        fallback: AgentDeclaration | type[AgentDeclaration] | TeamBase | str | None = None,
        name: str = "team",
        description: str | None = None,
        prompts: Mapping[str, str | os.PathLike[str]] | None = None,
        checkpointer: Saver | str | None = None,
        durability: Durability = "async",
    ) -> None:
        self.name = _name(name)
        self._prompts = TeamPrompts(prompts)
        self.description = description
        self._budget = read_budget(budget, "the team")
        self._records = on_error == "record"
        self._built = assemble(
            Settings(
                agents=agents,
                flow=flow,
                router=router,
                state=state,
                retry=read_retry(retry, "the team"),
                timeout=read_seconds(timeout, "the team"),
                max_steps=read_count(max_steps, "max_steps", "the team"),
                on_error=read_on_error(on_error, "the team") or "raise",
                fallback=fallback,
                name=name,
                prompts=self._prompts,
            )
        )
        self.state_keys = self._built.state.keys
        saver = read_saver(checkpointer, durability, "team_invalid")
        self._store = (
            None if saver is None else ThreadStore(saver, durability, self._built.registry())
        )

    @property
    def graph(self) -> Diagram:
        """The diagram of the team: Mermaid text or SVG, displayed in notebooks."""
        return self._built.diagram

    @property
    def prompts(self) -> dict[str, str]:
        """What the team says to models by itself, by name.

        `prompts=` replaces them. Fields such as ``{{agents}}`` are filled.
        """
        return dict(self._prompts.texts)

    @sync_method
    def run(
        self,
        question: Any,
        thread: str | None = None,
        *,
        context: ContextT | None = None,
        watch: Watch = None,
    ) -> Routine[Result[Any, StateT]]:
        """Runs the team until it ends, or pauses for a person.

        Args:
            question: a text, which becomes the ``question`` and the first message; or the
                initial state, as a dict or an instance of the team's state class.
            thread: the name of the thread that stores the run, if the team has a checkpointer.
                On an existing thread this is a further turn: messages and other keys are kept,
                the input is written over them, ``answer`` and the errors are reset, and open
                work of an earlier run is dropped. Default: a new thread, see `Result.thread`.
                Within a node of another run the default is none: the run is a part of that
                node, and its questions pause the outer run.
            context: any value that agents, tools and functions given as `instructions` reach as
                ``ctx.context``, such as connections and the user. It is never stored or shown.
                Default: none; within a node of another run, that run's.
            watch: receives each `Event` as it happens, pieces of replies included, such as
                ``print``; or True for a live view on standard error, or in a notebook's cell.
                Its exceptions are warnings; the run continues. Default: nobody watches.

        Returns:
            The result, also if the run reached a limit, is paused, or was cancelled.

        Raises:
            ValidationError: the question is blank (``question_blank``), or the input does not
                fit the state (``input_invalid``); no thread can have that name
                (``thread_invalid``), or the team has no checkpointer
                (``thread_unkept``); or a tool requires a context, and there is none
                (``context_missing``); or `watch` is not a function (``input_invalid``). Nothing
                has run.
            StateError: another run writes to the thread (``thread_busy``), or the thread
                belongs to a team of other agents (``checkpoint_misfit``): nothing has run. Another
                process has taken over the thread (``thread_conflict``), or the store has failed.
            Exception: an agent's exception, unchanged, unless `on_error` says otherwise;
                `Result.of` returns the partial result.
            KeyboardInterrupt: agents and tools were cancelled.
        """
        with watching(watch) as show:
            run = self._start(question, thread, context, watched=show is not None)
            return (yield from self._drive(run, show=show))

    arun = async_method(run)

    def stream(
        self,
        question: Any,
        thread: str | None = None,
        *,
        context: ContextT | None = None,
        watch: Watch = None,
    ) -> Stream[Any, StateT]:
        """Runs the team and yields its events, including pieces of model replies.

        Args:
            question: as for `run`.
            thread: as for `run`.
            context: as for `run`.
            watch: as for `run`; called before the event is returned.

        Returns:
            An iterator of `Event`, whose ``result`` is the `Result` at the end. Closing or
            dropping it cancels the run.

        Raises:
            ValidationError: as `run`.
        """
        show = read_watch(watch)
        run = self._start(question, thread, context, watched=True)
        return Stream(run, self._settle, self._lifespans(run), show)

    def astream(
        self,
        question: Any,
        thread: str | None = None,
        *,
        context: ContextT | None = None,
        watch: Watch = None,
    ) -> AsyncStream[Any, StateT]:
        """`stream` for ``async for``."""
        show = read_watch(watch)
        run = self._start(question, thread, context, watched=True)
        return AsyncStream(run, self._settle, self._lifespans(run), show)

    @sync_method
    def batch(
        self,
        questions: Iterable[Any],
        *,
        threads: Iterable[str] | None = None,
        concurrency: int = 8,
        raise_errors: bool = False,
        context: ContextT | None = None,
        watch: Watch = None,
    ) -> Routine[list[Result[Any, StateT]]]:
        """Runs the team once per question, several at a time, with a progress bar.

        The progress bar appears on a terminal and in a notebook only.

        Args:
            questions: each as for `run`.
            threads: a thread name for each question, without duplicates; requires a
                checkpointer. Default: a new thread for each.
            concurrency: the number of concurrent runs. Default: 8.
            raise_errors: end the batch at the first failure. Default: a failed run becomes a
                result with the outcome ``error``, and the others continue.
            context: as for `run`, for all of them.
            watch: as for `run`; it receives the events of all of them, one after the other.

        Returns:
            The results, in the order of the questions.

        Raises:
            ValidationError: a question is invalid. Nothing has run.
        """
        starts = self._starts(questions, threads, concurrency)
        options: Any = {"keep": not raise_errors, "context": context, "watch": watch}
        return (yield from self._run_all(starts, concurrency=concurrency, **options))

    abatch = async_method(batch)

    def __reduce__(self) -> Never:
        raise TypeError(
            f"a team cannot be pickled: {self!r}; build it in each process, with a function that "
            "returns it"
        )

    def __repr__(self) -> str:
        return f"Orchestrator({', '.join(self._built.names)})"

    def _repr_mimebundle_(self, **_: Any) -> dict[str, str]:
        return {**self.graph._repr_mimebundle_(), "text/plain": repr(self)}

    def _start(
        self, question: Any, thread: str | None, context: Any, *, watched: bool = False
    ) -> Run:
        return self._launch(*self._ready(question, thread), context=context, watched=watched)

    def _ready(self, question: Any, thread: str | None) -> _Start:
        """The input of a run and its thread, validated as far as possible."""
        is_part = enclosing_context() is not None
        if thread is None and (self._store is None or is_part):
            return entry(question, self._built.state), None
        name = fresh_name() if thread is None else thread_name(thread)
        return turn(question, self._built.state), self._thread_store().ref(name)

    def _starts(
        self, questions: Iterable[Any], threads: Iterable[str] | None, concurrency: int
    ) -> list[_Start]:
        read_count(concurrency, "concurrency", "a batch")
        if isinstance(questions, str | bytes) or not isinstance(questions, Iterable):
            raise ValidationError(
                f"a batch takes a list of questions, found: {questions!r}",
                code="input_invalid",
            )
        asked = list(questions)
        names = [None] * len(asked) if threads is None else _names(threads, len(asked))
        return [self._ready(*pair) for pair in zip(asked, names, strict=True)]

    async def run_part(
        self,
        question: Any,
        left: Budget,
        show: Callable[[Event], object],
        *,
        watched: bool,
        context: Any = UNSET,
    ) -> Result:
        """Runs the team as a part of another run; see `TeamBase`."""
        first = entry(question, self._built.state)
        own = {} if context is UNSET else {"outer": None, "context": context}
        run = self._launch(first, None, watched=watched, left=left, **own)
        return await run_async(self._drive(run, show=show))

    def _launch(
        self,
        first: dict[str, Any] | TurnInput | Command[Any] | None,
        ref: ThreadRef | None,
        *,
        context: Any = None,
        watched: bool = False,
        run_id: str | None = None,
        left: Budget | None = None,
        outer: Any = UNSET,
    ) -> Run:
        limits = tightest(self._budget, left)
        outer = enclosing_context() if outer is UNSET else outer
        registry = None
        if outer is not None:
            context = outer.context if context is None else context
            registry = None if outer.run.kept_in is None else self._built.registry()
        self._built.check_context(context)
        try:
            run = self._built.engine.start(
                first,
                config=self._budget,
                context=context,
                limits=Limits(**limits, supersteps=self._built.max_steps),
                events=True,
                stream_options=StreamOptions(("events",)) if watched else None,
                parent=outer,
                registry=registry,
                thread_ref=ref,
                run_id=run_id,
            )
        except StateError as error:
            raise ValidationError(error.message, code="input_invalid", hint=error.hint) from error
        if (group := current_group()) is not None:
            group.add(run)
        return run

    def _drive(
        self, run: Run, *, keep: bool = False, show: Show | None = None
    ) -> Routine[Result[Any, StateT]]:
        return self._lifespans(run).around(self._driven(run, keep=keep, show=show))

    def _lifespans(self, run: Run) -> Lifespans:
        return Lifespans(self._built.tools, run)

    def _driven(self, run: Run, *, keep: bool, show: Show | None) -> Routine[Result[Any, StateT]]:
        try:
            yield driving(run, show)
            while relay_questions(run):
                yield driving(run, show)
        except Exception as error:
            if not self._keeps(run, error, keep=keep):
                raise
            return self._finished(run, error)
        return self._finished(run, None)

    def _settle(self, run: Run, error: BaseException | None) -> Result[Any, StateT]:
        """The result at the end of a stream; raises the exception of the run."""
        if error is not None and not self._keeps(run, error, keep=False):
            raise error
        return self._finished(run, error)

    def _keeps(self, run: Run, error: BaseException, *, keep: bool) -> bool:
        """Whether the result holds a failure; otherwise the exception holds the result."""
        if not run.started:
            # Nothing has run, so no agent has failed.
            return keep
        name_agent(run, error, self._built.expected)
        if keep or self._records or is_limit(error):
            return True
        self._finished(run, error)._keep_with(error)  # noqa: SLF001 - nothing of a run is lost
        return False

    def _finished(self, run: Run, error: BaseException | None) -> Result[Any, StateT]:
        return finish(run, error, self._built.state, self.name)


def _names(threads: Iterable[str], count: int) -> list[str]:
    """The threads of a batch."""
    if isinstance(threads, str | bytes) or not isinstance(threads, Iterable):
        raise ValidationError(
            f"`threads` of a batch must be a list of names: {threads!r}",
            code="input_invalid",
        )
    names = [thread_name(thread) for thread in threads]
    if len(names) != count:
        raise ValidationError(
            f"a batch of {count} questions needs {count} threads, found: {len(names)}",
            code="input_invalid",
        )
    twice = [name for name in names if names.count(name) > 1]
    if twice:
        raise ValidationError(
            f"two questions of a batch cannot share a thread: {twice[0]}",
            code="input_invalid",
            hint="run the turns of one thread one after the other",
        )
    return names


def _name(given: Any) -> str:
    if isinstance(given, str) and given.strip():
        return given
    raise ValidationError(f"a team's name must be a string: {given!r}", code="team_invalid")
