"""Names and representations of untrusted objects."""

from __future__ import annotations

_NAME = 200
_REPR = 4_000

_name_of = type.__dict__["__qualname__"].__get__
_home_of = type.__dict__["__module__"].__get__
_mro_of = type.__dict__["__mro__"].__get__


def plain(text: str, longest: int) -> str:
    """Return the first `longest` characters as an exact `str`, with U+FFFD for lone surrogates."""
    kept = str.__getitem__(text, slice(0, longest))
    if kept.isascii():
        return kept
    return kept.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def is_a(kind: type, *ancestors: type) -> bool:
    """Whether a class derives from one of these; unlike `isinstance`, without user code."""
    lineage = _mro_of(kind)
    return any(ancestor in lineage for ancestor in ancestors)


def short_name(value: object) -> str:
    """Return the name of a value's class, without its module."""
    return plain(_name_of(type(value)).rpartition(".")[2], _NAME)


def full_name(value: object) -> str:
    """Return the name of a value's class, with its module unless that is builtins or __main__."""
    kind = type(value)
    name = plain(_name_of(kind), _NAME)
    try:
        home = _home_of(kind)
    except AttributeError:
        return name
    if type(home) is not str or home in {"builtins", "__main__"}:
        return name
    return plain(f"{home}.{name}", _NAME)


def safe_repr(value: object, longest: int = _REPR) -> str:
    """Return `repr(value)`, truncated, or a substitute if it raises."""
    try:
        return _cut(repr(value), longest)
    except BaseException as problem:  # noqa: BLE001 - user code raises anything
        return f"<{full_name(value)} whose repr fails: {short_name(problem)}>"


def safe_str(value: object, longest: int) -> str:
    """Return `str(value)`, truncated, or a substitute if it raises."""
    try:
        return _cut(str(value), longest)
    except BaseException as problem:  # noqa: BLE001 - user code raises anything
        return f"<{full_name(value)} whose str fails: {short_name(problem)}>"


def _cut(text: str, longest: int) -> str:
    kept = plain(text, longest + 1)
    return kept if len(kept) <= longest else kept[: longest - 1] + "…"
