"""Open figures of pyplot as PNG files."""

from __future__ import annotations

import io
import sys
from typing import Any

from .safe_repr import short_name

_TRIES = 4
_PAD = 0.05
"""Inches around what reaches over the edge of a figure."""


def prepare(environment: Any, warnings: Any) -> None:
    """Configure pyplot to draw into memory, for when it is imported."""
    environment["MPLBACKEND"] = "Agg"
    # `plt.show()` is right in a notebook, and harmless here.
    warnings.filterwarnings("ignore", message=".*is non-interactive, and thus cannot be shown")


def render_open_figures(limits: dict[str, int]) -> list[bytes]:
    """Render the open figures in order, and close them.

    A figure with too many pixels or bytes is rendered at a lower resolution. One that still does
    not fit, or fails, is skipped with a line on standard error; so are figures beyond the limit.
    """
    pyplot = sys.modules.get("matplotlib.pyplot")
    if pyplot is None:
        return []
    numbers = list(pyplot.get_fignums())
    if not numbers:
        return []
    images: list[bytes] = []
    left = limits["figures_bytes"]
    for number in numbers[: limits["figures"]]:
        most = min(limits["figure_bytes"], left)
        image = _image(pyplot.figure(number), number, {**limits, "figure_bytes": most})
        if image is not None:
            images.append(image)
            left -= len(image)
    if len(numbers) > limits["figures"]:
        _say(f"{len(numbers)} figures are open, of which {limits['figures']} are shown")
    pyplot.close("all")
    return images


def _image(figure: Any, number: int, limits: dict[str, int]) -> bytes | None:
    try:
        area = _area(figure)
        most = (limits["figure_pixels"] / (area.width * area.height)) ** 0.5
        # A side is rounded up to whole pixels.
        dots = min(float(figure.dpi), most * 0.99)
        for _ in range(_TRIES):
            sink = io.BytesIO()
            figure.savefig(sink, format="png", dpi=dots, bbox_inches=area)
            if sink.tell() <= limits["figure_bytes"]:
                return sink.getvalue()
            dots /= 2
    except Exception as problem:  # noqa: BLE001 - drawing runs user code
        _say(f"figure {number} cannot be drawn: {short_name(problem)}: {problem}")
        return None
    _say(f"figure {number} needs more than {limits['figure_bytes']} bytes")
    return None


def _area(figure: Any) -> Any:
    """The figure in inches, larger where labels or a legend reach over its edge.

    Each side grows by at most the size of the figure: text may stand anywhere.
    """
    from matplotlib.transforms import Bbox

    width, height = (float(side) for side in figure.get_size_inches())
    figure.draw_without_rendering()
    drawn = figure.get_tightbbox()
    return Bbox.from_extents(
        max(drawn.x0 - _PAD, -width) if drawn.x0 < 0 else 0,
        max(drawn.y0 - _PAD, -height) if drawn.y0 < 0 else 0,
        min(drawn.x1 + _PAD, 2 * width) if drawn.x1 > width else width,
        min(drawn.y1 + _PAD, 2 * height) if drawn.y1 > height else height,
    )


def _say(line: str) -> None:
    print(line, file=sys.stderr)  # noqa: T201 - for the user of the code
