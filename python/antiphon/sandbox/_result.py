"""What came of running code in a sandbox."""

from __future__ import annotations

import base64
import json
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Self

from antiphon._json_values import encode_or
from antiphon.sandbox._faults import as_fault

if TYPE_CHECKING:
    from os import PathLike

    from antiphon.errors import SandboxError
    from antiphon.sandbox._table import SandboxTable

__all__ = ["Isolation", "SandboxFigure", "SandboxResult", "SandboxUsage"]

Isolation = Literal["os-jail", "landlock", "wasm", "interpreter+process", "none"]
"""What stands between the code and the machine; ``landlock`` is ``os-jail`` without a private
root and namespaces, for who accepts that."""


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
    """What a run took.

    Attributes:
        wall: seconds until the result was there, calls of host functions included.
        cpu: seconds of processor time; 0 where the engine cannot tell.
        memory: peak in bytes; 0 where the engine cannot tell.
        host_calls: how many calls of host functions the code made.
        start: how the worker was had: ``spare`` (it waited), ``fork``, ``session`` (it was
            kept from the last run) or ``cold``.
    """

    wall: float = 0.0
    cpu: float = 0.0
    memory: int = 0
    host_calls: int = 0
    start: str = "cold"


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class SandboxResult:
    """What came of running code in a sandbox.

    All of it is data that the code made: nothing here has run on this side, and nothing
    here says that what the code reports is true.

    Attributes:
        value: the last expression's value, if the code ends with one. What is no plain value,
            date, number, array or table arrives as an `Opaque` with its type and repr.
        stdout: what the code wrote there, cut at its limit.
        stderr: the same of stderr.
        locals: the names that the code assigned, but modules, functions and ``_names``.
        tables: data frames and Arrow tables, by name; the value's is ``value``.
        figures: open figures of matplotlib, in order.
        error: why it failed; ``None`` if it did not.
        lost: names whose value or table could not be brought out, and why.
        truncated: which of ``stdout``, ``stderr``, ``locals``, ``tables`` and ``figures`` were
            cut at a limit.
        usage: what the run took.
        engine: what ran the code: ``process``, ``wasm``, ``monty`` or ``subprocess``.
        isolation: what stood between the code and this machine.
        layers: the names of its layers, each of which held.

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
        """The result itself, if the code ran to its end.

        Raises:
            SandboxError: the class for what happened; see `antiphon.errors`.
        """
        if self.error is not None:
            raise self.error
        return self

    def to_dict(self) -> dict[str, Any]:
        """All of it as JSON values; tables by their size, figures as base64 text."""
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
        """`to_dict` as JSON text.

        Args:
            indent: spaces per level. Default: all on one line.
        """
        return json.dumps(self.to_dict(), ensure_ascii=False, indent=indent)

    def __repr__(self) -> str:
        told = f"value={self.value!r}" if self.ok else f"error={self.error!r}"
        return f"SandboxResult({told}, engine={self.engine!r}, isolation={self.isolation!r})"

    def __str__(self) -> str:
        from antiphon.sandbox._display import text

        return text(self)

    def _repr_mimebundle_(self, **_: Any) -> dict[str, str]:
        from antiphon.sandbox._display import html, text

        return {"text/plain": text(self), "text/html": html(self)}


def _plain(value: Any) -> Any:
    return encode_or(value, repr(value))
