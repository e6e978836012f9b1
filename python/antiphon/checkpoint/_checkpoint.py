"""What a thread of a team held between two supersteps."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Literal

from antiphon._encode import encode_or

if TYPE_CHECKING:
    from datetime import datetime

    from antiphon.result import Outcome, Question


@dataclass(frozen=True, slots=True, kw_only=True)
class Checkpoint:
    """What a thread of a team held between two supersteps. In a notebook it shows itself.

    Attributes:
        id: names it within its thread; ids grow with time.
        thread: the thread.
        parent: the checkpoint that it follows; none for the first.
        step: supersteps of the thread so far, those of earlier runs included.
        at: when it was written, in UTC.
        source: what led to it: the ``input`` of a run, a ``step`` of agents, or an ``update``
            from outside.
        wrote: the agents whose writes it merged.
        next: the agents that run next. At the end of a thread, those that are done already
            are left out.
        state: the state, as in `Result.state`. At the end of a thread, with what agents that
            are done already have written.
        questions: what the agents that run next ask; in a history, what they asked last.
        outcome: how the run ended or paused, where it did; none where it went on, is under
            way, or was lost.
        detail: the limit that was reached, the reason of the cancellation, or what failed.
        run_id: the run.
    """

    id: int
    thread: str
    parent: int | None
    step: int
    at: datetime
    source: Literal["input", "step", "update"]
    wrote: tuple[str, ...]
    next: tuple[str, ...]
    state: Any
    questions: tuple[Question, ...]
    outcome: Outcome | None
    detail: str
    run_id: str

    @property
    def answer(self) -> Any:
        """The state's ``answer``; none if there is none."""
        return fields_of(self.state).get("answer")

    def to_dict(self) -> dict[str, Any]:
        """All of it as JSON values; what JSON lacks becomes its type's name."""
        plain = {name: getattr(self, name) for name in self.__slots__}
        plain["at"] = self.at.isoformat(timespec="microseconds").replace("+00:00", "Z")
        plain["wrote"], plain["next"] = list(self.wrote), list(self.next)
        plain["state"] = {key: _plain(value) for key, value in fields_of(self.state).items()}
        plain["questions"] = [{**asdict(one), "value": _plain(one.value)} for one in self.questions]
        return plain

    def __repr__(self) -> str:
        told = [f"id={self.id}", f"thread={self.thread!r}", f"step={self.step}"]
        told += [f"{name}={value!r}" for name in _TOLD if (value := getattr(self, name))]
        return f"Checkpoint({', '.join(told)})"

    def _repr_mimebundle_(self, **_: Any) -> dict[str, str]:
        from antiphon.checkpoint._card import html, text

        return {"text/plain": text(self), "text/html": html(self)}


_TOLD = ("wrote", "next", "outcome")


def fields_of(state: Any) -> dict[str, Any]:
    """A state as a dict."""
    return state if isinstance(state, dict) else dict(vars(state))


def _plain(value: Any) -> Any:
    return encode_or(value, f"<{type(value).__name__}>")
