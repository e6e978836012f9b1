"""Stored forms of exceptions."""

from __future__ import annotations

import builtins
from functools import cache
from typing import Any

from antiphon import _graph_errors, errors
from antiphon._antiphon import TypeCodec
from antiphon._serialization.records import exactly, items, pack_exception, unpack_exception

__all__ = ["FOREIGN", "StoredException", "codecs"]


class StoredException(Exception):
    """An exception of a type that was not registered when it was stored.

    Args:
        message: its message.
        type: module and qualified name of its type.
    """

    def __init__(self, message: str, type: str) -> None:  # noqa: A002 - its name for users
        super().__init__(message, type)
        self.message = message
        self.type = type

    def __str__(self) -> str:
        return f"{self.type}: {self.message}"


def _classes_by_name(module: Any, root: type[BaseException]) -> dict[str, type[BaseException]]:
    kinds = [kind for kind in vars(module).values() if isinstance(kind, type)]
    return {kind.__name__: kind for kind in kinds if issubclass(kind, root)}


_BUILTIN = _classes_by_name(builtins, BaseException)
_OURS = _classes_by_name(errors, errors.AntiphonError) | _classes_by_name(
    _graph_errors, errors.AntiphonError
)


@cache
def codecs() -> dict[type, TypeCodec]:
    """The codecs by type."""
    plain = TypeCodec(64, _pack_builtin, _builtin)
    ours = TypeCodec(65, _pack_ours, _ours)
    return {
        **dict.fromkeys(_BUILTIN.values(), plain),
        **dict.fromkeys(_OURS.values(), ours),
        StoredException: FOREIGN,
    }


def _pack_builtin(value: BaseException) -> list[Any]:
    # `args` alone would lose the file of an `OSError`.
    reduced = value.__reduce__()
    state = reduced[2] if len(reduced) > 2 else None  # noqa: PLR2004  # class, arguments, state
    return [type(value).__name__, list(reduced[1]), state]


def _builtin(value: Any) -> BaseException:
    name, arguments, state = items(3, value)
    made = _BUILTIN[name](*exactly(list, arguments))
    for key, attribute in exactly(dict, state or {}).items():
        setattr(made, key, attribute)
    return made


def _pack_ours(value: errors.AntiphonError) -> list[Any]:
    return [type(value).__name__, *pack_exception(value)]


def _ours(value: Any) -> BaseException:
    name, *parts = items(3, value)
    return unpack_exception(_OURS[name], parts)


def _pack_foreign(value: BaseException) -> list[str]:
    if type(value) is StoredException:
        return [value.message, value.type]
    kind = type(value)
    return [str(value), f"{kind.__module__}.{kind.__qualname__}"]


def _foreign(value: Any) -> StoredException:
    message, kind = items(2, value)
    return StoredException(exactly(str, message), exactly(str, kind))


FOREIGN = TypeCodec(66, _pack_foreign, _foreign)
