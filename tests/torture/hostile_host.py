"""A host that hostile workers answer, and what they cost it; run as a program by the tests.

Prints a line of JSON for each case: by how many bytes the host's peak of memory grew, seconds
of processor time that the host took, and how the run ended. Everything that a caller may do with
a result is done: it is shown in all ways.
"""

from __future__ import annotations

import io
import json
import random
import resource
import struct
import sys
import tempfile
import warnings
import zlib
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from antiphon import tool
from antiphon._antiphon import sandbox_figure
from antiphon.errors import WorkerCrashed
from antiphon.sandbox import Limits, Sandbox, SandboxFigure, SandboxResult, SandboxTable
from antiphon.sandbox._outcome import decode_value, result_of, sound_table
from antiphon.sandbox._wasm.engine import run_job
from sandbox.streams import shared_name

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

MIB = 2**20
TABLE = 10 * MIB
LIMITS: dict[str, Any] = {"wall": 4, "cpu": 4, "memory": 512 * MIB, "tables": 16 * MIB}
SEND = """
import json, os, select, struct, sys, time
def send(kind, body):
    for data in (struct.pack("<IB", len(body) + 1, ord(kind)), body):
        data = memoryview(data)
        while data: data = data[os.write(3, data):]
def outcome(**body): send("O", json.dumps(body).encode())
def table(name): return {"name": name, "rows": 0, "columns": 0}
CALL = b'{"id": 1, "name": "lengthy", "args": [], "kwargs": {}}'
"""
FORGED = {
    "calls without an end, replies unread": """
for number in range(1_000):
    send("C", CALL)
    select.select([3], [], [])
""",
    "calls with arguments of small dicts": """
send("C", CALL.replace(b"[]", b"[[" + b'{"a":0},' * 130_000 + b"0]]"))
""",
    "tables that are none": """
outcome(tables=[table(str(n)) for n in range(8)], figures=10)
for _ in range(8): send("A", bytes(16 * 2**20))
""",
    "more tables than all may have": """
data = open(sys_file, "rb").read()
outcome(tables=[table(str(n)) for n in range(8)])
for _ in range(8): send("A", data)
""",
    "as many tables as all may have": """
data = open(sys_file, "rb").read()
outcome(tables=[table(str(n)) for n in range(3)])
for _ in range(3): send("A", data)
""",
    "a frame that never ends": """
outcome(tables=[table("t")])
os.write(3, struct.pack("<IB", 15 * 2**20, 65) + bytes(1000))
while True: os.write(3, bytes(1000)); time.sleep(0.001)
""",
    "a name that all columns share": """
outcome(value={"$": "table", "name": "t"}, tables=[table("t")])
send("A", open(sys_bomb, "rb").read())
""",
    "empty dicts": "send('O', b'{\"value\": [' + b'{},' * 1_900_000 + b'{}]}')",
    "small dicts": "send('O', b'{\"value\": [' + b'{\"a\":0},' * 130_000 + b'{}]}')",
    "small dicts in all variables": """
rows = b"[" + b'{"a":0},' * 8_000 + b"{}]"
parts = b",".join(b'"v%d": %s' % (n, rows) for n in range(15))
send("O", b'{"locals": {' + parts + b"}}")
""",
    "failures without end": """
lost = {str(n): {"kind": "denied", "message": ""} for n in range(100_000)}
outcome(local_errors=lost)
""",
    "arrays without items": """
array = {"$": "array", "dtype": "int8", "shape": [99_000, 0], "v": ""}
outcome(value=array, locals={f"v{n}": array for n in range(200)})
""",
    "an array without items that unfolds as far as it may": """
outcome(value={"$": "array", "dtype": "int8", "shape": [99_000, 0], "v": ""})
""",
    "an array with as many sides as there may be": """
outcome(value={"$": "array", "dtype": "int8", "shape": [780_000, *[1] * 31], "v": "AAAA" * 260_000})
""",
    "an array with as much to print as there may be": """
outcome(value={"$": "array", "dtype": "int8", "shape": [2] * 16, "v": "AAAA" * 21845 + "AA=="})
""",
    "an array of as many bytes as there may be": """
outcome(value={"$": "array", "dtype": "int8", "shape": [780_000, 1], "v": "AAAA" * 260_000})
""",
    "output without end": "while True: os.write(1, bytes(65_536))",
    "text in signs of four bytes": """
send("O", b'{"value": "' + chr(0x1f600).encode() * 250_000 + b'"}')
""",
    "a message without end": """
outcome(error={"kind": "python_error", "message": chr(27) * 600_000})
""",
    "nothing asked for": """
outcome(value=1, tables=[table(str(n)) for n in range(8)], figures=10)
for _ in range(8): send("A", bytes(64 * 2**20))
""",
}
"""What code in a worker sends past the guest's own code."""
MONTY = {
    "a long text": "'x' * 200_000_000",
    "a long list": "[0] * 20_000_000",
    "shared lists": "x = [0]\nfor _ in range(40):\n    x = [x, x]\nx",
    "output without end": "while True:\n    print('x' * 100_000)",
    "many names": "\n".join(f"v{n} = 'x' * 60_000" for n in range(300)),
    "arguments": "lengthy('x' * 50_000_000)",
}
COLUMNS = {
    "empty dicts": b'[["a"], [[' + b"{}," * (20 * MIB) + b"{}]]]",
    "small dicts": b'[["a"], [[' + b'{"a":0},' * (7 * MIB) + b"{}]]]",
    "as many dicts as there may be": b'[["a"], [[' + b'{"a":0},' * 790_000 + b"{}]]]",
    "as many numbers as there may be": b'[["a"], [[' + b"0.5," * 3_900_000 + b"0]]]",
}
"""Tables as a worker in WebAssembly sends them."""
QUICK = {
    "calls without an end, replies unread",
    "more tables than all may have",
    "a name that all columns share",
    "small dicts",
    "arrays without items",
    "an array without items that unfolds as far as it may",
    "nothing asked for",
    "shared lists",
    "arguments",
    "empty dicts",
}
"""What the ordinary test run has time for."""


@tool
def lengthy(text: str = "") -> str:
    """Answers at length."""
    return "x" * 1_000_000 + text[:1]


def show(result: SandboxResult) -> None:
    """All that a caller may do with a result without asking for what is in it."""
    str(result), repr(result), result.to_json(), result._repr_mimebundle_()


def measured(case: str, work: Callable[[], Any]) -> dict[str, Any]:
    """What some work costs this process; its peak of memory is counted anew."""
    Path("/proc/self/clear_refs").write_text("5", encoding="ascii")
    before, spent = _status("VmRSS"), _spent()
    ended = work()
    grown = _status("VmHWM") - before
    return {"case": case, "bytes": grown, "seconds": _spent() - spent, "ended": ended}


def forged_cases(engine: Any) -> Iterator[dict[str, Any]]:
    """A sandbox whose workers answer with forged frames."""
    with tempfile.TemporaryDirectory() as folder:
        large, bomb = Path(folder, "large"), Path(folder, "bomb")
        large.write_bytes(_stream(pa.table({"c": pa.array([bytes(TABLE)])})))
        bomb.write_bytes(shared_name(16_384, 16_000))
        shown = {"files": [large, bomb]} if engine == "process" else {}
        where = "/files" if shown else folder
        head = f"{SEND}\nsys_file, sys_bomb = '{where}/large', '{where}/bomb'\n"
        options: dict[str, Any] = {"tools": [lengthy], "limits": Limits(**LIMITS), **shown}
        with Sandbox(engine=engine, i_accept_no_isolation=True, **options) as box:
            box.run("1").check()
            for case, code in FORGED.items():
                want = (
                    () if case == "nothing asked for" else ("value", "locals", "tables", "figures")
                )

                def work(code: str = code, want: Any = want) -> str:
                    found = box.run(f"{head}{code}\ntime.sleep(60)", want=want)
                    show(found)
                    return "ok" if found.error is None else f"{found.error.kind}: {found.error}"

                yield measured(f"{engine}: {case}", work)


def monty_cases() -> Iterator[dict[str, Any]]:
    """Code that hands out as much as it can."""
    limits = Limits(**{**LIMITS, "memory": 256 * MIB})
    with Sandbox(engine="monty", tools=[lengthy], limits=limits) as box:
        box.run("1").check()
        for case, code in MONTY.items():

            def work(code: str = code) -> str:
                found = box.run(code)
                show(found)
                return "ok" if found.error is None else f"{found.error.kind}: {found.error}"

            yield measured(f"monty: {case}", work)


def wasm_cases() -> Iterator[dict[str, Any]]:
    """The host's half of an engine whose interpreter need not be installed for that."""
    for case, columns in COLUMNS.items():

        def work(columns: bytes = columns) -> str:
            found = _wasm(b'O{"tables": [{"name": "t"}], "value": 1}', b"A" + columns)
            show(found)
            return "; ".join(map(str, found.lost.values())) or "ok"

        yield measured(f"wasm: {case}", work)
    call = b'C{"id": 1, "name": "lengthy", "args": [], "kwargs": {}}'
    yield measured(
        "wasm: calls without an end, replies unread", lambda: str(_wasm(*[call] * 1_000).error)
    )


def mutants(count: int, seed: int) -> Iterator[dict[str, Any]]:
    """Streams, pictures and values of which some bytes are others."""
    chances = random.Random(seed)
    table = _stream(pa.table({"text": ["a", None, "ccc"], "n": [1.5, 2.5, None], "d": [1, 2, 3]}))
    value = {"a": [1, {"$": "array", "dtype": "int8", "shape": [2, 2], "v": "AAAAAA=="}]}
    text = json.dumps([value, {"$": "dict", "v": [[{"$": "tuple", "v": [1]}, "x"]]}]).encode()
    for name, sample, read in (
        ("streams", table, _read_table),
        ("pictures", _png(), _read_figure),
        ("values", text, _read_value),
    ):

        def work(sample: bytes = sample, read: Callable[[bytes], None] = read) -> str:
            passed = 0
            for _ in range(count):
                data = bytearray(sample)
                for _ in range(chances.randint(1, 6)):
                    data[chances.randrange(len(data))] = chances.randrange(256)
                try:
                    read(bytes(data))
                except (WorkerCrashed, json.JSONDecodeError, UnicodeDecodeError):
                    continue
                passed += 1
            return f"{passed} of {count} passed"

        yield measured(f"mutants: {name}", work)


def _read_table(data: bytes) -> None:
    found = SandboxTable(sound_table(data))
    show(SandboxResult(tables={"t": found}, engine="process", isolation="os-jail"))


def _read_figure(data: bytes) -> None:
    try:
        sandbox_figure(data, 1_000)
    except ValueError as error:
        raise WorkerCrashed(str(error), code="sandbox_crashed") from error
    show(SandboxResult(figures=(SandboxFigure(data),), engine="process", isolation="os-jail"))


def _read_value(data: bytes) -> None:
    value = decode_value(json.loads(data))
    show(SandboxResult(value=value, engine="process", isolation="os-jail"))


def _wasm(*requests: bytes) -> SandboxResult:
    job = {
        "code": "1",
        "name": "<cell 1>",
        "want": ["value", "tables"],
        "inputs": {},
        "tables": {},
        "functions": [{"name": "lengthy", "doc": ""}],
    }

    def inside(rpc: Any, _: Any) -> Any:
        rpc(b"?J")
        for request in requests:
            rpc(request)
        return SimpleNamespace(trapped=None, exit_code=0, stdout=b"", stderr=b"", truncated=())

    return result_of(run_job(Limits().complete(), job, lambda *_: "x" * MIB, None, inside))


def _stream(table: pa.Table) -> bytes:
    sink = io.BytesIO()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    return sink.getvalue()


def _png() -> bytes:
    def chunk(name: bytes, content: bytes) -> bytes:
        body = name + content
        return struct.pack(">I", len(content)) + body + struct.pack(">I", zlib.crc32(body))

    head = chunk(b"IHDR", struct.pack(">II", 3, 2) + b"\x08\x02\0\0\0")
    data = chunk(b"IDAT", zlib.compress(bytes(20)))
    return b"\x89PNG\r\n\x1a\n" + head + data + chunk(b"IEND", b"")


def _status(name: str) -> int:
    text = Path("/proc/self/status").read_text(encoding="ascii")
    line = next(line for line in text.splitlines() if line.startswith(name))
    return int(line.split()[1]) * 1024


def _spent() -> float:
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return usage.ru_utime + usage.ru_stime


def main(what: str, count: int, seed: int) -> None:
    """Does one group of cases; `count` is how many mutants, or 0 for the quick cases alone."""
    if not count:
        for cases in (FORGED, MONTY, COLUMNS):
            for name in cases.keys() - QUICK:
                del cases[name]
    warnings.simplefilter("ignore", RuntimeWarning)
    groups: dict[str, Callable[[], Iterator[dict[str, Any]]]] = {
        "monty": monty_cases,
        "wasm": wasm_cases,
        "mutants": lambda: mutants(count, seed),
    }
    make = groups.get(what, lambda: forged_cases(what))
    for case in make():
        print(json.dumps(case), flush=True)


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))
