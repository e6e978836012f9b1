"""How long the tests in `tests/torture` go on."""

import os


def rounds(smoke: int, full: int) -> int:
    """Give `smoke`, which the ordinary run can afford, or `full` under `make test-torture`."""
    return full if os.environ.get("ANTIPHON_TORTURE") == "1" else smoke
