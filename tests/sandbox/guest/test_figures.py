"""Figures of a real pyplot in a real worker."""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING

import pytest

from sandbox.guest.worker import Worker

if TYPE_CHECKING:
    from collections.abc import Iterator

pytest.importorskip("matplotlib")
_PLOT = "import matplotlib.pyplot as plt\n"


@pytest.fixture
def worker() -> Iterator[Worker]:
    # Matplotlib writes down which fonts there are.
    before = "import os, tempfile\nos.environ['MPLCONFIGDIR'] = '/tmp/antiphon-test-matplotlib'"
    with Worker(packages=True, before=before) as started:
        yield started


def size_of(image: bytes) -> tuple[int, int]:
    assert image[:8] == b"\x89PNG\r\n\x1a\n"
    assert image[12:16] == b"IHDR"
    width, height = struct.unpack(">II", image[16:24])
    return width, height


def test_open_figures_come_in_order_and_are_closed(worker: Worker) -> None:
    code = (
        "plt.plot([1, 4, 9])\nplt.title('first')\n"
        "plt.figure(figsize=(8, 4))\nplt.bar(['a', 'b'], [1, 2])\nplt.show()"
    )
    outcome = worker.run(_PLOT + code)
    assert outcome["error"] is None
    assert [size_of(image) for image in outcome["attachments"]] == [(640, 480), (800, 400)]
    assert worker.stderr == ""
    assert worker.run("plt.get_fignums()")["value"] == []


def test_labels_that_reach_over_the_edge_are_drawn_too(worker: Worker) -> None:
    code = "plt.plot([1])\nplt.figtext(0.5, -0.1, 'below')\nplt.figtext(99, 0.5, 'far away')"
    width, height = size_of(worker.run(_PLOT + code)["attachments"][0])
    assert (width, height > 480) == (1280, True)


def test_a_figure_that_the_code_closed_does_not_come(worker: Worker) -> None:
    assert worker.run(_PLOT + "plt.plot([1])\nplt.close()")["figures"] == 0


def test_a_figure_of_a_run_that_failed_comes(worker: Worker) -> None:
    outcome = worker.run(_PLOT + "plt.plot([1])\n1 / 0")
    assert outcome["error"]["type"] == "ZeroDivisionError"
    assert outcome["figures"] == 1


def test_figures_that_nobody_wants_are_not_drawn(worker: Worker) -> None:
    assert worker.run(_PLOT + "plt.plot([1])", want=["value"])["figures"] == 0


def test_more_figures_than_allowed_are_reported(worker: Worker) -> None:
    code = "for _ in range(3): plt.figure(figsize=(1, 1))"
    assert worker.run(_PLOT + code, limits={"figures": 2})["figures"] == 2
    assert "3 figures are open, of which 2 are shown" in worker.stderr


def test_a_figure_with_too_many_pixels_is_drawn_coarser(worker: Worker) -> None:
    outcome = worker.run(_PLOT + "plt.figure(figsize=(300, 100))", limits={"figure_pixels": 90_000})
    width, height = size_of(outcome["attachments"][0])
    assert 60_000 < width * height <= 90_000


def test_a_figure_with_too_many_bytes_is_drawn_coarser_or_left_out(worker: Worker) -> None:
    code = "import random\nplt.imshow([[random.random() for _ in range(300)] for _ in range(300)])"
    outcome = worker.run(_PLOT + code, limits={"figure_bytes": 30_000})
    assert len(outcome["attachments"][0]) <= 30_000
    assert worker.run(_PLOT + code, limits={"figure_bytes": 100})["figures"] == 0
    assert "needs more than 100 bytes" in worker.stderr


def test_a_figure_that_cannot_be_drawn_is_reported_and_the_others_come(worker: Worker) -> None:
    code = "plt.title('$\\\\frac{$')\nplt.figure(figsize=(1, 1))"
    outcome = worker.run(_PLOT + code)
    assert outcome["error"] is None
    assert outcome["figures"] == 1
    assert "figure 1 cannot be drawn" in worker.stderr


@pytest.mark.parametrize(
    "code",
    [
        "plt.get_fignums = lambda: 1 / 0",
        "plt.Figure.savefig = lambda *_, **__: None\nplt.figure()",
        "import sys\nsys.modules['matplotlib.pyplot'] = 5",
    ],
)
def test_a_pyplot_that_was_tampered_with_does_not_lose_the_rest(worker: Worker, code: str) -> None:
    outcome = worker.run(_PLOT + code + "\nkept = 1")
    assert outcome["locals"] == {"kept": 1}
