"""The two implementations a behaviour test runs against, and the fixtures that pick them.

A test that takes `impl` runs on `antiphon.graph` and, as the oracle, on LangGraph where that is
installed.
`ANTIPHON_ORACLE=1` makes the oracle compulsory, and allows antiphon to be absent: that is
how the tests themselves are proved.
"""

import asyncio
import importlib
import os
from collections.abc import Callable, Iterable
from importlib.util import find_spec
from typing import Any

import pytest

MODULES = {
    "antiphon": ("antiphon.graph", "antiphon.checkpoint", "langchain_core.messages"),
    "langgraph": (
        "langgraph.graph",
        "langgraph.graph.message",
        "langgraph.types",
        "langgraph.errors",
        "langgraph.runtime",
        "langgraph.config",
        "langgraph.prebuilt",
        "langgraph.prebuilt.chat_agent_executor",
        "langgraph.managed",
        "langgraph.checkpoint.memory",
        "langchain_core.runnables",
        "langchain_core.messages",
    ),
}


Run = Callable[..., Any]
"""The fixture `run`: `run(graph, input, **options)`."""

Events = Callable[..., list[Any]]
"""The fixture `events`: `events(graph, input, **options)`."""


class Impl:
    """One implementation as a flat namespace: `impl.StateGraph`, `impl.GraphRecursionError`, …."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __repr__(self) -> str:
        return self.name

    def __getattr__(self, name: str) -> Any:
        for module in MODULES[self.name]:
            try:
                return getattr(importlib.import_module(module), name)
            except AttributeError:
                continue
            except ModuleNotFoundError as absent:
                if self.name == "langgraph" or absent.name != "langchain_core":
                    raise
        raise AttributeError(f"`{self.name}` has no public name: {name}")

    def build(
        self,
        schema: Any,
        nodes: dict[str, Any],
        edges: Iterable[tuple[Any, str]],
        **options: Any,
    ) -> Any:
        """Compile a graph of plain nodes and edges; `options` go to `compile`."""
        builder = self.StateGraph(schema)
        for name, node in nodes.items():
            builder.add_node(name, node)
        for start, end in edges:
            builder.add_edge(start, end)
        return builder.compile(**options)

    def sequence(self, schema: Any, *nodes: Any, **options: Any) -> Any:
        """Compile START -> each of `nodes` -> (dead end)."""
        builder = self.StateGraph(schema)
        builder.add_sequence(list(nodes))
        first = nodes[0]
        builder.set_entry_point(first[0] if isinstance(first, tuple) else first.__name__)
        return builder.compile(**options)


def annotated(function: Callable[..., Any], **types: Any) -> Any:
    """`function`, with annotations that only an implementation knows."""
    function.__annotations__ = types
    return function


def implementations() -> list[str]:
    """Names of the implementations to test in this environment."""
    compulsory = os.environ.get("ANTIPHON_ORACLE") == "1"
    ours = ["antiphon"] if find_spec("antiphon") or not compulsory else []
    installed = find_spec("langgraph") and find_spec("langgraph.graph")
    theirs = ["langgraph"] if compulsory or installed else []
    return ours + theirs


def configure(config: pytest.Config) -> None:
    """Register the marker; call it from `pytest_configure`."""
    config.addinivalue_line(
        "markers", "only(name): a rule of one implementation: `antiphon` or `langgraph`"
    )


def parametrize(metafunc: pytest.Metafunc) -> None:
    """Give `impl` its values; call it from `pytest_generate_tests`."""
    if "impl" not in metafunc.fixturenames:
        return
    only = metafunc.definition.get_closest_marker("only")
    names = [name for name in implementations() if only is None or name in only.args]
    metafunc.parametrize("impl", [Impl(name) for name in names], ids=names)


@pytest.fixture(params=["invoke", "ainvoke"])
def run(request: pytest.FixtureRequest) -> Callable[..., Any]:
    """`run(graph, input, **options)` to the end: once by `invoke`, once by `ainvoke`."""
    if request.param == "invoke":
        return lambda graph, *args, **options: graph.invoke(*args, **options)
    return lambda graph, *args, **options: asyncio.run(graph.ainvoke(*args, **options))


@pytest.fixture(params=["stream", "astream"])
def events(request: pytest.FixtureRequest) -> Callable[..., list[Any]]:
    """`events(graph, input, **options)`: all chunks, once by `stream`, once by `astream`."""
    if request.param == "stream":
        return lambda graph, *args, **options: list(graph.stream(*args, **options))

    async def gather(graph: Any, *args: Any, **options: Any) -> list[Any]:
        return [chunk async for chunk in graph.astream(*args, **options)]

    return lambda graph, *args, **options: asyncio.run(gather(graph, *args, **options))
