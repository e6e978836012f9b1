"""The routes of a server."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import antiphon
from antiphon._serve.body import read_object, read_question
from antiphon._serve.exchange import RunExchange
from antiphon._serve.failure import body_of, reply_to, shown_checkpoint
from antiphon._serve.gate import RequestGate
from antiphon._serve.reply import send_json

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence

    from starlette.requests import Request
    from starlette.types import ASGIApp, Receive, Scope, Send

    from antiphon._serve.active_runs import ActiveRuns
    from antiphon._serve.exchange import BeginRun
    from antiphon._serve.runner import ServedRunner

_ELSEWHERE = {404: "there is no such route", 405: "the route has no such method"}


@dataclass(frozen=True, kw_only=True)
class RequestPolicy:
    """What a request may be, and who may send it.

    Attributes:
        hosts: names and addresses of the server.
        token: what clients must send; none if they need not.
        max_body: bytes of a body.
        keep_alive: seconds of silence after which a stream gets a comment.
    """

    hosts: Sequence[str]
    token: str | None
    max_body: int
    keep_alive: float


def application(runner: ServedRunner, runs: ActiveRuns, limits: RequestPolicy) -> ASGIApp:
    """The ASGI application that serves a runner."""
    from starlette.applications import Starlette
    from starlette.convertors import PathConvertor, register_url_convertor
    from starlette.routing import Route

    class ThreadNameConvertor(PathConvertor):
        """The name of a thread, which may have slashes and line feeds."""

        regex = r"(?s:.*)"

    register_url_convertor("thread_name", ThreadNameConvertor())
    routes = _Routes(runner, runs, limits)
    table: list[tuple[str, Any, str]] = [
        ("/health", routes.health, "GET"),
        ("/runs", routes.run, "POST"),
        ("/threads/{thread:thread_name}/resume", routes.resume, "POST"),
        ("/threads/{thread:thread_name}", routes.state, "GET"),
    ]
    made = [
        Route(path, _Endpoint(answer, _route(method, path)), methods=[method])
        for path, answer, method in table
    ]
    app = Starlette(routes=made, exception_handlers={404: _elsewhere, 405: _elsewhere})
    app.router.redirect_slashes = False
    return RequestGate(app, limits.hosts, limits.token)


def _route(method: str, path: str) -> str:
    return f"{method} {path.replace(':thread_name', '')}"


class _Endpoint:
    """A route as an ASGI application, whose failures are replies.

    Attributes:
        route: its method and path.
    """

    def __init__(self, answer: Callable[[Request, Send], Awaitable[None]], route: str) -> None:
        self._answer = answer
        self.route = route

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        from starlette.requests import ClientDisconnect, Request

        try:
            await self._answer(Request(scope, receive), send)
        except ClientDisconnect:
            return
        except Exception as error:  # noqa: BLE001 - nothing of the server's inside is sent
            thread = scope["path_params"].get("thread")
            await send_json(send, *reply_to(error, self.route, thread))


class _Routes:
    """What the routes do."""

    def __init__(self, runner: ServedRunner, runs: ActiveRuns, limits: RequestPolicy) -> None:
        self._runner = runner
        self._runs = runs
        self._limits = limits
        self._version = antiphon.__version__

    async def health(self, request: Request, send: Send) -> None:
        """Tells who serves, and whether it accepts questions."""
        del request
        body = {
            "name": self._runner.name,
            "version": self._version,
            "accepts_questions": self._runs.accepts,
            "runs": self._runs.count,
            "max_runs": self._runs.most,
            "keeps_threads": self._runner.keeps_threads,
        }
        await send_json(send, 503 if self._runs.is_stopping else 200, body)

    async def run(self, request: Request, send: Send) -> None:
        """Asks a question."""
        async with self._runs.admitted():
            given = await read_object(request, self._limits.max_body, {"question", "thread"})
            question = read_question(given, takes_parts=self._runner.takes_parts)
            thread = self._runner.thread(given.get("thread"))
            exchange = self._exchange(request, send, thread)
        await self._reply(request, exchange, lambda show: self._runner.ask(question, thread, show))

    async def resume(self, request: Request, send: Send) -> None:
        """Resumes the run of a thread: with an answer, or from where it was lost."""
        async with self._runs.admitted():
            thread = self._runner.known_thread(request.path_params["thread"])
            given = await read_object(request, self._limits.max_body, {"answer"})
            answers = (given["answer"],) if "answer" in given else ()
            exchange = self._exchange(request, send, thread)
        await self._reply(
            request, exchange, lambda show: self._runner.resume(thread, answers, show)
        )

    async def state(self, request: Request, send: Send) -> None:
        """Tells the state of a thread."""
        thread = self._runner.known_thread(request.path_params["thread"])
        found = await self._runner.state(thread)
        await send_json(send, 200, shown_checkpoint(found))

    def _exchange(self, request: Request, send: Send, thread: str | None) -> RunExchange:
        return RunExchange(
            request.receive,
            send,
            thread=thread,
            route=request.scope["endpoint"].route,
            keep_alive=self._limits.keep_alive,
        )

    async def _reply(self, request: Request, exchange: RunExchange, work: Any) -> None:
        def begin(show: Any) -> Any:
            return self._runs.begin(work(show))

        started: BeginRun = begin
        if _wants_events(request):
            await exchange.stream(started)
        else:
            await exchange.reply(started)


def _wants_events(request: Request) -> bool:
    accepted = request.headers.get("accept", "").lower().split(",")
    return any(kind.partition(";")[0].strip() == "text/event-stream" for kind in accepted)


async def _elsewhere(request: Request, error: Exception) -> Any:
    from starlette.responses import JSONResponse

    del request
    status = getattr(error, "status_code", 404)
    body = body_of("route_unknown", _ELSEWHERE[status], "docs/guides/serve.md lists the routes")
    return JSONResponse(body, status, headers=getattr(error, "headers", None))
