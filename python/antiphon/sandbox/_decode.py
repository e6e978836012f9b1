"""What a worker claims, made Python objects: strictly, because nobody vouches for it.

A worker may be in the hands of the code that it ran. So nothing here builds anything but
plain values and inert `Opaque` ones, and whatever no honest worker would send is a crash.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from antiphon._antiphon import sandbox_figure, sandbox_table
from antiphon.errors import WorkerCrashed
from antiphon.sandbox._guest.budget import Budget, TooLarge
from antiphon.sandbox._guest.decode import Decoder, Malformed, Opaque
from antiphon.sandbox._guest.encode import Encoder

if TYPE_CHECKING:
    from collections.abc import Mapping

    from antiphon.sandbox._guest.shape import ShapeAllowance

__all__ = ["Opaque", "decode_value", "encode_value", "sound_figure", "sound_table"]

_NODES = 100_000
_DEPTH = 64


def decode_value(
    tagged: Any,
    tables: Mapping[str, Any] | None = None,
    *,
    nodes: int = _NODES,
    depth: int = _DEPTH,
    shapes: ShapeAllowance | None = None,
) -> Any:
    """The Python object that a worker's tagged JSON stands for.

    Args:
        tagged: what `json.loads` gave.
        tables: what stands for each table that came along, by its name.
        nodes: values inside values that may come, itself included.
        depth: containers inside containers that may come.
        shapes: what arrays may unfold to. Default: to `nodes` parts.

    Returns:
        Plain values; a `numpy.ndarray` for an array (nested lists without numpy); `Opaque` for
        what has no form outside the sandbox.

    Raises:
        WorkerCrashed: no honest worker sends this (``sandbox_crashed``).

    Example:
        >>> decode_value({"$": "tuple", "v": [1, {"$": "bytes", "v": "aGk="}]})
        (1, b'hi')
    """
    try:
        return Decoder(tables, nodes=nodes, depth=depth, shapes=shapes).decode(tagged)
    except (Malformed, RecursionError) as error:
        raise _crash("value", error) from error


def encode_value(value: Any, most: int, *, nodes: int = _NODES, depth: int = _DEPTH) -> Any:
    """A value for a worker as tagged JSON.

    Args:
        value: what `decode_value` can give back, except `Opaque`; tables go another way.
        most: bytes of JSON text that it may take.
        nodes: values inside values, itself included.
        depth: containers inside containers.

    Raises:
        OverflowError: it is larger than that.
        TypeError: it, or a value inside it, has no form in a sandbox.

    Example:
        >>> encode_value({"ids": {7}}, 1_000)
        {'ids': {'$': 'set', 'v': [7]}}
    """
    budget = Budget(bytes=most, nodes=nodes, depth=depth)
    try:
        tagged = Encoder(budget, strict=True).encode(value)
        budget.text_of(tagged)
    except TooLarge as error:
        raise OverflowError(str(error)) from error
    return tagged


def sound_table(stream: bytes) -> bytes:
    """A table that a worker sent, once it is known that a library may read it.

    Args:
        stream: an Arrow IPC stream: columns of plain types, without compression, dictionaries,
            extensions or notes.

    Returns:
        The same bytes.

    Raises:
        WorkerCrashed: no honest worker sends this (``sandbox_crashed``).
    """
    try:
        sandbox_table(stream)
    except ValueError as error:
        raise _crash("table", error) from error
    return stream


def sound_figure(image: bytes, pixels: int) -> bytes:
    """A figure that a worker sent, once it is known that a library may show it.

    Args:
        image: a PNG file.
        pixels: how many it may have.

    Returns:
        The same bytes.

    Raises:
        WorkerCrashed: no honest worker sends this (``sandbox_crashed``).
    """
    try:
        sandbox_figure(image, pixels)
    except ValueError as error:
        raise _crash("figure", error) from error
    return image


def _crash(what: str, error: Exception) -> WorkerCrashed:
    return WorkerCrashed(f"the worker sent what is no {what}: {error}", code="sandbox_crashed")
