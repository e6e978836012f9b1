"""Runs a graph for so many steps, reads its history, and says what was seen and what it took.

`python history_reader.py URL STEPS`.
"""

from __future__ import annotations

import json
import operator
import resource
import sys
from typing import Annotated, Any, TypedDict

from antiphon.graph import END, START, StateGraph


class State(TypedDict):
    messages: Annotated[list[str], operator.add]


def peak() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def main(url: str, steps: int) -> None:
    graph = StateGraph(State)
    graph.add_node("talk", lambda state: {"messages": ["a message of some length"]})
    graph.add_edge(START, "talk")
    graph.add_conditional_edges(
        "talk", lambda state: "talk" if len(state["messages"]) < steps else END
    )
    app = graph.compile(checkpointer=url)
    config: Any = {"configurable": {"thread_id": "t"}, "recursion_limit": steps + 1}
    app.invoke({"messages": []}, config)
    before = peak()
    seen = [
        ((one.metadata or {})["step"], len(one.values["messages"]))
        for one in app.get_state_history(config)
    ]
    numbers, lengths = zip(*seen, strict=True)
    print(json.dumps({"steps": numbers, "lengths": lengths, "grown": peak() - before}))


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
