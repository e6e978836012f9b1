"""The types of graphs, as checkers see them."""

from __future__ import annotations

from typing import Any, TypedDict, assert_type

from antiphon.graph import END, START, CompiledGraph, StateGraph


class State(TypedDict):
    text: str


def shout(state: State) -> dict[str, Any]:
    return {"text": state["text"].upper()}


builder = StateGraph(State)
assert_type(builder, StateGraph[State])
builder.add_node("shout", shout)
builder.add_edge(START, "shout")
builder.add_edge("shout", END)
assert_type(builder.compile(), CompiledGraph[State])
