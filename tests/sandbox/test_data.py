"""Packages for data in the sandbox: frames in and out, figures."""

from __future__ import annotations

from collections.abc import Iterator
from importlib.util import find_spec
from typing import Any

import pandas as pd
import polars as pl
import pytest

from antiphon.errors import ValidationError
from antiphon.sandbox import Limits, Sandbox, SandboxTable
from support.engines import ENGINES, probe

PACKAGES = ["numpy", "pandas"]
PATIENT = Limits(wall=60)
"""Packages are loaded by every run of some engines, on machines that may be busy."""


@pytest.fixture(scope="module", params=[name for name in ENGINES if name != "subprocess"])
def box(request: pytest.FixtureRequest) -> Iterator[Sandbox]:
    """A sandbox with pandas; it is slow to start, and keeps nothing between runs."""
    brought = ENGINES[request.param].packages
    if brought is not None and not set(PACKAGES) <= brought:
        pytest.skip(f"the engine `{request.param}` has no pandas")
    if not (found := probe(request.param))["ok"]:
        pytest.skip(f"the engine `{request.param}` cannot be used here: {found['missing']}")
    with Sandbox(engine=request.param, packages=PACKAGES, limits=PATIENT) as made:
        yield made


def frame() -> pd.DataFrame:
    return pd.DataFrame(
        {
            "city": ["Lyon", "Nice", "Lille"],
            "people": [520_774, 348_085, None],
            "founded": pd.to_datetime(["2001-01-02", "2002-03-04", "2003-05-06"]),
        }
    )


def value(box: Sandbox, code: str, **inputs: Any) -> Any:
    return box.run(code, inputs=inputs).check().value


def test_a_frame_goes_in_and_is_a_frame_there(box: Sandbox) -> None:
    assert value(box, "type(df).__name__, list(df.columns), len(df)", df=frame()) == (
        "DataFrame",
        ["city", "people", "founded"],
        3,
    )
    assert value(box, "float(df['people'].sum())", df=frame()) == 868_859.0


def test_frames_of_other_libraries_go_in_too(box: Sandbox) -> None:
    assert value(box, "int(df['n'].sum())", df=pl.DataFrame({"n": [1, 2]})) == 3


@pytest.mark.parametrize(
    "given", [frame()["people"], pl.Series([1, 2]), [frame()], {"a": frame()["city"]}]
)
def test_a_column_is_refused_instead_of_passed_as_the_text_of_its_first_rows(
    box: Sandbox, given: Any
) -> None:
    with pytest.raises(ValidationError, match=r"must be a separate input.*x\.to_frame") as caught:
        box.run("repr(x)", inputs={"x": given})
    assert caught.value.code == "sandbox_input_invalid"


def test_a_frame_comes_out_as_a_table(box: Sandbox) -> None:
    result = box.run("top = df.head(2)[['city', 'people']]\ntop", inputs={"df": frame()}).check()
    assert isinstance(result.value, SandboxTable)
    assert result.tables["top"] == result.value
    assert result.value.to_pandas()["city"].tolist() == ["Lyon", "Nice"]
    assert result.value.to_polars()["people"].to_list() == [520_774, 348_085]
    assert "Lyon" in result._repr_mimebundle_()["text/html"]


def test_what_came_out_goes_in_again(box: Sandbox) -> None:
    table = value(box, "df[['people']] * 2", df=frame())
    assert value(box, "float(df['people'].max())", df=table) == 2 * 520_774.0


def test_arrays_go_in_and_come_out(box: Sandbox) -> None:
    doubled = value(box, "import numpy as np\nnp.arange(4).reshape(2, 2) * 2")
    assert doubled.tolist() == [[0, 2], [4, 6]]
    assert value(box, "int(a.sum())", a=doubled) == 12


def test_two_runs_draw_other_random_numbers(box: Sandbox) -> None:
    code = "import numpy as np\nfloat(np.random.random())"
    assert len({value(box, code) for _ in range(4)}) == 4


def test_a_package_that_was_not_granted_cannot_be_imported(box: Sandbox) -> None:
    if ENGINES[box.engine].packages is not None:
        pytest.skip("this engine brings its packages along")
    for name in ("polars", "pytest", "antiphon"):
        error = box.run(f"import {name}").error
        assert (error or pytest.fail("no error")).type == "ModuleNotFoundError"


def test_a_plot_comes_out_as_a_picture(box: Sandbox) -> None:
    brought = ENGINES[box.engine].packages
    if brought is None and find_spec("matplotlib") is None:
        pytest.skip("matplotlib is not installed")
    code = (
        "import matplotlib.pyplot as plt\nplt.plot([1, 2, 3])\nplt.figure()\nlen(plt.get_fignums())"
    )
    with Sandbox(box.engine, packages=["matplotlib"], limits=PATIENT) as plotting:  # type: ignore[arg-type]
        result = plotting.run(code).check()
    assert result.value == 2
    assert [figure.size for figure in result.figures] == [(640, 480), (640, 480)]
    assert result.figures[0].png != result.figures[1].png
