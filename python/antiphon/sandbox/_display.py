"""Results as static HTML and plain text, without scripts, fonts or network."""

from __future__ import annotations

import base64
from html import escape
from typing import TYPE_CHECKING

from antiphon._text import escape_controls
from antiphon.sandbox._faults import report
from antiphon.sandbox._table import SandboxTable

if TYPE_CHECKING:
    from collections.abc import Iterator

    from antiphon.sandbox._result import SandboxResult

_LONGEST = 4_000
"""Characters of a text that are shown."""
_CELL = 200
"""Characters of a table's cell that are shown."""
_ROWS = 10
"""Rows of a table that are shown."""
_COLUMNS = 30
"""Columns of a table that are shown."""
_BOX = "border:1px solid #8884;border-radius:8px;padding:10px 14px;max-width:60em;font-size:14px"
_PRE = "white-space:pre-wrap;margin:8px 0;font-family:ui-monospace,monospace;font-size:12px"
_TD = 'style="text-align:left;padding:1px 10px 1px 0;vertical-align:top"'


def text(result: SandboxResult) -> str:
    """The result in lines that a person or a model can read; control characters are spelt out."""
    lines = [escape_controls(result.stdout), escape_controls(result.stderr)]
    if result.value is not None and not isinstance(result.value, SandboxTable):
        lines.append(escape_controls(repr(result.value)))
    lines += [
        f"table `{escape_controls(name)}`: {table!r}" for name, table in result.tables.items()
    ]
    lines += [f"figure {place}: {picture!r}" for place, picture in enumerate(result.figures)]
    lines += [
        f"not brought out: `{escape_controls(n)}`: {escape_controls(e.message)}"
        for n, e in result.lost.items()
    ]
    if result.truncated:
        lines.append(f"cut at a limit: {', '.join(result.truncated)}")
    if result.error is not None:
        lines.append(f"{result.error.kind}: {escape_controls(report(result.error))}")
    return "\n".join(line.rstrip("\n") for line in lines if line.strip()) or "(no output)"


def html(result: SandboxResult) -> str:
    """The result as one self-contained element; all that the code made is escaped."""
    colour = "#1a7f37" if result.ok else "#cf222e"
    verdict = "ok" if result.error is None else result.error.kind
    parts = [
        f'<div style="{_BOX}">',
        f'<div><b>sandbox</b> <span style="color:{colour}">{escape(verdict)}</span></div>',
        *_streams(result),
        *_failure(result),
        *_value(result),
        *_tables(result),
        *_figures(result),
        *_losses(result),
        _spent(result),
        "</div>",
    ]
    return "".join(parts)


def _streams(result: SandboxResult) -> Iterator[str]:
    if result.stdout:
        yield f'<div style="{_PRE}">{_safe(result.stdout)}</div>'
    if result.stderr:
        yield f'<div style="{_PRE};color:#9a6700">{_safe(result.stderr)}</div>'


def _failure(result: SandboxResult) -> Iterator[str]:
    if result.error is not None:
        yield f'<div style="{_PRE};color:#cf222e">{_safe(report(result.error))}</div>'


def _value(result: SandboxResult) -> Iterator[str]:
    if result.value is not None and not isinstance(result.value, SandboxTable):
        yield f'<div style="{_PRE}">{_safe(repr(result.value))}</div>'


def _tables(result: SandboxResult) -> Iterator[str]:
    for name, table in result.tables.items():
        yield f'<div style="font-size:12px"><b>{_safe(name)}</b></div>'
        # One more character than is shown says that there are more.
        read = table.first(_ROWS, columns=_COLUMNS, longest=_CELL + 1)
        if read is None:
            yield f"<div>{len(table.ipc):,} bytes of Arrow; install pyarrow to see them</div>"
            continue
        names, rows, total = read
        yield '<table style="font-size:12px;border-collapse:collapse"><tr>'
        yield from (f"<th {_TD}>{_cell(column)}</th>" for column in names[:_COLUMNS])
        yield "</tr>"
        for row in rows:
            cells = (f"<td {_TD}>{_cell(value)}</td>" for value in row)
            yield f"<tr>{''.join(cells)}</tr>"
        yield f'</table><div style="font-size:12px">{total} rows x {len(names)} columns</div>'


def _figures(result: SandboxResult) -> Iterator[str]:
    for figure in result.figures:
        data = base64.b64encode(figure.png).decode()
        source = f'src="data:image/png;base64,{data}"'
        yield f'<div><img alt="figure" style="max-width:100%" {source}></div>'


def _losses(result: SandboxResult) -> Iterator[str]:
    for name, error in result.lost.items():
        told = f"{name}: {error.message}"
        yield f'<div style="font-size:12px;color:#9a6700">not brought out: {_safe(told)}</div>'
    if result.truncated:
        names = ", ".join(result.truncated)
        yield f'<div style="font-size:12px;color:#9a6700">cut at a limit: {_safe(names)}</div>'


def _spent(result: SandboxResult) -> str:
    usage = result.usage
    parts = [f"{result.engine}, {result.isolation}", f"{usage.wall * 1000:.1f} ms"]
    if usage.memory:
        parts.append(f"{usage.memory / 2**20:.0f} MiB")
    if usage.host_calls:
        parts.append(f"{usage.host_calls} host calls")
    return f'<div style="color:#57606a;font-size:12px">{escape(", ".join(parts))}</div>'


def _cell(value: object) -> str:
    told = str(value)
    # Cut before it is split: a cell may be as large as its table.
    words = " ".join(told[: _CELL + 1].split())
    return escape(escape_controls(words if len(told) <= _CELL else f"{words[:_CELL]} …"))


def _safe(value: str) -> str:
    return escape(escape_controls(value if len(value) <= _LONGEST else f"{value[:_LONGEST]} …"))
