"""NumPy values and data frames as results of tools; the libraries are the real ones."""

from __future__ import annotations

from typing import Any

import pytest

from antiphon._json_values import encode_result

TABLE = "2 rows x 2 columns\na | b\n1 | x\n2 | y \\| z"
COLUMNS = {"a": [1, 2], "b": ["x", "y | z"]}


def test_numpy_scalars_and_arrays_become_numbers() -> None:
    np: Any = pytest.importorskip("numpy")
    values = [np.int64(3), np.float64("nan"), np.bool_(1), np.array([[1, 2], [3, 4]])]
    encoded = encode_result(values)
    assert encoded == [3, "nan", True, [[1, 2], [3, 4]]]
    assert [type(value) for value in encoded] == [int, str, bool, list]


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_a_data_frame_becomes_a_compact_table(library: str) -> None:
    frames: Any = pytest.importorskip(library)
    assert encode_result(frames.DataFrame(COLUMNS)) == TABLE
    assert encode_result({"in": [frames.DataFrame(COLUMNS)]}) == {"in": [TABLE]}
    assert encode_result(frames.DataFrame({"s": [1]})["s"]) == "1 rows x 1 columns\ns\n1"


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_a_long_table_is_cut_and_marked(library: str) -> None:
    frames: Any = pytest.importorskip(library)
    lines = encode_result(frames.DataFrame({"a": list(range(1000))})).split("\n")
    assert lines[0] == "1000 rows x 1 columns"
    assert lines[-1] == "... 950 more rows"
    assert len(lines) == 53


def test_an_index_that_says_something_is_shown() -> None:
    pd: Any = pytest.importorskip("pandas")
    text = encode_result(pd.DataFrame({"a": [1]}, index=["k"]))
    assert text == "1 rows x 2 columns\nindex | a\nk | 1"
    assert encode_result(pd.Timestamp("2026-01-02")) == "2026-01-02T00:00:00"
