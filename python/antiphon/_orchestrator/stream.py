"""The stream of a run's events."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

from antiphon._event_loop import blocking_call, level_of_caller
from antiphon._pause import relay_questions
from antiphon._sync_async import run_async, run_sync
from antiphon._type_params import Generic, OutputT, StateT
from antiphon.errors import StateError
from antiphon.result import Result

if TYPE_CHECKING:
    from collections.abc import Callable

    from antiphon._antiphon import Run
    from antiphon._tool.lifespan import Lifespans
    from antiphon._watch.watcher import Watcher
    from antiphon.event import Event

    Finish = Callable[[Run, BaseException | None], Result[Any, Any]]


class RunStream(Generic[OutputT, StateT]):
    """A running run: iterate over it for its events.

    Closing it, leaving its ``with``, or throwing it away cancels the run if it is still under
    way.

    Args:
        run: the run.
        finish: makes the result once it is over.
        lifespans: what its toolsets open before the first event.
        watcher: receives the events too.
    """

    def __init__(
        self, run: Run, finish: Finish, lifespans: Lifespans, watcher: Watcher | None = None
    ) -> None:
        self._lifespans = lifespans
        self._run = run
        self._finish = finish
        self._watcher = watcher
        self._result: Result[OutputT, StateT] | None = None

    @property
    def result(self) -> Result[OutputT, StateT]:
        """The result, after the last event.

        Raises:
            StateError: the run is still under way (``run_unfinished``).
        """
        if self._result is None:
            raise StateError(
                f"the run has not ended: {self._run.run_id}",
                code="run_unfinished",
                hint="read all events first",
            )
        return self._result

    def __del__(self) -> None:
        # The tasks of the run hold it, so that it would continue unobserved.
        if self._result is None:
            self._run.abandon()

    def _see(self, event: Event) -> None:
        if self._watcher is not None:
            self._watcher(event)

    def _over(self, error: BaseException | None) -> None:
        if self._result is not None:
            return
        if self._watcher is not None:
            self._watcher.close()
        try:
            self._result = self._finish(self._run, error)
        except Exception as raised:
            self._result = Result.of(raised)
            raise


class Stream(RunStream[OutputT, StateT], Generic[OutputT, StateT]):
    """The events of a run, for ``for``."""

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> Event:
        try:
            run_sync(self._lifespans.enter())
            return self._next()
        except StopIteration:
            run_sync(self._lifespans.leave())
            self._over(None)
            raise
        except Exception as error:  # noqa: BLE001 - raised again, or kept in the result
            run_sync(self._lifespans.leave(error))
            self._over(error)
            raise StopIteration from None

    def _next(self) -> Event:
        while True:
            try:
                event: Event = blocking_call(level_of_caller(), next, self._run)
            except StopIteration:
                if not relay_questions(self._run):
                    raise
            else:
                self._see(event)
                return event

    def close(self) -> None:
        """Cancels the run if it has not ended."""
        if self._run.outcome == "running":
            self._run.cancel("the stream was closed")
            blocking_call(level_of_caller(), self._run.drain)
            run_sync(self._lifespans.leave())
            self._over(None)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()


class AsyncStream(RunStream[OutputT, StateT], Generic[OutputT, StateT]):
    """The events of a run, for ``async for``."""

    def __init__(
        self, run: Run, finish: Finish, lifespans: Lifespans, watcher: Watcher | None = None
    ) -> None:
        super().__init__(run, finish, lifespans, watcher)
        self._events = aiter(run)

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> Event:
        try:
            await run_async(self._lifespans.enter())
            return await self._next()
        except StopAsyncIteration:
            await run_async(self._lifespans.leave())
            self._over(None)
            raise
        except Exception as error:  # noqa: BLE001 - raised again, or kept in the result
            await run_async(self._lifespans.leave(error))
            self._over(error)
            raise StopAsyncIteration from None

    async def _next(self) -> Event:
        while True:
            try:
                event: Event = await anext(self._events)
            except StopAsyncIteration:
                if not relay_questions(self._run):
                    raise
                self._events = aiter(self._run)
            else:
                self._see(event)
                return event

    async def aclose(self) -> None:
        """Cancels the run if it has not ended."""
        if self._run.outcome == "running":
            self._run.cancel("the stream was closed")
            await self._run
            await run_async(self._lifespans.leave())
            self._over(None)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *exc: object) -> None:
        await self.aclose()
