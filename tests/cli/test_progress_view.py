"""The live line of a question on a terminal."""

from __future__ import annotations

import io
import re
import threading
from typing import Any

from antiphon._cli.progress import ProgressView
from support.waiting import happens


class Terminal(io.StringIO):
    """A terminal that keeps what is written to it."""

    def isatty(self) -> bool:
        return True

    def seconds(self) -> set[float]:
        """The times that the live line has shown."""
        return {float(time) for time in re.findall(r"\r\s*(\d+\.\d) s\s+expert", self.getvalue())}


def test_the_live_line_goes_on_while_no_event_arrives() -> None:
    terminal = Terminal()
    with ProgressView(terminal) as view:
        view.show("expert works out the answer")
        assert happens(lambda: len(terminal.seconds()) >= 3)
    assert terminal.getvalue().endswith("\r"), "and leaves nothing behind"
    assert max(terminal.seconds()) > min(terminal.seconds())


def test_nothing_moves_where_nobody_watches() -> None:
    pipe = io.StringIO()
    with ProgressView(pipe) as view:
        view.show("expert works out the answer")
        view.say("plan approved")
    assert pipe.getvalue() == "plan approved\n"


def test_the_clock_ends_with_the_question() -> None:
    def clocks() -> list[Any]:
        return [one for one in threading.enumerate() if one.name == "antiphon-clock"]

    before = clocks()
    with ProgressView(Terminal()):
        assert len(clocks()) == len(before) + 1
    assert clocks() == before
