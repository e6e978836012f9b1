"""The types of the verbs of an agent alone."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

from antiphon._type_params import ContextT, Generic, OutputT

if TYPE_CHECKING:
    from collections.abc import Iterable

    from antiphon._orchestrator.stream import AsyncStream, Stream
    from antiphon._orchestrator.updates import Unanswered
    from antiphon._watch.watcher import Watch
    from antiphon.result import Result

    _Run: TypeAlias = Result[Any, Any] | str


class LoneVerbs(Generic[ContextT, OutputT]):
    """The verbs whose types are those of the agent; at run time it has them from its team."""

    if TYPE_CHECKING:

        def run(
            self,
            question: Any,
            thread: str | None = None,
            *,
            context: ContextT | None = None,
            watch: Watch = None,
        ) -> Result[OutputT, dict[str, Any]]: ...

        async def arun(
            self,
            question: Any,
            thread: str | None = None,
            *,
            context: ContextT | None = None,
            watch: Watch = None,
        ) -> Result[OutputT, dict[str, Any]]: ...

        def stream(
            self,
            question: Any,
            thread: str | None = None,
            *,
            context: ContextT | None = None,
            watch: Watch = None,
        ) -> Stream[OutputT, dict[str, Any]]: ...

        def astream(
            self,
            question: Any,
            thread: str | None = None,
            *,
            context: ContextT | None = None,
            watch: Watch = None,
        ) -> AsyncStream[OutputT, dict[str, Any]]: ...

        def batch(
            self,
            questions: Iterable[Any],
            *,
            threads: Iterable[str] | None = None,
            concurrency: int = 8,
            raise_errors: bool = False,
            context: ContextT | None = None,
            watch: Watch = None,
        ) -> list[Result[OutputT, dict[str, Any]]]: ...

        async def abatch(
            self,
            questions: Iterable[Any],
            *,
            threads: Iterable[str] | None = None,
            concurrency: int = 8,
            raise_errors: bool = False,
            context: ContextT | None = None,
            watch: Watch = None,
        ) -> list[Result[OutputT, dict[str, Any]]]: ...

        def resume(
            self,
            run: _Run,
            answers: Any | Unanswered = ...,
            *,
            checkpoint: int | None = None,
            context: ContextT | None = None,
            watch: Watch = None,
        ) -> Result[OutputT, dict[str, Any]]: ...

        async def aresume(
            self,
            run: _Run,
            answers: Any | Unanswered = ...,
            *,
            checkpoint: int | None = None,
            context: ContextT | None = None,
            watch: Watch = None,
        ) -> Result[OutputT, dict[str, Any]]: ...

        def recover(
            self, *, concurrency: int = 8, context: ContextT | None = None, watch: Watch = None
        ) -> list[Result[OutputT, dict[str, Any]]]: ...

        async def arecover(
            self, *, concurrency: int = 8, context: ContextT | None = None, watch: Watch = None
        ) -> list[Result[OutputT, dict[str, Any]]]: ...
