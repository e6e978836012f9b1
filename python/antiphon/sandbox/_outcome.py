"""Results from engines' outcomes; nothing of an outcome is trusted.

The worker may be controlled by the code that it ran. So decoding builds only plain values and inert
`Opaque` ones, and treats whatever no honest worker would send as a crash.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from antiphon._antiphon import sandbox_figure, sandbox_table
from antiphon.errors import WorkerCrashed
from antiphon.sandbox._faults import sandbox_error
from antiphon.sandbox._guest.decode import Decoder, Malformed
from antiphon.sandbox._guest.shape import ShapeAllowance
from antiphon.sandbox._result import SandboxFigure, SandboxResult, SandboxUsage
from antiphon.sandbox._table import SandboxTable

if TYPE_CHECKING:
    from collections.abc import Mapping

    from antiphon.errors import SandboxError
    from antiphon.sandbox._result import Isolation

__all__ = ["decode_value", "result_of", "sound_figure", "sound_table"]

_NODES = 100_000
_DEPTH = 64

_PARTS = 100_000
"""Parts that all arrays of a result may have beyond their bytes."""


def result_of(outcome: Mapping[str, Any], layers: tuple[str, ...] = ()) -> SandboxResult:
    """Build the result from an engine's outcome.

    The engine has validated tables and figures as they arrived. A value that could not be
    returned is a failure of the run; a variable or table that could not is only lost.

    Args:
        outcome: of one run.
        layers: the layers of isolation that held.
    """
    fault = outcome.get("error") or outcome.get("value_error")
    try:
        brought = _brought(outcome)
    except WorkerCrashed as crash:
        brought, fault = {}, {"kind": "crashed", "message": str(crash)}
    lost: dict[str, SandboxError] = {}
    for group in ("local_errors", "table_errors"):
        if faults := outcome.get(group):
            lost |= {name: sandbox_error(each) for name, each in faults.items()}
    return SandboxResult(
        **brought,
        stdout=outcome.get("stdout", ""),
        stderr=outcome.get("stderr", ""),
        error=None if fault is None else sandbox_error(fault),
        lost=lost,
        truncated=tuple(outcome.get("truncated") or ()),
        usage=SandboxUsage(**(outcome.get("usage") or {})),
        engine=outcome["engine"],
        isolation=cast("Isolation", outcome["isolation"]),
        layers=layers,
    )


def _brought(outcome: Mapping[str, Any]) -> dict[str, Any]:
    """Decode the parts of the result besides its output: all of them, or none."""
    brought: dict[str, Any] = {}
    tables: dict[str, SandboxTable] = {}
    if streams := outcome.get("tables"):
        tables = brought["tables"] = {name: SandboxTable(stream) for name, stream in streams}
    if images := outcome.get("figures"):
        brought["figures"] = tuple(map(SandboxFigure, images))
    shapes = ShapeAllowance(_PARTS)
    if found := outcome.get("locals"):
        brought["locals"] = {
            name: decode_value(each, tables, shapes=shapes) for name, each in found.items()
        }
    if "value" in outcome:
        brought["value"] = decode_value(outcome["value"], tables, shapes=shapes)
    return brought


def decode_value(
    tagged: Any,
    tables: Mapping[str, Any] | None = None,
    *,
    nodes: int = _NODES,
    depth: int = _DEPTH,
    shapes: ShapeAllowance | None = None,
) -> Any:
    """Decode tagged JSON of a worker.

    Args:
        tagged: the result of `json.loads`.
        tables: the tables of the outcome, by name.
        nodes: most nested values, including the outermost.
        depth: most nested containers.
        shapes: the parts that arrays may have. Default: `nodes`.

    Returns:
        Plain values; a `numpy.ndarray` for an array (nested lists without numpy); `Opaque` for
        types that are not supported outside the sandbox.

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


def sound_table(stream: bytes) -> bytes:
    """Validate a table from a worker, so that libraries can read it safely.

    Args:
        stream: an Arrow IPC stream: columns of plain types, without compression, dictionaries,
            extensions or metadata.

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
    """Validate a figure from a worker, so that libraries can display it safely.

    Args:
        image: a PNG file.
        pixels: most pixels.

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
    return WorkerCrashed(f"the worker sent a malformed {what}: {error}", code="sandbox_crashed")
