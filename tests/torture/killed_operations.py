"""Everything that writes to a store, each in processes that die in the middle of it.

As a script, with `system_calls.c` preloaded, it reads jobs as lines of JSON and forks for each:
imports, also those of the modules that it is given, are paid for once. A child notes in the journal
what happened in the world and which operations were acknowledged.
"""

from __future__ import annotations

import importlib
import json
import operator
import os
import random
import sys
from collections.abc import Callable
from typing import Annotated, Any, TypedDict

from antiphon.checkpoint import PostgresSaver, Saver, SqliteSaver
from antiphon.errors import ToolError
from antiphon.graph import END, START, Command, Durability, RunnableConfig, Runtime, StateGraph
from antiphon.graph import interrupt as ask
from support.system_calls import Kill, SystemCalls

PAYMENTS = 4
QUESTION = "deliver?"
OTHERS = ("other 0", "other 1")
LONG = 24
KEPT = 3
WRITES = 6


def place(thread: str) -> RunnableConfig:
    """How a thread is named."""
    return {"configurable": {"thread_id": thread}, "recursion_limit": 1000}


THREAD, COPY = place("t"), place("copy")


class State(TypedDict, total=False):
    """What was done, and a text that takes a few pages of a file.

    Attributes:
        log: what was done.
        page: the text.
        until: how many payments are made.
        asks: whether a person is asked after that.
    """

    log: Annotated[list[str], operator.add]
    page: str
    until: int
    asks: bool


def payments(count: int, *rest: str) -> list[str]:
    """What a thread holds after so many of them."""
    return [*(f"paid {number}" for number in range(count)), *rest]


def page(number: int, size: int = 1500) -> str:
    """A text that cannot be compressed much."""
    return random.Random(number).randbytes(size).hex()


class World:
    """A graph that pays, asks and delivers.

    Args:
        saver: where its threads are kept.
        note: hears of each thing that happens.
        size: how large the text is, in bytes.
    """

    def __init__(self, saver: Saver, note: Callable[[str], None], size: int = 1500) -> None:
        self.saver, self.note, self._size = saver, note, size
        self.graph = self._build()

    def pay(self, state: State, runtime: Runtime[None]) -> State:
        """Pay once more."""
        number = len(state.get("log", []))
        self.note(f"began {number}")
        self._once(runtime, f"paid {number}")
        return {"log": [f"paid {number}"], "page": page(number, self._size)}

    def deliver(self, state: State, runtime: Runtime[None]) -> State:
        """Ask, with a payment before the question."""
        self._once(runtime, "packed")
        answer = ask(QUESTION)
        self._once(runtime, "delivered")
        return {"log": [answer]}

    def begin(self, durability: Durability = "sync", config: Any = THREAD, **given: Any) -> Any:
        """Begin a run."""
        given = {"until": PAYMENTS, "asks": False, **given}
        return self.graph.invoke(given, config, durability=durability)

    def log(self, config: Any = THREAD) -> list[str]:
        """What a thread holds."""
        return list(self.graph.get_state(config).values.get("log", []))

    def finish(self, config: Any = THREAD, **given: Any) -> list[str]:
        """Continue until the thread has ended, and answer what is asked."""
        for _ in range(5):
            state = self.graph.get_state(config)
            if state.metadata is None:
                self.begin(config=config, **given)
            elif state.interrupts:
                self.graph.invoke(Command(resume="yes"), config)
            elif state.next:
                self.graph.invoke(None, config)
        assert not self.graph.get_state(config).next
        return self.log(config)

    def _once(self, runtime: Runtime[None], what: str) -> None:
        try:
            runtime.step("note", self.note, what)
        except ToolError as error:
            if error.code != "unknown_outcome":
                raise
            self.note(f"unknown {what}")

    def _build(self) -> Any:
        def route(state: State) -> str:
            if len(state["log"]) < state["until"]:
                return "pay"
            return "deliver" if state["asks"] else END

        builder = StateGraph(State).add_node("pay", self.pay).add_node("deliver", self.deliver)
        builder.add_edge(START, "pay").add_conditional_edges("pay", route)
        return builder.compile(self.saver)


class Operation:
    """Something that writes to a store: what is there before, and what is done.

    Attributes:
        is_first: whether there is no store before.
        is_left_open: whether what is there before was left by a process that has died.
    """

    is_first = False
    is_left_open = False

    def prepare(self, world: World) -> None:
        """Make what is there before."""

    def run(self, world: World, job: dict[str, Any]) -> None:
        """Do it, in the process that dies."""
        raise AssertionError


class Invoke(Operation):
    """A run on a store that is not there yet."""

    is_first = True

    def __init__(self, durability: Durability) -> None:
        self.durability = durability

    def run(self, world: World, job: dict[str, Any]) -> None:
        world.begin(self.durability)


class Question(Operation):
    """A run that shows a question."""

    is_first = True

    def run(self, world: World, job: dict[str, Any]) -> None:
        given = {"until": 1, "asks": True}
        for chunk in world.graph.stream(given, THREAD, stream_mode="updates"):
            if "__interrupt__" in chunk:
                world.note("shown")


class Answer(Operation):
    """The answer to a question."""

    def prepare(self, world: World) -> None:
        world.begin(until=2, asks=True)

    def run(self, world: World, job: dict[str, Any]) -> None:
        world.graph.invoke(Command(resume="yes"), THREAD)


class Edit(Operation):
    """An edit of the state."""

    def prepare(self, world: World) -> None:
        world.begin()

    def run(self, world: World, job: dict[str, Any]) -> None:
        world.graph.update_state(THREAD, {"log": ["edited"], "page": page(99)}, as_node="pay")


class Long(Operation):
    """Something about a long thread that has paused, beside two that have ended."""

    def prepare(self, world: World) -> None:
        for name in OTHERS:
            world.begin(config=place(name))
        world.begin("async", until=LONG, asks=True)


class Copying(Long):
    """A copy of a thread."""

    def run(self, world: World, job: dict[str, Any]) -> None:
        world.saver.copy_thread("t", "copy")


class Deletion(Long):
    """The removal of a thread."""

    def run(self, world: World, job: dict[str, Any]) -> None:
        world.saver.delete_thread("t")


class Pruning(Long):
    """The removal of old checkpoints."""

    def run(self, world: World, job: dict[str, Any]) -> None:
        world.saver.prune("t", keep_last=KEPT)


class Compacting(Long):
    """The return of free pages to the disk."""

    def prepare(self, world: World) -> None:
        world.begin("async", config=place("gone"), until=LONG)
        super().prepare(world)
        world.saver.delete_thread("gone")

    def run(self, world: World, job: dict[str, Any]) -> None:
        world.saver.compact()


class Rekeying(Long):
    """The change of a key."""

    def run(self, world: World, job: dict[str, Any]) -> None:
        world.saver.rekey()


class LangGraphWrites(Operation):
    """What LangGraph writes, and everything else that its savers do."""

    is_first = True

    def run(self, world: World, job: dict[str, Any]) -> None:
        # Runs of antiphon's own graphs take longer once LangGraph is there.
        from antiphon.checkpoint import AntiphonSaver
        from torture import saver_writers

        journal = saver_writers.Journal(job["journal"] + "-writes")
        writer = saver_writers.Writer(AntiphonSaver(world.saver), journal, "seed")
        for _ in range(WRITES):
            writer.add("kept")
        writer.add("pruned")
        writer.add("pruned")
        writer.saver.prune(["pruned"])
        writer.saver.copy_thread("kept", "copied")
        writer.saver.delete_thread("copied")


class Recovery(Operation):
    """The opening of a file whose last process has died."""

    is_left_open = True

    def prepare(self, world: World) -> None:
        world.begin()

    def run(self, world: World, job: dict[str, Any]) -> None:
        world.log()


OPERATIONS: dict[str, Operation] = {
    "invoke, sync": Invoke("sync"),
    "invoke, async": Invoke("async"),
    "invoke, exit": Invoke("exit"),
    "question": Question(),
    "answer": Answer(),
    "update_state": Edit(),
    "copy_thread": Copying(),
    "delete_thread": Deletion(),
    "prune": Pruning(),
    "compact": Compacting(),
    "rekey": Rekeying(),
    "AntiphonSaver": LangGraphWrites(),
    "recovery": Recovery(),
}


def open_store(url: str, keys: list[str], **options: Any) -> SqliteSaver | PostgresSaver:
    """A store, with its keys in hexadecimal digits."""
    key = [bytes.fromhex(key) for key in keys] or None
    opened = SqliteSaver.open if url.startswith("sqlite:") else PostgresSaver.open
    return opened(url, key=key, **options)


def do(job: dict[str, Any]) -> None:
    """Do a job, until it is done or this process dies."""
    journal = os.open(job["journal"], os.O_WRONLY | os.O_APPEND | os.O_CREAT)

    def note(text: str) -> None:
        os.write(journal, f"{text}\n".encode())

    calls = SystemCalls(job["prefix"], Kill(job["at"], job["manner"]))
    with open_store(job["url"], job["keys"]) as saver:
        OPERATIONS[job["operation"]].run(World(saver, note), job)
        note("done")
    note(f"calls {calls.count}")


def main() -> None:
    """Do one job after the other."""
    for module in sys.argv[1:]:
        importlib.import_module(module)
    for line in sys.stdin:
        child = os.fork()
        if child == 0:
            try:
                do(json.loads(line))
                os._exit(0)
            except BaseException as error:  # noqa: BLE001 - the test shows it
                sys.stderr.write(f"{line}: {type(error).__name__}: {error}\n")
                sys.stderr.flush()
                os._exit(1)
        print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)


if __name__ == "__main__":
    main()
