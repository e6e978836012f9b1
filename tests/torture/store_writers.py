"""A process whose threads do all that graphs and savers offer, beside others on one store.

`python store_writers.py JOB`, with the fields of `Job` as JSON. Each writer notes what it begins
and how it ended. A write adds a token that no other write adds; it names its thread, its writer
and the number of the write.
"""

from __future__ import annotations

import asyncio
import json
import operator
import os
import random
import sys
from collections import defaultdict
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from typing import Annotated, Any, TypedDict

from antiphon.checkpoint import PostgresSaver, Saver, SqliteSaver
from antiphon.errors import AntiphonError
from antiphon.graph import (
    END,
    START,
    Command,
    CompiledGraph,
    RunnableConfig,
    StateGraph,
    StateSnapshot,
    interrupt,
)

KEPT = ("kept", "kept too")
FORKED = "forked"
REMADE = "remade"
"""Threads that all writers share: some only grow, one has branches, one is deleted at times."""
RECENT = 40
"""Of how many checkpoints histories are read and branches begin."""
REFUSALS: dict[str, set[str]] = {
    "add": {"thread_busy"},
    "update": {"thread_busy", "thread_conflict"},
    "fork": {"thread_busy", "thread_conflict", "checkpoint_unknown"},
    "answer": {"thread_busy", "thread_empty", "question_unknown"},
    "copy": {"thread_busy", "thread_conflict", "thread_empty", "thread_taken"},
    "delete": {"thread_busy"},
    "prune": {"thread_empty"},
    "history": {"checkpoint_unknown"},
}
"""How each act may be refused; one that is not named here may not."""


PRUNES: dict[str, dict[str, int]] = {"whole": {}, "pruned": {"prune": 4}, "deleted": {"prune": 8}}
"""How often each mix of acts prunes; the last one makes and deletes threads more than others do."""


class State(TypedDict, total=False):
    """What was written, in order."""

    tokens: Annotated[list[str], operator.add]
    asks: bool


class Job(TypedDict):
    """The arguments of a process."""

    url: str
    keys: list[str]
    journal: str
    seed: str
    acts: int
    mix: str


def build(saver: Saver) -> CompiledGraph:
    """A graph that notes what it was given, and then perhaps asks for more."""

    def note(state: State) -> State:
        return {"tokens": [noted(state["tokens"][-1])]}

    def ask(state: State) -> State:
        return {"tokens": [interrupt("more?")]}

    builder = StateGraph(State).add_node(note).add_node(ask).add_edge(START, "note")
    builder.add_conditional_edges("note", lambda state: "ask" if state["asks"] else END)
    return builder.compile(checkpointer=saver)


def noted(token: str) -> str:
    return f"{token}|noted"


def open_store(url: str, keys: list[str]) -> Saver:
    options: dict[str, Any] = {"key": [bytes.fromhex(key) for key in keys]} if keys else {}
    if url.startswith("sqlite:"):
        return SqliteSaver.open(url.removeprefix("sqlite:"), **options)
    return PostgresSaver.open(url, **options)


def config(thread: str) -> RunnableConfig:
    return {"configurable": {"thread_id": thread}}


def checkpoint_of(where: RunnableConfig | None) -> str | None:
    return None if where is None else where["configurable"]["checkpoint_id"]


def check_history(shots: list[StateSnapshot]) -> None:
    """Each checkpoint comes from the next one of the list, and adds to what that holds."""
    for shot in shots:
        check_tokens(shot.values["tokens"])
    for shot, before in pairwise(shots):
        assert checkpoint_of(shot.parent_config) == checkpoint_of(before.config), (shot, before)
        had = before.values["tokens"]
        assert shot.values["tokens"][: len(had)] == had, (shot, before)
        assert (shot.metadata or {})["step"] > (before.metadata or {})["step"], (shot, before)


def check_tokens(tokens: list[str]) -> None:
    """Nothing is there twice, and what one writer wrote is in its order."""
    assert len(set(tokens)) == len(tokens), tokens
    last: dict[str, int] = defaultdict(int)
    for before, token in pairwise(["", *tokens]):
        _, writer, number, *rest = token.split("|")
        if rest:
            assert token == noted(before), tokens
            continue
        assert int(number) > last[writer], tokens
        last[writer] = int(number)


class Journal:
    """Lines that are written whole, by all processes, in the order in which things happen."""

    def __init__(self, path: str) -> None:
        self._file = os.open(path, os.O_APPEND | os.O_CREAT | os.O_WRONLY, 0o600)

    def note(self, **what: Any) -> None:
        os.write(self._file, json.dumps(what).encode() + b"\n")


class Writer:
    """Does one thing after the other, and notes it."""

    def __init__(self, saver: Saver, journal: Journal, name: str) -> None:
        self.saver, self.journal, self.name = saver, journal, name
        self.graph = build(saver)
        self.chance = random.Random(name)
        self.count = 0
        self.own: list[str] = []
        self.deleted: set[str] = set()

    def act(self, weights: dict[str, int]) -> None:
        (act,) = self.chance.choices([*weights], [*weights.values()])
        self.count += 1
        getattr(self, act)()

    def add(self) -> None:
        thread = self._thread() if self.chance.random() < 0.8 else self._new_thread()
        token = self._token(thread)
        given: Any = {"tokens": [token], "asks": self.chance.random() < 0.3}

        def run() -> None:
            tokens = self._run(given, config(thread))
            assert tokens[-2:] == [token, noted(token)], tokens

        self._attempt("add", run, thread=thread, token=token)

    def update(self) -> None:
        thread = self._thread()
        self._update(config(thread), "update", thread)

    def fork(self) -> None:
        shots = self._history(FORKED)
        if not shots:
            return
        begin = self.chance.choice(shots)
        if self.chance.random() < 0.5:
            self._update(begin.config, "fork", FORKED)
            return
        token = self._token(FORKED)

        def run() -> None:
            tokens = self._run({"tokens": [token], "asks": False}, begin.config)
            assert tokens == [*begin.values["tokens"], token, noted(token)], tokens

        self._attempt("fork", run, thread=FORKED, token=token)

    def answer(self) -> None:
        thread = self._thread()
        asked = self._call(self.graph, "get_state", config(thread)).interrupts
        if not asked:
            return
        token = self._token(thread)

        def run() -> str:
            tokens = self._run(Command(resume={asked[0].id: token}), config(thread))
            assert tokens[-1] == token, tokens
            return str(asked[0].id)

        self._attempt("answer", run, thread=thread, token=token)

    def copy(self) -> None:
        source = self.chance.choice([*KEPT, FORKED])
        thread = REMADE if self.chance.random() < 0.2 else self._new_thread()

        def run() -> None:
            self._call(self.saver, "copy_thread", source, thread)

        self._attempt("copy", run, thread=thread, source=source)

    def delete(self) -> None:
        thread = self.chance.choice([REMADE, *self.own * 3])

        def run() -> bool:
            self._call(self.saver, "delete_thread", thread)
            return True

        if self._attempt("delete", run, thread=thread) and thread in self.own:
            self.own.remove(thread)
            self.deleted.add(thread)

    def prune(self) -> None:
        thread = self._thread() if self.chance.random() < 0.3 else None

        def run() -> None:
            done = self._call(self.saver, "prune", thread, keep_last=self.chance.randint(1, 4))
            assert not done.damaged, done

        self._attempt("prune", run, thread=thread)

    def compact(self) -> None:
        self._attempt("compact", lambda: self._call(self.saver, "compact"))

    def rekey(self) -> None:
        done = self._attempt("rekey", lambda: self._call(self.saver, "rekey"))
        assert not done.damaged, done

    def state(self) -> None:
        thread = self._thread()
        found = self._attempt("state", lambda: self._call(self.graph, "get_state", config(thread)))
        check_tokens(found.values.get("tokens", []))

    def history(self) -> None:
        self._history(self._thread())

    def listing(self) -> None:
        listed = self._attempt("listing", lambda: self._call(self.saver, "threads", limit=100_000))
        assert "unreadable" not in {one.status for one in listed}, listed
        back = self.deleted & {one.thread for one in listed}
        assert not back, f"deleted and there again: {back}"

    def _thread(self) -> str:
        return self.chance.choice([*KEPT * 2, FORKED, REMADE, *self.own])

    def _new_thread(self) -> str:
        thread = f"{self.name} {self.count}"
        self.own.append(thread)
        return thread

    def _token(self, thread: str) -> str:
        return f"{thread}|{self.name}|{self.count}"

    def _update(self, where: RunnableConfig, act: str, thread: str) -> None:
        token = self._token(thread)
        values = {"tokens": [token], "asks": False}

        def run() -> str | None:
            return checkpoint_of(self._call(self.graph, "update_state", where, values, "note"))

        self._attempt(act, run, thread=thread, token=token)

    def _run(self, given: Any, where: RunnableConfig) -> list[str]:
        """What a run has come to that is read in one of all ways."""
        durability: Any = self.chance.choice(["sync", "async", "exit"])
        if self.chance.random() < 0.3:
            shown = self.graph.stream(given, where, durability=durability, stream_mode="values")
            last = [one for one in shown if "tokens" in one][-1]
        else:
            last = self._call(self.graph, "invoke", given, where, durability=durability)
        tokens: list[str] = last["tokens"]
        return tokens

    def _history(self, thread: str) -> list[StateSnapshot]:
        def run() -> list[StateSnapshot]:
            return [*self.graph.get_state_history(config(thread), limit=RECENT)]

        shots: list[StateSnapshot] = self._attempt("history", run) or []
        check_history(shots)
        return shots

    def _call(self, owner: Any, name: str, *given: Any, **options: Any) -> Any:
        """Calls a method, or awaits its twin."""
        if self.chance.random() < 0.7:
            return getattr(owner, name)(*given, **options)
        return asyncio.run(awaited(lambda: getattr(owner, f"a{name}")(*given, **options)))

    def _attempt(self, act: str, run: Callable[[], Any], **about: Any) -> Any:
        """What an act gives; nothing if it was refused."""
        line = {"act": act, "writer": self.name, "number": self.count, **about}
        self.journal.note(state="started", **line)
        try:
            found = run()
        except AntiphonError as error:
            if error.code not in REFUSALS.get(act, ()):
                error.add_note(f"refused: {line}")
                raise
            self.journal.note(state=error.code, **line)
            return None
        self.journal.note(state="done", **line, found=found if isinstance(found, str) else None)
        return found


async def awaited(call: Callable[[], Awaitable[Any]]) -> Any:
    return await call()


def weights_of(job: Job) -> dict[str, int]:
    """How often each act is chosen."""
    weights = {"add": 12, "update": 4, "fork": 6, "answer": 8, "copy": 5, "delete": 6}
    weights |= {"state": 3, "history": 2, "listing": 2, "compact": 1}
    if job["mix"] == "deleted":
        weights = {"add": 2, "copy": 8, "delete": 8, "listing": 1}
    return weights | PRUNES[job["mix"]] | ({"rekey": 1} if job["keys"] else {})


def work(job: Job) -> None:
    """Three writers, two of which share a saver."""
    journal, weights = Journal(job["journal"]), weights_of(job)

    def write(saver: Saver, name: str) -> None:
        writer = Writer(saver, journal, f"{job['seed']}-{name}")
        for _ in range(job["acts"]):
            writer.act(weights)

    with (
        open_store(job["url"], job["keys"]) as one,
        open_store(job["url"], job["keys"]) as other,
        ThreadPoolExecutor() as pool,
    ):
        named = ((one, "one"), (one, "same"), (other, "other"))
        for ended in [pool.submit(write, saver, name) for saver, name in named]:
            ended.result()


if __name__ == "__main__":
    work(json.loads(sys.argv[1]))
