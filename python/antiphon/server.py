"""Serves an agent, a team or a ready system over HTTP, with the extra ``serve``.

``docs/guides/serve.md`` lists the routes. `antiphon.mcp` serves clients of the Model Context
Protocol.

Example:
    >>> import json, urllib.request
    >>> from antiphon import Agent, server
    >>> class Greeter(Agent):
    ...     def act(self, state, ctx):
    ...         return f"hello {state['question']}"
    >>> with server.start(Greeter()) as running:
    ...     body = json.dumps({"question": "Ada"}).encode()
    ...     kind = {"Content-Type": "application/json"}
    ...     request = urllib.request.Request(f"{running.url}/runs", body, kind)
    ...     with urllib.request.urlopen(request) as reply:
    ...         json.load(reply)["answer"]
    'hello Ada'
"""

from __future__ import annotations

import asyncio
import threading
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from antiphon._event_loop import run_until_complete
from antiphon._serve.access import check_access, check_installed, invalid, listen, read_hosts
from antiphon._serve.active_runs import ActiveRuns
from antiphon._serve.application import RequestPolicy, application
from antiphon._serve.runner import ServedRunner
from antiphon._validation import LARGEST_COUNT, is_count, is_number, is_seconds
from antiphon.errors import StateError

if TYPE_CHECKING:
    import socket
    from collections.abc import Iterable
    from typing import Self

    import uvicorn
    from starlette.types import ASGIApp

__all__ = ["RunServer", "start"]

_OWN = ("localhost", "127.0.0.1", "::1")
_TICK_S = 0.2
"""Seconds after which a waiting thread handles signals at the latest."""
_LAST_REPLIES_S = 5
"""Seconds for replies that are still being sent when no run is under way any more."""


def start(
    thing: Any,
    *,
    port: int = 0,
    host: str = "127.0.0.1",
    token: str | None = None,
    allowed_hosts: Iterable[str] = (),
    max_runs: int = 32,
    max_body: int = 8 * 2**20,
    timeout: float = 600,
    grace: float = 30,
    keep_alive: float = 15,
) -> RunServer:
    """Serves over HTTP in the background.

    Only requests whose ``Host`` is ``localhost``, `host` or one of `allowed_hosts` are answered. An
    ``Origin``, if it is sent, must have one of these names; scheme and port are not compared.

    Args:
        thing: an agent, an orchestrator or a ready system. Threads are kept in its store.
        port: the port. Default: any that is free.
        host: the address to listen on. Default: this machine only; any other needs a `token`.
        token: what clients must send, as ``Authorization: Bearer TOKEN``; 16 visible ASCII
            characters or more. Default: they need none.
        allowed_hosts: further names by which clients reach it, such as ``desk.example.com``.
        max_runs: the most runs at a time; further requests get status 503.
        max_body: the most bytes of a request.
        timeout: the seconds that a run may take; then it is cancelled. Default: ten minutes.
        grace: the seconds that `RunServer.stop` gives runs to end.
        keep_alive: the seconds of silence after which a stream of events gets a comment; a
            connection whose client reads next to nothing for ten times as long is reset (on
            Linux).

    Raises:
        ValidationError: it cannot be served (``serve_target``), an option is invalid or a token
            is needed (``server_setting_invalid``), or the extra is not installed
            (``server_runtime_missing``).
        StateError: the port is taken (``server_failed``).
    """
    check_access(host, port, token)
    hosts = read_hosts(allowed_hosts)
    count = f"an integer from 1 to {LARGEST_COUNT:,}"
    for name, value, fits, expected in (
        ("max_runs", max_runs, is_count, count),
        ("max_body", max_body, is_count, count),
        ("timeout", timeout, is_seconds, "seconds above 0"),
        ("grace", grace, is_number, "seconds from 0"),
        ("keep_alive", keep_alive, is_seconds, "seconds above 0"),
    ):
        if not fits(value):
            raise invalid(f"`{name}` must be {expected}: {value!r}")
    check_installed()
    runner = ServedRunner(thing)
    limits = RequestPolicy(
        hosts=(*_OWN, host, *hosts), token=token, max_body=max_body, keep_alive=keep_alive
    )
    runs = ActiveRuns(max_runs, timeout)
    listener = listen(host, port, 10 * keep_alive)
    return RunServer(application(runner, runs, limits), runs, listener, grace)


class RunServer:
    """A server of runs; made by `start`. As a context manager it stops at the end.

    Example:
        >>> from antiphon import server
        >>> running = server.start(team)  # doctest: +SKIP
    """

    def __init__(
        self, app: ASGIApp, runs: ActiveRuns, listener: socket.socket, grace: float
    ) -> None:
        self._runs = runs
        self._listener = listener
        self._grace = grace
        self._failure: BaseException | None = None
        self._draining: asyncio.Future[None] | None = None
        self._loop = asyncio.new_event_loop()
        host, port = listener.getsockname()[:2]
        self._url = f"http://{f'[{host}]' if ':' in host else host}:{port}"
        self._uvicorn = _uvicorn(app)
        self._thread = threading.Thread(target=self._work, name="antiphon-server", daemon=True)
        self._thread.start()

    @property
    def url(self) -> str:
        """The address at which it listens."""
        return self._url

    def wait(self) -> None:
        """Waits until it has stopped.

        Raises:
            StateError: it was not told to, but failed (``server_failed``).
        """
        # A signal that another thread receives does not wake this one, which is to handle it.
        while self._thread.is_alive():
            self._thread.join(_TICK_S)
        if self._failure is not None:
            raise StateError("the server failed", code="server_failed") from self._failure

    def stop(self, grace: float | None = None, *, wait: bool = True) -> None:
        """Stops: no new runs, then those under way are waited for, and cancelled.

        Args:
            grace: seconds to wait before they are cancelled; 0 also ends an earlier wait.
                Default: that of `start`.
            wait: whether to return once it has stopped, rather than at once.
        """
        seconds = self._grace if grace is None else grace
        with suppress(RuntimeError):  # it has stopped, and its loop is closed
            self._loop.call_soon_threadsafe(self._drain, seconds)
        if wait:
            self.wait()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def __repr__(self) -> str:
        return f"RunServer({self.url!r})"

    def _work(self) -> None:
        try:
            with self._listener:
                asyncio.set_event_loop(self._loop)
                run_until_complete(self._loop, self._uvicorn.serve([self._listener]))
                self._loop.run_until_complete(self._loop.shutdown_asyncgens())
        except BaseException as error:  # noqa: BLE001 - `wait` raises it on another thread
            self._failure = error
        finally:
            # Threads of code that blocks are not waited for.
            self._loop.close()

    def _drain(self, grace: float) -> None:
        if self._draining is None:
            self._draining = self._loop.create_task(self._runs.drain(grace))
            self._draining.add_done_callback(self._end)
        elif not grace:
            self._runs.cancel()

    def _end(self, _: object) -> None:
        self._uvicorn.should_exit = True


def _uvicorn(app: ASGIApp) -> uvicorn.Server:
    import uvicorn

    return uvicorn.Server(
        uvicorn.Config(
            app,
            http="h11",
            ws="none",
            lifespan="off",
            log_config=None,
            log_level="warning",
            access_log=False,
            server_header=False,
            proxy_headers=False,
            timeout_graceful_shutdown=_LAST_REPLIES_S,
        )
    )
