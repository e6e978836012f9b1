"""How much of themselves tests do: a smoke test, or all under `make test-torture`."""

import os
import random
from collections.abc import Sequence
from typing import TypeVar

_Way = TypeVar("_Way")


def rounds(smoke: int, full: int) -> int:
    """Give `smoke`, which the ordinary run can afford, or `full` under `make test-torture`."""
    return full if os.environ.get("ANTIPHON_TORTURE") == "1" else smoke


def some_ways(ways: Sequence[_Way], smoke: int, chance: random.Random) -> list[_Way]:
    """Give `smoke` of the ways in their order, or all of them under `make test-torture`."""
    picked = sorted(chance.sample(range(len(ways)), rounds(smoke, len(ways))))
    return [ways[place] for place in picked]
