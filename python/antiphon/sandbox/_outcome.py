"""Results from engines' outcomes; nothing of an outcome is trusted.

The worker may be controlled by the code that it ran. So decoding builds only plain values and inert
`Opaque` ones, and treats anything that an honest worker would not send as a crash.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from antiphon._antiphon import sandbox_table
from antiphon.errors import WorkerCrashed
from antiphon.sandbox._faults import sandbox_error
from antiphon.sandbox._guest.budget import ShapeAllowance
from antiphon.sandbox._guest.decode import Decoder, MalformedValue
from antiphon.sandbox._result import SandboxFigure, SandboxResult, SandboxUsage
from antiphon.sandbox._table import SandboxTable

if TYPE_CHECKING:
    from collections.abc import Mapping

    from antiphon.errors import SandboxError
    from antiphon.sandbox._result import Isolation

__all__ = ["decode_value", "result_of", "sound_table"]

_NODES = 100_000
_DEPTH = 64

_PARTS = 100_000
"""Parts that all arrays of a result may have beyond their bytes."""


def result_of(outcome: Mapping[str, Any], layers: tuple[str, ...] = ()) -> SandboxResult:
    """Build the result from an engine's outcome.

    The engine has validated tables and figures as they arrived. A value that could not be
    returned is a failure of the run; a variable or table that could not is only lost.
    """
    fault = outcome.get("error") or outcome.get("value_error")
    try:
        brought = _decode_parts(outcome)
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


def _decode_parts(outcome: Mapping[str, Any]) -> dict[str, Any]:
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

    Arrays become `numpy.ndarray`, without numpy nested lists; values of types that are not
    supported outside the sandbox become `Opaque`. The arguments are those of `Decoder`.

    Raises:
        WorkerCrashed: no honest worker sends this (``sandbox_crashed``).

    Example:
        >>> decode_value({"$": "tuple", "v": [1, {"$": "bytes", "v": "aGk="}]})
        (1, b'hi')
    """
    try:
        return Decoder(tables, nodes=nodes, depth=depth, shapes=shapes).decode(tagged)
    except (MalformedValue, RecursionError) as error:
        raise _crash("value", error) from error


def sound_table(stream: bytes) -> bytes:
    """Validate a table from a worker, so that libraries can read it safely, and return it.

    It is an Arrow IPC stream: columns of plain types, without compression, dictionaries,
    extensions or metadata. Anything else raises `WorkerCrashed`.
    """
    try:
        sandbox_table(stream)
    except ValueError as error:
        raise _crash("table", error) from error
    return stream


def _crash(what: str, error: Exception) -> WorkerCrashed:
    return WorkerCrashed(f"the worker sent a malformed {what}: {error}", code="sandbox_crashed")
