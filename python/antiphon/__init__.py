"""Teams of agents on a native engine."""

from __future__ import annotations

from antiphon.errors import AntiphonError

__all__ = ["AntiphonError"]


def __getattr__(name: str) -> str:
    # Looked up on demand: reading package metadata costs more than the whole import.
    if name == "__version__":
        from importlib.metadata import version

        return version("antiphon")
    message = f"module `antiphon` has no attribute: {name}"
    raise AttributeError(message)
