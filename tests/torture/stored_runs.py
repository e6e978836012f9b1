"""Stored runs, all ways of reading them, and values in the place of those that are stored."""

from __future__ import annotations

import contextlib
import io
import json
import time
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

from antiphon.cli import main
from antiphon.errors import AntiphonError
from antiphon.graph import END, START, StateGraph
from support.states import Log
from support.threads import config

if TYPE_CHECKING:
    import random
    from collections.abc import Callable

    from antiphon.checkpoint import Saver
    from antiphon.graph import CompiledGraph

KEY = bytes(range(32))
LIMIT = 5.0
"""Seconds of processor time in which anything is read, on a busy machine too."""
REFUSALS = {
    "checkpoint_corrupt",
    "checkpoint_encrypted",
    "checkpoint_plain",
    "checkpoint_unknown",
    "store_corrupt",
    "store_version",
    "thread_busy",
    "thread_empty",
}
"""How it is refused; a thread of another name is empty, and one that is held is busy."""
EXTREMES = (0, 1, -1, 2**31, 2**62, -(2**63))


class World:
    """A graph that pays at each step, and fails at the seventh until it is mended."""

    def __init__(self, *, broken: bool) -> None:
        self.broken = broken
        self.paid: list[int] = []

    def build(self, saver: Saver) -> CompiledGraph:
        """The graph, kept in a store."""

        def pay(state: Log) -> Log:
            number = len(state.get("log", []))
            if number == 6 and self.broken:
                raise RuntimeError("the bank is closed")
            self.paid.append(number)
            return {"log": [number]}

        def route(state: Log) -> str:
            return "pay" if len(state["log"]) < 9 else END

        builder = StateGraph(Log).add_node(pay).add_edge(START, "pay")
        builder.add_conditional_edges("pay", route)
        return builder.compile(checkpointer=saver)


class Damaged(Protocol):
    """A store that may be damaged."""

    @property
    def url(self) -> str:
        """What the command line knows it by."""

    def open(self) -> Saver:
        """The store, opened anew."""


def history(saver: Saver, thread: str) -> Any:
    """A state and its past, as anybody reads them."""
    graph = World(broken=False).build(saver)
    shots = [graph.get_state(config(thread)), *graph.get_state_history(config(thread))]
    return [(shot.values, shot.next, shot.metadata, shot.created_at) for shot in shots]


def state(store: Damaged) -> Any:
    """What threads hold."""
    with store.open() as saver:
        return history(saver, "failed")


def state_of_another(store: Damaged) -> Any:
    """What the other thread holds."""
    with store.open() as saver:
        return history(saver, "ended")


def listed(store: Damaged) -> Any:
    """What lists say; one that says it cannot be read says nothing untrue."""
    with store.open() as saver:
        return {
            one.thread: (one.status, one.run_id, one.graph, one.steps, one.began, one.at)
            for one in saver.threads()
            if one.status not in {"unreadable", "running"}
        }


def detail(store: Damaged) -> Any:
    """What is said of a thread by itself."""
    with store.open() as saver:
        shown = saver.thread("failed")
        if shown.summary.status in {"unreadable", "running"}:
            raise AntiphonError("unreadable", code="checkpoint_corrupt")
        return repr((shown.summary.status, shown.runs, shown.checkpoints, shown.written))


def shown(store: Damaged) -> Any:
    """The same on the command line."""
    out = io.TextIOWrapper(io.BytesIO(), encoding="utf-8")
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(io.StringIO()):
        code = main(["runs", "show", "ended", "--store", store.url, "--json"])
    out.seek(0)
    said = json.loads(out.read() or "{}")
    if code != 0 or said["status"] in {"unreadable", "running"}:
        raise AntiphonError("unreadable for the command", code="checkpoint_corrupt")
    said.pop("size")
    return said


def resumed(store: Damaged) -> Any:
    """What is paid when a run continues, and what there is then."""
    world = World(broken=False)
    with store.open() as saver:
        done = world.build(saver).invoke(None, config("failed"))
    return done, world.paid


Face: TypeAlias = "Callable[[Damaged], Any]"
Reading: TypeAlias = "tuple[Face, Damaged]"

FACES: list[tuple[str, Face]] = [
    ("state", state),
    ("state of another", state_of_another),
    ("threads()", listed),
    ("thread()", detail),
    ("runs show", shown),
    ("invoke(None)", resumed),
]


NEEDS = {
    "state": {"failed"},
    "state of another": {"ended"},
    "thread()": {"failed"},
    "runs show": {"ended"},
    "invoke(None)": {"failed"},
}
"""The threads that are read."""


def check_face(name: str, reading: Reading, truth: Any, what: str) -> bool:
    """Reads a damaged store in one way: that is refused, or true. Says whether it was read."""
    face, store = reading
    began, refused = time.process_time(), "thread_busy"
    try:
        found = face(store)
    except AntiphonError as error:
        found, refused = None, error.code
    took = time.process_time() - began
    assert refused in REFUSALS, f"{name}, {what}: {refused}"
    assert took < LIMIT, f"{name}, {what}: {took:.1f} s"
    if found is None:
        return False
    if name == "threads()":
        # One that lost its name is listed under another, or not at all.
        assert found.items() <= truth.items(), f"{name}, {what}: {found}"
    else:
        assert found == truth, f"{name}, {what}: {found}"
    return True


def changed(value: Any, others: list[Any], chance: random.Random) -> Any:
    """Another value in the place of one."""
    if chance.random() < 0.2:
        return chance.choice(others)
    if value is None:
        return chance.choice(["x", 1, 2**60, b"x"])
    if isinstance(value, int):
        near = (value - 1, value + 1, value ^ 1 << chance.randrange(48))
        return chance.choice([*near, *EXTREMES])
    if isinstance(value, str):
        place = chance.randrange(len(value) or 1)
        return chance.choice(["", value + "x", value[:place] + "\u00e9" + value[place + 1 :]])
    place = chance.randrange(len(value) or 1)
    bent = bytearray(value or b"\0")
    bent[place] ^= 1 << chance.randrange(8)
    return chance.choice([bytes(bent), bytes(bent), value[:place], value + b"\0", b""])
