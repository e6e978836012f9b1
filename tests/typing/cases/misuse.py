"""Mistakes that checkers report: without its error, each `ignore` would be one too much."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypedDict

from antiphon import Agent, Orchestrator, tool
from antiphon.graph import StateGraph


@dataclass
class Deps:
    user: str


class Clerk(Agent[Deps, str]):
    pass


@tool
def population(city: str) -> int:
    return len(city)


class State(TypedDict):
    text: str


graph = StateGraph(State).compile()
graph.invoke("a")  # type: ignore[arg-type] # pyright: ignore[reportArgumentType]
graph.invoke([{"text": "a"}])  # type: ignore[arg-type] # pyright: ignore[reportArgumentType]
graph.invoke(Deps("ada"))  # type: ignore[arg-type] # pyright: ignore[reportArgumentType]
graph.stream(3)  # type: ignore[arg-type] # pyright: ignore[reportArgumentType]

population(3)  # type: ignore[arg-type] # pyright: ignore[reportArgumentType]
tool(retry="often")  # type: ignore[call-overload] # pyright: ignore[reportArgumentType]
Agent(instruction="Be brief.")  # type: ignore[call-overload] # pyright: ignore[reportCallIssue]
Clerk("openai:gpt-5-mini").run("Who?", context="ada")  # type: ignore[arg-type] # pyright: ignore[reportArgumentType]
result = Orchestrator([Clerk()]).run("Who?")
result.feedbck = 3  # type: ignore[attr-defined] # pyright: ignore[reportAttributeAccessIssue]
