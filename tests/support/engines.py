"""The sandbox's engines, and the mark of tests that need one of them."""

from __future__ import annotations

import pytest

from antiphon.sandbox._engines import ENGINES, probe

__all__ = ["ENGINES", "needs", "probe"]


def needs(engine: str) -> pytest.MarkDecorator:
    """Skips tests where the engine cannot be used."""
    found = probe(engine)
    return pytest.mark.skipif(not found["ok"], reason=f"no `{engine}` here: {found['missing']}")
