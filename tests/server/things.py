"""What the tests of the server serve."""

from __future__ import annotations

import asyncio
import threading
from typing import Any

from antiphon import Agent
from support.waiting import forever, until


class Greeter(Agent):
    """Greets who asks, or asks for a name."""

    def act(self, state: Any, ctx: Any) -> str:
        if state["question"] == "greet me":
            return f"hello {ctx.ask('your name?')}"
        return f"hello {state['question']}"


class Failing(Agent):
    """Raises what is asked for; each has a secret in it."""

    KINDS = (RuntimeError, SystemExit, KeyboardInterrupt)

    async def act(self, state: Any, ctx: Any) -> str:
        for kind in self.KINDS:
            if state["question"] == kind.__name__:
                raise kind("~inside")
        return "unharmed"


class Waiting(Agent):
    """Says that it waits, and waits until it is released or cancelled."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self.started = 0
        self.cancelled = 0
        self.released = threading.Event()

    async def act(self, state: Any, ctx: Any) -> str:
        self.started += 1
        ctx.emit({"turn": self.started}, "waiting")
        try:
            await until(self.released.is_set)
        except asyncio.CancelledError:
            self.cancelled += 1
            raise
        return "released"


class Endless(Agent):
    """Waits to be cancelled."""

    async def act(self, state: Any, ctx: Any) -> str:
        await forever()
        return ""
