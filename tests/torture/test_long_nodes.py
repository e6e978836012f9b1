"""Random supersteps of long and short nodes, driven by turns by the caller and by others."""

import operator
import random
import time
from typing import Annotated, Any, TypedDict

import pytest

from antiphon.checkpoint import MemorySaver
from antiphon.graph import START, RetryPolicy, Send, StateGraph
from support.torture import rounds
from support.waiting import atake_time, take_time

KINDS = ("idle", "nap", "spin", "wait", "fail", "nested")


class State(TypedDict, total=False):
    """What has been done."""

    done: Annotated[list[str], operator.add]


class Task(TypedDict):
    """What a worker is sent."""

    name: str
    kind: str
    seconds: float


class Workers:
    """A graph whose superstep holds what its plan says."""

    def __init__(self, plan: list[Task]) -> None:
        self._plan = plan
        self.calls: dict[str, int] = {}

    def work(self, task: Task) -> State:
        """Take so long, in one way or another."""
        name = task["name"]
        self.calls[name] = self.calls.get(name, 0) + 1
        if task["kind"] == "nap":
            take_time(task["seconds"])
        elif task["kind"] == "spin":
            until = time.perf_counter() + task["seconds"]
            while time.perf_counter() < until:
                pass
        elif task["kind"] == "fail" and self.calls[name] < 3:
            raise ConnectionError
        return {"done": [name]}

    async def wait(self, task: Task) -> State:
        """Take so long on an event loop."""
        await atake_time(task["seconds"])
        return self.work(task)

    def graph(self, saver: Any) -> Any:
        """Two supersteps of the plan, one after the other."""
        policy = RetryPolicy(initial_interval=0.001, jitter=False)
        nested = StateGraph(Task, output_schema=State)
        for step in ("one", "two", "three"):
            nested.add_node(step, lambda task: {"name": task["name"] + "."})
        nested.add_node("last", self.work).add_edge(START, "one").add_edge("one", "two")
        nested.add_edge("two", "three").add_edge("three", "last")
        builder = StateGraph(State)
        builder.add_node("work", self.work, retry_policy=policy).add_node("wait", self.wait)
        builder.add_node("nested", nested.compile()).add_node("join", lambda s: None, defer=True)
        builder.add_conditional_edges(START, lambda s: [self._send(task) for task in self._plan])
        for node in ("work", "wait", "nested"):
            builder.add_edge(node, "join")
        return builder.compile(checkpointer=saver)

    def _send(self, task: Task) -> Send:
        node = task["kind"] if task["kind"] in ("wait", "nested") else "work"
        return Send(node, task)


def planned(chance: random.Random) -> list[Task]:
    """A few tasks of all kinds, most of them short."""
    return [
        {
            "name": str(n),
            "kind": chance.choice(KINDS),
            "seconds": chance.choice((0, 0.0005, 0.003, 0.02)),
        }
        for n in range(chance.randint(1, 12))
    ]


@pytest.mark.parametrize("style", ["invoke", "updates", "custom"])
@pytest.mark.parametrize("kept", [False, True])
def test_tasks_of_all_lengths_run_once(style: str, *, kept: bool) -> None:
    for seed in range(rounds(6, 1500)):
        chance = random.Random(seed)
        plan = planned(chance)
        workers = Workers(plan)
        graph = workers.graph(MemorySaver() if kept else None)
        config = {"configurable": {"thread_id": "t"}}
        if style == "invoke":
            done = graph.invoke({"done": []}, config)["done"]
        else:
            modes = ["values", style]
            for mode, chunk in graph.stream({"done": []}, config, stream_mode=modes):
                done = chunk["done"] if mode == "values" else done
        names = [task["name"] + "..." * (task["kind"] == "nested") for task in plan]
        assert sorted(done) == sorted(names), seed
        expected = {
            name: 3 if task["kind"] == "fail" else 1 for name, task in zip(names, plan, strict=True)
        }
        assert workers.calls == expected, seed
