"""What a hostile guest may put into a result: read, shown and printed within bounds."""

from __future__ import annotations

import base64
import io
import secrets
import traceback
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pytest

from antiphon._antiphon import sandbox_table
from antiphon._text import escape_controls
from antiphon.errors import ValidationError, WorkerCrashed
from antiphon.sandbox import Opaque, Sandbox, SandboxResult, SandboxTable
from antiphon.sandbox._faults import sandbox_error
from antiphon.sandbox._host_calls import CallFailed
from antiphon.sandbox._host_functions import HostFunctions
from antiphon.sandbox._outcome import decode_value, result_of, sound_table
from antiphon.tools import Tool, ToolCall
from sandbox.streams import shared_name, without_columns
from support.engines import needs

if TYPE_CHECKING:
    from collections.abc import Callable

    from sandbox.conftest import Boxes

OBEYED = set("\x1b\x07\r\x9b\u202e\u2066\u200f\u2028")
EVIL = "\x1b]0;owned\x07\x9b2J\u202e\u2066\u200f\u2028\rtxt"


def stream_of(table: pa.Table) -> bytes:
    sink = io.BytesIO()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    return sink.getvalue()


def result(**fields: Any) -> SandboxResult:
    return SandboxResult(engine="process", isolation="os-jail", **fields)


def with_table(table: pa.Table) -> SandboxResult:
    return result(tables={"t": SandboxTable(stream_of(table))})


def shown(found: SandboxResult) -> list[str]:
    return [str(found), repr(found), *found._repr_mimebundle_().values()]


# Arrays.


@pytest.mark.parametrize(
    "code",
    ["np.empty((10**9, 0))", "np.empty((0, 10**9))", "np.zeros((2,) * 18, 'int8')"],
)
def test_an_array_without_items_is_lost_with_a_word(boxes: Boxes, code: str) -> None:
    """An honest guest reports it itself."""
    found = boxes(packages=["numpy"]) if _has_numpy(boxes) else pytest.skip("it has no numpy")
    result = found.run(f"import numpy as np\n{code}")
    assert result.error is not None
    assert result.error.kind == "result_too_large"


def _has_numpy(boxes: Boxes) -> bool:
    return boxes().engine in {"process", "subprocess"}


def test_arrays_of_all_variables_together_unfold_within_one_bound() -> None:
    array = {"$": "array", "dtype": "int8", "shape": [60_000, 0], "v": ""}
    outcome = {"engine": "process", "isolation": "os-jail", "locals": {"a": array, "b": array}}
    assert (result_of(outcome).error or pytest.fail("it was believed")).kind == "crashed"
    one = result_of({**outcome, "locals": {"a": array}})
    assert (one.ok, one.locals["a"].shape) == (True, (60_000, 0))


@pytest.mark.parametrize("shape", [(1_000, 100), (50_000, 1), (28, 28, 1), (3, 0), (0, 5), (7,)])
def test_arrays_of_ordinary_shapes_pass(shape: tuple[int, ...]) -> None:
    made = np.ones(shape, "int8")
    text = base64.b64encode(made.tobytes()).decode()
    tagged = {"$": "array", "dtype": "int8", "shape": list(shape), "v": text}
    assert decode_value(tagged).shape == shape


# Tables.


def test_a_cell_as_large_as_its_table_is_cut_before_it_is_read(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    spaced = "word " * 2_000_000
    table = pa.table({"c": [spaced, None], "b": [b"\x00" * 5_000_000, b""]})
    found = with_table(table)
    card = found._repr_mimebundle_()["text/html"]
    assert "word word" in card
    assert len(card) < 5_000
    names, rows, height = found.tables["t"].first(2, columns=1, longest=10) or pytest.fail(
        "it cannot be read"
    )
    assert (names, rows, height) == (["c", "b"], [("word word ",), (None,)], 2)
    cells = found.tables["t"].first(1, longest=3)
    assert cells == (["c", "b"], [("wor", b"\0\0\0")], 2)
    monkeypatch.setattr(
        "antiphon.sandbox._table.find_spec", lambda n: None if n == "pyarrow" else n
    )
    assert found.tables["t"].first(1, longest=3) == cells


def test_a_sign_of_many_bytes_is_not_cut_in_two() -> None:
    table = SandboxTable(stream_of(pa.table({"c": ["\U0001f600" * 9, "aé"]})))
    assert table.first(2, longest=2) == (["c"], [("\U0001f600" * 2,), ("aé",)], 2)


def test_names_of_columns_are_cut_and_spelt_out() -> None:
    found = with_table(pa.table({EVIL: [1], "n" * 10_000: [2]}))
    for words in [*shown(found), repr(found.tables["t"]), str(found.tables["t"])]:
        assert not OBEYED & set(words)
        assert len(words) < 3_000
    assert found.to_dict()["tables"]["t"]["columns"][0] == EVIL


def test_a_name_that_many_columns_share_counts_for_each() -> None:
    """A stream of 82 KB: `print` of its result took 8 s, and its JSON 6.5 GiB."""
    assert sandbox_table(shared_name(100, 1_000)) == (0, 100)
    with pytest.raises(WorkerCrashed, match="column names of a table are too long"):
        sound_table(shared_name(16_384, 16_000))


def test_a_table_without_its_list_of_columns_is_refused() -> None:
    """Arrow accepts it, and then cannot show it."""
    with pytest.raises(WorkerCrashed, match="schema of a table has no fields"):
        sound_table(without_columns())


def test_names_that_are_long_together_are_refused() -> None:
    table = pa.table({f"{number:0>8000}": [1] for number in range(200)})
    with pytest.raises(WorkerCrashed, match="column names of a table are too long"):
        sound_table(stream_of(table))


def test_a_table_in_more_pieces_than_anybody_makes_is_refused() -> None:
    sink = io.BytesIO()
    batch = pa.RecordBatch.from_arrays(
        [pa.array([], pa.int8())] * 100, [str(n) for n in range(100)]
    )
    with pa.ipc.new_stream(sink, batch.schema) as writer:
        for _ in range(700):
            writer.write_batch(batch)
    with pytest.raises(WorkerCrashed, match="too many record batches"):
        sound_table(sink.getvalue())


@pytest.mark.parametrize("read", [SandboxTable.to_polars, SandboxTable.to_pandas])
def test_a_time_zone_that_a_library_does_not_know_is_an_error_like_others(
    read: Callable[[SandboxTable], Any],
) -> None:
    zone = pa.array([0], pa.timestamp("s", "Mars/Olympus"))
    table = SandboxTable(sound_table(stream_of(pa.table({"c": zone}))))
    with pytest.raises(ValidationError) as caught:
        read(table)
    assert caught.value.code == "sandbox_table_unreadable"
    assert table.to_arrow().num_rows == 1
    assert isinstance(table.to_columns()["c"][0], Opaque)


# Words.


def test_what_a_terminal_would_obey_is_spelt_out_in_errors_and_tracebacks() -> None:
    fault = {"kind": "python_error", "message": EVIL, "type": EVIL, "line": 1, "source": EVIL}
    error = sandbox_error(fault)
    try:
        result(error=error).check()
    except Exception as caught:  # noqa: BLE001 - any exception is shown
        lines = traceback.format_exception(caught)
    for words in (*lines, str(error), repr(error), *shown(result(error=error))):
        assert not OBEYED & set(words)
    assert EVIL in error.message


def test_what_a_terminal_would_obey_is_spelt_out_in_values() -> None:
    opaque = Opaque(EVIL, EVIL)
    for words in (str(opaque), repr(opaque), *shown(result(value=opaque)), str([opaque])):
        assert not OBEYED & set(words)


def test_honest_text_is_shown_as_it_is() -> None:
    text = "caf\u00e9 42\u00a0%\n\t\u0645\u0631\u062d\u0628\u0627 \U0001f600"
    assert escape_controls(text) == text


# Snapshots.


@needs("monty")
@pytest.mark.parametrize("data", [None, "text", 5, b"", b"antiphon pause 1\n", b"x" * 100])
def test_all_that_is_no_snapshot_is_refused_as_such(data: Any) -> None:
    with (
        Sandbox(snapshot_key=secrets.token_bytes(32)) as box,
        pytest.raises(ValidationError) as caught,
    ):
        box.load(data)
    assert caught.value.code == "sandbox_snapshot_refused"


def test_an_argument_without_items_is_refused_before_anybody_is_asked() -> None:
    """It was shown to an approver row by row: a limit of 2 s was reported after 7 s."""

    def read(data: Any) -> int:
        return len(data)

    array = {"$": "array", "dtype": "int8", "shape": [10**7, 0], "v": ""}
    asked: list[Any] = []

    def approve(call: ToolCall) -> bool:
        asked.append(call)
        return True

    functions = HostFunctions([Tool(read, approval=approve)])
    with pytest.raises(CallFailed, match="an argument cannot be read"):
        functions.for_run(None)("read", [array], {})
    assert asked == []
