"""The page of each ready system shows the graph that the system has."""

import os
import re

import pytest

from antiphon.cli import main
from house.source import ROOT

DRAWN = re.compile(r"```mermaid\n(.*?)```\n", re.DOTALL)
SYSTEMS = (
    "agentic-search",
    "computation",
    "data-analyst",
    "deep-research",
    "plan-execute",
    "review-loop",
)


@pytest.mark.parametrize("system", SYSTEMS)
def test_the_page_of_a_system_draws_its_graph(
    system: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """`ANTIPHON_RENEW=1` draws it anew."""
    page = ROOT / "docs/systems" / f"{system}.md"
    text = page.read_text(encoding="utf-8")
    assert main(["graph", system]) == 0
    graph = capsys.readouterr().out
    if os.environ.get("ANTIPHON_RENEW"):
        page.write_text(DRAWN.sub(lambda _: f"```mermaid\n{graph}```\n", text), encoding="utf-8")
        return
    assert DRAWN.findall(text) == [graph]
