"""The check of what a worker sent along, against the libraries that read it next."""

from __future__ import annotations

import io
import re
import struct
import zlib
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from antiphon._antiphon import sandbox_figure, sandbox_table
from antiphon.errors import WorkerCrashed
from antiphon.sandbox._outcome import sound_table
from support.torture import rounds

if TYPE_CHECKING:
    from collections.abc import Callable

_PLAIN = Path(__file__).resolve().parents[3] / "src/sandbox/tests/sent/plain.arrows"
_BYTES = _PLAIN.read_bytes()


def stream_of(table: pa.Table, **options: Any) -> bytes:
    sink = io.BytesIO()
    with pa.ipc.new_stream(sink, table.schema, options=pa.ipc.IpcWriteOptions(**options)) as writer:
        writer.write_table(table)
    return sink.getvalue()


def one(items: Any, kind: Any = None) -> pa.Table:
    return pa.table({"c": pa.array(items, type=kind)})


@pytest.mark.parametrize(
    "table",
    [
        pa.table({}),
        one([], pa.string()),
        one([None, None], pa.int8()),
        one(["a"] * 1000 + [None], pa.large_string()),
        one([b"\xff", b""], pa.binary()),
        one([True] * 9),
        one([1, None], pa.date64()),
        one([1], pa.time64("ns")),
        one([np.float16(1.5), None], pa.float16()),
        one(["abc", "def", "ghi"]).slice(1, 1),
        pa.concat_tables([one([1]), one([None, 2], pa.int64())]),
        one(range(100_000)),
    ],
    ids=str,
)
def test_what_an_honest_worker_sends_passes(table: pa.Table) -> None:
    stream = stream_of(table)
    assert sandbox_table(stream) == (table.num_rows, table.num_columns)
    assert sound_table(stream) is stream


@pytest.mark.parametrize(
    ("table", "options", "complaint"),
    [
        (
            one(["a", "a"]).cast(pa.schema([("c", pa.dictionary(pa.int8(), pa.string()))])),
            {},
            "dict",
        ),
        (one([[1]]), {}, "nested"),
        (one([{"a": 1}]), {}, "nested"),
        (one([None]), {}, "type of a column is unsupported"),
        (one(["a"], pa.string_view()), {}, "type of a column is unsupported"),
        (one([b"ab"], pa.binary(2)), {}, "type of a column is unsupported"),
        (one([1] * 1000), {"compression": "lz4"}, "compressed"),
        (one([1]).replace_schema_metadata({"pandas": "{}"}), {}, "custom metadata"),
        (one([1], pa.timestamp("s", "../../etc/passwd")), {}, "time zone"),
        (one([1]), {"metadata_version": pa.ipc.MetadataVersion.V4}, "unsupported version"),
    ],
)
def test_what_no_honest_worker_sends_is_a_crash(
    table: pa.Table, options: dict[str, Any], complaint: str
) -> None:
    with pytest.raises(WorkerCrashed, match=complaint) as caught:
        sound_table(stream_of(table, **options))
    assert caught.value.code == "sandbox_crashed"


def test_an_extension_type_is_refused() -> None:
    field = pa.field("c", pa.int64(), metadata={"ARROW:extension:name": "arrow.py_extension_type"})
    table = pa.Table.from_arrays([pa.array([1])], schema=pa.schema([field]))
    with pytest.raises(WorkerCrashed, match="custom metadata"):
        sound_table(stream_of(table))


def _offsets(table: pa.Table, *offsets: int) -> bytes:
    """A stream of a text column whose offsets are others."""
    stream = stream_of(table)
    true = struct.pack(f"<{len(offsets)}i", *range(len(offsets)))
    assert stream.count(true) == 1
    return stream.replace(true, struct.pack(f"<{len(offsets)}i", *offsets))


@pytest.mark.parametrize(
    ("offsets", "complaint"),
    [
        ((0, 1, 2, 3, 4, 5000), "out of range or splits"),
        ((0, 5, 2, 3, 4, 5), "offsets of a column decrease"),
        ((-8, 1, 2, 3, 4, 5), "negative"),
        ((0, 1, 2, 3, 4, 2**31 - 1), "out of range or splits"),
    ],
)
def test_offsets_of_text_that_lead_elsewhere_are_refused(
    offsets: tuple[int, ...], complaint: str
) -> None:
    with pytest.raises(WorkerCrashed, match=complaint):
        sound_table(_offsets(one(["a", "b", "c", "d", "e"]), *offsets))


def test_text_that_is_none_is_refused() -> None:
    stream = stream_of(one(["abcdefgh"]))
    with pytest.raises(WorkerCrashed, match="UTF-8"):
        sound_table(stream.replace(b"abcdefgh", b"abc\xff\xfefgh"))
    stream = stream_of(one(["abä", "cd"]))
    with pytest.raises(WorkerCrashed, match="splits a character"):
        sound_table(stream.replace(struct.pack("<3i", 0, 4, 6), struct.pack("<3i", 0, 3, 6)))


def _with_number(before: int, after: int) -> Callable[[bytes], bytes]:
    return lambda stream: stream.replace(struct.pack("<q", before), struct.pack("<q", after))


@pytest.mark.parametrize("rows", [5000, 2**40, -1])
def test_a_number_of_rows_that_is_not_there_is_refused(rows: int) -> None:
    stream = stream_of(one([1.5] * 1234))
    assert stream.count(struct.pack("<q", 1234)) == 2
    with pytest.raises(WorkerCrashed):
        sound_table(_with_number(1234, rows)(stream))


def test_columns_that_share_their_bytes_are_refused() -> None:
    """Many columns of the same bytes would be a small message and a vast table."""
    stream = stream_of(pa.table({"a": [1.5] * 20, "b": [2.5] * 20}))
    # The place and the length of the second column's bytes.
    head, tail = stream.rsplit(struct.pack("<qq", 160, 160), 1)
    with pytest.raises(WorkerCrashed, match="overlaps another"):
        sound_table(head + struct.pack("<qq", 0, 160) + tail)


@settings(max_examples=rounds(300, 2_000))
@given(st.lists(st.tuples(st.integers(0, len(_BYTES) - 1), st.integers(0, 255)), max_size=6))
def test_all_that_passes_is_sound_to_arrow_itself(changes: list[tuple[int, int]]) -> None:
    stream = bytearray(_BYTES)
    for at, byte in changes:
        stream[at] = byte
    try:
        sound_table(bytes(stream))
    except WorkerCrashed:
        return
    table = pa.ipc.open_stream(bytes(stream)).read_all()
    # A number that its column's type does not allow leads nowhere.
    harmless = "fit in precision|acceptable range|whole number of days"
    assert re.search(f"^$|{harmless}", _complaint(table))


def _complaint(table: pa.Table) -> str:
    try:
        table.validate(full=True)
    except pa.ArrowInvalid as error:
        return str(error)
    return ""


def chunk(name: bytes, content: bytes) -> bytes:
    return (
        struct.pack(">I", len(content))
        + name
        + content
        + struct.pack(">I", zlib.crc32(name + content))
    )


def png(width: int = 3, height: int = 2, kind: bytes = b"\x08\x02\0\0\0", *more: bytes) -> bytes:
    head = chunk(b"IHDR", struct.pack(">II", width, height) + kind)
    data = chunk(b"IDAT", zlib.compress(bytes(20)))
    return b"\x89PNG\r\n\x1a\n" + head + b"".join(more) + data + chunk(b"IEND", b"")


def test_a_figure_passes_with_its_size() -> None:
    assert sandbox_figure(png(), 6) == (3, 2)


@pytest.mark.parametrize(
    ("image", "complaint"),
    [
        (b"", "not a PNG"),
        (b"<svg onload=alert(1)>", "not a PNG"),
        (png()[:40], "truncated"),
        (png() + b"<script>", "bytes follow the IEND"),
        (png(100_000, 100_000), "too many pixels"),
        (png(0, 2), "width or height of a figure is 0"),
        (png(3, 2, b"\x07\x02\0\0\0"), "colour type"),
        (png(3, 2, b"\x08\x02\x01\0\0"), "compression, filter or interlace"),
        (png(3, 2, b"\x08\x02\0\0\0", chunk(b"iCCP", b"x")), "unsupported chunk"),
        (png(3, 2, b"\x08\x02\0\0\0", chunk(b"acTL", b"x" * 8)), "unsupported chunk"),
        (png(3, 2, b"\x08\x02\0\0\0", chunk(b"tEXt", b"x")[:-1] + b"?"), "wrong CRC"),
        (b"\x89PNG\r\n\x1a\n" + chunk(b"IEND", b""), "begin with an IHDR chunk"),
    ],
)
def test_a_figure_that_is_none_is_refused(image: bytes, complaint: str) -> None:
    with pytest.raises(ValueError, match=complaint):
        sandbox_figure(image, 1_000_000)
