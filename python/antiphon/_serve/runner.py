"""What a server serves: an agent, a team or a ready system."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from antiphon._orchestrator.agent_spec import name_of
from antiphon._thread_store import fresh_name, thread_name
from antiphon.agent import Agent, team_of
from antiphon.errors import StateError, ValidationError
from antiphon.orchestrator import Orchestrator
from antiphon.systems import System

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from antiphon.checkpoint import Checkpoint
    from antiphon.event import Event
    from antiphon.result import RunResult

    Show = Callable[[Event], object]


class ServedRunner:
    """Asks and resumes what is served, on the server's event loop.

    Args:
        thing: an agent, a team or a ready system. It is built here, so that what is wrong with
            it is known before anybody asks.

    Raises:
        ValidationError: it is something else (``serve_target``), or its declaration is invalid.
        AntiphonError: it cannot be built, for instance without the key of its model.
    """

    def __init__(self, thing: Any) -> None:
        if not isinstance(thing, Agent | Orchestrator | System):
            raise ValidationError(
                f"a server cannot serve this: {type(thing).__name__}",
                code="serve_target",
                hint=_way_out(thing),
            )
        self._thing = thing
        self.name = name_of(thing) if isinstance(thing, Agent) else thing.name
        self.takes_parts = not isinstance(thing, System)
        # Agents and systems are built when they are needed first. To draw an agent, its model is
        # not opened.
        _ = (team_of(thing) if isinstance(thing, Agent) else thing).graph

    @property
    def keeps_threads(self) -> bool:
        """Whether it has a store of threads."""
        return self._thing.checkpointer is not None

    def thread(self, given: Any) -> str | None:
        """The thread of a new run: the given name, or a new one if there is a store.

        Raises:
            ValidationError: no thread can have that name (``thread_invalid``), or there is no
                store (``thread_unkept``).
        """
        if given is None:
            return fresh_name() if self.keeps_threads else None
        return self.known_thread(given)

    def known_thread(self, given: Any) -> str:
        """The name of a thread, validated.

        Raises:
            ValidationError: as `thread`.
        """
        name = thread_name(given)
        if not self.keeps_threads:
            raise ValidationError(
                f"this server keeps no threads, because it has no store: {self.name}",
                code="thread_unkept",
                hint="ask without a thread, or have the server started with a store",
            )
        return name

    async def ask(self, question: Any, thread: str | None, show: Show | None) -> RunResult:
        """Runs it with a question.

        Raises:
            StateError: the thread waits for an answer (``thread_paused``), which would be dropped.
        """
        if thread is not None and await self._is_paused(thread):
            raise StateError(
                f"the thread waits for an answer: {thread}",
                code="thread_paused",
                hint="answer with `POST /threads/{thread}/resume`, or use another thread",
            )
        kept = {} if thread is None else {"thread": thread}
        return await _contained(self._thing.arun(question, **kept, watch=show))

    async def _is_paused(self, thread: str) -> bool:
        try:
            return bool((await self.state(thread)).questions)
        except ValidationError as error:
            if error.code != "thread_empty":
                raise
            return False

    async def resume(self, thread: str, answers: tuple[Any, ...], show: Show | None) -> RunResult:
        """Resumes the run of a thread, with an answer or without."""
        return await _contained(self._thing.aresume(thread, *answers, watch=show))

    async def state(self, thread: str) -> Checkpoint:
        """The state of a thread."""
        found: Checkpoint = await self._thing.astate(thread)
        return found


def _way_out(thing: Any) -> str:
    from antiphon.graph import CompiledGraph, StateGraph

    served = "an agent, an orchestrator or a ready system"
    if isinstance(thing, CompiledGraph | StateGraph):
        return f"serve {served}; the `act` of an agent can call the graph with `invoke`"
    return f"serve {served}: the object, not its class"


async def _contained(run: Awaitable[RunResult]) -> RunResult:
    """Awaits a run, whose code cannot end the server."""
    try:
        return await run
    except (KeyboardInterrupt, SystemExit) as error:
        raise RuntimeError(f"the code of a run asked to exit: {error!r}") from error
