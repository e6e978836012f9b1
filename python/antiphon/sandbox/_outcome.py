"""What an engine hands back, as a result; nothing of it is trusted."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from antiphon.sandbox._figure import SandboxFigure
from antiphon.sandbox._guest.decode import Decoder, Malformed
from antiphon.sandbox._result import SandboxResult, SandboxUsage
from antiphon.sandbox._table import SandboxTable
from antiphon.sandbox._trouble import sandbox_error

if TYPE_CHECKING:
    from collections.abc import Mapping

    from antiphon.errors import SandboxError
    from antiphon.sandbox._result import Isolation

__all__ = ["result_of"]


def result_of(outcome: Mapping[str, Any]) -> SandboxResult:
    """The result that an engine's outcome stands for.

    A value that could not be brought out is a failure of the run; a name or table that could
    not is lost alone.
    """
    tables = {name: SandboxTable(stream) for name, stream in outcome.get("tables") or []}
    trouble = outcome.get("error") or outcome.get("value_error")
    value, spoilt = None, False
    found: dict[str, Any] = {}
    try:
        value = _decoded(outcome.get("value"), tables)
        found = {
            name: _decoded(each, tables) for name, each in (outcome.get("locals") or {}).items()
        }
    except Malformed as problem:
        value, found, spoilt = None, {}, True
        trouble = {"kind": "crashed", "message": f"the worker sent what is no value: {problem}"}
    lost = {**(outcome.get("local_errors") or {}), **(outcome.get("table_errors") or {})}
    return SandboxResult(
        value=value,
        stdout=outcome.get("stdout", ""),
        stderr=outcome.get("stderr", ""),
        locals=found,
        tables={} if spoilt else tables,
        figures=() if spoilt else tuple(map(SandboxFigure, outcome.get("figures") or [])),
        error=None if trouble is None else sandbox_error(trouble),
        lost=_errors(lost),
        truncated=tuple(outcome.get("truncated") or ()),
        usage=SandboxUsage(**(outcome.get("usage") or {})),
        engine=outcome["engine"],
        isolation=cast("Isolation", outcome["isolation"]),
    )


def _decoded(tagged: Any, tables: Mapping[str, SandboxTable]) -> Any:
    return Decoder(tables).decode(tagged)


def _errors(troubles: Mapping[str, Any]) -> dict[str, SandboxError]:
    return {name: sandbox_error(trouble) for name, trouble in troubles.items()}
