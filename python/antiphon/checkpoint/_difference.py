"""What changed in a thread between two checkpoints."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from antiphon._antiphon import Values
from antiphon.checkpoint._checkpoint import fields_of
from antiphon.errors import AntiphonError

if TYPE_CHECKING:
    from antiphon.checkpoint._checkpoint import Checkpoint
    from antiphon.checkpoint._registry import Registry


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
    """What changed in a thread between two checkpoints. In a notebook it shows itself.

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

    def __bool__(self) -> bool:
        return bool(self.changes)

    def __repr__(self) -> str:
        told = ", ".join(f"{change.kind} {key}" for key, change in self.changes.items())
        return f"Difference({self.before} to {self.after}: {told or 'nothing'})"

    def _repr_mimebundle_(self, **_: Any) -> dict[str, str]:
        from antiphon.checkpoint._card import difference_html, difference_text

        return {"text/plain": difference_text(self), "text/html": difference_html(self)}


def difference(before: Checkpoint, after: Checkpoint, registry: Registry) -> Difference:
    """What changed from one checkpoint to another.

    Args:
        before: the one.
        after: the other.
        registry: which types they may hold.
    """
    compare = _Compare(Values(registry))
    old, new = fields_of(before.state), fields_of(after.state)
    found = {key: compare.change(old, new, key) for key in dict.fromkeys([*old, *new])}
    changes = {key: change for key, change in found.items() if change is not None}
    return Difference(after.thread, before.id, after.id, changes)


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
        return type(one) is type(two) and (_equal(one, two) or self._stored_alike(one, two))

    def _stored_alike(self, one: Any, two: Any) -> bool:
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
