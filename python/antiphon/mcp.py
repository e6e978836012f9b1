"""Serves agents, teams, ready systems and tools to clients of the Model Context Protocol.

The way back is `antiphon.Toolset.mcp`: the tools of an MCP server for agents.

Example:
    >>> from antiphon import mcp, tool
    >>> @tool(side_effect="none")
    ... def double(number: int) -> int:
    ...     "Twice the number."
    ...     return 2 * number
    >>> with mcp.start(double) as server:
    ...     server.url.endswith("/mcp")
    True
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from antiphon._antiphon import NativeMcpServer, serve_mcp_stdio
from antiphon._mcp.served import served_tools

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Self

__all__ = ["HttpServer", "serve", "start"]


def serve(*things: Any, name: str = "antiphon", instructions: str = "") -> None:
    """Serves over standard input and output until the input ends.

    Clients start the program that calls this. It must print nothing else.

    Args:
        *things: agents, orchestrators, ready systems, tools, toolsets or functions. Each agent,
            team and system becomes a tool that takes a question and returns the answer.
        name: what the server is called.
        instructions: how to use its tools, for the client's model.

    Raises:
        ValidationError: one cannot be served (``mcp_target``), needs the approval of a person
            (``approval_unavailable``), or two have the same name (``tool_setting_invalid``).
        StateError: the pipes broke (``mcp_server_failed``).
    """
    tools = [tool.native() for tool in served_tools(things)]
    serve_mcp_stdio(tools, {"name": name, "instructions": instructions})


def start(
    *things: Any,
    port: int = 0,
    host: str = "127.0.0.1",
    name: str = "antiphon",
    instructions: str = "",
    allowed_hosts: Sequence[str] = (),
    allowed_origins: Sequence[str] = (),
    max_sessions: int = 100,
    max_calls: int = 32,
) -> HttpServer:
    """Serves over HTTP in the background.

    Only requests to ``localhost``, to `host` or to `allowed_hosts` are answered, and none of web
    pages of strangers, which could otherwise reach the server through a visitor's browser. There
    is no other check of who asks: put a proxy with authentication before a server that others
    can reach.

    Args:
        *things: as in `serve`.
        port: the port. Default: any that is free.
        host: the address to listen on. Default: this machine only.
        name: as in `serve`.
        instructions: as in `serve`.
        allowed_hosts: further names by which clients reach it, such as ``tools.example.com``.
        allowed_origins: origins of web pages that may use it, such as
            ``https://app.example.com``. Default: pages of this machine.
        max_sessions: the most sessions at a time.
        max_calls: the most calls at a time.

    Raises:
        ValidationError: as `serve`.
        StateError: the port is taken (``mcp_server_failed``).
    """
    settings = {
        "host": host,
        "name": name,
        "instructions": instructions,
        "allowed_hosts": list(allowed_hosts),
        "allowed_origins": list(allowed_origins),
        "max_sessions": max_sessions,
        "max_calls": max_calls,
    }
    tools = [tool.native() for tool in served_tools(things)]
    return HttpServer(NativeMcpServer.start(tools, settings, port))


class HttpServer:
    """A server over HTTP; made by `start`. As a context manager it stops at the end.

    Example:
        >>> from antiphon import mcp
        >>> server = mcp.start(len)  # doctest: +SKIP
    """

    def __init__(self, native: NativeMcpServer) -> None:
        self._native = native

    @property
    def url(self) -> str:
        """The address for clients on this machine."""
        return self._native.url

    def wait(self) -> None:
        """Waits until it is stopped, or for Ctrl-C."""
        self._native.wait()

    def stop(self) -> None:
        """Stops it: sessions and calls end."""
        self._native.stop()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def __repr__(self) -> str:
        return f"HttpServer({self.url!r})"
