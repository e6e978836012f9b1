"""Frames on the socket between worker and host."""

from __future__ import annotations

import os

JOB = 0x4A
ATTACHMENT = 0x41
CALL = 0x43
REPLY = 0x52
OUTCOME = 0x4F
READY = 0x53

_MiB = 1024 * 1024
BOUNDS = {JOB: 64 * _MiB, ATTACHMENT: 1024 * _MiB, REPLY: 64 * _MiB}
"""Most bytes of a body from the host, by kind."""

_HEAD = 5
_PIECE = _MiB
_AHEAD = 1_024
"""Bytes to read ahead: most frames then arrive with their header in one read."""


class ChannelClosed(Exception):
    """The other side has closed the socket."""


class ProtocolViolation(Exception):
    """The other side violated the protocol."""


class Channel:
    """Length-prefixed frames over a descriptor: `u32` little-endian, kind, body."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._held = b""
        # User code may replace functions of modules.
        self._read = os.read
        self._write = os.write

    def send(self, kind: int, body: bytes | memoryview) -> None:
        """Write one frame, with a body of at most 2**32 - 2 bytes."""
        head = (len(body) + 1).to_bytes(4, "little") + bytes((kind,))
        whole = len(body) <= _PIECE
        parts = [head + bytes(body)] if whole else [head, body]
        for part in parts:
            self._write_all(memoryview(part))

    def receive(self, *kinds: int) -> tuple[int, bytes]:
        """Read one frame of the expected kinds: kind and body."""
        head = self._exactly(_HEAD)
        length, kind = int.from_bytes(head[:4], "little"), head[4]
        if kind not in kinds:
            raise ProtocolViolation(f"a frame of this kind is not expected: {kind}")
        if not 1 <= length <= BOUNDS[kind] + 1:
            raise ProtocolViolation(f"a frame is too long: {length}")
        return kind, self._exactly(length - 1)

    def _write_all(self, rest: memoryview) -> None:
        while rest:
            try:
                sent = self._write(self._descriptor, rest[:_PIECE])
            except OSError as problem:
                raise ChannelClosed from problem
            rest = rest[sent:]

    def _exactly(self, length: int) -> bytes:
        pieces: list[bytes] = []
        piece = self._held
        while len(piece) < length:
            pieces.append(piece)
            length -= len(piece)
            try:
                piece = self._read(self._descriptor, min(max(length, _AHEAD), _PIECE))
            except OSError as problem:
                raise ChannelClosed from problem
            if not piece:
                raise ChannelClosed
        self._held = piece[length:]
        pieces.append(piece[:length])
        return b"".join(pieces)
