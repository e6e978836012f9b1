"""Checks of list elements in the state against the type hints of their keys."""

from __future__ import annotations

import typing
from typing import TYPE_CHECKING, Any

from antiphon.errors import StateError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping


class ListElements:
    """The types of the elements of a state's lists.

    Args:
        hints: the type hints of the state.
        rules: the reducers of its keys.
        kinds: returns the classes of a hint, or `None` if they are unknown.
    """

    def __init__(
        self,
        hints: Mapping[str, Any],
        rules: Mapping[str, Any],
        kinds: Callable[[Any], tuple[type, ...] | None],
    ) -> None:
        self._rules = rules
        self._kinds: dict[str, tuple[type, ...]] = {}
        for name, hint in hints.items():
            inner = typing.get_args(hint)
            found = kinds(inner[0]) if typing.get_origin(hint) is list and inner else None
            if found is not None:
                self._kinds[name] = found

    def check(self, values: Mapping[str, Any], *, whole: bool) -> None:
        """Checks writes, or `whole` values of an input.

        Raises:
            StateError: an element does not fit (``write_mistyped``).
        """
        for name in values.keys() & self._kinds.keys():
            value = values[name]
            if self._rules.get(name) == "append" and not whole:
                self._check_item(name, value)
            elif isinstance(value, list) and self._rules.get(name) in ("set", "append", "extend"):
                self._check_all(name, value)

    def _check_item(self, name: str, value: Any) -> None:
        if isinstance(value, self._kinds[name]):
            return
        hint = None
        if isinstance(value, list):
            hint = f"`append` adds one item; for lists write `{name}: Annotated[list[T], extend]`"
        raise self._mistyped(f"one item of the key `{name}`", name, value, hint)

    def _check_all(self, name: str, value: list[Any]) -> None:
        kinds = self._kinds[name]
        for place, item in enumerate(value):
            if not isinstance(item, kinds):
                raise self._mistyped(f"item {place} of the key `{name}`", name, item, None)

    def _mistyped(self, what: str, name: str, found: Any, hint: str | None) -> StateError:
        expected = " or ".join(sorted(kind.__name__ for kind in self._kinds[name]))
        return StateError(
            f"{what} must be {expected}: {type(found).__name__}",
            code="write_mistyped",
            details={"key": name},
            hint=hint,
        )
