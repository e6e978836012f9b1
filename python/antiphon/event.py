"""What a watcher sees of a run."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from antiphon._antiphon import Event as NativeEvent

__all__ = ["Event"]


@dataclass(frozen=True, slots=True)
class Event:
    """One thing that happened in a run.

    Attributes:
        run_id: the run it belongs to.
        seq: counts from 1 within the run, without gaps.
        at: when, in UTC.
        path: the names of the agents that lead to where it happened; empty for the run
            itself.
        kind: what happened: ``run_started``, ``run_finished``, ``node_started``,
            ``node_finished``, ``edge_taken``, ``state_updated``, ``model_call``,
            ``model_reply``, ``output_repaired``, ``tool_call``, ``tool_result``, ``retry``,
            ``budget``, ``checkpoint``, ``interrupt``, ``error``, ``custom``, ``chunk``, a piece
            of a model's reply with its text in ``data["text"]``, or ``dropped``, the ``count``
            of pieces that a slow reader missed.
        name: the agent, tool, model or custom event it is about.
        data: fields that depend on the kind.
        level: how much it matters.
        span_id: one per execution of an agent; 16 hexadecimal digits.
        parent_span_id: the span that contains this one; none for the run's own.
    """

    run_id: str
    seq: int
    at: datetime
    path: tuple[str, ...]
    kind: str
    name: str
    data: dict[str, Any] = field(default_factory=dict)
    level: Literal["debug", "info", "warning", "error"] = "info"
    span_id: str = ""
    parent_span_id: str | None = None

    @property
    def agent(self) -> str:
        """The agent it happened in; empty for the run itself."""
        return self.path[-1].partition("#")[0] if self.path else ""

    @property
    def text(self) -> str:
        """The piece of a model's reply, if it is a ``chunk``; else empty."""
        return str(self.data.get("text", "")) if self.kind == "chunk" else ""

    @classmethod
    def of(cls, native: NativeEvent) -> Event:
        """The event as the engine has it, in Python's own types."""
        return cls(
            native.run_id,
            native.seq,
            datetime.fromtimestamp(native.at, UTC),
            tuple(native.path),
            native.kind,
            native.name,
            native.data,
            native.level,
            native.span_id,
            native.parent_span_id,
        )

    def to_dict(self) -> dict[str, Any]:
        """All of it as JSON values; `at` is RFC 3339 text with microseconds."""
        return {
            "run_id": self.run_id,
            "seq": self.seq,
            "at": self.at.isoformat(timespec="microseconds").replace("+00:00", "Z"),
            "path": list(self.path),
            "kind": self.kind,
            "name": self.name,
            "data": self.data,
            "level": self.level,
            "span_id": self.span_id,
            "parent_span_id": self.parent_span_id,
        }
