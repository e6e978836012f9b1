"""What LangChain adds to a graph is there whenever LangChain was imported, and only if it is."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from antiphon.graph import CompiledGraph
from antiphon.graph._runnable import RUNNABLE_NAMES

runnables = pytest.importorskip("langchain_core.runnables")

_GRAPH = """
import sys
from antiphon.graph import START, StateGraph

graph = StateGraph(dict).add_node("n", lambda state: {"n": state["n"] + 1})
graph = graph.add_edge(START, "n").compile(name="g")

def loaded():
    return "langchain_core" in sys.modules
"""

_HEARD = """
from langchain_core.callbacks import BaseCallbackHandler
assert "langchain_core.runnables.base" not in sys.modules

class Heard(BaseCallbackHandler):
    def __init__(self):
        self.names = []
    def on_chain_start(self, *args, **kwargs):
        self.names.append(kwargs["name"])
    def on_chain_end(self, *args, **kwargs):
        self.names.append("end")

heard = Heard()
config = {"callbacks": [heard]}
"""

_ABSENT = 'import sys; sys.modules["langchain_core"] = None\n'

_UNREACHABLE = {
    "LANGSMITH_TRACING": "true",
    "LANGSMITH_ENDPOINT": "http://127.0.0.1:9",
    "LANGSMITH_API_KEY": "none",
}


def fresh(*parts: str, env: dict[str, str] | None = None) -> list[str]:
    """The lines that code prints in an interpreter that has imported nothing yet."""
    done = subprocess.run(
        [sys.executable, "-c", "\n".join(parts)],
        capture_output=True,
        text=True,
        env={**os.environ, **(env or {})},
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


class TestCallbacks:
    """Callbacks that are given in a config are called."""

    def test_callbacks_of_a_config_are_called_though_nobody_has_imported_runnables(self) -> None:
        run = "graph.invoke({'n': 1}, config); print(*heard.names)"
        assert fresh(_GRAPH, _HEARD, run) == ["g n end end"]

    def test_without_langchain_they_are_refused(self) -> None:
        code = """
try:
    graph.invoke({"n": 1}, {"callbacks": [object()]})
except ImportError as error:
    print(error)
"""
        (message,) = fresh(_ABSENT, _GRAPH, code)
        assert "`callbacks`" in message
        assert "pip install langchain-core" in message

    def test_a_run_that_nobody_traces_imports_nothing(self) -> None:
        run = "graph.invoke({'n': 1}, {'callbacks': None, 'tags': ['x']}); print(loaded())"
        assert fresh(_GRAPH, run) == ["False"]
        assert fresh(_GRAPH, run, env=_UNREACHABLE) == ["False"]

    def test_tracing_by_the_environment_needs_no_more_than_any_part_of_langchain(self) -> None:
        code = """
import os

def note(state):
    from langchain_core.runnables.config import var_child_runnable_config
    handlers = var_child_runnable_config.get()["callbacks"].handlers
    print(*(type(handler).__name__ for handler in handlers))

graph = StateGraph(dict).add_node("n", note).add_edge(START, "n").compile()
graph.invoke({})
sys.stdout.flush()
os._exit(0)  # nobody is there who would take the trace
"""
        assert fresh("import langchain_core", _GRAPH, code, env=_UNREACHABLE) == ["LangChainTracer"]


class TestRunnables:
    """A graph is a Runnable also if LangChain came later than it."""

    def test_the_events_of_a_graph_can_be_read(self) -> None:
        code = """
import asyncio

async def main():
    return [event["event"] async for event in graph.astream_events({"n": 1}, version="v2")]

assert not loaded()
print(*sorted({*asyncio.run(main())}))
"""
        assert fresh(_GRAPH, code) == ["on_chain_end on_chain_start on_chain_stream"]

    @pytest.mark.parametrize("chain", ["graph | count", "{'n': count} | graph | count"])
    def test_a_graph_is_part_of_a_chain(self, chain: str) -> None:
        code = f"""
def count(state):
    return state["n"]

assert not loaded()
print(({chain}).invoke({{"n": 1}}))
"""
        assert fresh(_GRAPH, code) == ["2"]

    def test_a_runnable_takes_it_for_one_of_its_own(self) -> None:
        code = """
from antiphon.graph import CompiledGraph
from langchain_core.runnables import Runnable, RunnableLambda
graph.step_timeout = 9.0
chain = RunnableLambda(lambda n: {"n": n}) | graph | (lambda state: state["n"])
print(chain.invoke(1), chain.batch([1, 2]))
print(isinstance(graph, Runnable), isinstance(graph, CompiledGraph), graph.step_timeout, graph)
print(graph.with_config().invoke({"n": 1}))
"""
        assert fresh(_GRAPH, code) == [
            "2 [2, 3]",
            "True True 9.0 CompiledGraph(name='g')",
            "{'n': 2}",
        ]

    def test_other_names_import_nothing(self) -> None:
        code = """
for name in ("astream_event", "func", "_repr_html_", "__len__"):
    try:
        getattr(graph, name)
    except AttributeError as error:
        print(error.name == name, name in str(error))
print(isinstance(graph, dict), loaded())
"""
        assert fresh(_GRAPH, code) == ["True True"] * 4 + ["False False"]

    @pytest.mark.parametrize(
        ("use", "kind"),
        [("graph.astream_events", "AttributeError"), ("graph | print", "ImportError")],
    )
    def test_without_langchain_the_error_says_what_to_install(self, use: str, kind: str) -> None:
        code = f"try:\n    {use}\nexcept {kind} as error:\n    print(error)"
        (message,) = fresh(_ABSENT, _GRAPH, code)
        assert "pip install langchain-core" in message

    def test_every_name_of_a_runnable_is_known(self) -> None:
        names = {name for name in dir(runnables.Runnable) if name[0] != "_"}
        assert names - {*dir(CompiledGraph)} == RUNNABLE_NAMES
