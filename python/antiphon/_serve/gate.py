"""Authentication of requests: `Host`, `Origin` and the bearer token."""

from __future__ import annotations

import hmac
from hashlib import sha256
from typing import TYPE_CHECKING, Any

from antiphon._serve.access import bare, host_of
from antiphon._serve.failure import reply_to
from antiphon._serve.reply import send_json
from antiphon.errors import AuthError, PolicyError

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from starlette.types import ASGIApp, Receive, Scope, Send

_OPEN = "/health"
"""The route that needs no token."""


class RequestGate:
    """Passes requests on that may reach the application.

    Otherwise a web page could reach the server through its visitor's browser, by DNS rebinding or
    a request of another origin.

    Args:
        application: what answers them.
        hosts: names and addresses of the server.
        token: what clients must send as a bearer token; without one they need none.
    """

    def __init__(self, application: ASGIApp, hosts: Iterable[str], token: str | None) -> None:
        self._application = application
        self._hosts = {bare(host) for host in hosts}
        self._digest = None if token is None else sha256(token.encode()).digest()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answers a request."""
        try:
            self._check(scope)
        except (AuthError, PolicyError) as error:
            await send_json(send, *reply_to(error, "the gate"))
            return
        await self._application(scope, receive, send)

    def _check(self, scope: Scope) -> None:
        given: list[tuple[bytes, bytes]] = scope["headers"]
        hosts = [host_of(f"//{host}") for host in _values(given, b"host")]
        if len(hosts) != 1 or hosts[0] not in self._hosts:
            raise _forbidden("the host of a request must be a name of this server")
        if any(host_of(origin) not in self._hosts for origin in _values(given, b"origin")):
            raise _forbidden("pages of other origins may not use this server")
        if self._digest is not None and scope["path"] != _OPEN:
            self._check_token(_values(given, b"authorization"))

    def _check_token(self, given: Sequence[str]) -> None:
        scheme, _, token = given[0].partition(" ") if len(given) == 1 else ("", "", "")
        digest = sha256(token.strip().encode(errors="surrogateescape")).digest()
        # Digests have one length, so that the time tells nothing of the token.
        is_right = hmac.compare_digest(digest, self._digest or b"")
        if scheme.lower() != "bearer" or not is_right:
            raise AuthError(
                "the request has no token of this server",
                code="request_unauthorized",
                hint="send the header `Authorization: Bearer TOKEN`",
            )


def _values(headers: Iterable[tuple[Any, Any]], name: bytes) -> list[str]:
    return [value.decode("latin-1") for key, value in headers if key == name]


def _forbidden(message: str) -> PolicyError:
    return PolicyError(
        message,
        code="request_forbidden",
        hint="have the server started with `--allow-host NAME` for each name that it has",
    )
