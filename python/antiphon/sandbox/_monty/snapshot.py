"""Saved pauses: bytes that are authenticated with a key."""

from __future__ import annotations

import hashlib
import hmac
import json
import struct
from importlib.metadata import version
from typing import NoReturn

from antiphon.errors import ValidationError
from antiphon.sandbox._monty.progress import JobProgress, PausedJob

__all__ = ["check_key", "decode_snapshot", "encode_snapshot"]

_MAGIC = b"antiphon sandbox pause 1\n"
_MARK = hashlib.sha256().digest_size
_LENGTH = struct.Struct("<I")
_SHORTEST = 16


def check_key(key: object) -> bytes:
    """Validate a snapshot key.

    Raises:
        ValidationError: it is not bytes, or shorter than 16 bytes (``sandbox_key_invalid``).
    """
    if isinstance(key, bytes) and len(key) >= _SHORTEST:
        return key
    found = len(key) if isinstance(key, bytes) else type(key).__name__
    raise ValidationError(
        f"a snapshot key must have at least {_SHORTEST} bytes: {found}",
        code="sandbox_key_invalid",
        hint="create one with `secrets.token_bytes(32)` and share it between the processes",
    )


def encode_snapshot(paused: PausedJob, key: bytes) -> bytes:
    """Encode a pause as bytes, with a MAC of this key."""
    head = {
        "monty": version("pydantic-monty"),
        "name": paused.name,
        "args": paused.args,
        "kwargs": paused.kwargs,
        "progress": paused.progress.to_dict(),
    }
    text = json.dumps(head, separators=(",", ":")).encode()
    body = _LENGTH.pack(len(text)) + text + paused.dump
    return _MAGIC + _mac(body, key) + body


def decode_snapshot(data: object, key: bytes) -> PausedJob:
    """Decode a pause.

    The MAC is verified before anything is parsed: Monty trusts the snapshots that it loads.

    Raises:
        ValidationError: the bytes were not saved with this key, were changed, or come from
            another version of Monty (``sandbox_snapshot_refused``).
    """
    start = len(_MAGIC) + _MARK
    if not isinstance(data, bytes):
        _refuse(f"it is not bytes, but {type(data).__name__}")
    if data[: len(_MAGIC)] != _MAGIC:
        _refuse("it is not a saved pause")
    body = data[start:]
    if not hmac.compare_digest(data[len(_MAGIC) : start], _mac(body, key)):
        _refuse("it was saved with another key, or changed")
    (length,) = _LENGTH.unpack_from(body)
    end = _LENGTH.size + length
    head = json.loads(body[_LENGTH.size : end])
    if head["monty"] != version("pydantic-monty"):
        _refuse(f"it was saved with pydantic-monty {head['monty']}")
    return PausedJob(
        dump=body[end:],
        name=head["name"],
        args=head["args"],
        kwargs=head["kwargs"],
        progress=JobProgress.of(head["progress"]),
    )


def _mac(body: bytes, key: bytes) -> bytes:
    return hmac.new(key, _MAGIC + body, hashlib.sha256).digest()


def _refuse(why: str) -> NoReturn:
    raise ValidationError(
        f"the saved pause of a sandbox run cannot be loaded: {why}",
        code="sandbox_snapshot_refused",
        hint="load it with the key and the version of pydantic-monty that saved it",
    )
