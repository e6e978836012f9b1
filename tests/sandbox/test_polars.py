"""polars as a package of a sandbox: it needs threads, which it starts before the code runs."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from antiphon.sandbox import Limits, Sandbox
from support.engines import needs

pytestmark = needs("process")


@pytest.fixture(scope="module")
def box(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Sandbox]:
    path = tmp_path_factory.mktemp("polars") / "data.csv"
    pl.DataFrame({"n": range(1_000), "k": ["a", "b"] * 500}).write_csv(path)
    with Sandbox("process", packages=["polars"], files=[path], limits=Limits(wall=60)) as made:
        yield made


def value(box: Sandbox, code: str, **inputs: Any) -> Any:
    result = box.run("import polars as pl\n" + code, inputs=inputs).check()
    assert result.stderr == ""
    return result.value


def test_a_frame_goes_in_and_comes_out_as_one_of_polars(box: Sandbox) -> None:
    frame = pl.DataFrame({"city": ["Lyon", "Nice", "Lyon"], "euros": [10.0, 20.0, 30.0]})
    code = "sums = sales.group_by('city').agg(pl.col('euros').sum()).sort('city')\nsums"
    result = box.run("import polars as pl\n" + code, inputs={"sales": frame}).check()
    assert result.tables["sums"].to_polars()["euros"].to_list() == [40.0, 20.0]


_JOIN = """
a = pl.DataFrame({"a": [1, 3, 2]})
a.join(a.filter(pl.col("a") != 2), on="a")["a"].sort().to_list()
"""


@pytest.mark.parametrize(
    "code",
    [
        "pl.DataFrame({'a': [3, 1]}).sort('a')['a'].to_list()",
        "pl.DataFrame({'a': [1, 3]}).lazy().filter(pl.col('a') > 0).collect()['a'].to_list()",
        "pl.DataFrame({'a': [1, 3]}).lazy().collect(engine='streaming')['a'].to_list()",
        _JOIN,
    ],
)
def test_operations_of_polars_frames_work(box: Sandbox, code: str) -> None:
    assert value(box, code) in ([1, 3], [3, 1])


def test_files_are_read_by_others_and_reading_by_polars_does_not_hang(box: Sandbox) -> None:
    code = "import csv\nrows = list(csv.DictReader(open('/files/data.csv')))\n"
    assert value(box, code + "pl.DataFrame(rows)['n'].cast(int).sum()") == 499_500
    # Versions from 2 on need a thread for it that they may not start.
    found = box.run("import polars as pl\npl.read_csv('/files/data.csv').height")
    assert found.ok or (found.error is not None and found.error.kind != "time_limit")


def test_the_code_cannot_start_a_thread(box: Sandbox) -> None:
    error = box.run("import threading\nthreading.Thread(target=print).start()").error
    assert error is not None
    assert error.kind == "process_limit"


def test_what_polars_has_started_is_as_confined_as_the_rest(box: Sandbox) -> None:
    # Its threads read the file, not the code's own.
    for path in ("/etc/passwd", str(Path(__file__))):
        assert not box.run(f"import polars as pl\npl.read_csv({path!r})").ok
    assert not box.run("import os\nos.fork()").ok


def test_memory_is_limited_beyond_what_the_threads_took(box: Sandbox) -> None:
    most = box.limits["memory"]
    assert value(box, f"len(bytearray({most // 2}))") == most // 2
    error = box.run(f"bytearray({2 * most})").error
    assert error is not None
    assert error.kind == "memory_limit"
