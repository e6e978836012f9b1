"""The toolset of an MCP server: its connection, and who uses it."""

from __future__ import annotations

import inspect
import logging
import re
import shutil
import threading
import webbrowser
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from antiphon._antiphon import Model, NativeMcpClient
from antiphon._event_loop import run_blocking
from antiphon.errors import ValidationError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from antiphon._antiphon import NativeTool

_RUNNERS = {".py": "python", ".js": "node", ".ts": "npx tsx"}
"""What runs a file, by its ending."""
_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*)://")


class McpServer:
    """A client of one server that is open while somebody uses it.

    Args:
        settings: those of the native client, by name.
        elicit: as `Toolset.mcp`.
        sampling: as `Toolset.mcp`.
        login: as `Toolset.mcp`.
    """

    def __init__(
        self,
        settings: Mapping[str, Any],
        *,
        elicit: Callable[[dict[str, Any]], Any] | Literal["ask"] | None,
        sampling: str | Model | None,
        login: Callable[[str], str | None] | Literal["browser"] | None,
    ) -> None:
        given = {key: value for key, value in settings.items() if value is not None}
        model = _opened(sampling)
        asks = elicit == "ask"
        answer = None if elicit is None or elicit == "ask" else _answering(elicit)
        show = _showing(login)
        self.client = NativeMcpClient(given, elicit=answer, asks=asks, sampling=model, login=show)
        self._users = 0
        self._lock = threading.Lock()

    def tools(self) -> list[NativeTool]:
        """Connects, and reads the list of tools. The connection waits for its first user."""
        return self.client.tools()

    def open(self) -> None:
        """Connects for one more user."""
        with self._lock:
            self.client.connect()
            self._users += 1

    @contextmanager
    def used(self) -> Iterator[McpServer]:
        """As `opened`, for a run that connects by itself when it needs to."""
        with self._lock:
            self._users += 1
        try:
            yield self
        finally:
            self.close()

    def close(self) -> None:
        """Ends the connection with its last user."""
        with self._lock:
            self._users -= 1
            if self._users == 0:
                self.client.close()

    @contextmanager
    def opened(self) -> Iterator[McpServer]:
        """The lifespan of its toolset."""
        self.open()
        try:
            yield self
        finally:
            self.close()


def read_server(server: Any) -> dict[str, Any]:
    """A URL or a command line, or a list of the program and its arguments.

    Raises:
        ValidationError: it is neither, or a URL that is not of HTTP (``tool_setting_invalid``).
    """
    if isinstance(server, str):
        _check_scheme(server)
        _check_program(server)
        return {"server": server}
    if isinstance(server, list | tuple) and all(isinstance(word, str) for word in server):
        return {"command": list(server)}
    raise ValidationError(
        f"an MCP server is a URL, a command line or a list of words: {type(server).__name__}",
        code="tool_setting_invalid",
        hint='for instance `Toolset.mcp("npx -y @modelcontextprotocol/server-memory")`',
    )


def read_oauth(given: Mapping[str, Any]) -> dict[str, Any]:
    """The settings of OAuth, with a path as text."""
    return {key: str(it) if isinstance(it, Path) else it for key, it in given.items()}


def _check_scheme(server: str) -> None:
    scheme = _SCHEME.match(server.strip())
    if scheme is not None and scheme[1].lower() not in {"http", "https"}:
        raise ValidationError(
            f"the URL of an MCP server has an unknown scheme: {scheme[1]}",
            code="tool_setting_invalid",
            hint="write http://… or https://…, or the command line of a server",
        )


def _check_program(server: str) -> None:
    word, *arguments = server.split() or [""]
    runner = _RUNNERS.get(Path(word).suffix)
    if runner is None or arguments or shutil.which(word):
        return
    raise ValidationError(
        f"the command line of an MCP server begins with a file that is no program: {word}",
        code="tool_setting_invalid",
        hint=f'write `Toolset.mcp("{runner} {word}")`',
    )


def _opened(sampling: str | Model | None) -> Model | None:
    if isinstance(sampling, str):
        from antiphon._model.opening import open_any

        return open_any(sampling, {})
    if sampling is None or isinstance(sampling, Model):
        return sampling
    raise ValidationError(
        f"`sampling` must be a model or its name: {type(sampling).__name__}",
        code="tool_setting_invalid",
    )


def _answering(elicit: Callable[[dict[str, Any]], Any]) -> Callable[[dict[str, Any]], Any]:
    if not callable(elicit):
        raise ValidationError(
            f"`elicit` must be a function or 'ask': {elicit!r}", code="tool_setting_invalid"
        )

    def answer(question: dict[str, Any]) -> Any:
        found = elicit(question)
        return run_blocking(found) if inspect.isawaitable(found) else found

    return answer


def _showing(
    login: Callable[[str], str | None] | Literal["browser"] | None,
) -> Callable[[str], str | None] | None:
    if login is None or callable(login):
        return login
    if login == "browser":
        return _open_browser
    raise ValidationError(
        f"`login` must be a function or 'browser': {login!r}", code="tool_setting_invalid"
    )


def _open_browser(page: str) -> None:
    """Opens the page of a login, or says where it is: only people can open it then."""
    if not webbrowser.open(page):
        logging.getLogger("antiphon.mcp").warning("open this page to log in: %s", page)
