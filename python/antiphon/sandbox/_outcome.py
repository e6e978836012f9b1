"""What an engine hands back, as a result; nothing of it is trusted."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from antiphon.errors import WorkerCrashed
from antiphon.sandbox._decode import decode_value
from antiphon.sandbox._figure import SandboxFigure
from antiphon.sandbox._guest.shape import ShapeAllowance
from antiphon.sandbox._result import SandboxResult, SandboxUsage
from antiphon.sandbox._table import SandboxTable
from antiphon.sandbox._trouble import sandbox_error

if TYPE_CHECKING:
    from collections.abc import Mapping

    from antiphon.errors import SandboxError
    from antiphon.sandbox._result import Isolation

__all__ = ["result_of"]

_PARTS = 100_000
"""What all arrays of a result may unfold to beyond their bytes."""


def result_of(outcome: Mapping[str, Any], layers: tuple[str, ...] = ()) -> SandboxResult:
    """The result that an engine's outcome stands for, with the layers that it ran behind.

    Each engine has checked tables and figures as they arrived.

    A value that could not be brought out is a failure of the run; a name or table that could
    not is lost alone.
    """
    trouble = outcome.get("error") or outcome.get("value_error")
    try:
        brought = _brought(outcome)
    except WorkerCrashed as crash:
        brought, trouble = {}, {"kind": "crashed", "message": str(crash)}
    lost: dict[str, SandboxError] = {}
    for group in ("local_errors", "table_errors"):
        if troubles := outcome.get(group):
            lost |= {name: sandbox_error(each) for name, each in troubles.items()}
    return SandboxResult(
        **brought,
        stdout=outcome.get("stdout", ""),
        stderr=outcome.get("stderr", ""),
        error=None if trouble is None else sandbox_error(trouble),
        lost=lost,
        truncated=tuple(outcome.get("truncated") or ()),
        usage=SandboxUsage(**(outcome.get("usage") or {})),
        engine=outcome["engine"],
        isolation=cast("Isolation", outcome["isolation"]),
        layers=layers,
    )


def _brought(outcome: Mapping[str, Any]) -> dict[str, Any]:
    """What a run brought out beside its output; all of it, or nothing."""
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
