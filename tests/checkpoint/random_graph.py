"""Random graphs with lists, nested graphs, joins, sends, deferred nodes, retries and questions."""

from __future__ import annotations

import asyncio
import operator
import random
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Annotated, Any, TypedDict

from antiphon.graph import END, START, RetryPolicy, Send, StateGraph, interrupt

KINDS = ("plain", "flaky", "asking", "nested", "sending")


def union(one: list[str], other: list[str]) -> list[str]:
    """A rule of merging that is the host's own."""
    return sorted({*one, *other})


class State(TypedDict, total=False):
    """What the graphs write."""

    log: Annotated[list[str], operator.add]
    count: Annotated[int, operator.add]
    seen: Annotated[list[str], union]
    round: Annotated[int, max]
    of: int


@dataclass
class Plan:
    """What a random graph looks like: layers of nodes, each a name, a kind and a number or plan."""

    layers: list[list[tuple[str, str, Any]]]
    joins: list[bool]
    rounds: int
    deferred: bool

    @classmethod
    def draw(cls, chance: random.Random, prefix: str = "", depth: int = 0) -> Plan:
        """One of no more than three levels."""
        weights = (5, 2, 2, 2 if depth < 2 else 0, 1)
        layers: list[list[tuple[str, str, Any]]] = []
        for layer in range(chance.randint(1, 3)):
            names = [f"{prefix}{layer}{letter}" for letter in "abc"[: chance.choice((1, 1, 2, 3))]]
            kinds = chance.choices(KINDS, weights, k=len(names))
            parts = [
                cls.draw(chance, f"{name}-", depth + 1)
                if kind == "nested"
                else chance.randint(1, 3)
                for name, kind in zip(names, kinds, strict=True)
            ]
            layers.append(list(zip(names, kinds, parts, strict=True)))
        joins = [chance.random() < 0.5 for _ in layers]
        rounds = chance.randint(0, 2) if depth == 0 else 0
        return cls(layers, joins, rounds, chance.random() < 0.3)


@dataclass
class World:
    """What the nodes of a process have done: what came to its end, and attempts."""

    awaited: bool
    done: Counter[tuple[str, int, int]] = field(default_factory=Counter)
    started: Counter[tuple[str, int, int]] = field(default_factory=Counter)

    def build(self, plan: Plan, saver: Any = None, *, tail: str = "tail") -> Any:
        """The graph of a plan."""
        graph = StateGraph(State)
        before: list[str] = [START]
        for layer, joins in zip(plan.layers, plan.joins, strict=True):
            names = [name for name, _, _ in layer]
            for name, kind, part in layer:
                self._add(graph, name, kind, part)
                self._connect(graph, before, name, joins=joins)
            before = names
        graph.add_node(tail, self._node(tail, "tail", 0), defer=plan.deferred)
        self._connect(graph, before, tail, joins=plan.joins[-1])
        if plan.rounds:
            first = [name for name, _, _ in plan.layers[0]]
            graph.add_conditional_edges(
                tail, lambda state: first if state["round"] <= plan.rounds else END, [*first, END]
            )
        return graph.compile(saver)

    def _add(self, graph: StateGraph, name: str, kind: str, part: Any) -> None:
        if kind == "nested":
            graph.add_node(name, self.build(part, tail=f"{name}-tail"))
            return
        retry = RetryPolicy(initial_interval=0, jitter=False) if kind == "flaky" else None
        graph.add_node(name, self._node(name, kind, part), retry_policy=retry)
        if kind == "sending":
            target = f"{name}-sent"
            graph.add_node(target, self._node(target, "plain", 0))

            def sends(state: State) -> list[Send]:
                now = state.get("round", 0)
                return [Send(target, {"round": now, "of": number}) for number in range(part)]

            graph.add_conditional_edges(name, sends, [target])

    @staticmethod
    def _connect(graph: StateGraph, before: list[str], name: str, *, joins: bool) -> None:
        if joins and len(before) > 1:
            graph.add_edge(before, name)
        else:
            for one in before:
                graph.add_edge(one, name)

    def _node(self, name: str, kind: str, part: int) -> Callable[[State], Any]:
        def work(state: State) -> dict[str, Any]:
            now = state.get("round", 0)
            key = (name, now, state.get("of", 0))
            self.started[key] += 1
            if kind == "flaky" and self.started[key] % 2:
                raise ConnectionError(name)
            asked = range(part) if kind == "asking" else ()
            answers = [interrupt(f"{name} {now} {number}") for number in asked]
            self.done[key] += 1
            written = {"log": [f"{key} {answers}"], "count": 1, "seen": [name]}
            return {**written, "round": now + 1} if kind == "tail" else written

        async def awaited(state: State) -> dict[str, Any]:
            await asyncio.sleep(0)
            return work(state)

        return awaited if self.awaited else work
