"""The engines that are compared, under one small face."""

import asyncio
from collections.abc import Iterable
from importlib.util import find_spec
from typing import Any

from support.oracle import Impl

OURS, THEIRS = "antiphon", "langgraph"
CONFIG = {"recursion_limit": 1_000_000}


def features() -> dict[str, Any]:
    """Options that every antiphon row is compiled with.

    A figure counts only with everything on that users rely on: retry policy, run deadline,
    budgets. They belong here, and nowhere else.
    """
    limits = {"wall_time": 3_600.0, "model_calls": 1_000, "tool_calls": 1_000, "retries": 1_000}
    return {"limits": limits}


class Engine:
    """`antiphon.graph` or LangGraph, as the rows use it.

    `quick` rows spare what takes LangGraph minutes.
    """

    def __init__(self, name: str, *, quick: bool = False) -> None:
        self.impl = Impl(name)
        self.ours = name == OURS
        self.quick = quick

    def compile(self, builder: Any, **options: Any) -> Any:
        """Compile with the features that count."""
        if self.ours:
            builder.set_node_defaults(retry_policy=self.impl.RetryPolicy())
        return builder.compile(**(features() if self.ours else {}), **options)

    def chain(self, schema: Any, node: Any, length: int) -> Any:
        """START -> `node` x `length`."""
        builder = self.impl.StateGraph(schema)
        builder.add_sequence([(f"n{i}", node) for i in range(length)]).set_entry_point("n0")
        return self.compile(builder)

    def loop(self, schema: Any, node: Any, router: Any) -> Any:
        """A node and a router that leads back to it or to the end."""
        builder = self.impl.StateGraph(schema).add_node("n", node).add_edge(self.impl.START, "n")
        return self.compile(builder.add_conditional_edges("n", router))

    def fan(self, schema: Any, node: Any, width: int, *, inline: bool = False) -> Any:
        """START -> `width` nodes in one superstep. `inline` is an option of antiphon only."""
        options = {"inline": True} if inline and self.ours else {}
        builder = self.impl.StateGraph(schema)
        for i in range(width):
            builder.add_node(f"n{i}", node, **options).add_edge(self.impl.START, f"n{i}")
        return self.compile(builder)

    def sends(self, schema: Any, node: Any, width: int, *, inline: bool = False) -> Any:
        """START -Send-> one node, `width` times in one superstep."""
        options = {"inline": True} if inline and self.ours else {}
        send = self.impl.Send
        builder = self.impl.StateGraph(schema).add_node("n", node, **options)
        builder.add_conditional_edges(
            self.impl.START, lambda state: [send("n", i) for i in range(width)]
        )
        return self.compile(builder)


def engines(*, quick: bool = False) -> dict[str, Engine]:
    """Those that are installed here."""
    return {
        name: Engine(name, quick=quick)
        for name in (OURS, THEIRS)
        if find_spec(name) and find_spec(f"{name}.graph")
    }


def drain(iterable: Iterable[Any]) -> None:
    """Read a stream to its end."""
    for _ in iterable:
        pass


RUNNER = asyncio.Runner()
"""One event loop for all samples, so that none pays for making it."""
