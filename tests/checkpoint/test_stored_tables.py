"""Arrays and tables, stored and read by the libraries they belong to."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from pandas.testing import assert_frame_equal, assert_index_equal, assert_series_equal
from polars.testing import assert_frame_equal as assert_same_frame
from polars.testing import assert_series_equal as assert_same_series

from antiphon._serialization.tables import _timestamp
from antiphon.errors import StateError
from support.stored_values import VALUES, restored


@pytest.mark.parametrize(
    "array",
    [
        np.arange(6).reshape(2, 3),
        np.asfortranarray(np.arange(6.0).reshape(2, 3)),
        np.arange(10)[::2],
        np.arange(3, dtype=">i2"),
        np.array(5),
        np.zeros((0, 3)),
        np.array([True, False]),
        np.array([1 + 2j], dtype=np.complex64),
        np.array(["a", "bcd", "é"]),
        np.array([b"a", b"bc"]),
        np.array(["2026-01-01", "NaT"], dtype="datetime64[ns]"),
        np.array([1, 2], dtype="timedelta64[25s]"),
        np.array([np.nan, np.inf], dtype=np.float16),
    ],
    ids=lambda array: f"{array.dtype.str}{list(array.shape)}",
)
def test_an_array_is_restored_unchanged(array: np.ndarray[Any, Any]) -> None:
    made = restored(array)
    np.testing.assert_array_equal(made, array, strict=True)
    assert made.dtype.str == array.dtype.str
    assert made.flags.writeable
    assert made.flags.owndata
    if array.ndim == 2 and array.size:
        assert made.flags.f_contiguous == array.flags.f_contiguous


@pytest.mark.parametrize(
    "scalar", [np.float64(1.5), np.int8(-1), np.bool_(True), np.str_("a"), np.datetime64("2026-01")]
)
def test_a_scalar_of_numpy_stays_one(scalar: Any) -> None:
    assert restored(scalar) == scalar
    assert restored({"x": [scalar]}) == {"x": [scalar]}


class Matrix(np.ndarray[Any, Any]):
    pass


@pytest.mark.parametrize(
    ("array", "problem"),
    [
        (np.array([object()]), "no plain numbers or texts: object"),
        (np.zeros(2, dtype=[("a", "i4"), ("b", "O")]), "no plain numbers or texts"),
        *(
            (np.array(["a"], dtype=kind()), "no plain numbers or texts")
            for kind in (getattr(np.dtypes, "StringDType", None),)  # since numpy 2.0
            if kind is not None
        ),
        (np.zeros(2).view(Matrix), "an object of type .*Matrix"),
    ],
)
def test_an_array_of_references_is_refused(array: object, problem: str) -> None:
    with pytest.raises(StateError, match=problem):
        VALUES.pack([array])


def test_arrays_take_hardly_more_than_their_bytes() -> None:
    assert len(VALUES.pack(np.zeros(10_000))) < 80_000 + 50


def cells() -> pd.DataFrame:
    return pd.DataFrame(
        {
            "numbers": [1, 2, 3],
            "texts": ["x", None, "z"],
            "floats": [1.5, np.nan, 2],
            "objects": [[1], {"k": (1,)}, None],
            "choice": pd.Categorical(["u", "v", "u"], ordered=True),
            "moments": pd.date_range("2026-01-01", periods=3, tz="Europe/Paris"),
            "days": pd.date_range("2026-01-01", periods=3),
            "spans": pd.to_timedelta([1, 2, 3], unit="s"),
            "bytes": pd.array([1, None, 3], dtype="Int8"),
            "flags": pd.array([True, None, False], dtype="boolean"),
            "strings": pd.array(["a", pd.NA, "c"], dtype="string"),
            "mixed": pd.Series([pd.Timestamp("2026-01-01"), pd.NA, 1], dtype=object),
            5: [1, 2, 3],
        }
    )


@pytest.mark.parametrize(
    "frame",
    [
        cells(),
        cells().set_index(["numbers", "choice"]),
        cells().set_index("moments"),
        cells().iloc[::2],
        cells().pivot_table(index="bytes", columns="choice", values="numbers", observed=True),
        pd.DataFrame(),
        pd.DataFrame(index=[1, 2]),
        pd.DataFrame(columns=["a"]),
        pd.DataFrame([[1, 2]], columns=["x", "x"]),
        pd.DataFrame({"x": [1, 2]}, index=pd.date_range("2026", periods=2, freq="D")),
    ],
)
def test_a_frame_of_pandas_is_restored_unchanged(frame: pd.DataFrame) -> None:
    frame.attrs["source"] = "here"
    made = restored(frame)
    assert_frame_equal(made, frame, check_freq=True, check_column_type=True)
    assert made.attrs == {"source": "here"}
    for place, dtype in enumerate(frame.dtypes):
        if dtype.kind == "O":
            kinds = [type(cell) for cell in frame.iloc[:, place]]
            assert [type(cell) for cell in made.iloc[:, place]] == kinds


def test_series_indexes_and_scalars_of_pandas_are_restored() -> None:
    series = pd.Series(["a", "b"], index=pd.RangeIndex(2, 6, 2, name="i"), name="s")
    assert_series_equal(restored(series), series)
    index = pd.CategoricalIndex(["a", "b"], name="c")
    assert_index_equal(restored(index), index)
    for value in (
        pd.Timestamp("2026-03-29 02:30:00.000000001"),
        pd.Timestamp("2026-10-25 00:30", tz="UTC").tz_convert("Europe/Paris"),
        pd.Timedelta(5, "ns"),
    ):
        assert restored(value) == value
        assert repr(restored(value)) == repr(value)
    assert restored(pd.NaT) is pd.NaT
    assert restored(pd.NA) is pd.NA


def test_a_restored_frame_can_be_changed() -> None:
    made = restored(cells())
    made.loc[0, "numbers"] = 7
    assert made["numbers"].tolist() == [7, 2, 3]


@pytest.mark.parametrize(
    ("column", "problem"),
    [
        (pd.arrays.SparseArray([0, 1]), "column `x` has a type without a stored form: Sparse"),
        (pd.period_range("2026", periods=2, freq="D"), "column `x` has a type .*: period"),
        (pd.Series([1, object()]), "column `x`, row 1: an object of type object"),
        (pd.Series([1, {"k": object()}]), "column `x`, row 1, key `k`: an object of type object"),
        (pd.cut(pd.Series([1, 2]), 2), "column `x`: an object of type pandas.*IntervalIndex"),
    ],
    ids=["sparse", "period", "object", "dict", "interval"],
)
def test_a_column_without_a_form_is_refused_by_its_name(column: Any, problem: str) -> None:
    frame = pd.DataFrame({"first": [1, 2], "x": column})
    with pytest.raises(StateError, match=problem) as caught:
        VALUES.pack({"prices": [frame]})
    assert caught.value.code == "value_unstorable"
    assert "key `prices`, item 0, " in str(caught.value)


def test_what_is_beside_the_columns_of_a_frame_is_not_taken_for_one() -> None:
    frame = pd.DataFrame([[1, 2]], columns=pd.Index(["a", object()], dtype=object))
    marked = pd.DataFrame({"a": [1]})
    marked.attrs["source"] = object()
    for given, problem in (
        (frame, "an object of type object"),
        (marked, "key `source`: an object of type object"),
        (pd.DataFrame({"a": [1]}, index=pd.interval_range(0, 1)), "an object of type pandas"),
    ):
        with pytest.raises(StateError, match=problem) as caught:
            VALUES.pack(given)
        assert "column" not in str(caught.value).partition("\n")[0]


def test_tables_of_polars_are_restored_unchanged() -> None:
    frame = pl.DataFrame(
        {
            "a": [1, None, 3],
            "b": [["x"], [], None],
            "c": [{"k": 1}, {"k": 2}, None],
            "d": pl.Series(["u", "v", "u"], dtype=pl.Categorical),
        }
    ).with_columns(pl.datetime(2026, 1, 1, time_zone="Europe/Paris").alias("e"))
    assert_same_frame(restored(frame), frame)
    assert_same_series(restored(frame["b"]), frame["b"])
    assert restored(pl.DataFrame()).shape == (0, 0)
    with pytest.raises(StateError, match="column `o` of objects"):
        VALUES.pack(pl.DataFrame({"o": [object()]}))


def test_tables_of_arrow_are_restored_unchanged() -> None:
    table = pa.table(
        {"a": pa.chunked_array([[1, 2], [None]]), "b": [[1], None, []]}
    ).replace_schema_metadata({"k": "v"})
    made = restored(table)
    assert made.equals(table, check_metadata=True)
    assert made.column("a").num_chunks == 2
    batch = pa.record_batch({"x": pa.array(["a", None]).dictionary_encode()})
    assert restored(batch).equals(batch)


@pytest.mark.parametrize("table", [cells(), pl.DataFrame({"a": [1]}), pa.table({"a": [1]})])
def test_cut_and_changed_tables_are_refused_or_read(table: object) -> None:
    packed = VALUES.pack(table)
    for place in range(0, len(packed), max(1, len(packed) // 200)):
        flipped = bytes([*packed[:place], packed[place] ^ 0x55, *packed[place + 1 :]])
        for data in (packed[:place], flipped):
            try:
                VALUES.unpack(data)
            except StateError as error:
                assert error.code == "checkpoint_corrupt"  # noqa: PT017


def test_plain_values_import_no_library() -> None:
    script = (
        "import sys, decimal\n"
        "from antiphon._antiphon import Values\n"
        "from antiphon._serialization.registry import Registry\n"
        "values = Values(Registry())\n"
        "values.unpack(values.pack([{1: decimal.Decimal(1)}, ValueError('x'), 1.5]))\n"
        "assert not {'numpy', 'pandas', 'polars', 'pyarrow', 'pydantic'} & set(sys.modules)\n"
    )
    subprocess.run([sys.executable, "-c", script], check=True)


@pytest.mark.parametrize("name", ["dateutil//etc/passwd", "../etc/passwd", "Nowhere/At_All"])
def test_a_forged_name_of_a_zone_opens_no_file(name: str) -> None:
    with pytest.raises((ValueError, KeyError)):
        _timestamp([np.datetime64("2026-01-01", "s"), name])


def test_a_zone_of_pytz_is_stored_by_its_name() -> None:
    pytz = pytest.importorskip("pytz")  # pandas 2 brings it
    moment = pd.Timestamp("2026-10-25 00:30", tz=pytz.timezone("Europe/Paris"))
    made = restored(moment)
    assert made == moment
    assert made.tz.zone == "Europe/Paris" if int(pd.__version__[0]) < 3 else made.tz.key
