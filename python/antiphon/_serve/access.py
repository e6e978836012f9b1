"""Where a server listens, and whether it may listen there without a token."""

from __future__ import annotations

import ipaddress
import re
import socket
from typing import Any

from antiphon.errors import StateError, ValidationError

_TOKEN = re.compile(r"[!-~]{16,4096}")
_PORTS = range(65_536)


def check_installed() -> None:
    """Checks that the extra is installed.

    Raises:
        ValidationError: it is not (``server_runtime_missing``).
    """
    try:
        import starlette
        import uvicorn
    except ModuleNotFoundError as error:
        raise ValidationError(
            f"a package that the server needs is not installed: {error.name}",
            code="server_runtime_missing",
            details={"package": error.name},
            hint='run `pip install "antiphon[serve]"`',
        ) from error
    del starlette, uvicorn


def listen(host: str, port: int) -> socket.socket:
    """A socket that listens.

    Raises:
        StateError: the port is taken, or the address is none (``server_failed``).
    """
    try:
        family, _, _, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        return socket.create_server(address[:2], family=family, backlog=2048)
    except OSError as error:
        raise StateError(
            f"the server cannot listen on `{host}` port {port}: {error.strerror}",
            code="server_failed",
            hint="choose another port",
        ) from error


def check_access(host: Any, port: Any, token: Any) -> None:
    """Checks the address and the token of a server.

    Raises:
        ValidationError: one is invalid, or the address needs a token
            (``server_setting_invalid``).
    """
    if not isinstance(host, str) or not host:
        raise invalid(f"`host` must be an address: {host!r}")
    if not isinstance(port, int) or port not in _PORTS:
        raise invalid(f"`port` must be an integer from 0 to 65,535: {port!r}")
    if token is None and not _is_loopback(host):
        raise invalid(
            f"an address that others can reach needs a token: {host}",
            "put a token into a variable and name it: `--token-env VARIABLE`, or `token=`",
        )
    if token is not None and not (isinstance(token, str) and _TOKEN.fullmatch(token)):
        # The token itself is not shown.
        raise invalid("a token must be 16 visible ASCII characters or more, without spaces")


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def invalid(message: str, hint: str | None = None) -> ValidationError:
    """The refusal of an option."""
    return ValidationError(message, code="server_setting_invalid", hint=hint)
