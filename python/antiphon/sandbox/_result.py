"""Results of running code in a sandbox."""

from __future__ import annotations

import base64
import json
from dataclasses import asdict, dataclass, field
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Self

from antiphon._html import BOX, CELL, SMALL
from antiphon._json_values import encode_or
from antiphon._text import escape_controls
from antiphon.sandbox._faults import as_fault, report
from antiphon.sandbox._guest.decode import Opaque
from antiphon.sandbox._table import SandboxTable

if TYPE_CHECKING:
    from collections.abc import Iterator
    from os import PathLike

    from antiphon.errors import SandboxError

__all__ = ["Isolation", "SandboxFigure", "SandboxResult", "SandboxUsage"]

Isolation = Literal["os-jail", "landlock", "wasm", "interpreter+process", "none"]
"""The barrier between the code and the machine; ``landlock`` is ``os-jail`` without a private
root and namespaces (`i_accept_landlock_only`)."""


@dataclass(frozen=True, slots=True, repr=False)
class SandboxFigure:
    """A figure that the code drew; notebooks display it.

    Attributes:
        png: the figure as a PNG file.
    """

    png: bytes

    @property
    def size(self) -> tuple[int, int]:
        """Width and height in pixels."""
        # The engine has validated signature and header.
        return int.from_bytes(self.png[16:20], "big"), int.from_bytes(self.png[20:24], "big")

    def save(self, path: str | PathLike[str]) -> Path:
        """Write the PNG file to `path`, replacing what is there, and return the path."""
        target = Path(path)
        target.write_bytes(self.png)
        return target

    def __repr__(self) -> str:
        width, height = self.size
        return f"SandboxFigure({width} x {height}, {len(self.png):,} bytes)"

    def _repr_png_(self) -> bytes:
        return self.png


@dataclass(frozen=True, slots=True, kw_only=True)
class SandboxUsage:
    """The resources that a run used.

    Attributes:
        wall: seconds until the result was there, including calls of tools.
        cpu: seconds of CPU time; 0 if the engine does not measure it.
        memory: peak in bytes; 0 if the engine does not measure it.
        host_calls: number of calls of tools.
        start: origin of the worker: ``spare`` (started in advance), ``fork``, ``session`` (kept
            from the last run) or ``cold``.
    """

    wall: float = 0.0
    cpu: float = 0.0
    memory: int = 0
    host_calls: int = 0
    start: str = "cold"


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class SandboxResult:
    """The result of running code in a sandbox.

    All of it is data produced by untrusted code: no part of it was executed outside the sandbox,
    and its content is not verified.

    Attributes:
        value: the value of the last expression, if the code ends with one. Values other than
            plain values, dates, numbers, arrays and tables arrive as `Opaque`, with their type
            and repr.
        stdout: the standard output, cut at its limit.
        stderr: the standard error, cut at its limit.
        locals: the variables that the code assigned, except modules, functions and ``_names``.
        tables: data frames and Arrow tables by name; that of the value is ``value``.
        figures: the open figures of matplotlib, in order.
        error: the failure; ``None`` if there was none.
        lost: variables and tables that could not be returned, each with the reason.
        truncated: which of ``stdout``, ``stderr``, ``locals``, ``tables`` and ``figures`` were
            cut at a limit.
        usage: the resources that the run used.
        engine: the engine that ran the code: ``process``, ``wasm``, ``monty`` or ``subprocess``.
        isolation: the barrier between the code and this machine.
        layers: the layers of isolation, all of which held.

    Example:
        >>> SandboxResult(value=2, engine="process", isolation="os-jail").check().value
        2
    """

    value: Any = None
    stdout: str = ""
    stderr: str = ""
    locals: dict[str, Any] = field(default_factory=dict)
    tables: dict[str, SandboxTable] = field(default_factory=dict)
    figures: tuple[SandboxFigure, ...] = ()
    error: SandboxError | None = None
    lost: dict[str, SandboxError] = field(default_factory=dict)
    truncated: tuple[str, ...] = ()
    usage: SandboxUsage = field(default_factory=SandboxUsage)
    engine: str
    isolation: Isolation
    layers: tuple[str, ...] = ()

    @property
    def ok(self) -> bool:
        """Whether the code ran to its end."""
        return self.error is None

    def check(self) -> Self:
        """Return the result itself, if the code ran to its end.

        Raises:
            SandboxError: of the class for the failure; see `antiphon.errors`.
        """
        if self.error is not None:
            raise self.error
        return self

    def to_dict(self) -> dict[str, Any]:
        """Return the result as JSON values; tables by their size, figures as base64 text."""
        return {
            "ok": self.ok,
            "value": _plain(self.value),
            "stdout": self.stdout,
            "stderr": self.stderr,
            "locals": {name: _plain(value) for name, value in self.locals.items()},
            "tables": {name: table.to_dict() for name, table in self.tables.items()},
            "figures": [base64.b64encode(figure.png).decode() for figure in self.figures],
            "error": None if self.error is None else as_fault(self.error),
            "lost": {name: as_fault(error) for name, error in self.lost.items()},
            "truncated": list(self.truncated),
            "usage": asdict(self.usage),
            "engine": self.engine,
            "isolation": self.isolation,
            "layers": list(self.layers),
        }

    def to_json(self, *, indent: int | None = None) -> str:
        """Return `to_dict` as JSON text.

        Args:
            indent: spaces per level. Default: one line.
        """
        return json.dumps(self.to_dict(), ensure_ascii=False, indent=indent)

    def __repr__(self) -> str:
        outcome = f"value={self.value!r}" if self.ok else f"error={self.error!r}"
        return f"SandboxResult({outcome}, engine={self.engine!r}, isolation={self.isolation!r})"

    def __str__(self) -> str:
        return _text(self)

    def _repr_mimebundle_(self, **_: Any) -> dict[str, str]:
        return {"text/plain": _text(self), "text/html": "".join(_html(self))}


def _plain(value: Any) -> Any:
    return encode_or(value, repr(value))


def _text(result: SandboxResult) -> str:
    """Return the result as lines for a person or a model; control characters are escaped."""
    lines = [result.stdout, result.stderr, *_value(result)]
    for name, table in result.tables.items():
        lines += [f"table `{name}`: {table!r}", *_text_rows(table)]
    lines += [f"figure {place}: {figure!r}" for place, figure in enumerate(result.figures)]
    lines += _losses(result)
    if result.error is not None:
        lines.append(f"{result.error.kind}: {report(result.error)}")
    shown = (escape_controls(line).rstrip("\n") for line in lines)
    return "\n".join(line for line in shown if line.strip()) or "(no output)"


def _text_rows(table: SandboxTable) -> Iterator[str]:
    """Yield the first rows as lines of cells; nothing if no library reads the table."""
    read = table.first(_ROWS, columns=_COLUMNS, longest=_TEXT_CELL + 1)
    if read is None:
        return
    names, rows, total = read
    for cells in (names[:_COLUMNS], *rows):
        yield " | ".join(_words(cell, _TEXT_CELL) for cell in cells)
    if total > len(rows):
        yield f"… and {total - len(rows)} more rows"


def _value(result: SandboxResult) -> list[str]:
    value = result.value
    is_drawn = isinstance(value, Opaque) and value.type.startswith("matplotlib.")
    is_shown = not isinstance(value, SandboxTable) and not (is_drawn and result.figures)
    return [repr(value)] if value is not None and is_shown else []


def _losses(result: SandboxResult) -> list[str]:
    lost = [f"not brought out: `{name}`: {error.message}" for name, error in result.lost.items()]
    cut = [f"cut at a limit: {', '.join(result.truncated)}"] if result.truncated else []
    return lost + cut


_LONGEST, _CELL, _TEXT_CELL = 4_000, 200, 60
"""Characters of a text that are displayed, and of a table's cell in HTML and in text."""
_ROWS, _COLUMNS = 10, 30
"""Rows and columns of a table that are displayed."""
_RED, _GREEN, _AMBER = "#cf222e", "#1a7f37", "#9a6700"
_PRE = "white-space:pre-wrap;margin:8px 0;font-family:ui-monospace,monospace;font-size:12px"


def _html(result: SandboxResult) -> Iterator[str]:
    """Yield the parts of a static, self-contained HTML element; untrusted text is escaped."""
    error = result.error
    colour, verdict = (_GREEN, "ok") if error is None else (_RED, error.kind)
    yield f'<div style="{BOX}"><div><b>sandbox</b> '
    yield f'<span style="color:{colour}">{escape(verdict)}</span></div>'
    yield from _lines([result.stdout], _PRE)
    yield from _lines([result.stderr], f"{_PRE};color:{_AMBER}")
    yield from _lines([] if error is None else [report(error)], f"{_PRE};color:{_RED}")
    yield from _lines(_value(result), _PRE)
    for name, table in result.tables.items():
        yield f'<div style="font-size:12px"><b>{_safe(name)}</b></div>'
        yield from _rows(table)
    for figure in result.figures:
        data = base64.b64encode(figure.png).decode()
        source = f'src="data:image/png;base64,{data}"'
        yield f'<div><img alt="figure" style="max-width:100%" {source}></div>'
    yield from _lines(_losses(result), f"font-size:12px;color:{_AMBER}")
    yield from _lines([_usage(result)], SMALL)
    yield "</div>"


def _lines(texts: list[str], style: str) -> Iterator[str]:
    yield from (f'<div style="{style}">{_safe(text)}</div>' for text in texts if text)


def _rows(table: SandboxTable) -> Iterator[str]:
    # One more character than is displayed shows that there are more.
    read = table.first(_ROWS, columns=_COLUMNS, longest=_CELL + 1)
    if read is None:
        yield f"<div>{len(table.ipc):,} bytes of Arrow; install pyarrow to see them</div>"
        return
    names, rows, total = read
    yield '<table style="font-size:12px;border-collapse:collapse"><tr>'
    yield from (f"<th {CELL}>{_cell(column)}</th>" for column in names[:_COLUMNS])
    yield "</tr>"
    for row in rows:
        yield f"<tr>{''.join(f'<td {CELL}>{_cell(value)}</td>' for value in row)}</tr>"
    yield f'</table><div style="font-size:12px">{total} rows x {len(names)} columns</div>'


def _usage(result: SandboxResult) -> str:
    usage = result.usage
    parts = [f"{result.engine}, {result.isolation}", f"{usage.wall * 1000:.1f} ms"]
    parts += [f"{usage.memory / 2**20:.0f} MiB"] if usage.memory else []
    parts += [f"{usage.host_calls} host calls"] if usage.host_calls else []
    return ", ".join(parts)


def _cell(value: object) -> str:
    return escape(escape_controls(_words(value, _CELL)))


def _words(value: object, longest: int) -> str:
    """Return a cell on one line."""
    text = str(value)
    # Cut before it is split: a cell may be as large as its table.
    words = " ".join(text[: longest + 1].split())
    return words if len(text) <= longest else f"{words[:longest]} …"


def _safe(value: str) -> str:
    return escape(escape_controls(value if len(value) <= _LONGEST else f"{value[:_LONGEST]} …"))
