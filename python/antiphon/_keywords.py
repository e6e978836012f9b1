"""Calls with a keyword that the method does not have."""

from __future__ import annotations

import functools
import inspect
from difflib import get_close_matches
from types import FunctionType
from typing import TYPE_CHECKING, Any, TypeVar

from antiphon._event_loop import is_async
from antiphon.errors import ValidationError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

_T = TypeVar("_T")


class CheckedKeywords:
    """Refuses unknown keywords of its public methods, with a hint at what was meant.

    Python's own `TypeError` names none before version 3.13. Classes of users are left alone.
    """

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        if cls.__module__.partition(".")[0] != __package__:
            return
        for name, method in list(vars(cls).items()):
            if isinstance(method, FunctionType) and (name[0] != "_" or name == "__init__"):
                subject = cls.__name__ if name == "__init__" else name
                setattr(cls, name, _checked(method, f"`{subject}`"))


def checked_init(cls: type[_T]) -> type[_T]:
    """The class, whose constructor refuses unknown keywords in the same way."""
    setattr(cls, "__init__", _checked(vars(cls)["__init__"], f"`{cls.__name__}`"))  # noqa: B010
    return cls


def _checked(method: Callable[..., Any], subject: str) -> Callable[..., Any]:
    parameters = list(inspect.signature(method).parameters.values())[1:]
    if any(one.kind is one.VAR_KEYWORD for one in parameters):
        is_maker = method.__name__ == "__init__"
        return _checked_positions(method, subject, parameters) if is_maker else method
    positional = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.VAR_POSITIONAL)
    known = frozenset(one.name for one in parameters if one.kind not in positional)

    @functools.wraps(method)
    def call(*args: Any, **kwargs: Any) -> Any:
        check_keywords(subject, kwargs, known)
        return method(*args, **kwargs)

    @functools.wraps(method)
    async def acall(*args: Any, **kwargs: Any) -> Any:
        check_keywords(subject, kwargs, known)
        return await method(*args, **kwargs)

    return acall if is_async(method) else call


def _checked_positions(
    method: Callable[..., Any], subject: str, parameters: Sequence[inspect.Parameter]
) -> Callable[..., Any]:
    """The method, which refuses arguments without the name that they need."""
    named = [one.name for one in parameters if one.kind is one.KEYWORD_ONLY]
    most = sum(one.kind is one.POSITIONAL_OR_KEYWORD for one in parameters)

    @functools.wraps(method)
    def call(self: Any, /, *args: Any, **kwargs: Any) -> Any:
        if len(args) > most:
            raise ValidationError(
                f"{subject} takes at most {most} without a name, and got arguments: {len(args)}",
                code="call_invalid",
                hint=f"write the names of the others, which may be {', '.join(named)}",
            )
        return method(self, *args, **kwargs)

    return call


def check_keywords(subject: str, given: Iterable[str], known: frozenset[str]) -> None:
    """Refuses a keyword that is not known.

    Raises:
        ValidationError: there is one (``call_invalid``).
    """
    if known.issuperset(given):
        return
    unknown = min(set(given) - known)
    near = get_close_matches(unknown, known, 1)
    raise ValidationError(
        f"{subject} has no option of that name: {unknown}",
        code="call_invalid",
        details={"option": unknown},
        hint=f"did you mean `{near[0]}`?"
        if near
        else f"its options are {', '.join(sorted(known))}",
    )
