"""MCP servers whose tools a ready system looks up while it runs."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from antiphon.errors import ValidationError
from antiphon.toolset import McpToolset, Toolset

if TYPE_CHECKING:
    from collections.abc import Callable

    from antiphon._antiphon import NativeMcpClient
    from antiphon._tool.lifespan import HasLifespan
    from antiphon._tool.mcp import McpServer

__all__ = ["Registry", "RegistryUse", "read_registries"]


@dataclass
class RegistryUse:
    """What a run opens: nothing yet; the connection closes with its last user.

    Attributes:
        server: the server.
        resources: what runs have opened.
    """

    server: McpServer
    resources: dict[int, Any] = field(default_factory=dict)

    @property
    def lifespan(self) -> Callable[[], Any] | None:
        """Counts a run as a user of the connection."""
        return self.server.used


@dataclass
class Registry:
    """A server, as the lifespans of a run know it.

    Attributes:
        name: the server.
        client: its client, for the engine.
        toolset: what a run opens.
    """

    name: str
    client: NativeMcpClient
    toolset: HasLifespan | None


def read_registries(given: Any) -> list[Registry]:
    """The servers of a system: one, or a list.

    Raises:
        ValidationError: one is no MCP server, or its calls need approval
            (``tool_setting_invalid``).
    """
    is_list = isinstance(given, Iterable) and not isinstance(given, str | McpToolset)
    return [_registry(one) for one in (given if is_list else [given])]


def _registry(given: Any) -> Registry:
    toolset = Toolset.mcp(given) if isinstance(given, str) else given
    if not isinstance(toolset, McpToolset):
        raise ValidationError(
            f"`registry` must be an MCP server: {type(given).__name__}",
            code="tool_setting_invalid",
            hint="pass `Toolset.mcp(url)`, a URL, or a list of them; other tools go into `tools=`",
        )
    if toolset.approval:
        raise ValidationError(
            f"calls of a registry cannot wait for approval: {toolset!r}",
            code="tool_setting_invalid",
            hint="pass the toolset as one of `tools=`",
        )
    server = toolset.server
    return Registry(server.client.server, server.client, RegistryUse(server))
