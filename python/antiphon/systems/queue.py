"""Queues between ready systems and their workers."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from antiphon._antiphon import NativeQueue
from antiphon.errors import ValidationError

if TYPE_CHECKING:
    from typing import Self

__all__ = ["Queue", "read_queue"]

_LOGIN = {
    "user": "NATS_USER",
    "password": "NATS_PASSWORD",
    "token": "NATS_TOKEN",
    "credentials_file": "NATS_CREDS",
}
_FILES = {"ca_file": "NATS_CA", "certificate_file": "NATS_CERT", "key_file": "NATS_KEY"}


class Queue:
    """Where a ready system leaves steps for its workers; made by `memory` or `connect`.

    Messages in a NATS server outlive its crashes and those of systems and workers. A queue can be
    shared by any number of systems and workers of this process.

    Example:
        >>> Queue.memory()
        Queue('memory')
    """

    def __init__(self, native: NativeQueue) -> None:
        self._native = native

    @classmethod
    def memory(cls) -> Self:
        """A queue within this process, for a system and workers that both get it."""
        return cls(NativeQueue.memory())

    @classmethod
    def connect(
        cls,
        url: str,
        *,
        name: str = "antiphon",
        user: str | None = None,
        password: str | None = None,
        token: str | None = None,
        credentials_file: str | os.PathLike[str] | None = None,
        ca_file: str | os.PathLike[str] | None = None,
        certificate_file: str | os.PathLike[str] | None = None,
        key_file: str | os.PathLike[str] | None = None,
    ) -> Self:
        """Connects to a queue in a NATS server with JetStream; it is made if it is not there.

        What is not given is read from the variables that NATS's own tools know: ``NATS_USER``,
        ``NATS_PASSWORD``, ``NATS_TOKEN`` and ``NATS_CREDS``, unless there is a login, and
        ``NATS_CA``, ``NATS_CERT`` and ``NATS_KEY``. No login is ever shown or stored.

        Args:
            url: ``nats://host:4222``, ``nats://user:password@host:4222`` or ``tls://host:4222``.
            name: of the queue; systems and workers that give the same name share it.
            user: the user.
            password: its password.
            token: a token in place of both.
            credentials_file: a credentials file of NATS (``worker.creds``) in place of all three.
            ca_file: certificates of authorities beside those of the system, as a PEM file.
            certificate_file: the certificate of this client, as a PEM file.
            key_file: its key, as a PEM file.

        Raises:
            ValidationError: the URL, the name or a file cannot be used (``queue_setting_invalid``).
            AuthError: the server refuses the login (``queue_login_failed``).
            ToolTransportError: it cannot be reached or has no JetStream (``queue_unreachable``).
        """
        logins = (user, token, credentials_file)
        has_login = "@" in url or any(login is not None for login in logins)
        files = {
            "credentials_file": credentials_file,
            "ca_file": ca_file,
            "certificate_file": certificate_file,
            "key_file": key_file,
        }
        given: dict[str, Any] = {
            **({} if has_login else _variables(_LOGIN)),
            **_variables(_FILES),
            **{key: os.fspath(path) for key, path in files.items() if path is not None},
        }
        login = {"user": user, "password": password, "token": token}
        given |= {key: value for key, value in login.items() if value is not None}
        return cls(NativeQueue.connect(url, name, **given))

    @property
    def name(self) -> str:
        """``memory``, or the address of the server without the login."""
        return self._native.name

    @property
    def native(self) -> NativeQueue:
        """The queue as the engine has it."""
        return self._native

    def __repr__(self) -> str:
        return f"Queue({self.name!r})"


def read_queue(given: Queue | str) -> Queue:
    """A queue, or the one of a URL.

    Raises:
        ValidationError: it is none (``queue_setting_invalid``).
        AntiphonError: as `Queue.connect`.
    """
    if isinstance(given, Queue):
        return given
    if isinstance(given, str):
        return Queue.connect(given)
    raise ValidationError(
        f"`queue` must be a URL or a Queue: {type(given).__name__}",
        code="queue_setting_invalid",
        hint="pass `nats://host:4222`, or `Queue.memory()` to a system and its workers",
    )


def _variables(names: dict[str, str]) -> dict[str, str]:
    """The variables that are set."""
    found = {key: os.environ.get(name, "") for key, name in names.items()}
    return {key: value for key, value in found.items() if value}
