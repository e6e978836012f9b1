"""Values in the form in which a store has them."""

from __future__ import annotations

from typing import Any

from antiphon._antiphon import Values
from antiphon._serialization.registry import Registry

__all__ = ["VALUES", "Registry", "Values", "restored"]

VALUES = Values(Registry())
"""Knows no type of a user's."""


def restored(value: Any) -> Any:
    """A value to bytes and back: one of the same type."""
    made = VALUES.unpack(VALUES.pack(value))
    assert type(made) is type(value)
    return made
