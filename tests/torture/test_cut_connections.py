"""Connections to PostgreSQL that are cut at each message of the protocol, once and in a row."""

from __future__ import annotations

import random
from collections import Counter
from typing import TYPE_CHECKING, Any

import pytest

from antiphon.checkpoint import PostgresSaver, Saver
from antiphon.graph import START, Command, Runtime, StateGraph, interrupt
from support.cutting_proxy import Cut, CuttingProxy
from support.states import Log
from support.torture import rounds

if TYPE_CHECKING:
    from collections.abc import Iterator

    from support.postgres import Server

ONE: Any = {"configurable": {"thread_id": "one"}}


class Program:
    """Everything that a saver is used for, once; counts the effects."""

    def __init__(self, url: str, schema: str, durability: Any) -> None:
        self.done: Counter[str] = Counter()
        self._url, self._schema, self._durability = url, schema, durability

    def run(self) -> dict[str, Any]:
        """What is left in the end, and what was seen on the way."""
        with PostgresSaver.open(self._url, schema=self._schema, pool=2, timeout=60) as saver:
            graph = self._graph(saver)
            paused = graph.invoke({"log": ["begin"]}, ONE, durability=self._durability)
            seen: dict[str, Any] = {
                "asked": [question.value for question in paused["__interrupt__"]]
            }
            graph.invoke(Command(resume="yes"), ONE, durability=self._durability)
            graph.update_state(ONE, {"log": ["edited"]}, as_node="pay")
            graph.invoke(None, ONE, durability=self._durability)
            saver.copy_thread("one", "two")
            seen["threads"] = [found.thread for found in saver.threads()]
            seen["states"] = len(list(graph.get_state_history(ONE)))
            seen["pruned"] = saver.prune("one", keep_last=1).threads
            seen["log"] = graph.get_state(ONE).values["log"]
            saver.delete_thread("two")
            seen["left"] = [found.thread for found in saver.threads()]
        return seen

    def _graph(self, saver: Saver) -> Any:
        def pay(state: Log, runtime: Runtime[Any]) -> Log:
            runtime.step("pay", lambda: self.done.update(["paid"]))
            return {"log": [f"paid: {interrupt('ok?')}"]}

        def note(state: Log) -> Log:
            self.done.update(["noted"])
            return {"log": ["noted"]}

        builder = StateGraph(Log).add_node(pay).add_node(note)
        return builder.add_edge(START, "pay").add_edge("pay", "note").compile(saver)


ENOUGH = 300
"""Cuts of the two thousand there are: each takes half a second, and a test has five minutes."""


class Trial:
    """Programs behind a proxy, each in its own schema."""

    def __init__(self, proxy: CuttingProxy, url: str, durability: str) -> None:
        self._proxy, self._url, self._durability = proxy, proxy.url(url), durability
        self._count = 0
        self.expected = self._run(None)
        self.messages = len(proxy.points)

    def cut(self, cut: Cut) -> None:
        """Run the program with cuts; nobody may notice."""
        try:
            found = self._run(cut)
        except Exception as error:
            error.add_note(f"{cut}, at {self._proxy.again}, {self._proxy.cuts} cuts")
            raise
        assert found == self.expected, (cut, self._proxy.again)

    def _run(self, cut: Cut | None) -> tuple[dict[str, Any], Counter[str]]:
        self._count += 1
        program = Program(self._url, f"trial{self._count}", self._durability)
        self._proxy.arm(cut)
        return program.run(), program.done


@pytest.fixture
def proxy(postgres: Server) -> Iterator[CuttingProxy]:
    with CuttingProxy(postgres.port) as proxy:
        yield proxy


@pytest.mark.parametrize("durability", ["sync", "async", "exit"])
def test_a_connection_cut_at_any_message_is_not_noticed(
    postgres: Server, proxy: CuttingProxy, durability: str
) -> None:
    trial = Trial(proxy, postgres.database(), durability)
    assert trial.expected[0]["log"] == ["begin", "paid: yes", "noted", "edited", "noted"]
    assert trial.expected[1] == {"paid": 1, "noted": 2}
    cuts = [Cut(at, way) for at in range(1, trial.messages + 1) for way in (False, True)]
    for cut in random.Random(1).sample(cuts, rounds(5, ENOUGH)):
        trial.cut(cut)


@pytest.mark.parametrize("times", [2, 3, 4, 5])
def test_a_statement_cut_several_times_in_a_row_is_not_noticed(
    postgres: Server, proxy: CuttingProxy, times: int
) -> None:
    trial = Trial(proxy, postgres.database(), "sync")
    cuts = [Cut(at, way, times) for at in range(1, trial.messages + 1) for way in (False, True)]
    for cut in random.Random(times).sample(cuts, rounds(2, ENOUGH)):
        trial.cut(cut)
