"""Arrow streams that no library writes, byte by byte."""

from __future__ import annotations

import struct

_SCHEMA, _V5, _TRUTH = 1, 4, 6


def shared_name(columns: int, length: int) -> bytes:
    """A table without rows whose columns all lead to one field with one name of this length."""
    field = 60 + 4 * columns
    vector = struct.pack("<I", columns)
    vector += b"".join(struct.pack("<I", field - 60 - 4 * index) for index in range(columns))
    fields = struct.pack("<6H", 12, 16, 4, 0, 12, 8) + vector
    one = struct.pack("<iIIB3x", field - 44, 20, 12, _TRUTH)
    kind = struct.pack("<HHi", 4, 4, 4)
    name = struct.pack("<I", length) + b"N" * length + b"\0"
    schema = struct.pack("<4HiI", 8, 8, 0, 4, 8, 16)
    return _message(schema + fields + one + kind + name)


def without_columns() -> bytes:
    """A table whose schema has no list of columns, not even an empty one."""
    return _message(struct.pack("<4Hi", 6, 4, 0, 0, 8))


def _message(schema: bytes) -> bytes:
    """A stream of this schema, whose table comes eight bytes after its beginning."""
    head = struct.pack("<I", 16)
    head += struct.pack("<6H", 12, 12, 4, 6, 8, 0)
    head += struct.pack("<ihBxI", 12, _V5, _SCHEMA, 12)
    head += schema
    head += bytes(-len(head) % 8)
    return b"\xff\xff\xff\xff" + struct.pack("<i", len(head)) + head
