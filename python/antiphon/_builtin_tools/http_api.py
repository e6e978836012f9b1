"""Calls of HTTP APIs as tools."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, Literal

from antiphon._builtin_tools.opening import open_family
from antiphon.toolset import Toolset

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


def http_api(
    catalogue: str | os.PathLike[str],
    *,
    base_url: str | None = None,
    auth: Mapping[str, Any] | None = None,
    principal: str = "default",
    writes: bool = False,
    allow: Sequence[str] = (),
    candidates: int = 5,
    scoring: Literal["count", "bm25"] = "count",
    adjustments: Sequence[Mapping[str, Any]] = (),
    known_values: Mapping[str, Any] | None = None,
    timezone: str = "UTC",
    timeout: float = 30,
    max_bytes: int = 5_000_000,
    max_rows: int = 200,
    prefix: str = "",
) -> Toolset:
    """Tools that call an HTTP API: `api_endpoints`, `api_read` and, with `writes`, `api_write`.

    A model looks endpoints up in a catalogue and calls them with parameters that are checked
    and escaped. It writes no URL, chooses no host, and sees no secret, also if the server
    repeats one.

    Args:
        catalogue: the path of a catalogue in YAML, or of an OpenAPI 3.0 or 3.1 document; or its
            text, which has more than one line or begins with a brace.
        base_url: the address of the API. Default: that of the catalogue.
        auth: who calls, one of ``{"type": "bearer", "token": …}``,
            ``{"type": "basic", "user": …, "password": …}``,
            ``{"type": "api_key", "name": "X-Key", "key": …, "location": "header"}`` (or
            ``"query"``), and ``{"type": "token", "url": …, "grant": "client_credentials",
            "client_id": …, "client_secret": …, "scope": …}`` for a token endpoint, whose token is
            kept until shortly before it expires, and renewed once after status 401; the grants
            ``refresh_token`` and ``password`` have the fields ``refresh_token``, ``username`` and
            ``password``; the grant ``custom`` sends only ``fields`` and ``secret_fields``, in a
            form or with ``"body": "json"``, and ``query`` has secret parameters of the URL.
            Default: nobody.
        principal: for whom the calls are. Tokens are kept for each principal.
        writes: whether endpoints may be called whose method may change something. `api_write` has
            the side effect ``external``; give it an approval with `Tool.with_options`.
        allow: what may be reached beside public addresses: ``loopback``, ``private``, an address,
            a network or a host.
        candidates: how many endpoints `api_endpoints` shows.
        scoring: how it chooses them: by the number of words that they share with the question, or
            by BM25.
        adjustments: parameters to add, once, after status 400 or 422:
            ``{"when_error_mentions": ["from"], "set": {"from": "{today}"}}``.
        timezone: the IANA time zone of ``{today}``. A call may have its own; a data analyst passes
            that of its facts (``facts={"timezone": "Europe/Berlin"}``).
        known_values: values of parameters that are added when such an error names them.
        timeout: the time limit of a call, repetitions included, in seconds.
        max_bytes: the bytes of a reply that are read at most.
        max_rows: the rows of a result; further ones are left out, and the result says so.
        prefix: what the names of the tools begin with, for several APIs.

    Returns:
        The tools. Nothing is connected to before the first call.

    Raises:
        ValidationError: a setting is wrong (``tool_setting_invalid``), or the catalogue
            (``api_catalogue_invalid``).

    Example:
        >>> catalogue = '''
        ... base_url: https://api.example.com
        ... sections:
        ...   - id: orders
        ...     content: |
        ...       - GET `/v1/orders` list of orders
        ...       - GET `/v1/orders/:id` one order
        ... '''
        >>> endpoints, read = http_api(catalogue).tools
        >>> endpoints.call({"question": "one order"})["endpoints"][0]["path"]
        '/v1/orders/:id'
    """
    settings = {
        "catalogue": os.fspath(catalogue),
        "base_url": base_url,
        "auth": None if auth is None else dict(auth),
        "principal": principal,
        "writes": writes,
        "allow": allow,
        "candidates": candidates,
        "scoring": scoring,
        "adjustments": adjustments,
        "known_values": None if known_values is None else dict(known_values),
        "timezone": timezone,
        "timeout": timeout,
        "max_bytes": max_bytes,
        "max_rows": max_rows,
    }
    return Toolset(open_family("http_api", settings), prefix=prefix)
