"""What is known of a job while it runs, and while it waits to go on elsewhere."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field, fields
from typing import TYPE_CHECKING, Any, Self

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["Flood", "Progress"]

_MOST = 4 * 2**20
"""Bytes of output past which a job is given up, unless its limit is higher."""


class Flood(Exception):
    """The code writes without end."""


@dataclass(slots=True, kw_only=True)
class Progress:
    """A job under way: JSON values only, so that it can be written down with a snapshot.

    Attributes:
        limits: the complete table.
        functions: names of the host functions that it may call.
        inputs: what it was given, tagged.
        want: what shall be brought out.
        streams: what it wrote to ``stdout`` and ``stderr``, cut at the limits.
        written: bytes that it wrote to each.
        calls: calls of host functions until now.
        made: those that were made at a pause, by name: a tool's own limit holds over pauses.
        spent: seconds that it took until now.
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
        """The progress that `to_dict` wrote down, perhaps when it had fewer fields."""
        return cls(**{each.name: plain[each.name] for each in fields(cls) if each.name in plain})

    def to_dict(self) -> dict[str, Any]:
        """All of it as JSON values."""
        return asdict(self)

    @property
    def truncated(self) -> list[str]:
        """The streams that are cut."""
        return [name for name, count in self.written.items() if count > self.limits[name]]

    @property
    def flooded(self) -> bool:
        """Whether it wrote so much that it is given up."""
        return any(count > max(_MOST, self.limits[name]) for name, count in self.written.items())

    def print(self, stream: str, text: str) -> None:
        """Takes what the code writes.

        Raises:
            Flood: it is far past its limit.
        """
        limit = int(self.limits[stream])
        data = text.encode("utf-8", "replace")
        room = limit - self.written[stream]
        self.written[stream] += len(data)
        if room > 0:
            # A cut must not leave half a character.
            self.streams[stream] += data[:room].decode("utf-8", "ignore")
        if self.flooded:
            raise Flood
