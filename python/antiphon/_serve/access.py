"""Where a server listens, and whether it may listen there without a token."""

from __future__ import annotations

import ipaddress
import re
import socket
from collections.abc import Iterable
from typing import Any
from urllib.parse import urlsplit

from antiphon.errors import StateError, ValidationError

_TOKEN = re.compile(r"[!-~]{16,4096}")
_NAME = re.compile(r"[a-z0-9_-]{1,63}(\.[a-z0-9_-]{1,63})*")
_PORTS = range(65_536)
_LONGEST_MS = 2**31 - 1


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


def listen(host: str, port: int, stalled_s: float) -> socket.socket:
    """A socket that listens.

    Args:
        host: the address.
        port: the port; 0 for any that is free.
        stalled_s: seconds after which the system resets a connection whose other end takes nothing
            of what is sent. Only Linux does.

    Raises:
        StateError: the port is taken, or the address is none (``server_failed``).
    """
    try:
        family, _, _, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        listener = socket.create_server(address[:2], family=family, backlog=2048)
    except (OSError, UnicodeError) as error:
        is_address = isinstance(error, socket.gaierror | UnicodeError)
        raise StateError(
            f"the server cannot listen on `{host}` port {port}: "
            f"{getattr(error, 'strerror', None) or error}",
            code="server_failed",
            hint="check `--host`" if is_address else "choose another port",
        ) from error
    if hasattr(socket, "TCP_USER_TIMEOUT"):
        stalled_ms = min(round(stalled_s * 1000), _LONGEST_MS)
        listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, max(1, stalled_ms))
    return listener


def check_access(host: Any, port: Any, token: Any) -> None:
    """Checks the address and the token of a server.

    Raises:
        ValidationError: one is invalid, or the address needs a token
            (``server_setting_invalid``).
    """
    if not isinstance(host, str) or not host:
        raise invalid(f"`host` must be an address: {host!r}")
    if not isinstance(port, int) or isinstance(port, bool) or port not in _PORTS:
        raise invalid(f"`port` must be an integer from 0 to 65,535: {port!r}")
    if token is None and not _is_loopback(host):
        raise invalid(
            f"an address that others can reach needs a token: {host}",
            "put a token into a variable and name it: `--token-env VARIABLE`, or `token=`",
        )
    if token is not None and not (isinstance(token, str) and _TOKEN.fullmatch(token)):
        # The token itself is not shown.
        raise invalid("a token must be 16 visible ASCII characters or more, without spaces")


def read_hosts(names: Any) -> tuple[str, ...]:
    """The names by which clients reach a server, as they are compared.

    Raises:
        ValidationError: one is no name or address of a host (``server_setting_invalid``).
    """
    found = [names] if isinstance(names, str) or not isinstance(names, Iterable) else list(names)
    for name in found:
        if isinstance(names, str) or not _is_host(name):
            raise invalid(
                f"`allowed_hosts` must be names of hosts: {name!r}",
                'name each in full, without scheme, port or `*`: `["desk.example.com"]`',
            )
    return tuple(bare(name) for name in found)


def _is_host(name: Any) -> bool:
    if not isinstance(name, str):
        return False
    try:
        return bool(ipaddress.ip_address(name.strip("[]")))
    except ValueError:
        return _NAME.fullmatch(bare(name)) is not None


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
    """A name as it is compared: without brackets, a final dot or capital letters.

    An IPv6 address has its shortest form, as browsers send it.
    """
    name = host.strip("[]").rstrip(".").lower()
    try:
        return ipaddress.ip_address(name).compressed
    except ValueError:
        return name


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def invalid(message: str, hint: str | None = None) -> ValidationError:
    """The refusal of an option."""
    return ValidationError(message, code="server_setting_invalid", hint=hint)
