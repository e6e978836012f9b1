"""Conversion of values to and from Monty, within budgets."""

from __future__ import annotations

import json
import re
from pathlib import PurePath
from typing import TYPE_CHECKING, Any

from antiphon.sandbox._guest.budget import Budget, TooLarge
from antiphon.sandbox._guest.decode import Decoder
from antiphon.sandbox._guest.encode import Encoder
from antiphon.sandbox._guest.safe_repr import full_name

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["decode_inputs", "decode_reply", "encode_output", "locals_of"]

_MACHINERY = re.compile(r"<(?:function .{1,200} at 0x[0-9a-f]+|(?:module|class) '.{1,200}')>")
_REPR = 4_000
_NAME = 900
_DEPTH = 64
_NODES = 100_000


class _Encoder(Encoder):
    """Encodes unsupported values as text, without calling a `repr` of unbounded length.

    Monty's output values share parts: forty lists, each twice in the next, are small until they
    are written out. So parts are encoded within the budget first.
    """

    def shown(self, value: Any, depth: int) -> Any:
        """Encode as the base class does, but parts within the budget."""
        parts = _parts(value)
        if parts is None:
            if not isinstance(value, type | PurePath) and value is not ... and not _is_named(value):
                self.budget.take(64)
                name = full_name(value)
                return {"$": "object", "type": name, "repr": f"<{name}>"}
            return super().shown(value, depth)
        name, inner = parts
        arguments = json.dumps(self.encode(inner, self.budget.enter(depth)), ensure_ascii=False)
        picture = f"{name}{arguments}"
        picture = picture if len(picture) <= _REPR else f"{picture[: _REPR - 1]}…"
        self.budget.take(len(name) + len(picture) + 32)
        return {"$": "object", "type": name[:200], "repr": picture}


def encode_output(value: Any, size: int) -> Any:
    """Encode a value of the guest as tagged JSON of at most `size` bytes; it may share parts."""
    budget = Budget(bytes=size, nodes=_NODES, depth=_DEPTH)
    tagged = _Encoder(budget).encode(value)
    budget.text_of(tagged)
    return tagged


def decode_inputs(tagged: Mapping[str, Any]) -> dict[str, Any]:
    """Decode the host's values to objects that Monty accepts."""
    decoder = Decoder(nodes=2**62, depth=900, opaque=False)
    return {name: _plain(decoder.decode(value)) for name, value in tagged.items()}


def decode_reply(tagged: Any) -> Any:
    """Decode a host function's result to an object that Monty accepts."""
    return _plain(Decoder(nodes=2**62, depth=900, opaque=False).decode(tagged))


def locals_of(
    names: Any, unchanged: Mapping[str, Any], *, total: int, each: int, most: int
) -> tuple[dict[str, Any], dict[str, str]]:
    """Return the variables that the code assigned, tagged, and why others are missing.

    `names` are the guest's `locals()`; a variable with its value in `unchanged`, the tagged
    inputs, was not assigned. `total` and `each` limit the bytes, `most` the variables.
    """
    found: dict[str, Any] = {}
    errors: dict[str, str] = {}
    if type(names) is not dict:
        return found, errors
    left = total
    for name, value in names.items():
        if type(name) is not str or not _is_public(name) or _is_machinery(value):
            continue
        if len(found) + len(errors) >= most:
            errors[name] = f"more than {most} names are assigned"
            break
        try:
            tagged = encode_output(value, min(each, left))
        except TooLarge as problem:
            errors[name] = str(problem)
            continue
        if name in unchanged and unchanged[name] == tagged:
            continue
        found[name] = tagged
        left -= len(json.dumps(tagged))
    return found, errors


def _is_public(name: str) -> bool:
    return not name.startswith("_") and len(name) <= _NAME and name.isprintable()


def _is_machinery(value: Any) -> bool:
    """Whether it is a function, class or module, which Monty returns as text."""
    return isinstance(value, type) or (type(value) is str and bool(_MACHINERY.fullmatch(value)))


def _parts(value: Any) -> tuple[str, Any] | None:
    """Return type name and parts of a composite value."""
    if isinstance(value, BaseException):
        return type(value).__name__, list(value.args)
    if isinstance(value, tuple):
        names = getattr(type(value), "_fields", None)
        if isinstance(names, tuple) and len(names) == len(value):
            return type(value).__name__, dict(zip(names, value, strict=True))
        return type(value).__name__, list(value)
    if type(value).__name__ == "MontyClassProxy":
        return str(value.name), dict(value.attributes)
    return None


def _is_named(value: Any) -> bool:
    return type(value).__name__ in {"MontyStdTypeProxy", "MontyClassTypeProxy"}


def _plain(value: Any) -> Any:
    """Replace types that Monty lacks by the nearest that it has."""
    kind = type(value)
    if kind in {list, tuple, set, frozenset}:
        return kind(_plain(item) for item in value)
    if kind is dict:
        return {_plain(key): _plain(item) for key, item in value.items()}
    if hasattr(value, "tolist"):
        return value.tolist()
    if kind.__name__ in {"UUID", "Fraction"}:
        return str(value)
    return value
