"""Warm-up of the worker: a job without effect, and a channel that leads nowhere."""

from __future__ import annotations

from json import dumps

from .frames import CALL, JOB, REPLY

NAME = "<warmup>"
WHOLE = """
import math

words = {"some": [1, 2.5, None, True], "more": ("text", b"bytes")}

def longest(items):
    return max(items, key=len)

total = sum(number for number in range(10) if number % 2) + math.floor(asked(total=2))
f"{longest(words)}: {total}"
"""
FAILING = "def halve(number):\n    return number / 0\n\nhalve(1)"

_LIMITS = {
    "value_bytes": 1 << 20,
    "value_nodes": 1_000,
    "value_depth": 64,
    "local_names": 10,
    "local_bytes": 1 << 16,
    "locals_bytes": 1 << 20,
    "tables": 1,
    "table_bytes": 1 << 20,
    "tables_bytes": 1 << 20,
    "figures": 1,
    "figure_bytes": 1 << 20,
    "figures_bytes": 1 << 20,
    "figure_pixels": 1 << 20,
    "argument_bytes": 1 << 16,
}


class WarmupChannel:
    """A channel that provides one job, answers its calls, and discards its outcome."""

    def __init__(self, code: str) -> None:
        self._job = dumps(
            {
                "code": code,
                "name": NAME,
                "want": ["value", "locals", "tables", "figures"],
                "inputs": {"given": {"$": "tuple", "v": [1, "text"]}},
                "tables": [],
                "functions": [{"name": "asked", "doc": ""}],
                "limits": _LIMITS,
            }
        ).encode()
        self._calls = 0

    def send(self, kind: int, body: bytes | memoryview) -> None:  # noqa: ARG002 - discarded
        """Discard a frame."""
        self._calls += kind == CALL

    def receive(self, *kinds: int) -> tuple[int, bytes]:
        """Return the job, or the reply to the last call."""
        if REPLY in kinds:
            return REPLY, dumps({"id": self._calls, "value": 1.5}).encode()
        return JOB, self._job
