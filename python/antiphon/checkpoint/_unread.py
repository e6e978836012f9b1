"""Stored values for those who have not the types: what is of no type of Python's stays unread."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any, NoReturn

from antiphon._antiphon import Form
from antiphon.checkpoint import _catalog
from antiphon.checkpoint._forms.pickled import PICKLED

__all__ = ["UNREAD", "Unread"]

_PLAIN = range(16, 64)
"""The numbers of the standard library's types that are data."""


@dataclass(frozen=True, slots=True)
class Unread:
    """A stored object of a type that was not made.

    Attributes:
        type: the name that it is stored under, or the package of its type.
        parts: what was stored of it.
    """

    type: str
    parts: Any

    def __repr__(self) -> str:
        return f"<{self.type}: {self.parts!r}>"


class _Unread:
    """A registry that knows Python's own types, and makes no object of any other."""

    def form_of(self, kind: type) -> NoReturn:
        """Nothing is stored through it."""
        raise TypeError(f"what is stored is only looked at, found: {kind.__name__}")

    def form_named(self, name: str) -> Form:
        """Leaves an object of a registered type unread."""
        return Form(7, _unpacked, partial(Unread, name), name=name)

    def form_numbered(self, number: int) -> Form | None:
        """Leaves an object unread whose type is not one of the standard library's."""
        if number in _PLAIN:
            return _catalog.form_numbered(number)
        name = "pickle" if number == PICKLED.kind else _catalog.package_numbered(number)
        return None if name is None else Form(number, _unpacked, partial(Unread, name))


def _unpacked(value: Any) -> NoReturn:
    raise TypeError(f"what is stored is only looked at, found: {value!r}")


UNREAD = _Unread()
