"""Live views of runs: lines on a terminal, one updating output in a notebook."""

from __future__ import annotations

import sys
import time
from html import escape
from typing import TYPE_CHECKING, Any

from antiphon._progress import notebook_output
from antiphon._watch.line import event_line

if TYPE_CHECKING:
    from collections.abc import Callable

    from antiphon._antiphon import Event

_PAUSE = 0.1
"""Seconds between two updates of a notebook."""
_MOST = 200
"""Lines that a notebook shows."""
_TAIL = 100
"""Characters of a reply that is being written."""
_PRE = (
    "white-space:pre-wrap;overflow-wrap:anywhere;max-height:24em;overflow:auto;margin:0;"
    "font-family:ui-monospace,monospace;font-size:12px"
)


def live_view() -> TerminalView | NotebookView:
    """The view of the place where Python runs; without a notebook, standard error."""
    output = notebook_output()
    return TerminalView() if output is None else NotebookView(output)


class _Lines:
    """Events as lines, which name the run once there are several."""

    def __init__(self) -> None:
        self._runs: set[str] = set()

    def line(self, event: Event) -> str:
        """The line of an event."""
        self._runs.add(event.run_id)
        mark = f"{event.run_id[-6:]} " if len(self._runs) > 1 else ""
        return f"{mark}{event_line(event)}"


class TerminalView:
    """Writes a line for each event to standard error, except for details and pieces of replies."""

    def __init__(self) -> None:
        self._lines = _Lines()

    def __call__(self, event: Event) -> None:
        """Shows an event."""
        stream: Any = sys.stderr
        if stream is None or event.kind == "chunk" or event.level == "debug":
            return
        # A progress bar may stand on the line; it is drawn again below.
        clear = "\r\x1b[K" if stream.isatty() else ""
        stream.write(f"{clear}{self._lines.line(event)}\n")
        stream.flush()

    def close(self) -> None:
        """Has nothing to do: each line is written at once."""


class NotebookView:
    """Shows the last lines in one output of the cell, and the reply that is being written.

    Args:
        output: shows a MIME bundle in place of the one before.
    """

    def __init__(self, output: Callable[[dict[str, str]], None]) -> None:
        self._output = output
        self._lines = _Lines()
        self._shown: list[str] = []
        self._left_out = 0
        self._writing = ""
        self._due = 0.0

    def __call__(self, event: Event) -> None:
        """Shows an event, at most ten times a second."""
        if event.kind == "chunk":
            self._writing = (self._writing + event.text)[-_TAIL:]
        elif event.level == "debug":
            return
        else:
            self._writing = ""
            self._shown.append(self._lines.line(event))
            if len(self._shown) > _MOST:
                del self._shown[0]
                self._left_out += 1
        if time.monotonic() >= self._due:
            self._draw()

    def close(self) -> None:
        """Shows what came since the last update."""
        self._writing = ""
        self._draw()

    def _draw(self) -> None:
        self._due = time.monotonic() + _PAUSE
        head = [f"… {self._left_out} earlier events"] if self._left_out else []
        tail = [f"    … {' '.join(self._writing.split())}"] if self._writing else []
        text = "\n".join([*head, *self._shown, *tail])
        self._output({"text/plain": text, "text/html": f'<pre style="{_PRE}">{escape(text)}</pre>'})
