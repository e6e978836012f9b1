"""The host's functions, in a module with a secret."""

from __future__ import annotations

import os
from typing import Any

HOST_SECRET = os.environ.get("ANTIPHON_CANARY", "")


def add(a: Any, b: Any) -> Any:
    """Adds two values."""
    return a + b


def echo(x: Any) -> Any:
    """Gives back what it is given."""
    return x
