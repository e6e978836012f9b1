"""Figures that code draws from the rows of a query."""

from __future__ import annotations

from importlib.util import find_spec

import pytest

from antiphon.models import scripted
from antiphon.sandbox import Limits, Sandbox
from antiphon.systems import DataAnalyst
from support.engines import needs

DRAW = """
import matplotlib.pyplot as plt
plt.bar([row["region"] for row in sql_rows], [row["net"] for row in sql_rows])
result = len(sql_rows)
"""


@needs("process")
@pytest.mark.skipif(find_spec("matplotlib") is None, reason="matplotlib is not installed")
def test_a_notebook_shows_the_figures_of_code_as_pictures() -> None:
    replies = [
        {"json": {"agents": ["sql", "computation"]}},
        {"json": {"sql": "SELECT region, net FROM sales"}},
        {"json": {"answer": "There are 2 regions."}},
        {"json": {"reasoning": "", "python": DRAW, "explain": ""}},
        {"json": {"answer": "It is 2.", "highlights": []}},
        {"json": {"answer": "There are 2."}},
    ]
    frames = {"sales": {"region": ["north", "south"], "net": [1, 2]}}
    with Sandbox(engine="process", packages=["matplotlib"], limits=Limits(wall=60)) as box:
        found = DataAnalyst(scripted(replies), frames=frames, sandbox=box, check_query=False).run(
            "Plot the sales"
        )
    assert found.outcome == "answered", found.to_dict()
    [figure] = found.figures
    assert figure.png.startswith(b"\x89PNG")
    shown = found._repr_mimebundle_()["text/html"]
    assert shown.count('<img style="max-width:100%" src="data:image/png;base64,') == 1
    assert "north" in shown
