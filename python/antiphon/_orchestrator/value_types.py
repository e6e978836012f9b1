"""Checks of values in the state against the type hints of their keys."""

from __future__ import annotations

import typing
from typing import TYPE_CHECKING, Any

from antiphon._antiphon import Overwrite
from antiphon._orchestrator.hint_matcher import hint_name, is_union, matcher_of
from antiphon.errors import StateError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from antiphon._orchestrator.hint_matcher import Matcher, Mismatch

_WHOLE = ("set", "once", "last", "extend", "merge", "max", "add")
"""Rules whose writes have the type of the key; what other rules take is not known."""


class ValueTypes:
    """The types of a state's values.

    Args:
        hints: the type hints of the state.
        rules: the reducers of its keys, by their native names where they have one.
    """

    def __init__(self, hints: Mapping[str, Any], rules: Mapping[str, Any]) -> None:
        self._hints = hints
        self._whole: dict[str, Matcher] = {}
        self._written: dict[str, Matcher] = {}
        for name, hint in hints.items():
            rule = rules.get(name)
            if rule not in (*_WHOLE, "append"):
                continue
            # Parts of what is merged may come one by one, the first of them with the input.
            whole = matcher_of(hint, is_partial=rule == "merge")
            if whole is None:
                continue
            self._whole[name] = whole
            written = matcher_of(_element(hint)) if rule == "append" else whole
            if written is not None:
                self._written[name] = written
        self._items = {name for name in self._whole if rules.get(name) == "append"}

    def check(self, values: Mapping[str, Any], *, whole: bool) -> None:
        """Checks writes, or `whole` values of an input.

        Raises:
            StateError: a value, or an element of one, does not fit (``write_mistyped``).
        """
        matchers = self._whole if whole else self._written
        for name in filter(matchers.__contains__, values):
            value, is_whole = values[name], whole
            if isinstance(value, Overwrite):
                value, is_whole = value.value, True
            matcher = self._whole[name] if is_whole else matchers[name]
            wrong = matcher.mismatch(value)
            if wrong is not None:
                is_item = name in self._items and not is_whole
                raise self._mistyped(name, wrong, value, is_item=is_item)

    def _mistyped(self, name: str, wrong: Mismatch, value: Any, *, is_item: bool) -> StateError:
        steps = [*reversed(wrong.path), *(["one item"] if is_item else [])]
        where = " of ".join([*steps, f"the key `{name}`"])
        hint = wrong.hint or (
            f"give what the state declares, `{name}: {hint_name(self._hints[name])}`, or declare "
            "another type"
        )
        if is_item and isinstance(value, list):
            hint = f"`append` adds one item; for lists write `{name}: Annotated[list[T], extend]`"
        return StateError(
            f"{where} must be {wrong.expected}: {wrong.found}",
            code="write_mistyped",
            details={"key": name},
            hint=hint,
        )


def _element(hint: Any) -> Any:
    """The type of a list's elements."""
    for part in typing.get_args(hint) if is_union(hint) else (hint,):
        if typing.get_origin(part) is list:
            return next(iter(typing.get_args(part)), Any)
    return Any
