"""The state of a job while it runs, and while it is paused."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field, fields
from typing import TYPE_CHECKING, Any, Self

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["JobProgress", "OutputFlood", "PausedJob"]

_MOST = 4 * 2**20
"""Bytes of output after which a job is aborted, unless its limit is higher."""


class OutputFlood(Exception):
    """The code writes far more than its limit."""


@dataclass(slots=True, kw_only=True)
class JobProgress:
    """The state of a job: JSON values only, because it is saved with a snapshot.

    Attributes:
        limits: all limits.
        functions: names of the host functions that it may call.
        inputs: its inputs, tagged.
        want: the parts of the result to return.
        streams: its ``stdout`` and ``stderr``, cut at the limits.
        written: bytes written to each.
        calls: number of calls of host functions.
        made: calls made at pauses, by name: a tool's call limit spans pauses.
        spent: seconds used.
    """

    limits: dict[str, Any]
    functions: list[str]
    inputs: dict[str, Any] = field(default_factory=dict)
    want: list[str] = field(default_factory=list)
    streams: dict[str, str] = field(default_factory=lambda: {"stdout": "", "stderr": ""})
    written: dict[str, int] = field(default_factory=lambda: {"stdout": 0, "stderr": 0})
    calls: int = 0
    made: dict[str, int] = field(default_factory=dict)
    spent: float = 0.0

    @classmethod
    def of(cls, plain: Mapping[str, Any]) -> Self:
        """Load the state that `to_dict` saved, possibly with fewer fields."""
        return cls(**{each.name: plain[each.name] for each in fields(cls) if each.name in plain})

    def to_dict(self) -> dict[str, Any]:
        """Return the state as JSON values."""
        return asdict(self)

    @property
    def truncated(self) -> list[str]:
        """The streams that were cut."""
        return [name for name, count in self.written.items() if count > self.limits[name]]

    @property
    def flooded(self) -> bool:
        """Whether it wrote so much that it is aborted."""
        return any(count > max(_MOST, self.limits[name]) for name, count in self.written.items())

    def print(self, stream: str, text: str) -> None:
        """Receive output.

        Raises:
            OutputFlood: it is far beyond the limit.
        """
        limit = int(self.limits[stream])
        data = text.encode("utf-8", "replace")
        room = limit - self.written[stream]
        self.written[stream] += len(data)
        if room > 0:
            # The cut may be inside a character.
            self.streams[stream] += data[:room].decode("utf-8", "ignore")
        if self.flooded:
            raise OutputFlood


@dataclass(frozen=True, slots=True, kw_only=True)
class PausedJob:
    """A job that waits for the result of a call.

    Attributes:
        dump: Monty's snapshot of the interpreter.
        name: the function that the code called.
        args: its positional arguments, tagged.
        kwargs: its keyword arguments, tagged.
        progress: the state of the job.
    """

    dump: bytes
    name: str
    args: list[Any]
    kwargs: dict[str, Any]
    progress: JobProgress
