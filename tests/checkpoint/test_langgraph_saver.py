"""`AntiphonSaver`: what LangGraph's own savers do, in small files."""

from __future__ import annotations

import asyncio
import operator
import random
import sqlite3
import subprocess
import sys
import threading
from collections import OrderedDict, deque
from contextlib import closing
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from enum import Enum
from ipaddress import ip_address
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple, TypedDict
from uuid import UUID
from zoneinfo import ZoneInfo

import numpy as np
import pytest
from langchain_core.documents import Document
from langchain_core.messages import AIMessage, AnyMessage, HumanMessage, RemoveMessage, ToolMessage
from langgraph.channels.delta import DeltaChannel
from langgraph.checkpoint.base import BaseCheckpointSaver, empty_checkpoint
from langgraph.checkpoint.base.id import uuid6
from langgraph.checkpoint.conformance import checkpointer_test, validate
from langgraph.checkpoint.conformance.capabilities import Capability
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.checkpoint.serde.encrypted import EncryptedSerializer
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer
from langgraph.graph import END, START, StateGraph
from langgraph.graph.message import add_messages
from langgraph.types import Command, Interrupt, Overwrite, Send, TimeoutPolicy, interrupt
from pydantic import BaseModel

from antiphon.checkpoint import AntiphonSaver, MemorySaver, Saver, SqliteSaver, register
from antiphon.errors import AntiphonError

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Iterator

    from langchain_core.runnables import RunnableConfig

KEY = bytes(range(32))


@pytest.fixture(params=["memory", "sqlite", "encrypted"])
def saver(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[AntiphonSaver]:
    """A saver over each kind of store."""
    stores: dict[str, Callable[[], Saver]] = {
        "memory": MemorySaver,
        "sqlite": lambda: SqliteSaver.open(tmp_path / "x.db"),
        "encrypted": lambda: SqliteSaver.open(tmp_path / "x.db", key=KEY),
    }
    store = stores[request.param]()
    with store:
        yield AntiphonSaver.open(store, types=[Everything])


def config(thread: str = "1", **more: Any) -> RunnableConfig:
    """A config as LangGraph's users write it."""
    return {"configurable": {"thread_id": thread, **more}, "recursion_limit": 10_000}


class TestConformance:
    """The suite that LangGraph has for savers."""

    @pytest.mark.parametrize("kind", ["memory", "sqlite", "encrypted", "serde"])
    def test_every_capability_is_there_and_passes(self, tmp_path: Path, kind: str) -> None:
        made = iter(range(100))

        @checkpointer_test(name=f"AntiphonSaver over {kind}")
        async def savers() -> AsyncIterator[BaseCheckpointSaver[Any]]:
            path = tmp_path / f"{next(made)}.db"
            target: Any = ":memory:" if kind == "memory" else path
            if kind == "encrypted":
                target = SqliteSaver.open(path, key=KEY)
            serde = JsonPlusSerializer() if kind == "serde" else None
            async with AntiphonSaver.open(target, serde=serde) as saver:
                yield saver

        report = asyncio.run(validate(savers)).to_dict()
        assert report["conformance_level"] == "FULL"
        assert set(report["results"]) == {capability.value for capability in Capability}
        for name, result in report["results"].items():
            assert result["detected"], name
            assert result["passed"], (name, result["failures"])
            assert result["tests_passed"] > 0
            assert result["tests_skipped"] == 0


class Everything(TypedDict, total=False):
    """The state of the graph that all comparisons run."""

    log: Annotated[list[Any], operator.add]
    messages: Annotated[list[AnyMessage], add_messages]
    answer: str
    colour: Colour
    order: Order
    item: Item
    point: Point


class Colour(Enum):
    """An enum of a user."""

    RED = "red"


@dataclass
class Order:
    """A dataclass of a user."""

    price: Decimal
    colour: Colour


class Item(BaseModel):
    """A pydantic model of a user."""

    name: str
    tags: set[str]


class Point(NamedTuple):
    """A named tuple of a user."""

    x: int
    y: int


class Inner(TypedDict, total=False):
    """The state of the graph inside."""

    log: Annotated[list[Any], operator.add]


def ask_inside(state: Inner) -> Inner:
    return {"log": [interrupt("inside?")]}


def inner() -> Any:
    builder = StateGraph(Inner).add_node("first", lambda _: {"log": ["first"]})
    builder.add_node("ask", ask_inside).add_edge(START, "first").add_edge("first", "ask")
    return builder.compile()


def fan_out(state: Everything) -> list[Send]:
    return [Send("worker", {"number": number}) for number in range(3)]


def begin(state: Everything) -> Everything:
    return {
        "messages": [AIMessage("hello", id="ai")],
        "order": Order(Decimal("1.50"), Colour.RED),
        "item": Item(name="pen", tags={"blue", "thin"}),
        "point": Point(1, 2),
    }


def judge(state: Everything) -> Command[str]:
    answer = interrupt({"question": "good?", "so far": len(state["log"])})
    return Command(update={"answer": answer}, goto="last")


def everything(saver: BaseCheckpointSaver[Any]) -> Any:
    """Messages, types of users, parallel workers, a graph inside, two questions, a jump."""
    builder = StateGraph(Everything).add_node("begin", begin)
    builder.add_node("worker", lambda state: {"log": [("worker", state["number"])]})
    builder.add_node("sub", inner()).add_node("judge", judge)
    builder.add_node("last", lambda state: {"log": [state["answer"]], "colour": Colour.RED})
    builder.add_edge(START, "begin").add_conditional_edges("begin", fan_out, ["worker"])
    builder.add_edge("worker", "sub").add_edge("sub", "judge")
    return builder.compile(checkpointer=saver)


def history_of(graph: Any, where: RunnableConfig, *, subgraphs: bool = True) -> list[Any]:
    """A state history, without the values that differ in each run."""
    return [
        _summary(graph.get_state(shot.config, subgraphs=subgraphs)) for shot in _shots(graph, where)
    ]


def _shots(graph: Any, where: RunnableConfig) -> Iterator[Any]:
    yield from graph.get_state_history(where)


def _summary(shot: Any) -> Any:
    tasks = [
        (task.name, task.error, [asked.value for asked in task.interrupts], _inside(task.state))
        for task in shot.tasks
    ]
    metadata = {key: shot.metadata[key] for key in ("source", "step")}
    return plain(shot.values), shot.next, metadata, tasks


def _inside(state: Any) -> Any:
    return _summary(state) if hasattr(state, "values") and hasattr(state, "next") else None


def plain(values: Any) -> Any:
    # The reference gives tuples inside of values back as lists.
    if isinstance(values, dict):
        return {key: plain(value) for key, value in values.items()}
    if type(values) in {list, tuple}:
        return [plain(value) for value in values]
    return values


def run_everything(saver: BaseCheckpointSaver[Any]) -> tuple[list[Any], list[Any]]:
    """A run with two pauses, an edit, and a time travel; outcomes and the history."""
    graph, where = everything(saver), config()
    outcomes = [graph.invoke({"messages": [HumanMessage("hi", id="h")], "log": ["in"]}, where)]
    outcomes.append(graph.invoke(Command(resume="yes, inside"), where))
    outcomes.append(graph.invoke(Command(resume="good"), where))
    asked = next(shot for shot in _shots(graph, where) if shot.next == ("judge",))
    branch = graph.update_state(asked.config, {"log": ["edited"]}, as_node="sub")
    outcomes.append(graph.invoke(None, branch))
    outcomes.append(graph.invoke(Command(resume="better"), where))
    outcomes.append(graph.invoke(None, asked.config))
    return [plain({**out, "__interrupt__": None}) for out in outcomes], history_of(graph, where)


class TestAgainstTheReference:
    """The same graphs, with LangGraph's own saver and ours."""

    def test_a_run_with_all_there_is_reads_the_same(self, saver: AntiphonSaver) -> None:
        outcomes, history = run_everything(saver)
        expected_outcomes, expected_history = run_everything(InMemorySaver())
        assert outcomes == expected_outcomes
        assert history == expected_history

    @pytest.mark.parametrize("durability", ["sync", "async", "exit"])
    def test_every_durability_reads_the_same(self, saver: AntiphonSaver, durability: Any) -> None:
        def run(saver: BaseCheckpointSaver[Any]) -> list[Any]:
            graph = counting(saver)
            for _ in range(3):
                graph.invoke({"log": ["turn"], "left": 5}, config(), durability=durability)
            return history_of(graph, config())

        assert run(saver) == run(InMemorySaver())

    def test_an_awaited_saver_reads_what_a_sync_one_reads(self, saver: AntiphonSaver) -> None:
        async def run(saver: BaseCheckpointSaver[Any]) -> list[Any]:
            graph = counting(saver)
            for _ in range(3):
                await graph.ainvoke({"log": ["turn"], "left": 5}, config())
            return [_summary(shot) async for shot in graph.aget_state_history(config())]

        assert asyncio.run(run(saver)) == asyncio.run(run(InMemorySaver()))

    def test_delta_channels_are_made_from_their_history(self, saver: AntiphonSaver) -> None:
        def run(saver: BaseCheckpointSaver[Any]) -> list[Any]:
            graph = deltas(saver)
            for turn in range(5):
                graph.invoke({"log": [turn]}, config())
            return [shot.values for shot in graph.get_state_history(config())]

        assert run(saver) == run(InMemorySaver())

    def test_a_pruned_thread_keeps_what_delta_channels_need(self, saver: AntiphonSaver) -> None:
        graph = deltas(saver)
        for turn in range(5):
            graph.invoke({"log": [turn]}, config())
        before = graph.get_state(config()).values
        many = len(list(saver.list(config())))
        saver.prune(["1"])
        assert graph.get_state(config()).values == before
        assert 1 < len(list(saver.list(config()))) < many
        graph.invoke({"log": ["more"]}, config())
        assert graph.get_state(config()).values["log"] == [*before["log"], "more", "node"]


class Counting(TypedDict, total=False):
    """A list that grows until a number is down."""

    log: Annotated[list[Any], operator.add]
    left: int


def counting(saver: BaseCheckpointSaver[Any]) -> Any:
    builder = StateGraph(Counting)
    builder.add_node("count", lambda s: {"log": [("left", s["left"])], "left": s["left"] - 1})
    builder.add_conditional_edges("count", lambda s: "count" if s["left"] > 0 else END)
    return builder.add_edge(START, "count").compile(checkpointer=saver)


class Deltas(TypedDict, total=False):
    """A list that LangGraph makes from its writes."""

    log: Annotated[
        list[Any],
        DeltaChannel(
            lambda old, new: [*old, *(x for w in new for x in w)], list, snapshot_frequency=4
        ),
    ]


def deltas(saver: BaseCheckpointSaver[Any]) -> Any:
    builder = StateGraph(Deltas).add_node("node", lambda _: {"log": ["node"]})
    return builder.add_edge(START, "node").compile(checkpointer=saver)


class TestProcesses:
    """Threads that outlive their process."""

    SCRIPT = """
import sys
sys.path.insert(0, sys.argv[1])
from test_langgraph_saver import *
from langgraph.types import Command
with AntiphonSaver.open(sys.argv[2], types=[Everything]) as saver:
    graph = everything(saver)
    given = {"messages": [HumanMessage("hi", id="h")], "log": ["in"]}
    if sys.argv[3] != "begin":
        given = Command(resume=sys.argv[3])
    print(plain(graph.invoke(given, config())["log"]))
"""

    def run(self, path: Path, what: str) -> str:
        here = str(Path(__file__).parent)
        done = subprocess.run(
            [sys.executable, "-c", self.SCRIPT, here, str(path), what],
            capture_output=True,
            text=True,
            check=False,
            env={"PYTHONPATH": str(Path(__file__).parent.parent), "PATH": ""},
        )
        assert done.returncode == 0, done.stderr
        return done.stdout.strip()

    def test_a_pause_is_resumed_in_another_process(self, tmp_path: Path) -> None:
        path = tmp_path / "x.db"
        self.run(path, "begin")
        self.run(path, "yes, inside")
        assert self.run(path, "good") == str(plain(run_everything(InMemorySaver())[0][2]["log"]))

    def test_two_savers_of_one_file_take_turns(self, tmp_path: Path) -> None:
        path = tmp_path / "x.db"
        with AntiphonSaver.open(path) as one, AntiphonSaver.open(path) as two:
            for turn in range(20):
                counting([one, two][turn % 2]).invoke({"log": [turn], "left": 1}, config())
            for saver in (one, two):
                log = counting(saver).get_state(config()).values["log"]
                assert [entry for entry in log if isinstance(entry, int)] == list(range(20))

    def test_two_savers_may_write_to_one_thread_at_once(self, tmp_path: Path) -> None:
        path = tmp_path / "x.db"
        failed: list[BaseException] = []

        def write(name: str) -> None:
            try:
                with AntiphonSaver.open(path) as saver:
                    for number in range(40):
                        put(saver, {name: number}, thread="both")
            except BaseException as error:  # noqa: BLE001  # reported below
                failed.append(error)

        threads = [threading.Thread(target=write, args=(name,)) for name in "abc"]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert not failed
        with AntiphonSaver.open(path) as saver:
            held = [found.checkpoint["channel_values"] for found in saver.list(config("both"))]
        assert sorted(map(str, held)) == sorted(
            str({name: number}) for name in "abc" for number in range(40)
        )

    def test_a_thread_that_was_deleted_and_recreated_elsewhere_is_noticed(
        self, tmp_path: Path
    ) -> None:
        path = tmp_path / "x.db"
        with AntiphonSaver.open(path) as one, AntiphonSaver.open(path) as two:
            put(one, {"a": "old"})
            assert values(two) == {"a": "old"}
            one.delete_thread("1")
            assert two.get_tuple(config()) is None
            put(one, {"a": "new"})
            assert values(two) == {"a": "new"}


def put(
    saver: BaseCheckpointSaver[Any],
    values: dict[str, Any],
    *,
    thread: str = "1",
    parent: RunnableConfig | None = None,
    metadata: Any = None,
) -> RunnableConfig:
    """Keeps a checkpoint with values that are all new."""
    versions = dict.fromkeys(values, 1)
    checkpoint = {**empty_checkpoint(), "id": str(uuid6(clock_seq=0))}
    checkpoint |= {"channel_values": values, "channel_versions": versions}
    where = parent or config(thread, checkpoint_ns="")
    return saver.put(where, checkpoint, metadata or {"source": "loop", "step": 1}, versions)  # type: ignore[arg-type]


def values(saver: BaseCheckpointSaver[Any], thread: str = "1") -> dict[str, Any]:
    """The values of the last checkpoint."""
    found = saver.get_tuple(config(thread))
    assert found is not None
    return found.checkpoint["channel_values"]


class TestSize:
    """Small files are the point."""

    def test_a_list_of_messages_weighs_no_more_than_three_times_what_was_written(
        self, tmp_path: Path
    ) -> None:
        random.seed(1)
        steps, information = 5_000, 0
        messages: list[Any] = []
        path = tmp_path / "x.db"
        with AntiphonSaver.open(path) as saver:
            where = put(saver, {"messages": messages})
            for step in range(steps):
                message = {"role": "user", "content": random.randbytes(100).hex()}
                information += len(str(message))
                saver.put_writes(
                    where,
                    [("messages", [message]), ("branch:to:n", None)],
                    str(UUID(int=step)),
                    "~n",
                )
                messages = [*messages, message]
                where = grown(saver, where, step, messages)
            assert values(saver)["messages"] == messages
        assert path.stat().st_size < 3 * information
        with AntiphonSaver.open(path) as saver:
            assert values(saver)["messages"] == messages

    def test_a_graph_of_langgraph_stays_small(self, tmp_path: Path) -> None:
        sizes = {}
        for name in ("sync", "async"):
            path = tmp_path / f"{name}.db"
            with AntiphonSaver.open(path) as saver:
                counting(saver).invoke({"left": 400}, config(), durability=name)
            sizes[name] = path.stat().st_size
        # LangGraph's own saver takes about 2 MB for this, and grows with the square.
        assert max(sizes.values()) < 250_000

    def test_a_large_value_with_small_changes(self, tmp_path: Path) -> None:
        files = {f"file {number}": random.randbytes(2_000).hex() for number in range(50)}
        path = tmp_path / "x.db"
        with AntiphonSaver.open(path) as saver:
            where = None
            for number in range(200):
                files = {**files, f"file {number % 50}": f"{number} " * 50}
                where = put(saver, {"files": files}, parent=where)
            assert values(saver)["files"] == files
        assert path.stat().st_size < 700_000

    def test_pruning_keeps_what_the_latest_checkpoint_needs(self, saver: AntiphonSaver) -> None:
        graph = counting(saver)
        graph.invoke({"left": 50}, config())
        before = graph.get_state(config())
        saver.prune(["1"])
        assert graph.get_state(config()).values == before.values
        assert [found.config for found in saver.list(config())] == [before.config]
        graph.invoke({"log": ["on"], "left": 1}, config())
        assert graph.get_state(config()).values["log"] == [*before.values["log"], "on", ("left", 1)]


def grown(
    saver: BaseCheckpointSaver[Any], where: RunnableConfig, step: int, messages: list[Any]
) -> RunnableConfig:
    """What LangGraph keeps after a superstep."""
    versions: dict[str, str | int | float] = {"messages": step + 2, "branch:to:n": step + 2}
    seen = {"__start__": {"__start__": 1}, "n": {"branch:to:n": step + 1}}
    checkpoint: Any = {
        "v": 4,
        "id": str(uuid6(clock_seq=step)),
        "ts": datetime.now(UTC).isoformat(),
        "channel_values": {"messages": messages, "branch:to:n": None},
        "channel_versions": versions,
        "versions_seen": seen,
        "updated_channels": ["branch:to:n", "messages"],
    }
    metadata: Any = {"source": "loop", "step": step, "parents": {}}
    return saver.put(where, checkpoint, metadata, versions)


class TestChangesInPlace:
    """Lists whose items are not new, and yet not what they were."""

    def test_a_list_that_a_node_returns_is_stored_as_it_is(self, saver: AntiphonSaver) -> None:
        class State(TypedDict):
            todos: list[Any]

        def tick(state: State) -> State:
            open_ones = [todo for todo in state["todos"] if not todo["done"]]
            open_ones[0]["done"] = True
            return {"todos": state["todos"]}

        builder = StateGraph(State).add_node("tick", tick).add_edge(START, "tick")
        builder.add_conditional_edges(
            "tick", lambda s: END if all(todo["done"] for todo in s["todos"]) else "tick"
        )
        graph = builder.compile(checkpointer=saver)
        todos: Any = {"todos": [{"done": False}, {"done": False}, {"done": False}]}
        # Overlapped, any saver may come to read a list that the next node has changed already.
        graph.invoke(todos, config(), durability="sync")
        history = [
            sum(todo["done"] for todo in shot.values["todos"])
            for shot in graph.get_state_history(config())
            if shot.values
        ]
        assert history == [3, 2, 1, 0]

    def test_a_message_that_is_returned_again_is_stored_again(self, saver: AntiphonSaver) -> None:
        class State(TypedDict):
            messages: Annotated[list[Any], add_messages]

        def speak(state: State) -> State:
            last = state["messages"][-1]
            last.content += "!"
            return {"messages": [last, AIMessage("more", id=str(len(state["messages"])))]}

        builder = StateGraph(State).add_node("speak", speak).add_edge(START, "speak")
        builder.add_conditional_edges("speak", lambda s: END if len(s["messages"]) > 4 else "speak")
        graph = builder.compile(checkpointer=saver)
        graph.invoke({"messages": [HumanMessage("hi", id="h")]}, config())
        shown = [message.content for message in graph.get_state(config()).values["messages"]]
        assert shown == ["hi!", "more!", "more!", "more!", "more"]

    def test_messages_that_get_their_ids_later_have_them(self, saver: AntiphonSaver) -> None:
        class State(TypedDict):
            messages: Annotated[list[Any], add_messages]

        def speak(state: State) -> State:
            return {"messages": [AIMessage("so"), AIMessage("it is")]}

        builder = StateGraph(State).add_node("speak", speak).add_edge(START, "speak")
        graph = builder.compile(checkpointer=saver)
        for _ in range(3):
            out = graph.invoke({"messages": [("user", "hi")]}, config())
        stored = graph.get_state(config()).values["messages"]
        assert stored == out["messages"]
        assert len({message.id for message in stored}) == 9

    def test_messages_may_be_removed_anywhere(self, saver: AntiphonSaver) -> None:
        class State(TypedDict):
            messages: Annotated[list[Any], add_messages]

        def forget(state: State) -> State:
            removed = [RemoveMessage(state["messages"][place].id) for place in (0, 2)]
            return {"messages": [*removed, AIMessage("kept", id="a")]}

        builder = StateGraph(State).add_node("forget", forget).add_edge(START, "forget")
        graph = builder.compile(checkpointer=saver)
        said = [HumanMessage(f"message {number} " * 9, id=str(number)) for number in range(20)]
        graph.invoke({"messages": said}, config())
        ids = [message.id for message in graph.get_state(config()).values["messages"]]
        assert ids == ["1", *map(str, range(3, 20)), "a"]

    def test_lists_that_change_in_every_way(self, saver: AntiphonSaver) -> None:
        class State(TypedDict, total=False):
            items: Annotated[list[Any], lambda _, new: new]

        made = random.Random(7)
        current: list[Any] = []

        def change(state: State) -> State:
            nonlocal current
            current = list(state.get("items", []))
            start = made.randrange(len(current) + 1)
            gone = made.randrange(4)
            current[start : start + gone] = [
                {"n": made.random(), "t": "x" * made.randrange(60)}
                for _ in range(made.randrange(5))
            ]
            if current and made.random() < 0.3:
                made.shuffle(current)
            return {"items": current}

        builder = StateGraph(State).add_node("change", change).add_edge(START, "change")
        graph = builder.compile(checkpointer=saver)
        expected = []
        for _ in range(60):
            graph.invoke({}, config())
            expected.append(list(current))
        shots = [shot for shot in graph.get_state_history(config()) if not shot.next]
        assert [shot.values["items"] for shot in reversed(shots)] == expected


VALUES: dict[str, Any] = {
    "none": None,
    "bytes": b"\x00\xff",
    "bytearray": bytearray(b"ab"),
    "text": "ünï\ud800"[:3],
    "int": 2**70,
    "float": 1.5,
    "nested": {"a": [1, {"b": [None, True]}], 3: "int key"},
    "empty list": [],
    "list of lists": [[1], [], [[2]]],
    "set": {1, 2},
    "frozenset": frozenset({"a"}),
    "deque": deque([1, 2]),
    "datetime": datetime(2026, 1, 2, 3, 4, 5, 6, tzinfo=UTC),
    "zoned": datetime(2026, 7, 1, tzinfo=ZoneInfo("Europe/Paris")),
    "date": date(2026, 1, 2),
    "time": time(1, 2, 3),
    "timedelta": timedelta(days=1, microseconds=5),
    "uuid": UUID(int=5),
    "decimal": Decimal("1.10"),
    "path": PurePosixPath("/a/b"),
    "address": ip_address("127.0.0.1"),
    "zone": ZoneInfo("Europe/Paris"),
    "enum": Colour.RED,
    "dataclass": Order(Decimal(1), Colour.RED),
    "model": Item(name="n", tags={"t"}),
    "named tuple": Point(1, 2),
    "message": AIMessage("hi", id="1", tool_calls=[{"name": "t", "args": {"a": 1}, "id": "c"}]),
    "tool message": ToolMessage("result", tool_call_id="c", artifact={"x": (1, 2)}),
    "document": Document("text", metadata={"k": 1}),
    "send": Send("node", {"a": 1}),
    "timed send": Send("node", [1], timeout=TimeoutPolicy(run_timeout=1.0)),
    "command": Command(update={"a": 1}, goto="b", resume={"c": 2}),
    "interrupt": Interrupt("sure?", id="i"),
    "overwrite": Overwrite([1]),
    "list of packets": [Send("a", Order(Decimal(2), Colour.RED)), Interrupt(Point(3, 4), id="j")],
}


class TestValues:
    """Loaded values equal the stored ones."""

    @pytest.mark.parametrize("name", VALUES)
    def test_a_value_is_restored_with_its_type(self, saver: AntiphonSaver, name: str) -> None:
        where = put(saver, {"x": VALUES[name], "list": [VALUES[name]]})
        saver.put_writes(where, [("x", VALUES[name])], "task")
        found = saver.get_tuple(where)
        assert found is not None
        assert found.pending_writes is not None
        for back in (found.checkpoint["channel_values"]["x"], found.pending_writes[0][2]):
            assert back == VALUES[name]
            assert type(back) is type(VALUES[name])
        assert found.checkpoint["channel_values"]["list"] == [VALUES[name]]

    def test_numpy_arrays_are_restored(self, saver: AntiphonSaver) -> None:
        array = np.arange(12).reshape(3, 4)
        put(saver, {"x": array})
        back = values(saver)["x"]
        assert back.dtype == array.dtype
        assert (back == array).all()

    @pytest.mark.parametrize("kind", [str, int, float, dict, list])
    def test_a_subclass_of_a_plain_type_is_restored_as_that_type(
        self, saver: AntiphonSaver, kind: Any
    ) -> None:
        special = type("Special", (kind,), {})()
        put(saver, {"x": special, "inside": [{"deep": special}], "ordered": OrderedDict(a=1)})
        assert values(saver)["x"] == kind()
        assert type(values(saver)["x"]) is kind
        assert type(values(saver)["inside"][0]["deep"]) is kind

    def test_an_exception_is_stored_as_langgraph_stores_it(self, saver: AntiphonSaver) -> None:
        where = put(saver, {})
        saver.put_writes(where, [("__error__", ValueError("no"))], "task")
        found = saver.get_tuple(where)
        assert found is not None
        assert found.pending_writes == [("task", "__error__", "ValueError('no')")]

    def test_an_unregistered_type_is_refused_when_it_is_saved(self) -> None:
        @dataclass
        class Unknown:
            x: int

        with AntiphonSaver.open(":memory:") as saver, pytest.raises(AntiphonError) as raised:
            put(saver, {"order": {"inside": Unknown(1)}})
        assert raised.value.code == "value_unstorable"
        assert "`order`" in str(raised.value)
        assert "Unknown" in str(raised.value)

    def test_a_value_that_cannot_be_stored_leaves_the_thread_as_it_was(
        self, saver: AntiphonSaver
    ) -> None:
        put(saver, {"a": 1})
        with pytest.raises(AntiphonError):
            put(saver, {"a": 2, "b": object()})
        assert values(saver) == {"a": 1}
        put(saver, {"a": 3})
        assert values(saver) == {"a": 3}

    def test_registered_types_need_not_be_named(self) -> None:
        @register(name="test_langgraph_saver.Ticket")
        @dataclass
        class Ticket:
            number: int

        with AntiphonSaver.open(":memory:") as saver:
            put(saver, {"x": Ticket(1)})
            assert values(saver)["x"] == Ticket(1)

    def test_types_that_langgraph_allows_are_taken(self) -> None:
        with AntiphonSaver.open(":memory:") as saver:
            same = saver.with_allowlist({(__name__, "Order"), (__name__, "Colour")})
            put(same, {"x": Order(Decimal(1), Colour.RED)})
            assert values(saver)["x"] == Order(Decimal(1), Colour.RED)

    def test_a_serde_of_langgraph_is_used_as_it_is(self, tmp_path: Path) -> None:
        serde = EncryptedSerializer(Reverse(), JsonPlusSerializer())
        path = tmp_path / "x.db"
        with AntiphonSaver.open(path, serde=serde) as saver:
            where = put(saver, {"x": Order(Decimal(1), Colour.RED), "secrets": ["one", "two"]})
            saver.put_writes(where, [("secrets", ["three"])], "task")
        assert b"one" not in path.read_bytes()
        with AntiphonSaver.open(path, serde=serde) as saver:
            assert values(saver) == {"x": Order(Decimal(1), Colour.RED), "secrets": ["one", "two"]}
            allowed = saver.with_allowlist({("a", "B")})
            assert allowed is saver.with_allowlist({("a", "B")})
            assert values(allowed)["secrets"] == ["one", "two"]
        with AntiphonSaver.open(path) as saver, pytest.raises(AntiphonError) as raised:
            values(saver)
        assert raised.value.code == "checkpoint_misfit"

    def test_a_serde_and_types_are_too_much(self) -> None:
        with pytest.raises(ValueError, match="types"):
            AntiphonSaver.open(":memory:", serde=JsonPlusSerializer(), types=[Everything])


class Reverse:
    """The weakest cipher there is."""

    def encrypt(self, plaintext: bytes) -> tuple[str, bytes]:
        return "reverse", plaintext[::-1]

    def decrypt(self, ciphername: str, ciphertext: bytes) -> bytes:
        return ciphertext[::-1]


HOSTILE = [
    "source') OR 1=1 --",
    "x' OR '1'='1",
    '$."source"',
    "a.b",
    "\x00",
    "'; DROP TABLE entry; --",
    "source]",
    "%",
    "💥" * 50,
]


class TestStrangers:
    """Filters, names and bytes that mean harm."""

    @pytest.mark.parametrize("key", HOSTILE)
    def test_a_filter_is_compared_and_nothing_else(self, saver: AntiphonSaver, key: str) -> None:
        put(saver, {"a": 1})
        marked = put(saver, {"a": 2}, metadata={"source": "loop", "step": 2, key: key})
        clean = key.replace("\x00", "")  # LangGraph takes it out of values
        assert [found.config for found in saver.list(config(), filter={key: clean})] == [marked]
        assert list(saver.list(config(), filter={key: "other"})) == []
        assert list(saver.list(config(), filter={"source": key})) == []
        assert len(list(saver.list(None))) == 2

    @pytest.mark.parametrize("name", HOSTILE)
    def test_threads_and_namespaces_are_no_more_than_names(
        self, saver: AntiphonSaver, name: str
    ) -> None:
        put(saver, {"a": "mine"}, thread="mine")
        where = put(saver, {name: 1}, parent=config(name, checkpoint_ns=name))
        saver.put_writes(where, [(name, name)], name, name)
        found = saver.get_tuple(config(name, checkpoint_ns=name))
        assert found is not None
        assert found.checkpoint["channel_values"] == {name: 1}
        assert found.pending_writes == [(name, name, name)]
        saver.delete_thread(name)
        assert values(saver, "mine") == {"a": "mine"}
        assert saver.get_tuple(config(name, checkpoint_ns=name)) is None

    def test_a_changed_byte_is_an_error(self, tmp_path: Path) -> None:
        path = tmp_path / "x.db"
        with AntiphonSaver.open(path) as saver:
            put(saver, {"a": "some text"})
        forge(path, lambda body: bytes([body[0] ^ 1]) + body[1:])
        with AntiphonSaver.open(path) as saver, pytest.raises(AntiphonError) as raised:
            values(saver)
        assert raised.value.code == "checkpoint_corrupt"

    def test_a_plain_entry_is_refused_where_there_is_a_key(self, tmp_path: Path) -> None:
        path = tmp_path / "x.db"
        with AntiphonSaver.open(SqliteSaver.open(path)) as saver:
            put(saver, {"a": 1})
        with pytest.raises(AntiphonError) as raised:
            SqliteSaver.open(path, key=KEY)
        assert raised.value.code == "checkpoint_plain"

    def test_bytes_of_langgraph_that_would_run_code_are_data(self, tmp_path: Path) -> None:
        mark = tmp_path / "was here"
        kind, forged = JsonPlusSerializer().dumps_typed(Touch(str(mark)))
        forged = forged.replace(b"Touch", b"mkdir").replace(__name__.encode(), b"os")
        with AntiphonSaver.open(":memory:", serde=Passing()) as saver:
            put(saver, {"x": (kind, forged)})
            store = saver._saver
            with pytest.raises(AntiphonError) as raised:
                values(AntiphonSaver.open(store))
        assert raised.value.code == "checkpoint_misfit"
        assert not mark.exists()

    def test_names_of_unregistered_types_are_refused_when_read(self, tmp_path: Path) -> None:
        path = tmp_path / "x.db"
        with AntiphonSaver.open(path, types=[Everything]) as saver:
            put(saver, {"x": Colour.RED})
        with AntiphonSaver.open(path) as saver, pytest.raises(AntiphonError) as raised:
            values(saver)
        assert raised.value.code == "checkpoint_misfit"
        assert "Colour" in str(raised.value)


@dataclass
class Touch:
    """What a forger begins with."""

    path: str


class Passing:
    """A serializer that passes on what it is given."""

    def dumps_typed(self, obj: Any) -> tuple[str, bytes]:
        kind, data = obj
        return kind, data

    def loads_typed(self, data: tuple[str, bytes]) -> Any:
        return data


def forge(path: Path, change: Callable[[bytes], bytes]) -> None:
    """Changes the last entry of a file."""
    with closing(sqlite3.connect(path)) as file, file:
        (seq, body) = file.execute("SELECT seq, body FROM entry ORDER BY seq DESC").fetchone()
        file.execute("UPDATE entry SET body = ? WHERE seq = ?", (change(body), seq))
    file.close()


class TestTogether:
    """One saver, many callers."""

    def test_threads_and_an_event_loop_share_a_saver(self, saver: AntiphonSaver) -> None:
        def run(thread: str) -> None:
            for turn in range(3):
                counting(saver).invoke({"log": [turn], "left": 5}, config(thread))

        async def arun(thread: str) -> None:
            for turn in range(3):
                await counting(saver).ainvoke({"log": [turn], "left": 5}, config(thread))

        async def main() -> None:
            await asyncio.gather(
                *(asyncio.to_thread(run, f"sync {number}") for number in range(4)),
                *(arun(f"async {number}") for number in range(4)),
            )

        asyncio.run(main())
        logs = [
            values(saver, f"{kind} {number}")["log"]
            for kind in ("sync", "async")
            for number in range(4)
        ]
        assert all(log == logs[0] and len(log) == 18 for log in logs)

    def test_a_sync_call_inside_of_an_event_loop_works(self, saver: AntiphonSaver) -> None:
        async def main() -> dict[str, Any]:
            await counting(saver).ainvoke({"left": 2}, config())
            return values(saver)

        assert asyncio.run(main())["left"] == 0


class TestUse:
    """How it is opened, closed and found."""

    def test_a_connection_string_opens_it_as_langgraph_does(self, tmp_path: Path) -> None:
        path = str(tmp_path / "x.db")
        with AntiphonSaver.from_conn_string(path) as saver:
            put(saver, {"a": 1})

        async def main() -> dict[str, Any]:
            async with AntiphonSaver.from_conn_string(f"sqlite:{path}") as saver:
                return values(saver)

        assert asyncio.run(main()) == {"a": 1}

    def test_what_it_has_opened_it_closes(self) -> None:
        with AntiphonSaver.open(":memory:") as saver:
            put(saver, {"a": 1})
        with pytest.raises(AntiphonError) as raised:
            values(saver)
        assert raised.value.code == "store_closed"

    @pytest.mark.parametrize("given", ["x.db", "postgres://ada:secret@host/db", 5])
    def test_what_is_no_saver_is_refused_with_how_to_open_one(self, given: Any) -> None:
        with pytest.raises(TypeError, match=r'AntiphonSaver\.open\("x\.db"\)') as raised:
            AntiphonSaver(given)
        assert type(given).__name__ in str(raised.value)
        assert "secret" not in str(raised.value)

    def test_what_it_was_given_stays_open(self) -> None:
        with MemorySaver() as store:
            with AntiphonSaver.open(store) as saver:
                put(saver, {"a": 1})
            assert values(AntiphonSaver(store)) == {"a": 1}

    def test_threads_of_the_saver_are_apart_from_those_of_antiphon(self) -> None:
        import antiphon.graph as ours

        class State(TypedDict, total=False):
            log: Annotated[list[Any], operator.add]

        with MemorySaver() as store:
            builder = ours.StateGraph(State).add_node("n", lambda _: {"log": ["ours"]})
            graph = builder.add_edge(ours.START, "n").compile(store)
            where: Any = config()
            graph.invoke({}, where)
            saver = AntiphonSaver.open(store)
            put(saver, {"log": ["theirs"]})
            assert graph.get_state(where).values == {"log": ["ours"]}
            assert values(saver) == {"log": ["theirs"]}
            assert len(list(saver.list(None))) == 1

    def test_a_config_without_a_thread_is_an_error(self) -> None:
        with AntiphonSaver.open(":memory:") as saver, pytest.raises(KeyError, match="thread_id"):
            saver.get_tuple({"configurable": {}})

    def test_versions_of_other_savers_continue(self) -> None:
        with AntiphonSaver.open(":memory:") as saver:
            assert saver.get_next_version(None, None) == 1
            assert saver.get_next_version(4, None) == 5
            old = InMemorySaver().get_next_version(None, None)
            assert saver.get_next_version(old, None) > old

    def test_an_unknown_strategy_is_refused(self) -> None:
        with AntiphonSaver.open(":memory:") as saver, pytest.raises(ValueError, match="strategy"):
            saver.prune(["1"], strategy="keep_everything")

    def test_a_copied_thread_resumes_independently(self, saver: AntiphonSaver) -> None:
        graph = counting(saver)
        put(saver, {"log": ["kept"]}, thread="2")
        graph.invoke({"left": 3}, config("1"))
        saver.copy_thread("1", "2")
        assert history_of(graph, config("2"))[:-1] == history_of(graph, config("1"))
        graph.invoke({"left": 1}, config("2"))
        assert len(values(saver, "2")["log"]) == 4
        assert len(values(saver, "1")["log"]) == 3

    def test_listing_pages_through_everything(self, saver: AntiphonSaver) -> None:
        made = [put(saver, {"a": number}, thread=f"{number % 3}") for number in range(30)]
        newest = [found.config for found in saver.list(None)]
        assert newest == made[::-1]
        page = list(saver.list(config("0"), before=made[9], limit=2))
        assert [found.config for found in page] == [made[6], made[3]]

    @pytest.mark.parametrize(
        "script",
        [
            "import antiphon, antiphon.checkpoint, sys; assert 'langgraph' not in sys.modules",
            (
                "import sys; sys.modules['langgraph'] = None\n"
                "try:\n    from antiphon.checkpoint import AntiphonSaver\n"
                "except ImportError as error:\n"
                "    assert 'antiphon[langgraph]' in str(error), error\n"
                "else:\n    raise SystemExit(1)\n"
            ),
        ],
    )
    def test_langgraph_is_only_needed_where_it_is_used(self, script: str) -> None:
        done = subprocess.run([sys.executable, "-c", script], capture_output=True, check=False)
        assert done.returncode == 0, done.stderr
