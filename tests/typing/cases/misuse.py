"""Mistakes that checkers report: without its error, each `ignore` would be one too much."""

from __future__ import annotations

from dataclasses import dataclass

from antiphon import Agent, Orchestrator, tool


@dataclass
class Deps:
    user: str


class Clerk(Agent[Deps, str]):
    pass


@tool
def population(city: str) -> int:
    return len(city)


population(3)  # type: ignore[arg-type] # pyright: ignore[reportArgumentType]
tool(retry="often")  # type: ignore[call-overload] # pyright: ignore[reportArgumentType]
Agent(instruction="Be brief.")  # type: ignore[call-overload] # pyright: ignore[reportCallIssue]
Clerk("openai:gpt-5-mini").run("Who?", context="ada")  # type: ignore[arg-type] # pyright: ignore[reportArgumentType]
result = Orchestrator([Clerk()]).run("Who?")
result.feedbck = 3  # type: ignore[attr-defined] # pyright: ignore[reportAttributeAccessIssue]
