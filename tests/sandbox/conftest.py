"""A sandbox of each engine that this machine offers."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from antiphon.sandbox import Sandbox
from support.engines import ENGINES, probe

Boxes = Callable[..., Sandbox]


@pytest.fixture(params=list(ENGINES))
def boxes(request: pytest.FixtureRequest) -> Iterator[Boxes]:
    """Makes sandboxes of one engine, and closes them."""
    found = probe(request.param)
    if not found["ok"]:
        pytest.skip(f"the engine `{request.param}` cannot be used here: {found['missing']}")
    made: list[Sandbox] = []

    def make(**options: Any) -> Sandbox:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)
            made.append(Sandbox(engine=request.param, i_accept_no_isolation=True, **options))
        return made[-1]

    yield make
    for box in made:
        box.close()


@pytest.fixture
def box(boxes: Boxes) -> Sandbox:
    """A sandbox with nothing granted."""
    return boxes()
