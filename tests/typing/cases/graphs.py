"""The types of graphs, as checkers see them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypedDict, assert_type

from pydantic import BaseModel

from antiphon.graph import END, START, Command, CompiledGraph, StateGraph


class State(TypedDict):
    text: str


def shout(state: State) -> dict[str, Any]:
    return {"text": state["text"].upper()}


builder = StateGraph(State)
assert_type(builder, StateGraph[State])
builder.add_node("shout", shout)
builder.add_edge(START, "shout")
builder.add_edge("shout", END)
graph = builder.compile()
assert_type(graph, CompiledGraph[State])
whole: State = {"text": "a"}
assert_type(graph.invoke(whole), Any)
graph.invoke({})
graph.invoke({"text": "a"}, version="v2")
graph.invoke(Command(update={"text": "a"}))
graph.invoke(None, {"configurable": {"thread_id": "t"}})


async def awaited() -> None:
    assert_type(await graph.ainvoke(whole), Any)


@dataclass
class Question:
    text: str


class Counted(BaseModel):
    count: int = 0


asked = StateGraph(Counted, input_schema=Question)
assert_type(asked, StateGraph[Counted, Question])
asked.compile().invoke(Question("a"))
asked.compile().invoke({"text": "a"})
counted = StateGraph(Counted)
assert_type(counted, StateGraph[Counted, Counted])
counted.compile().invoke(Counted())
