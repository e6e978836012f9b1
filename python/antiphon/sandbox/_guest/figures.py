"""Open figures of pyplot as PNG files."""

from __future__ import annotations

import io
import sys
from typing import Any

from .safe_repr import short_name

_TRIES = 4


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
        width, height = (float(side) for side in figure.get_size_inches())
        most = (limits["figure_pixels"] / (width * height)) ** 0.5
        # A side is rounded up to whole pixels.
        dots = min(float(figure.dpi), most * 0.99)
        for _ in range(_TRIES):
            sink = io.BytesIO()
            figure.savefig(sink, format="png", dpi=dots, bbox_inches=None)
            if sink.tell() <= limits["figure_bytes"]:
                return sink.getvalue()
            dots /= 2
    except Exception as problem:  # noqa: BLE001 - drawing runs user code
        _say(f"figure {number} cannot be drawn: {short_name(problem)}: {problem}")
        return None
    _say(f"figure {number} needs more than {limits['figure_bytes']} bytes")
    return None


def _say(line: str) -> None:
    print(line, file=sys.stderr)  # noqa: T201 - for the user of the code
