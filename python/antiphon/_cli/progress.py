"""The progress of a question."""

from __future__ import annotations

import shutil
import threading
import time
from textwrap import wrap
from typing import TYPE_CHECKING, Self, TextIO

from antiphon._cli.terminal import line
from antiphon.systems.progress import Activity, ProgressReporter

if TYPE_CHECKING:
    from antiphon.event import Event

_EVERY = 0.1
_TICK = 0.5
"""Seconds after which the live line moves, also if no text arrives."""
_INDENT = "  "
_MOST_LINES = 8
"""Lines of a terminal that one message may take."""


class ProgressView:
    """Shows the events of a question: a live last line on a terminal, plain lines elsewhere."""

    def __init__(self, stream: TextIO, reporter: ProgressReporter | None = None) -> None:
        self._stream = stream
        self._reporter = ProgressReporter() if reporter is None else reporter
        self._live = stream.isatty()
        self._began = time.monotonic()
        self._work = ""
        self._written = 0
        self._due = 0.0
        self._shown = 0
        # The clock writes from another thread.
        self._lock = threading.RLock()
        self._over = threading.Event()
        self._clock: threading.Thread | None = None

    def __enter__(self) -> Self:
        if self._live:
            self._clock = threading.Thread(target=self._tick, name="antiphon-clock", daemon=True)
            self._clock.start()
        return self

    def __exit__(self, *exc: object) -> None:
        self._over.set()
        if self._clock is not None:
            self._clock.join()
        self._clear()
        self._stream.flush()

    def say(self, text: str, indent: str = "") -> None:
        """Writes a message: on a terminal in as many lines as it needs, elsewhere in one."""
        with self._lock:
            self._clear()
            # A pipe gets one line: its reader can cut it.
            room = self._width() - len(indent) if self._live else 1_000
            most = room * _MOST_LINES if self._live else room
            for one in wrap(line(text, most), room, max_lines=_MOST_LINES) or [""]:
                self._stream.write(f"{indent}{one}\n")
            self._stream.flush()

    def show(self, work: str) -> None:
        """Shows on the live line what goes on; elsewhere nothing."""
        if self._live:
            self._begin(work)

    def __call__(self, event: Event) -> None:
        """Shows an event."""
        if event.kind == "chunk":
            self._written += len(event.text)
            self._refresh()
        elif event.kind == "tool_call":
            self.say(f"tool {event.name}", _INDENT)
        else:
            for one in self._reporter.report(event):
                if isinstance(one, Activity):
                    self._begin(one.text)
                else:
                    self.say(one.text, _INDENT * one.depth)

    def _tick(self) -> None:
        while not self._over.wait(_TICK):
            self._refresh()

    def _begin(self, work: str) -> None:
        if self._live:
            self._work, self._written, self._due = work, 0, 0.0
            self._refresh()
        else:
            self.say(work)

    def _refresh(self) -> None:
        with self._lock:
            now = time.monotonic()
            if not self._live or not self._work or now < self._due:
                return
            self._due = now + _EVERY
            count = f" … {self._written} characters" if self._written else ""
            text = f"{now - self._began:5.1f} s  {self._work}"
            text = line(text, self._width() - len(count)) + count
            self._stream.write("\r" + text.ljust(self._shown))
            self._shown = len(text)
            self._stream.flush()

    def _clear(self) -> None:
        if self._shown:
            self._stream.write("\r" + " " * self._shown + "\r")
            self._shown = 0

    @staticmethod
    def _width() -> int:
        return max(shutil.get_terminal_size().columns - 1, 20)
