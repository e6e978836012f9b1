"""What an engine promises on this machine."""

from __future__ import annotations

from typing import Any, TypedDict

__all__ = ["Probe"]


class Probe(TypedDict):
    """What an engine promises on this machine.

    Keys:
        engine: its name.
        ok: whether it may be used.
        isolation: what stands between the code and the machine.
        version: of what runs the code.
        layers: each layer of the isolation with what it came to.
        missing: what is not there, in words for a person.
    """

    engine: str
    ok: bool
    isolation: str
    version: str
    layers: dict[str, Any]
    missing: list[str]
