"""What an engine hands back, as a result; nothing of it is trusted."""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from antiphon.errors import WorkerCrashed
from antiphon.sandbox._decode import decode_value, sound_figure, sound_table
from antiphon.sandbox._figure import SandboxFigure
from antiphon.sandbox._result import SandboxResult, SandboxUsage
from antiphon.sandbox._table import SandboxTable
from antiphon.sandbox._trouble import sandbox_error

if TYPE_CHECKING:
    from collections.abc import Mapping

    from antiphon.errors import SandboxError
    from antiphon.sandbox._result import Isolation

__all__ = ["result_of"]

_PIXELS = 16_000_000
"""Of a figure; unpacked it may take eight bytes each."""


def result_of(outcome: Mapping[str, Any]) -> SandboxResult:
    """The result that an engine's outcome stands for.

    A value that could not be brought out is a failure of the run; a name or table that could
    not is lost alone.
    """
    trouble = outcome.get("error") or outcome.get("value_error")
    brought = _Brought()
    try:
        brought = _brought(outcome)
    except WorkerCrashed as crash:
        trouble = {"kind": "crashed", "message": str(crash)}
    lost = {**(outcome.get("local_errors") or {}), **(outcome.get("table_errors") or {})}
    return SandboxResult(
        value=brought.value,
        stdout=outcome.get("stdout", ""),
        stderr=outcome.get("stderr", ""),
        locals=dict(brought.locals),
        tables=dict(brought.tables),
        figures=brought.figures,
        error=None if trouble is None else sandbox_error(trouble),
        lost=_errors(lost),
        truncated=tuple(outcome.get("truncated") or ()),
        usage=SandboxUsage(**(outcome.get("usage") or {})),
        engine=outcome["engine"],
        isolation=cast("Isolation", outcome["isolation"]),
    )


class _Brought(NamedTuple):
    """What a run brought out beside its output; all of it, or nothing."""

    value: Any = None
    locals: Mapping[str, Any] = MappingProxyType({})
    tables: Mapping[str, SandboxTable] = MappingProxyType({})
    figures: tuple[SandboxFigure, ...] = ()


def _brought(outcome: Mapping[str, Any]) -> _Brought:
    streams = outcome.get("tables") or []
    tables = {name: SandboxTable(sound_table(stream)) for name, stream in streams}
    images = outcome.get("figures") or []
    return _Brought(
        decode_value(outcome.get("value"), tables),
        {name: decode_value(each, tables) for name, each in (outcome.get("locals") or {}).items()},
        tables,
        tuple(SandboxFigure(sound_figure(image, _PIXELS)) for image in images),
    )


def _errors(troubles: Mapping[str, Any]) -> dict[str, SandboxError]:
    return {name: sandbox_error(trouble) for name, trouble in troubles.items()}
