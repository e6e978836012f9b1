"""Processes that write through `AntiphonSaver` at the same time, until each is killed.

Each writer notes the operations that it begins and those that were acknowledged. Threads called
``kept…`` are only added to; in all others everything is done that a saver offers.

``python saver_writers.py URL JOURNAL SEED SECONDS`` is one writer, and ``check URL JOURNAL`` says
what does not hold.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import os
import random
import sys
import time
from collections import defaultdict
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from langgraph.checkpoint.base import empty_checkpoint
from langgraph.checkpoint.base.id import uuid6

from antiphon.checkpoint import AntiphonSaver
from antiphon.errors import AntiphonError

KEPT = ("kept", "kept too")
CHANGED = ("pruned", "copied", "deleted")


def digest(values: dict[str, Any]) -> str:
    """What identifies values."""
    shown = json.dumps(values, sort_keys=True)
    return hashlib.sha256(shown.encode()).hexdigest()


class Journal:
    """What was started and what is done, by all writers: lines that are written whole."""

    def __init__(self, path: str) -> None:
        self._file = os.open(path, os.O_APPEND | os.O_CREAT | os.O_WRONLY, 0o600)

    def note(self, **what: Any) -> None:
        """Adds a line; it is there also if this process is killed next."""
        os.write(self._file, json.dumps(what).encode() + b"\n")


class Writer:
    """One that does something, again and again, and notes it."""

    def __init__(self, saver: AntiphonSaver, journal: Journal, seed: str) -> None:
        self.saver = saver
        self.journal = journal
        self.chance = random.Random(seed)
        self.name = seed
        self.count = 0

    def go_on(self) -> None:
        """Does one thing."""
        thread = self.chance.choice(KEPT * 3 + CHANGED)
        if thread in KEPT or self.chance.random() < 0.8:
            self.add(thread)
        elif thread == "pruned":
            self.saver.prune([thread])
        elif thread == "copied":
            self.saver.copy_thread(self.chance.choice(KEPT), thread)
        else:
            self.saver.delete_thread(thread)

    async def ago_on(self) -> None:
        """Does one thing, awaited."""
        await self.aadd(self.chance.choice(KEPT))

    def add(self, thread: str) -> None:
        """What LangGraph does in a superstep: it reads, keeps what a task wrote, and continues."""
        before = self.saver.get_tuple({"configurable": {"thread_id": thread}})
        item, where = self.item(), place(thread, before)
        if before is not None:
            written = (where["configurable"]["checkpoint_id"], [("items", [item])])
            self.note("started", thread, written=written)
            self.saver.put_writes(where, written[1], self.name + str(self.count))
            self.note("done", thread, written=written)
        checkpoint, new = following(before, item, self.chance)
        self.note("started", thread, put=summary(checkpoint, where))
        self.saver.put(where, checkpoint, {"source": "loop", "step": self.count}, new)
        self.note("done", thread, put=summary(checkpoint, where))

    async def aadd(self, thread: str) -> None:
        """`add`, awaited, with the writes still on their way when the checkpoint is kept."""
        before = await self.saver.aget_tuple({"configurable": {"thread_id": thread}})
        item, where = self.item(), place(thread, before)
        tasks: list[Any] = []
        written = (where["configurable"].get("checkpoint_id"), [("items", [item])])
        if before is not None:
            self.note("started", thread, written=written)
            task = self.name + str(self.count)
            tasks.append(asyncio.ensure_future(self.saver.aput_writes(where, written[1], task)))
        checkpoint, new = following(before, item, self.chance)
        self.note("started", thread, put=summary(checkpoint, where))
        metadata: Any = {"source": "loop", "step": self.count}
        tasks.append(asyncio.ensure_future(self.saver.aput(where, checkpoint, metadata, new)))
        await asyncio.gather(*tasks)
        if before is not None:
            self.note("done", thread, written=written)
        self.note("done", thread, put=summary(checkpoint, where))

    def item(self) -> dict[str, Any]:
        """Something that nobody else adds."""
        self.count += 1
        text = self.chance.randbytes(self.chance.choice((5, 50, 500))).hex()
        return {"by": self.name, "n": self.count, "text": text}

    def note(self, state: str, thread: str, **what: Any) -> None:
        """Notes what is started or done."""
        self.journal.note(state=state, thread=thread, task=self.name + str(self.count), **what)


def place(thread: str, before: Any) -> Any:
    """The config of what comes after a checkpoint."""
    if before is None:
        return {"configurable": {"thread_id": thread, "checkpoint_ns": ""}}
    return before.config


def summary(checkpoint: Any, where: Any) -> list[Any]:
    """Id, parent and digest of a checkpoint."""
    parent = where["configurable"].get("checkpoint_id")
    return [checkpoint["id"], parent, digest(checkpoint["channel_values"])]


def following(before: Any, item: Any, chance: random.Random) -> tuple[Any, Any]:
    """A checkpoint after another one: a list that grows, a text that changes, one that stays."""
    had = {} if before is None else dict(before.checkpoint["channel_values"])
    values = {"steady": "the same " * 40, **had}
    values["items"] = [*had.get("items", [])[-40:], item]
    new = {"items"}
    if chance.random() < 0.5:
        text = had.get("text", "a text of some length. " * 60)
        at = chance.randrange(len(text))
        values["text"] = text[:at] + chance.randbytes(4).hex() + text[at + 8 :]
        new.add("text")
    versions = dict.fromkeys(values, item["n"])
    made = {**empty_checkpoint(), "id": str(uuid6()), "channel_values": values}
    changed = versions if before is None else dict.fromkeys(new, item["n"])
    return made | {"channel_versions": versions}, changed


def write(writer: Writer, until: float) -> None:
    """Writes until then."""
    while time.monotonic() < until:
        writer.go_on()


async def awrite(writers: list[Writer], until: float) -> None:
    """Writes until then, awaited."""
    while time.monotonic() < until:
        await asyncio.gather(*(writer.ago_on() for writer in writers))


def work(url: str, journal: Journal, seed: str, seconds: float) -> None:
    """Writes until the time is over: in three threads, two of which share a saver, and awaited."""
    until = time.monotonic() + seconds
    with (
        AntiphonSaver.open(url) as one,
        AntiphonSaver.open(url) as other,
        ThreadPoolExecutor() as pool,
    ):
        named = ((one, "one"), (one, "same"), (other, "other"))
        writers = [Writer(saver, journal, f"{seed}-{name}-") for saver, name in named]
        ended = [pool.submit(write, writer, until) for writer in writers]
        asyncio.run(awrite([Writer(one, journal, f"{seed}-async{n}-") for n in range(2)], until))
        for end in ended:
            end.result()


class Notes:
    """What a journal says, by threads."""

    def __init__(self, path: str) -> None:
        self.started: dict[str, dict[str, Any]] = defaultdict(dict)
        self.done: dict[str, dict[str, Any]] = defaultdict(dict)
        self.writes: dict[str, list[Any]] = defaultdict(list)
        for line in Path(path).read_text().splitlines():
            noted = json.loads(line)
            if "put" in noted:
                name, *what = noted["put"]
                kept = self.started if noted["state"] == "started" else self.done
                kept[noted["thread"]][name] = what
            elif noted["state"] == "done":
                self.writes[noted["thread"]].append((noted["task"], *noted["written"]))


def check(url: str, path: str) -> list[str]:
    """What does not hold of what the journal says."""
    notes, wrong = Notes(path), []
    with AntiphonSaver.open(url) as saver:
        for thread in KEPT + CHANGED:
            try:
                wrong += check_thread(saver, thread, notes)
            except AntiphonError as error:
                wrong.append(f"{thread}: {error}")
    return wrong


def check_thread(saver: AntiphonSaver, thread: str, notes: Notes) -> list[str]:
    """What of a thread is neither whole nor as it was given, and what is not there."""
    known = {**notes.started["kept"], **notes.started["kept too"], **notes.started[thread]}
    where: Any = {"configurable": {"thread_id": thread, "checkpoint_ns": ""}}
    found = {shown.checkpoint["id"]: shown for shown in saver.list(where)}
    wrong = []
    for name, shown in found.items():
        parent: Any = shown.parent_config
        parent = parent and parent["configurable"]["checkpoint_id"]
        is_like = [parent, digest(shown.checkpoint["channel_values"])]
        if known.get(name) != is_like:
            wrong.append(f"{thread} {name}: {known.get(name)} is {is_like}")
    done = notes.done[thread]
    if thread in KEPT:
        wrong += [f"{thread} lost {name}" for name in done if name not in found]
        wrong += lost_writes(thread, notes.writes[thread], found)
    last = saver.get_tuple(where)
    newest = "" if last is None else last.checkpoint["id"]
    if thread in (*KEPT, "pruned") and newest < max(done, default=""):
        wrong.append(f"{thread} lost its last checkpoint: {max(done)}")
    return wrong


def lost_writes(thread: str, writes: list[Any], found: dict[str, Any]) -> list[str]:
    """Writes that were done and are not there."""
    lost = []
    for task, name, all_written in writes:
        if name not in found:
            lost.append(f"{thread} lost {name}, written to by: {task}")
            continue
        held = [tuple(held) for held in found[name].pending_writes or ()]
        for channel, value in all_written:
            if (task, channel, value) not in held:
                lost.append(f"{thread} {name} lost a write of: {task}")
    return lost


if __name__ == "__main__":
    if sys.argv[1] == "check":
        for problem in check(*sys.argv[2:]):
            print(problem)
    else:
        work(sys.argv[1], Journal(sys.argv[2]), sys.argv[3], float(sys.argv[4]))
