"""Search on the web."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from antiphon._builtin_tools.opening import open_tool
from antiphon._builtin_tools.search_function import search_with

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from antiphon._tool.tool import Tool


def web_search(
    function: Callable[..., Any] | None = None,
    *,
    backends: Sequence[str] = (),
    searxng_url: str | None = None,
    brave_api_key: str | None = None,
    tavily_api_key: str | None = None,
    serper_api_key: str | None = None,
    base_url: str | None = None,
    include_domains: Sequence[str] = (),
    exclude_domains: Sequence[str] = (),
    timeout: float = 15,
) -> Tool:
    """A tool `web_search` that asks SearXNG, Brave, Tavily, Serper or a function.

    Results have the keys ``rank``, ``title``, ``url``, ``snippet``, ``backend`` and, if the engine
    tells it, ``published``. Filters that an engine does not have are noted in the reply.

    Args:
        function: searches in place of the engines. It takes the query, and by their names those
            of ``count``, ``page``, ``language``, ``region`` and ``period`` that it declares, and
            returns a list of dicts with ``url`` and, if it knows them, ``title``, ``snippet`` and
            ``published``. It may be async. Its name is the ``backend`` of the results.
        backends: engines to ask, each after the one before has failed: ``searxng``, ``brave``,
            ``tavily``, ``serper``. Default: those that have a key or an address.
        searxng_url: the address of a SearXNG instance whose format ``json`` is enabled. Default:
            the variable ``SEARXNG_URL``.
        brave_api_key: the key of Brave Search. Default: the variable ``BRAVE_API_KEY``.
        tavily_api_key: the key of Tavily. Default: the variable ``TAVILY_API_KEY``.
        serper_api_key: the key of Serper. Default: the variable ``SERPER_API_KEY``.
        base_url: another address of Brave, Tavily or Serper, such as that of a gateway; only with
            one engine.
        include_domains: only results of these domains and their subdomains; ``*.gov`` and
            ``news.*`` are patterns. Default: all.
        exclude_domains: no results of these domains.
        timeout: the time limit of a request, in seconds. A request that failed is repeated twice
            at most.

    Returns:
        The tool. Nothing is requested before the first call.

    Raises:
        ValidationError: a setting is wrong, or no engine has a key or an address
            (``tool_setting_invalid``). No key is part of a message.

    Example:
        >>> web_search(backends=["brave"], brave_api_key="k-123").name
        'web_search'
    """
    if function is not None:
        settings = {
            "include_domains": include_domains,
            "exclude_domains": exclude_domains,
            "arranging": True,
        }
        return search_with(function, settings, timeout)
    settings = {
        "backends": backends,
        "searxng_url": searxng_url,
        "brave_api_key": brave_api_key,
        "tavily_api_key": tavily_api_key,
        "serper_api_key": serper_api_key,
        "base_url": base_url,
        "include_domains": include_domains,
        "exclude_domains": exclude_domains,
        "timeout": timeout,
    }
    return open_tool("web_search", settings)
