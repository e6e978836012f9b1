"""A real notebook kernel: plain calls in cells, shown results, and the stop button."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import nbformat
import pytest
from jupyter_client.blocking.client import BlockingKernelClient
from jupyter_client.manager import KernelManager
from nbclient import NotebookClient

from support.waiting import happens

SETUP = """
import asyncio
from antiphon import Agent, Orchestrator
from antiphon.models import scripted

async def look(x: int) -> int:
    '''Looks.'''
    await asyncio.sleep(0)
    return x + 1

class Reader(Agent):
    model = scripted([{"tool_calls": [{"name": "look", "arguments": {"x": 1}}]}, "two <b>"] * 9)
    tools = [look]

class Waits(Agent):
    async def act(self, state, ctx):
        await asyncio.sleep(0)
        return state["answer"] + "!"
"""


def executed(*cells: str) -> Any:
    """The cells of a notebook, run by their own kernel."""
    v4: Any = nbformat.v4
    book = v4.new_notebook(cells=[v4.new_code_cell(cell) for cell in cells])
    NotebookClient(book, timeout=120, kernel_name="python3").execute()
    return book.cells


@pytest.mark.filterwarnings("default")
def test_plain_calls_and_await_work_in_cells_and_results_show_themselves() -> None:
    cells = executed(
        SETUP,
        "team = Orchestrator([Reader(), Waits()])\nteam.run('q')",
        "(await team.arun('q')).answer",
        "[event.kind for event in team.stream('q')][-1]",
        "team.graph",
        "[result.answer for result in team.batch(['a', 'b', 'c'])]",
    )
    shown = cells[1].outputs[0].data
    assert "two &lt;b&gt;!" in shown["text/html"]
    assert cells[2].outputs[0].data["text/plain"] == "'two <b>!'"
    assert cells[3].outputs[0].data["text/plain"] == "'run_finished'"
    assert cells[4].outputs[0].data["image/svg+xml"].startswith("<svg")
    bar, answers = cells[5].outputs
    assert "3/3" in bar.data["text/plain"]
    assert answers.data["text/plain"] == "['two <b>!', 'two <b>!', 'two <b>!']"


@pytest.mark.filterwarnings("default")
def test_a_live_view_updates_one_output_of_its_cell() -> None:
    cells = executed(SETUP, "_ = Reader().run('q', watch=True)")
    assert len(cells[1].outputs) == 1
    shown = cells[1].outputs[0].data
    assert "tool_result look: 2" in shown["text/plain"]
    assert shown["text/plain"].splitlines()[-1].endswith("run_finished completed")
    assert "two &lt;b&gt;" in shown["text/html"]
    assert "chunk" not in shown["text/plain"]


@pytest.fixture
def kernel() -> Iterator[tuple[KernelManager, BlockingKernelClient]]:
    manager = KernelManager(kernel_name="python3")
    manager.start_kernel(env={**os.environ})
    client = manager.blocking_client()
    client.start_channels()
    client.wait_for_ready(timeout=60)
    yield manager, client
    client.stop_channels()
    manager.shutdown_kernel(now=True)
    manager.cleanup_resources()


STUCK = """
import asyncio, pathlib, threading
from antiphon import Agent, Orchestrator

class Stuck(Agent):
    {run}

mark = pathlib.Path({mark!r})
mark.touch()
Orchestrator([Stuck()]).run("q")
"""
SYNC = "def act(self, state, ctx):\n        mark.touch(); threading.Event().wait()"
ASYNC = "async def act(self, state, ctx):\n        mark.touch(); await asyncio.Event().wait()"


@pytest.mark.filterwarnings("default")
@pytest.mark.parametrize("run", [SYNC, ASYNC])
def test_interrupting_the_kernel_stops_the_run(
    kernel: tuple[KernelManager, BlockingKernelClient], tmp_path: Path, run: str
) -> None:
    manager, client = kernel
    mark = tmp_path / "started"
    code = STUCK.format(
        run=run.replace("mark.touch()", f"pathlib.Path({str(mark)!r}).touch()"),
        mark=str(tmp_path / "up"),
    )
    request = client.execute(code, stop_on_error=False)
    assert happens(mark.exists), "the agent never began"
    manager.interrupt_kernel()
    reply = client.get_shell_msg(timeout=60)
    while (
        reply["parent_header"]["msg_id"] != request
    ):  # the client asked more than once who is there
        reply = client.get_shell_msg(timeout=60)
    assert reply["content"]["ename"] == "KeyboardInterrupt"
    assert client.execute("1 + 1", reply=True, timeout=60)["content"]["status"] == "ok"


NOTEBOOKS = sorted((Path(__file__).parents[2] / "notebooks").glob("*.ipynb"))


OWN = {
    r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}": "ID",
    r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|\+00:00)": "TIME",
    r"(?<=/\d )\d\d:\d\d": "TIME",
    r"(?<=asked_on: )\d{4}-\d\d-\d\d": "TODAY",
    r"(?<=isolation=)'[\w-]+'": "ISOLATION",
    r"[\d,]+ bytes(?=\))": "BYTES",
}
"""What each execution or machine has of its own, and what stands for it."""


CUT = [("stdout", "one\n"), ("stdout", "two\n"), ("stderr", "three\n"), ("stdout", "four\n")]


def without_own(text: str) -> str:
    for pattern, name in OWN.items():
        text = re.sub(pattern, name, text)
    return text


def plain(outputs: list[Any]) -> list[Any]:
    """What a cell shows, as text: pictures and HTML depend on the versions of other packages."""
    from_dict: Any = nbformat.from_dict
    shown: list[Any] = []
    for output in outputs:
        if output.output_type == "stream":
            kept = {"name": output.name, "text": without_own(output.text)}
            if shown and shown[-1].get("name") == output.name:  # a kernel cuts a stream anywhere
                shown[-1].text += kept["text"]
                continue
        else:
            text = output.get("data", {}).get("text/plain", "")
            kept = {"data": {"text/plain": without_own(text)}, "metadata": {}}
            if output.output_type == "execute_result":
                kept["execution_count"] = output.execution_count
        shown.append(from_dict({"output_type": output.output_type, **kept}))
    return shown


def test_a_stream_that_the_kernel_cut_is_compared_whole() -> None:
    from_dict: Any = nbformat.from_dict
    outputs = [from_dict({"output_type": "stream", "name": n, "text": t}) for n, t in CUT]
    shown = [(output["name"], output["text"]) for output in plain(outputs)]
    assert shown == [("stdout", "one\ntwo\n"), ("stderr", "three\n"), ("stdout", "four\n")]


@pytest.mark.filterwarnings("default")
@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_committed_notebook_shows_what_running_it_shows(path: Path) -> None:
    """`ANTIPHON_RENEW=1` writes the outputs anew."""
    reader: Any = nbformat
    book: Any = reader.read(path, as_version=4)
    code = [cell for cell in book.cells if cell.cell_type == "code"]
    committed = [(cell.execution_count, cell.outputs) for cell in code]
    NotebookClient(book, timeout=120, kernel_name="python3", record_timing=False).execute()
    for cell in code:
        cell.outputs = plain(cell.outputs)
    if os.environ.get("ANTIPHON_RENEW"):
        path.write_text(written(book), encoding="utf-8")
        return
    assert [(cell.execution_count, cell.outputs) for cell in code] == committed
    assert any(cell.outputs for cell in code)


def written(book: Any) -> str:
    """A notebook as it is committed: without what differs between machines."""
    book.metadata = {
        "kernelspec": book.metadata.kernelspec,
        "language_info": {"name": "python"},
    }
    text: str = nbformat.writes(book)  # type: ignore[no-untyped-call]
    return text.rstrip("\n") + "\n"
