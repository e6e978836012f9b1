"""Toolsets: tools that belong together, and what they open for a run.

Example:
    >>> from contextlib import contextmanager
    >>> from antiphon import ToolContext, Toolset, tool
    >>> @contextmanager
    ... def connect():
    ...     yield {"Lyon": 520_774}
    >>> @tool
    ... def count(city: str, call: ToolContext) -> int:
    ...     return call.resource[city]
    >>> Toolset([count], prefix="people_", lifespan=connect).tools
    (FunctionTool('people_count'),)
"""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING, Any, Literal

from antiphon._tool.langchain import is_toolkit
from antiphon._tool.lifespan import read_lifespan
from antiphon._tool.mcp import McpServer, read_oauth, read_server
from antiphon._tool.options import check_list, check_name
from antiphon._tool.tool import Tool
from antiphon.errors import ValidationError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from pathlib import Path
    from types import TracebackType
    from typing import Self

    from antiphon._antiphon import Model
    from antiphon._tool.approval import Approval

__all__ = ["McpToolset", "Toolset"]


class Toolset:
    """Tools that belong together; accepted in the ``tools=`` of agents and ready systems.

    Args:
        tools: functions, `Tool`s or LangChain tools.
        prefix: what the names of the tools begin with, such as ``db_``. Default: nothing.
        lifespan: a function without arguments that returns a context manager, sync or async, for
            instance one that `contextlib.asynccontextmanager` has made. Each run enters it before
            its first step, and leaves it when it ends, fails, pauses or is cancelled; a resumed
            run enters it again. Tools get the value that it yields as `ToolContext.resource`.
            Default: none.

    Graphs and LangChain do not open toolsets.

    Raises:
        ValidationError: a tool is refused as by `Tool`, two have the same name
            (``tool_duplicate``), a name is too long with its prefix (``tool_name``), or
            `lifespan` is no such function (``tool_option``).

    Example:
        >>> def north(): ...
        >>> def south(): ...
        >>> Toolset([north, south], prefix="go_")
        Toolset(go_north, go_south)
    """

    def __init__(
        self,
        tools: Iterable[Any],
        *,
        prefix: str = "",
        lifespan: Callable[..., Any] | None = None,
    ) -> None:
        if not isinstance(prefix, str):
            raise ValidationError(
                f"`prefix` of a toolset must be a string: {prefix!r}",
                code="tool_option",
                hint='for instance `prefix="db_"`',
            )
        self.lifespan = read_lifespan(lifespan)
        self._tools = tuple(self._own(one, prefix) for one in Tool.collect(tools))
        self.resources: dict[int, Any] = {}
        """What `lifespan` has yielded, by run; for the engine."""

    @property
    def tools(self) -> tuple[Tool, ...]:
        """The tools, under the names that models read."""
        return self._tools

    @classmethod
    def mcp(
        cls,
        server: str | Sequence[str],
        *,
        headers: Mapping[str, str] | None = None,
        env: Mapping[str, str] | None = None,
        cwd: str | Path | None = None,
        prefix: str = "",
        tools: Sequence[str] = (),
        timeout: float = 60,
        connect_timeout: float = 30,
        approval: Approval = False,
        elicit: Callable[[dict[str, Any]], Any] | Literal["ask"] | None = None,
        sampling: str | Model | None = None,
        roots: Sequence[str | Path] = (),
        login: Callable[[str], str | None] | Literal["browser"] | None = None,
        oauth: Mapping[str, Any] | None = None,
    ) -> McpToolset:
        """Makes a toolset of the tools of an MCP server.

        The connection is made when the tools are needed first, and closed at the end of the last
        run that uses it. Outside of runs it is a context manager.

        Args:
            server: the URL of a server over HTTP, or the command line of one over standard input
                and output, which no shell runs; or the program and its arguments as a list.
            headers: of each request over HTTP, such as ``Authorization``.
            env: variables of the process. It gets these, and of this process only those that
                programs need to start, such as ``PATH``.
            cwd: the folder in which the process starts. Default: this one.
            prefix: what the names of the tools begin with. Default: nothing.
            tools: the names of the tools to take, as the server calls them. Default: all.
            timeout: seconds for one call; waiting for `elicit` does not count.
            connect_timeout: seconds for connecting.
            approval: as that of `Tool`, for all of them. Default: calls need none.
            elicit: answers questions of the server: a function, sync or async, of a dict with
                ``question`` and either ``schema`` or ``url``. It returns a dict of the values, the
                value of the only field, or ``None`` to decline. With ``"ask"`` the run pauses with
                the question, and makes the call again with the answer. Default: all are declined.
            sampling: a model that the server may ask, or its name. Default: it may ask none.
            roots: folders that the server is told to work in.
            login: shows people the page of a server that asks for OAuth. ``"browser"`` opens it in
                the browser of this machine. A function gets the address of the page, and may return
                the address to which it has led, if the browser is on another machine. Default:
                nobody logs in.
            oauth: of servers that ask for OAuth: ``token_file``, which keeps the tokens for later
                processes; ``scopes`` to ask for; ``client_id`` and ``client_secret`` of a client
                that was registered before, and its ``redirect_port``; ``timeout`` of a login in
                seconds, 300 by default. With an id and a secret, no `login` is needed.

        Raises:
            ValidationError: a setting makes no sense (``tool_setting_invalid``).

        Example:
            >>> Toolset.mcp("npx -y @modelcontextprotocol/server-memory", prefix="memory_")
            Toolset.mcp('npx')
        """
        settings = {
            **read_server(server),
            "headers": dict(headers or {}),
            "env": dict(env or {}),
            "folder": "" if cwd is None else str(cwd),
            "prefix": prefix,
            "tools": list(tools),
            "timeout": timeout,
            "connect_timeout": connect_timeout,
            "roots": [one if isinstance(one, str) else one.absolute().as_uri() for one in roots],
            "oauth": read_oauth(oauth or {}),
        }
        opened = McpServer(settings, elicit=elicit, sampling=sampling, login=login)
        return McpToolset(opened, approval)

    @classmethod
    def flatten(cls, given: Iterable[Any]) -> list[Any]:
        """A list of tools, toolsets and LangChain toolkits, with the tools in their place.

        Raises:
            ValidationError: it is no list (``tool_function``).
        """
        members = (
            one.tools if isinstance(one, cls) else one.get_tools() if is_toolkit(one) else [one]
            for one in check_list(given)
        )
        return [tool for some in members for tool in some]

    def _own(self, given: Tool, prefix: str) -> Tool:
        own = copy.copy(given)
        own.name = check_name(f"{prefix}{given.name}", given.name)
        own.toolset = self
        return own

    def __repr__(self) -> str:
        return f"Toolset({', '.join(tool.name for tool in self.tools)})"


class McpToolset(Toolset):
    """The tools of an MCP server; made by `Toolset.mcp`.

    Example:
        >>> with Toolset.mcp("http://127.0.0.1:8000/mcp") as tools:  # doctest: +SKIP
        ...     print(tools.protocol, [tool.name for tool in tools.tools])
    """

    def __init__(self, server: McpServer, approval: Approval) -> None:
        super().__init__([], lifespan=server.opened)
        self.server = server
        """The connection; for the engine."""
        self.approval = approval
        """Whether calls wait for approval; for the engine."""
        self._read = False

    @property
    def tools(self) -> tuple[Tool, ...]:
        """The tools, under the names that models read; the first time, from the server.

        Raises:
            ToolTransportError: the server cannot be reached (``mcp_unreachable``) or is none
                (``mcp_handshake_failed``).
            AuthError: it refuses the credentials (``mcp_unauthorized``).
            ValidationError: it has no tool of a name that was asked for (``mcp_tool_unknown``).
        """
        if not self._read:
            self.refresh()
        return self._tools

    def refresh(self) -> None:
        """Reads the list of tools again; agents that were made before keep theirs.

        Raises:
            AntiphonError: as `tools`.
        """
        options: Any = {"approval": self.approval} if self.approval else {}
        made = [Tool.from_native(handle, **options) for handle in self.server.tools()]
        self._tools = tuple(self._own(one, "") for one in made)
        self._read = True

    @property
    def protocol(self) -> str | None:
        """The revision of the protocol that is spoken; ``None`` while nothing is connected."""
        return self.server.client.revision()

    def close(self) -> None:
        """Ends the connection now. The next use would connect again."""
        self.server.client.close()

    def __enter__(self) -> Self:
        self.server.open()
        return self

    def __exit__(self, *_: object) -> None:
        self.server.close()

    async def __aenter__(self) -> Self:
        import asyncio  # it takes 20 ms

        await asyncio.to_thread(self.server.open)
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        import asyncio  # it takes 20 ms

        await asyncio.to_thread(self.server.close)

    def __repr__(self) -> str:
        return f"Toolset.mcp({self.server.client.server!r})"
