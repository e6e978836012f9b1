"""Workers: they carry out the steps that ready systems leave in a queue."""

from __future__ import annotations

import threading
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING, Any, Literal

from antiphon._antiphon import NativeWorker
from antiphon._orchestrator.options import invalid_option, read_count
from antiphon._roles import CallerContext
from antiphon._sync_async import Operation, Routine, run_sync
from antiphon._tool.context import check_context
from antiphon._tool.lifespan import Lifespans
from antiphon._tool.tool import Tool
from antiphon._validation import is_number
from antiphon.models import scripted
from antiphon.systems.plan_execute import PlanExecute
from antiphon.systems.queue import Queue, read_queue
from antiphon.toolset import Toolset

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from types import TracebackType
    from typing import Self

__all__ = ["Worker", "WorkerNotice", "WorkerTally"]


@dataclass(frozen=True)
class WorkerNotice:
    """What a worker tells of its work.

    Attributes:
        kind: what has happened: a step was ``started``; its result (``completed``) or its failure
            (``failed``) was sent; its run was cancelled or it went to another worker
            (``dropped``); it was not finished and goes to another worker (``given_back``); or the
            queue cannot be reached (``queue_lost``), or again (``queue_back``).
        role: the role.
        step: the id of the step.
        tool: its tool.
        seconds: for how long it was under way.
        error: why it failed.
    """

    kind: Literal[
        "started", "completed", "failed", "dropped", "given_back", "queue_lost", "queue_back"
    ]
    role: str
    step: str | None
    tool: str | None
    seconds: float
    error: str | None

    def __str__(self) -> str:
        kind = self.kind.replace("_", " ")
        error = "" if self.error is None else f": {self.error}"
        if self.tool is None:
            return f"{self.role}: {kind}{error}"
        took = "" if self.kind == "started" else f" after {self.seconds:.1f} s"
        return f"{self.role}: {kind}{took}: {self.tool}, step {self.step}{error}"


@dataclass(frozen=True)
class WorkerTally:
    """What a worker has done.

    Attributes:
        completed: steps whose tool has returned a value.
        failed: steps whose failure was sent.
        dropped: what it has given back, and messages that were of no use.
    """

    completed: int
    failed: int
    dropped: int


class Worker:
    """Carries out the steps of `PlanExecute` that wait in a queue, with tools of its own.

    A plan names tools by what the system knows of them, so system and workers get the same tools;
    what a tool holds (connections, credentials, files) is that of the worker. All workers of a
    role have the same tools. A worker works once: call `run`, or use it as a context manager, in
    which it works on another thread.

    A step of a worker that dies goes to another one if its tool may be called twice
    (``side_effect="read"``, or ``idempotent=True``); otherwise it fails, and the plan is revised.

    Args:
        queue: a `Queue`, or the URL of one, as for `PlanExecute`.
        tools: the tools, as for `PlanExecute`.
        roles: the roles whose steps it carries out. Default: all that have tools.
        workers: roles of your own, as for `PlanExecute`.
        key_profiles: tools with other credentials, as for `PlanExecute`: a step names the profile,
            and never a key. A step with a profile that the worker does not have fails.
        concurrency: steps of each role at a time.
        drain_s: seconds for what is under way once it is to stop; what takes longer is given back.
        context: any value that tools reach as ``ToolContext.context``.
        watch: receives each `WorkerNotice`, such as ``print``, one after the other.

    Raises:
        ValidationError: a role has no tools (``role_unknown``), or an option cannot be used.
        AntiphonError: as `Queue.connect`.

    Example:
        >>> from antiphon.models import scripted
        >>> from antiphon.systems import PlanExecute, Queue
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
        >>> replies = [{"stages": [[step]]}, context, {"answer": "520,774 people."}]
        >>> model = scripted([{"json": reply} for reply in replies])
        >>> queue = Queue.memory()
        >>> system = PlanExecute(model, tools=[population], queue=queue)
        >>> with Worker(queue, tools=[population]):
        ...     system.run("How many people live in Lyon?").answer
        '520,774 people.'
    """

    def __init__(
        self,
        queue: Queue | str,
        *,
        tools: Iterable[Any] = (),
        roles: Iterable[str] | None = None,
        workers: Mapping[str, Mapping[str, Any]] | None = None,
        key_profiles: Mapping[str, Iterable[Any]] | None = None,
        concurrency: int = 4,
        drain_s: float = 30.0,
        context: Any = None,
        watch: Callable[[WorkerNotice], object] | None = None,
    ) -> None:
        if not is_number(drain_s):
            must = "a number of seconds of at least 0"
            raise invalid_option("drain_s", "the worker", must, repr(drain_s))
        own = Tool.collect(Toolset.flatten(tools))
        profiles = {
            name: Tool.collect(Toolset.flatten(given))
            for name, given in (key_profiles or {}).items()
        }
        self._tools = [*own, *(tool for given in profiles.values() for tool in given)]
        check_context(self._tools, context, "worker")
        # No model is asked: the system says which roles have which tools.
        system = PlanExecute(scripted([]), tools=own, workers=workers or {}, key_profiles=profiles)
        self._about = CallerContext(context=context)
        self._watch = watch
        self._native = NativeWorker(
            system._lazy.ready(),  # noqa: SLF001 - a worker is the other half of a system
            read_queue(queue).native,
            roles=None if roles is None else list(roles),
            concurrency=read_count(concurrency, "concurrency", "the worker"),
            drain=timedelta(seconds=drain_s),
            user_context=self._about,
        )
        self._thread: threading.Thread | None = None
        self._error: BaseException | None = None

    @property
    def roles(self) -> dict[str, list[str]]:
        """The roles whose steps it carries out, each with the names of its tools."""
        return dict(self._native.roles)

    def run(self) -> WorkerTally:
        """Works on this thread until it is stopped.

        Ctrl-C has it finish what is under way, and is raised then; a second one has it give that
        back. While the queue cannot be reached, it waits.

        Raises:
            StateError: the queue was closed (``queue_closed``).
        """

        def work() -> Routine[dict[str, int]]:
            call: Any = lambda: self._native.run(self._tell)  # noqa: E731
            tally: dict[str, int] = yield Operation(call, call)
            return tally

        return WorkerTally(**run_sync(Lifespans(self._tools, self._about).around(work())))

    def stop(self, *, now: bool = False) -> None:
        """Has it take nothing more, and end once what is under way is finished.

        Args:
            now: whether that is given back instead.
        """
        self._native.stop(now)

    def __enter__(self) -> Self:
        self._thread = threading.Thread(target=self._work, name="antiphon-worker", daemon=True)
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.stop(now=error is not None)
        if self._thread is not None:
            self._thread.join()
        if error is None and self._error is not None:
            raise self._error

    def __repr__(self) -> str:
        return f"Worker({', '.join(self.roles)})"

    def _work(self) -> None:
        try:
            self.run()
        except BaseException as error:  # noqa: BLE001 - the other thread raises it
            self._error = error

    def _tell(self, notice: dict[str, Any]) -> None:
        if self._watch is None:
            return
        took, fault = notice["took"], notice["fault"]
        self._watch(
            WorkerNotice(
                kind=notice["kind"],
                role=notice["role"],
                step=notice["step_id"],
                tool=notice["tool_name"],
                seconds=took["secs"] + took["nanos"] / 1e9,
                error=None if fault is None else fault["message"],
            )
        )
