"""Data frames in and out of a real worker, with the real libraries."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING, Any

import pandas as pd
import pyarrow as pa
import pytest

from sandbox.guest.worker import Worker

if TYPE_CHECKING:
    from collections.abc import Iterator

_PANDAS_3 = int(pd.__version__.partition(".")[0]) >= 3
_TEXT, _UNIT = ("large_string", "us") if _PANDAS_3 else ("string", "ns")
"""The type of categories and the unit of times, unless the code names them."""
_FRAME = f"{pd.DataFrame.__module__}.DataFrame"


@pytest.fixture(scope="module")
def worker() -> Iterator[Worker]:
    with Worker(packages=True) as started:
        started.run("import datetime as dt, decimal, numpy as np, pandas as pd")
        yield started


def stream_of(table: pa.Table) -> bytes:
    sink = io.BytesIO()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    return sink.getvalue()


def read(outcome: dict[str, Any], name: str) -> pa.Table:
    """The table of this name, and only if it says the truth about its size."""
    names = [table["name"] for table in outcome["tables"]]
    at = names.index(name)
    table = pa.ipc.open_stream(outcome["attachments"][at]).read_all()
    assert outcome["tables"][at] == {
        "name": name,
        "rows": table.num_rows,
        "columns": table.num_columns,
    }
    return table


_TABLE = pa.table(
    {
        "n": [1, 2, None],
        "x": [0.5, float("nan"), -1.0],
        "city": ["Rome", None, "Oslo"],
        "ok": [True, False, None],
        "at": pa.array([0, 1, None], pa.timestamp("us", "UTC")),
    }
)


def test_a_table_of_the_host_is_a_data_frame(worker: Worker) -> None:
    outcome = worker.run(
        "type(df) is pd.DataFrame, df.shape, df.city.tolist(), df.n.sum(), str(df['at'].dtype)",
        tables={"df": stream_of(_TABLE)},
    )
    kind, shape, cities, total, dtype = outcome["value"]["v"]
    assert (kind, shape["v"], total, dtype) == (True, [3, 5], 3, "datetime64[us, UTC]")
    assert cities[::2] == ["Rome", "Oslo"]
    assert outcome["tables"] == []


def test_a_frame_is_returned_as_a_table(worker: Worker) -> None:
    code = "df.assign(double=df.n * 2)[['city', 'double']].head(2)"
    outcome = worker.run(code, tables={"df": stream_of(_TABLE)})
    assert outcome["value"] == {"$": "table", "name": "value"}
    assert read(outcome, "value").to_pydict() == {"city": ["Rome", None], "double": [2.0, 4.0]}


def test_a_frame_in_a_variable_has_its_name_and_goes_out_once(worker: Worker) -> None:
    outcome = worker.run("result = pd.DataFrame({'a': [1]})\n[result, {'again': result}]")
    assert outcome["value"] == [
        {"$": "table", "name": "result"},
        {"again": {"$": "table", "name": "result"}},
    ]
    assert outcome["locals"]["result"] == {"$": "table", "name": "result"}
    assert [table["name"] for table in outcome["tables"]] == ["result"]
    worker.run("del result")


def test_whole_numbers_with_gaps_keep_their_digits(worker: Worker) -> None:
    cells = {"id": [2**60 + 1, None], "few": [1, None]}
    outcome = worker.run(
        "[*map(str, t.dtypes), str(t.id[0])]", tables={"t": stream_of(pa.table(cells))}
    )
    assert outcome["value"] == ["Int64", "float64", str(2**60 + 1)]


def test_frames_without_a_name_get_one_each(worker: Worker) -> None:
    outcome = worker.run("[pd.DataFrame({'a': [n]}) for n in range(2)]", want=["value", "tables"])
    assert [item["name"] for item in outcome["value"]] == ["value", "value_2"]
    assert read(outcome, "value_2").to_pydict() == {"a": [1]}


def test_a_series_is_a_table_of_its_index_and_its_values(worker: Worker) -> None:
    code = "pd.DataFrame({'k': ['a', 'b', 'a'], 'v': [1, 2, 3]}).groupby('k').v.sum()"
    assert read(worker.run(code), "value").to_pydict() == {"k": ["a", "b"], "v": [4, 2]}


@pytest.mark.parametrize(
    ("code", "names"),
    [
        ("pd.DataFrame([[1, 2]], columns=['a', 'a'])", ["a", "a_2"]),
        ("pd.DataFrame([[1, 2]], columns=[0, 1])", ["0", "1"]),
        ("pd.DataFrame({('a', 'sum'): [1], ('a', ''): [2]})", ["a_sum", "a"]),
        ("pd.DataFrame({'a': [1]}, index=['r'])", ["index", "a"]),
        ("pd.DataFrame({'a': [1, 2]}).iloc[1:]", ["index", "a"]),
        ("pd.DataFrame({'i': [1]}, index=pd.Index(['r'], name='i'))", ["i", "i_2"]),
        ("pd.Series([1])", ["value"]),
        ("pd.DataFrame()", []),
    ],
)
def test_names_of_columns_are_texts_of_which_no_two_are_alike(
    worker: Worker, code: str, names: list[str]
) -> None:
    assert read(worker.run(code), "value").column_names == names


@pytest.mark.parametrize(
    ("items", "kind", "expected"),
    [
        ("[1, None, 3]", "double", [1.0, None, 3.0]),
        ("pd.array([1, None], dtype='Int64')", "int64", [1, None]),
        ("pd.Categorical(['a', 'b', 'a'])", _TEXT, ["a", "b", "a"]),
        ("[1, 'x', None]", "large_string", ["1", "x", None]),
        ("[[1], {'a': 2}]", "large_string", ["[1]", "{'a': 2}"]),
        ("[[1], [2]]", "large_string", ["[1]", "[2]"]),
        ("[b'ab', None]", "binary", [b"ab", None]),
        ("[decimal.Decimal('1.50')]", "decimal128(3, 2)", None),
        ("pd.period_range('2024-01', periods=1, freq='M')", "large_string", ["2024-01"]),
        ("[1 + 2j]", "large_string", ["(1+2j)"]),
        ("[dt.date(2024, 5, 6)]", "date32[day]", None),
        ("pd.to_datetime(['2024-05-06'])", f"timestamp[{_UNIT}]", None),
        ("[pd.Timedelta('1h')]", f"duration[{_UNIT}]", None),
        ("pd.Series(['\\ud800'], dtype=object)", "large_string", ["\ufffd"]),
        ("[None, None]", "large_string", [None, None]),
    ],
)
def test_a_column_has_a_plain_type(
    worker: Worker, items: str, kind: str, expected: list[Any] | None
) -> None:
    outcome = worker.run(f"pd.DataFrame({{'c': {items}}})")
    assert outcome["table_errors"] == {}
    table = read(outcome, "value")
    assert str(table.schema.field("c").type) == kind
    if expected is not None:
        assert table.column("c").to_pylist() == expected


def test_a_table_that_is_too_large_is_shown_and_reported(worker: Worker) -> None:
    code = "pd.DataFrame({'a': np.arange(200_000)})"
    outcome = worker.run(code, limits={"table_bytes": 1 << 20})
    assert outcome["value"]["$"] == "object"
    assert "199999" in outcome["value"]["repr"]
    assert outcome["table_errors"]["value"]["kind"] == "result_too_large"
    assert outcome["tables"] == []


def test_more_tables_than_allowed_are_shown_and_reported(worker: Worker) -> None:
    code = "[pd.DataFrame({'a': [n]}) for n in range(4)]"
    outcome = worker.run(code, limits={"tables": 3}, want=["value", "tables"])
    assert [item["$"] for item in outcome["value"]] == ["table"] * 3 + ["object"]
    assert outcome["table_errors"]["value_4"]["kind"] == "result_too_large"


def test_a_table_that_nobody_wants_is_shown(worker: Worker) -> None:
    outcome = worker.run("pd.DataFrame({'a': [1]})", want=["value"])
    assert outcome["value"]["type"] == _FRAME


def test_a_table_is_no_argument_of_a_function(worker: Worker) -> None:
    outcome = worker.run("take(pd.DataFrame())", functions={"take": lambda _: None})
    assert outcome["error"]["type"] == "TypeError"


def test_a_large_table_comes_and_goes_whole(worker: Worker) -> None:
    table = pa.table({"n": range(300_000), "t": [str(n) for n in range(300_000)]})
    outcome = worker.run("big.iloc[::-1].reset_index(drop=True)", tables={"big": stream_of(table)})
    back = read(outcome, "value")
    assert back.to_pydict() == table.to_pandas().iloc[::-1].to_dict("list")
    assert pd.DataFrame(back.to_pydict()).n.sum() == sum(range(300_000))


def test_without_arrow_a_frame_goes_out_as_lists_by_column() -> None:
    with Worker(packages=True, before="sys.modules['pyarrow'] = None") as worker:
        code = "import pandas as pd\ndf = pd.DataFrame({'a': [1, 2], 'b': ['x', None]})\ndf.a"
        outcome = worker.run(code)
        assert outcome["value"] == {"a": [1, 2]}
        assert outcome["locals"]["df"]["a"] == [1, 2]
        assert outcome["tables"] == []
        outcome = worker.run("pd.DataFrame({'n': range(10_001)})")
        assert outcome["value"]["type"] == _FRAME
