"""What a thread of a team held between two supersteps, and what changed from one to another."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from html import escape
from typing import TYPE_CHECKING, Any, Literal

from antiphon._antiphon import Values
from antiphon._html import BOX, SMALL, colour_of, escaped, plain, preview, table
from antiphon._state_schema import fields_of_state
from antiphon.errors import AntiphonError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from datetime import datetime

    from antiphon._serialization.registry import Registry
    from antiphon.result import Outcome, Question


@dataclass(frozen=True, slots=True, kw_only=True)
class Checkpoint:
    """The state of a team's thread between two supersteps; displays itself in notebooks.

    Attributes:
        id: names it within its thread; ids grow with time.
        thread: the thread.
        parent: the checkpoint before it; ``None`` for the first.
        step: supersteps of the thread so far, those of earlier runs included.
        at: when it was written, in UTC.
        source: its cause: the ``input`` of a run, a ``step`` of agents, or an ``update`` from
            outside.
        wrote: the agents whose writes it merged.
        next: the agents that run next. At the end of a thread, without those that have ended.
        state: the state, as in `Result.state`. At the end of a thread, with the writes of agents
            that have ended.
        questions: the questions of the agents that run next; in a history, their last ones.
        outcome: how the run ended or paused; ``None`` while the run is still running, was
            continued, or crashed.
        reason: the limit that was reached, the reason of the cancellation, or the failure.
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
    reason: str
    run_id: str

    @property
    def answer(self) -> Any:
        """The state's ``answer``; none if there is none."""
        return fields_of_state(self.state).get("answer")

    def to_dict(self) -> dict[str, Any]:
        """All of it as JSON values; what JSON lacks becomes its type's name."""
        found = {name: getattr(self, name) for name in self.__slots__}
        found["at"] = self.at.isoformat(timespec="microseconds").replace("+00:00", "Z")
        found["wrote"], found["next"] = list(self.wrote), list(self.next)
        found["state"] = {key: plain(value) for key, value in fields_of_state(self.state).items()}
        found["questions"] = [{**asdict(one), "value": plain(one.value)} for one in self.questions]
        return found

    def __repr__(self) -> str:
        fields = [f"id={self.id}", f"thread={self.thread!r}", f"step={self.step}"]
        shown = ((name, getattr(self, name)) for name in ("wrote", "next", "outcome"))
        fields += [f"{name}={value!r}" for name, value in shown if value]
        return f"Checkpoint({', '.join(fields)})"

    def _repr_mimebundle_(self, **_: Any) -> dict[str, str]:
        return {"text/plain": _text(self), "text/html": _html(self)}


@dataclass(frozen=True, slots=True)
class Change:
    """What happened to one key of the state.

    Attributes:
        kind: ``added``, ``removed``, ``changed``, or ``appended``: a list that only grew at
            its end.
        before: its value at the first checkpoint; none if it was not there.
        after: its value at the second; none if it is not there.
        items: what was appended.
    """

    kind: Literal["added", "removed", "changed", "appended"]
    before: Any = None
    after: Any = None
    items: tuple[Any, ...] = ()


@dataclass(frozen=True, slots=True)
class Difference:
    """What changed in a thread between two checkpoints; displays itself in notebooks.

    Attributes:
        thread: the thread.
        before: the id of the first checkpoint.
        after: the id of the second.
        changes: by key of the state; what is not in it is the same.
    """

    thread: str
    before: int
    after: int
    changes: dict[str, Change]

    @classmethod
    def between(cls, before: Checkpoint, after: Checkpoint, registry: Registry) -> Difference:
        """What changed from one checkpoint to another.

        Args:
            before: the one.
            after: the other.
            registry: which types they may hold.
        """
        compare = _Compare(Values(registry))
        old, new = fields_of_state(before.state), fields_of_state(after.state)
        found = {key: compare.change(old, new, key) for key in dict.fromkeys([*old, *new])}
        changes = {key: change for key, change in found.items() if change is not None}
        return cls(after.thread, before.id, after.id, changes)

    def __bool__(self) -> bool:
        return bool(self.changes)

    def __repr__(self) -> str:
        changes = ", ".join(f"{change.kind} {key}" for key, change in self.changes.items())
        return f"Difference({self.before} to {self.after}: {changes or 'nothing'})"

    def _repr_mimebundle_(self, **_: Any) -> dict[str, str]:
        return {"text/plain": _difference_text(self), "text/html": _difference_html(self)}


class _Compare:
    def __init__(self, values: Values) -> None:
        self._values = values

    def change(self, old: dict[str, Any], new: dict[str, Any], key: str) -> Change | None:
        if key not in old:
            return Change("added", after=new[key])
        if key not in new:
            return Change("removed", before=old[key])
        before, after = old[key], new[key]
        if self._same(before, after):
            return None
        if type(before) is type(after) is list and self._same(before, after[: len(before)]):
            return Change("appended", before, after, tuple(after[len(before) :]))
        return Change("changed", before, after)

    def _same(self, one: Any, two: Any) -> bool:
        if one is two:
            return True
        return type(one) is type(two) and (_equal(one, two) or self._is_stored_alike(one, two))

    def _is_stored_alike(self, one: Any, two: Any) -> bool:
        """Whether two values have one stored form, which arrays and tables do not say plainly."""
        try:
            return self._values.pack(one) == self._values.pack(two)
        except AntiphonError:
            return False


def _equal(one: Any, two: Any) -> bool:
    try:
        return (one == two) is True
    except Exception:  # noqa: BLE001 - tables and users' types may refuse in any way
        return False


def _text(checkpoint: Checkpoint) -> str:
    """A checkpoint in a few lines."""
    lines = [_headline(checkpoint)]
    lines += [
        f"{key}: {preview(value)}" for key, value in fields_of_state(checkpoint.state).items()
    ]
    lines += [f"? {question.agent}: {preview(question.value)}" for question in checkpoint.questions]
    return "\n".join(lines)


def _html(checkpoint: Checkpoint) -> str:
    """A checkpoint as one self-contained element; all that comes from outside is escaped."""
    colour = colour_of(checkpoint.outcome)
    asked = "".join(
        f"<div><b>{escape(question.agent)} asks:</b> {escaped(question.value)}</div>"
        for question in checkpoint.questions
    )
    rows = ((key, escaped(value)) for key, value in fields_of_state(checkpoint.state).items())
    headline = f'<div style="color:{colour}">{escape(_headline(checkpoint))}</div>'
    return f'<div style="{BOX}">{headline}{asked}{table(rows)}</div>'


def _difference_text(difference: Difference) -> str:
    """A difference, a line for each key."""
    lines = [_endpoints(difference)]
    for key, change in difference.changes.items():
        lines += [f"{sign} {key}: {value}" for sign, value in _parts(change)]
    return "\n".join(lines)


def _difference_html(difference: Difference) -> str:
    """A difference as one self-contained element; all that comes from outside is escaped."""
    rows = (
        (f"{sign} {key}", escape(value))
        for key, change in difference.changes.items()
        for sign, value in _parts(change)
    )
    endpoints = f'<div style="{SMALL}">{escape(_endpoints(difference))}</div>'
    return f'<div style="{BOX}">{endpoints}{table(rows)}</div>'


def _headline(checkpoint: Checkpoint) -> str:
    said = [f"{checkpoint.thread}, checkpoint {checkpoint.id}, step {checkpoint.step}"]
    if checkpoint.wrote:
        said.append(f"written by {', '.join(checkpoint.wrote)}")
    if checkpoint.next:
        said.append(f"next {', '.join(checkpoint.next)}")
    if checkpoint.outcome:
        reason = f" ({checkpoint.reason})" if checkpoint.reason else ""
        said.append(f"{checkpoint.outcome}{reason}")
    return "; ".join(said)


def _endpoints(difference: Difference) -> str:
    said = f"{difference.thread}, from checkpoint {difference.before} to {difference.after}"
    return said if difference else f"{said}: nothing changed"


def _parts(change: Change) -> Iterator[tuple[str, str]]:
    """What goes and what comes, each with its sign."""
    if change.kind == "appended":
        yield from (("+", preview(item)) for item in change.items)
        return
    if change.kind != "added":
        yield "-", preview(change.before)
    if change.kind != "removed":
        yield "+", preview(change.after)
