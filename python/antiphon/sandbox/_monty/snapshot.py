"""Pauses as bytes that nobody else can make."""

from __future__ import annotations

import hashlib
import hmac
import json
import struct
from importlib.metadata import version
from typing import NoReturn

from antiphon.errors import ValidationError
from antiphon.sandbox._monty.progress import Progress
from antiphon.sandbox._monty.session import Paused

__all__ = ["check_key", "decode_snapshot", "encode_snapshot"]

_MAGIC = b"antiphon sandbox pause 1\n"
_MARK = hashlib.sha256().digest_size
_LENGTH = struct.Struct("<I")
_SHORTEST = 16


def check_key(key: object) -> bytes:
    """The key, if it is one.

    Raises:
        ValidationError: it is no bytes, or shorter than 16 (``sandbox_key_invalid``).
    """
    if isinstance(key, bytes) and len(key) >= _SHORTEST:
        return key
    found = len(key) if isinstance(key, bytes) else type(key).__name__
    raise ValidationError(
        f"a snapshot key has to be at least {_SHORTEST} bytes, found: {found}",
        code="sandbox_key_invalid",
        hint="make one with `secrets.token_bytes(32)` and keep it where both processes find it",
    )


def encode_snapshot(paused: Paused, key: bytes) -> bytes:
    """A pause as bytes, with a mark that only this key makes."""
    head = {
        "monty": version("pydantic-monty"),
        "name": paused.name,
        "args": paused.args,
        "kwargs": paused.kwargs,
        "progress": paused.progress.to_dict(),
    }
    text = json.dumps(head, separators=(",", ":")).encode()
    body = _LENGTH.pack(len(text)) + text + paused.dump
    return _MAGIC + _mark(body, key) + body


def decode_snapshot(data: object, key: bytes) -> Paused:
    """The pause that these bytes hold.

    Nothing of them is read before the mark has been checked: Monty trusts what it loads.

    Raises:
        ValidationError: they were not made with this key, were changed since, or come from
            another version of Monty (``sandbox_snapshot_refused``).
    """
    start = len(_MAGIC) + _MARK
    if not isinstance(data, bytes):
        _refuse(f"it is no bytes, but of the type {type(data).__name__}")
    if data[: len(_MAGIC)] != _MAGIC:
        _refuse("it is none")
    body = data[start:]
    if not hmac.compare_digest(data[len(_MAGIC) : start], _mark(body, key)):
        _refuse("it was made with another key, or changed since")
    (length,) = _LENGTH.unpack_from(body)
    end = _LENGTH.size + length
    head = json.loads(body[_LENGTH.size : end])
    if head["monty"] != version("pydantic-monty"):
        _refuse(f"it was made with another version of pydantic-monty, {head['monty']}")
    return Paused(
        dump=body[end:],
        name=head["name"],
        args=head["args"],
        kwargs=head["kwargs"],
        progress=Progress.of(head["progress"]),
    )


def _mark(body: bytes, key: bytes) -> bytes:
    return hmac.new(key, _MAGIC + body, hashlib.sha256).digest()


def _refuse(why: str) -> NoReturn:
    raise ValidationError(
        f"the snapshot of a sandbox cannot be loaded: {why}",
        code="sandbox_snapshot_refused",
        hint="load it with the key and the version of pydantic-monty that it was made with",
    )
