"""The types that every registry has. Stored bytes refer to them by number.

Python's plain types have no number here: the extension module encodes them.
"""

from __future__ import annotations

import pickle
from dataclasses import dataclass
from enum import Enum
from functools import cache
from importlib import import_module
from typing import Any

from antiphon._antiphon import TypeCodec
from antiphon._serialization.records import exactly

__all__ = [
    "PICKLED",
    "CodecFamily",
    "codec_numbered",
    "codec_of",
    "codec_of_failure",
    "codec_of_text",
    "package_numbered",
]


@dataclass(frozen=True, slots=True)
class CodecFamily:
    """Types whose codecs are imported together, on first use.

    Attributes:
        source: module of `antiphon._serialization`, and its function that returns the codecs.
        numbers: the range of their numbers; a number is never reused.
        packages: the packages that define the types.
    """

    source: str
    numbers: range
    packages: frozenset[str]


_FAMILIES = (
    CodecFamily(
        "standard_types.builtin_codecs",
        range(16, 32),
        frozenset({"antiphon", "builtins", "collections", "re"}),
    ),
    CodecFamily("standard_types.time_codecs", range(32, 40), frozenset({"datetime", "zoneinfo"})),
    CodecFamily(
        "standard_types.number_codecs", range(40, 48), frozenset({"decimal", "fractions", "uuid"})
    ),
    CodecFamily("standard_types.path_codecs", range(48, 64), frozenset({"ipaddress", "pathlib"})),
    CodecFamily("exceptions.codecs", range(64, 72), frozenset({"antiphon", "builtins"})),
    CodecFamily("agent_types.antiphon_codecs", range(72, 80), frozenset({"antiphon"})),
    CodecFamily("agent_types.langchain_codecs", range(80, 88), frozenset({"langchain_core"})),
    CodecFamily("tables.numpy_codecs", range(88, 96), frozenset({"numpy"})),
    CodecFamily("tables.polars_codecs", range(96, 100), frozenset({"polars"})),
    CodecFamily("tables.arrow_codecs", range(100, 104), frozenset({"pyarrow"})),
    CodecFamily("tables.pandas_codecs", range(104, 112), frozenset({"pandas"})),
    CodecFamily("agent_types.langgraph_codecs", range(112, 124), frozenset({"langgraph"})),
)

_MET: dict[type, TypeCodec] = {}
"""The codecs of the families that were used so far."""


def codec_of(kind: type) -> TypeCodec | None:
    """Return the codec of a type, if it is in the list."""
    if kind in _MET:
        return _MET[kind]
    package = kind.__module__.partition(".")[0]
    for family in _FAMILIES:
        if package in family.packages:
            _MET.update(_codecs(family))
    return _MET.get(kind)


def codec_of_failure(kind: type) -> TypeCodec | None:
    """Return the codec of an exception type that is neither in the list nor registered."""
    if not issubclass(kind, BaseException):
        return None
    from antiphon._serialization.exceptions import FOREIGN

    return FOREIGN


def codec_of_text(kind: type) -> TypeCodec | None:
    """Return the codec of a subclass of ``str`` that is no enum; it is stored as plain text.

    LangChain's ``message.text`` is one.
    """
    if not issubclass(kind, str) or issubclass(kind, Enum):
        return None
    from antiphon._serialization.standard_types import PlainSubclass

    return codec_of(PlainSubclass)


def codec_numbered(number: int) -> TypeCodec | None:
    """Return the codec with a number; raise `ImportError` if its package is not installed."""
    family = _family(number)
    return None if family is None else _codecs_by_number(family).get(number)


def package_numbered(number: int) -> str | None:
    """Return the package that defines the types with a number."""
    family = _family(number)
    return None if family is None else min(family.packages)


def _family(number: int) -> CodecFamily | None:
    return next((family for family in _FAMILIES if number in family.numbers), None)


@cache
def _codecs(family: CodecFamily) -> dict[type, TypeCodec]:
    module, _, function = family.source.partition(".")
    codecs: dict[type, TypeCodec] = getattr(
        import_module(f"antiphon._serialization.{module}"), function
    )()
    return codecs


@cache
def _codecs_by_number(family: CodecFamily) -> dict[int, TypeCodec]:
    return {codec.kind: codec for codec in _codecs(family).values()}


def _pickle(value: Any) -> bytes:
    return pickle.dumps(value, protocol=5)


def _unpickle(data: Any) -> Any:
    return pickle.loads(exactly(bytes, data))  # noqa: S301 - sealed with the caller's own key


PICKLED = TypeCodec(8, _pickle, _unpickle)
