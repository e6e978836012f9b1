"""A run that ends after any of its commits: each resumption reaches the same end (EN-11)."""

from __future__ import annotations

import asyncio
import os
import random
import shutil
from collections import Counter
from pathlib import Path
from typing import Any, cast

import pytest

from antiphon.checkpoint import SqliteSaver
from antiphon.graph import Command, Durability, RunnableConfig
from checkpoint.random_graph import Plan, World
from support.ends import ends, put_back, record_ends

CONFIG: RunnableConfig = {"configurable": {"thread_id": "t"}, "recursion_limit": 500}
GRAPHS = int(os.environ.get("ANTIPHON_GRAPHS", "8"))


def finish(world: World, graph: Any, durability: str, chance: random.Random | None) -> Any:
    """Takes up what is there, or begins, and answers until nothing is asked; some of it at a time
    if there is a chance."""
    kept = cast("Durability", durability)
    for _ in range(100):
        state = graph.get_state(CONFIG)
        answers = {asked.id: asked.value.upper() for asked in state.interrupts}
        if chance is not None and answers:
            some = chance.sample(sorted(answers), chance.randint(0, len(answers)))
            answers = {asked: answers[asked] for asked in some}
        begins = state.metadata is None
        given = {"log": ["in"]} if begins else Command(resume=answers) if answers else None
        if world.awaited:
            done = asyncio.run(graph.ainvoke(given, CONFIG, durability=kept))
        else:
            done = graph.invoke(given, CONFIG, durability=kept)
        if "__interrupt__" not in done:
            return done
    raise AssertionError("it asks without end")


def cut(path: Path, copy: Path, last: int) -> Path:
    """The same file as it would be if its process had ended after a commit."""
    shutil.copy(path, copy)
    put_back(copy, last)
    return copy


@pytest.mark.parametrize("seed", range(GRAPHS))
def test_any_graph_comes_to_the_same_end_after_any_commit(tmp_path: Path, seed: int) -> None:
    """Prove EN-11 of docs/engine.md."""
    chance = random.Random(seed)
    plan, awaited = Plan.draw(chance), chance.random() < 0.3
    path = tmp_path / "whole.db"
    record_ends(path)
    with SqliteSaver.open(path) as saver:
        whole = World(awaited)
        durability = chance.choice(("sync", "async"))
        wanted = finish(whole, whole.build(plan, saver), durability, chance)
    left: Counter[Any] = whole.done
    for seq in ends(path):
        durability = chance.choice(("sync", "async", "exit"))
        with SqliteSaver.open(cut(path, tmp_path / f"{seq}.db", seq)) as saver:
            again = World(awaited)
            done = finish(again, again.build(plan, saver), durability, chance)
        where = f"{durability} after entry {seq} of {plan}"
        assert done == wanted, where
        assert not again.done - left, f"done twice: {where}"
        left = again.done
    assert not left, "the last commit is the end"
