"""Where a server listens, and whether it may listen there without a token."""

from __future__ import annotations

import ipaddress
import re
import socket
from typing import Any
from urllib.parse import urlsplit

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
    except (OSError, UnicodeError) as error:
        is_address = isinstance(error, socket.gaierror | UnicodeError)
        raise StateError(
            f"the server cannot listen on `{host}` port {port}: "
            f"{getattr(error, 'strerror', None) or error}",
            code="server_failed",
            hint="check `--host`" if is_address else "choose another port",
        ) from error


def check_access(host: Any, port: Any, token: Any, allowed_hosts: Any = ()) -> None:
    """Checks the address, the names and the token of a server.

    Raises:
        ValidationError: one is invalid, or the address needs a token
            (``server_setting_invalid``).
    """
    if not isinstance(host, str) or not host:
        raise invalid(f"`host` must be an address: {host!r}")
    if not isinstance(port, int) or isinstance(port, bool) or port not in _PORTS:
        raise invalid(f"`port` must be an integer from 0 to 65,535: {port!r}")
    names = [] if isinstance(allowed_hosts, str) else list(allowed_hosts)
    if isinstance(allowed_hosts, str) or not all(map(_is_name, names)):
        raise invalid(f"`allowed_hosts` must be names of hosts without ports: {allowed_hosts!r}")
    if token is None and not _is_loopback(host):
        raise invalid(
            f"an address that others can reach needs a token: {host}",
            "put a token into a variable and name it: `--token-env VARIABLE`, or `token=`",
        )
    if token is not None and not (isinstance(token, str) and _TOKEN.fullmatch(token)):
        # The token itself is not shown.
        raise invalid("a token must be 16 visible ASCII characters or more, without spaces")


def _is_name(host: Any) -> bool:
    return isinstance(host, str) and host_of(f"//{host}") == bare(host)


def host_of(address: str) -> str | None:
    """The host of an address; nothing if it is none."""
    try:
        parts = urlsplit(address)
        _ = parts.port
    except ValueError:
        return None
    if parts.username is not None or parts.path or parts.query or parts.fragment:
        return None
    return None if parts.hostname is None else bare(parts.hostname)


def bare(host: str) -> str:
    """A name as it is compared: without brackets, a final dot or capital letters."""
    return host.strip("[]").rstrip(".").lower()


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def invalid(message: str, hint: str | None = None) -> ValidationError:
    """The refusal of an option."""
    return ValidationError(message, code="server_setting_invalid", hint=hint)
