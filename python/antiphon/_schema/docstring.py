"""Parser of docstrings: summary, description and parameters.

Google, NumPy and Sphinx styles are supported, also mixed. Sections about results, exceptions and
examples are dropped, because they do not concern a tool's caller. Other headings are prose.
"""

from __future__ import annotations

import inspect
import re
from dataclasses import dataclass, field

_PARAMETERS = frozenset(
    {
        "args",
        "arguments",
        "attributes",
        "keyword args",
        "keyword arguments",
        "other parameters",
        "parameters",
        "params",
    }
)
_DROPPED = frozenset(
    {
        "example",
        "examples",
        "raises",
        "references",
        "return",
        "returns",
        "see also",
        "todo",
        "yield",
        "yields",
    }
)
_FIELD = re.compile(r":(\w+)(?:\s+([^:]*))?:(?:\s+(.*))?$")
_PARAMETER_FIELDS = frozenset(
    {"arg", "argument", "cvar", "ivar", "key", "keyword", "param", "parameter", "var"}
)
_DROPPED_FIELDS = frozenset(
    {"except", "exception", "raise", "raises", "return", "returns", "rtype", "type", "vartype"}
    | {"yield", "yields", "ytype"}
)
_NAMES = r"\*{0,2}\w+(?:\s*,\s*\*{0,2}\w+)*"
_GOOGLE_ENTRY = re.compile(rf"({_NAMES})\s*(?:\(.*?\))?\s*:(?:\s+(.*))?$")
_NUMPY_ENTRY = re.compile(rf"({_NAMES})\s*(?::.*)?$")
_BULLET = re.compile(r"(?:[-*•]|\d+[.)])\s")


@dataclass(frozen=True, slots=True)
class Docstring:
    """The parts of a docstring.

    Attributes:
        summary: the first paragraph, on one line.
        description: the prose after it, with its paragraphs.
        parameters: the descriptions by name, without asterisks.
    """

    summary: str = ""
    description: str = ""
    parameters: dict[str, str] = field(default_factory=dict)

    @property
    def text(self) -> str:
        """Summary and description."""
        return "\n\n".join(part for part in (self.summary, self.description) if part)


def parse(text: str | None) -> Docstring:
    r"""Parse a docstring; any text is valid, and ``None`` is empty.

    Example:
        >>> parse("Adds.\n\nArgs:\n    x: a number.").parameters
        {'x': 'a number.'}
    """
    if not text:
        return Docstring()
    return _Parser(inspect.cleandoc(text).splitlines()).run()


class _Parser:
    def __init__(self, lines: list[str]) -> None:
        self.lines = lines
        self.prose: list[str] = []
        self.parameters: dict[str, str] = {}

    def run(self) -> Docstring:
        at = 0
        while at < len(self.lines):
            at = self._numpy(at) or self._google(at) or self._sphinx(at) or self._line(at)
        summary, _, rest = "\n".join(self.prose).strip().partition("\n\n")
        return Docstring(" ".join(summary.split()), _squeeze(rest), self.parameters)

    def _line(self, at: int) -> int:
        self.prose.append(self.lines[at].rstrip())
        return at + 1

    def _numpy(self, at: int) -> int | None:
        """Parse a section with an underlined title; it ends at the next such title."""
        title = self.lines[at].strip().lower()
        if title not in _PARAMETERS | _DROPPED or not _is_underlined(self.lines, at):
            return None
        end = at + 2
        while end < len(self.lines) and not _is_underlined(self.lines, end):
            end += 1
        if title in _PARAMETERS:
            self._entries(self.lines[at + 2 : end], _NUMPY_ENTRY)
        return end

    def _google(self, at: int) -> int | None:
        """Parse a section with a title that ends in a colon; it ends with the indentation."""
        title = self.lines[at].rstrip().removesuffix(":").lower()
        if not self.lines[at].rstrip().endswith(":") or title not in _PARAMETERS | _DROPPED:
            return None
        end = at + 1
        while end < len(self.lines) and _indent(self.lines[end]) != 0:
            end += 1
        if title in _PARAMETERS:
            self._entries(self.lines[at + 1 : end], _GOOGLE_ENTRY)
        return end

    def _sphinx(self, at: int) -> int | None:
        """Parse a field such as ``:param name: text`` with its indented continuation."""
        found = _FIELD.match(self.lines[at])
        if found is None:
            return None
        kind, subject, first = found.group(1).lower(), found.group(2), found.group(3)
        if kind not in _PARAMETER_FIELDS | _DROPPED_FIELDS:
            return None
        end = at + 1
        while end < len(self.lines) and _indent(self.lines[end]) != 0:
            end += 1
        if kind in _PARAMETER_FIELDS and subject and subject.split():
            # `:param int size:` gives the type before the name.
            self._describe(subject.split()[-1], [first or "", *self.lines[at + 1 : end]])
        return end

    def _entries(self, lines: list[str], pattern: re.Pattern[str]) -> None:
        """Parse the entries of a section; each starts on a line with the least indentation."""
        margin = min((_indent(line) for line in lines if line.strip()), default=0)
        names, body = "", list[str]()
        for line in lines:
            found = pattern.match(line.strip()) if _indent(line) == margin else None
            if found is None:
                body.append(line)
                continue
            self._describe(names, body)
            first = found.group(2) if found.re.groups > 1 else None
            names, body = found.group(1), [first or ""]
        self._describe(names, body)

    def _describe(self, names: str, lines: list[str]) -> None:
        text = _flow(lines)
        for name in filter(None, (part.strip().lstrip("*\\") for part in names.split(","))):
            if text:
                self.parameters.setdefault(name, text)


def _is_underlined(lines: list[str], at: int) -> bool:
    """Whether the line at `at` is a title over a row of dashes."""
    if at + 1 >= len(lines) or not lines[at].strip():
        return False
    rule = lines[at + 1].strip()
    return rule.startswith("---") and set(rule) == {"-"} and _indent(lines[at]) == 0


def _indent(line: str) -> int:
    """Return the indentation; an empty line counts as deeply indented."""
    stripped = line.lstrip()
    return len(line) - len(stripped) if stripped else 1_000


def _flow(lines: list[str]) -> str:
    """Join wrapped lines; empty lines and list items keep their line break."""
    text = ""
    for line in (line.strip() for line in lines):
        if not line:
            text = text.rstrip("\n") + "\n" if text else text
        elif not text or text.endswith("\n"):
            text += line
        else:
            text += ("\n" if _BULLET.match(line) else " ") + line
    return text.strip()


def _squeeze(text: str) -> str:
    """Ends lines where their text ends, and allows one empty line at a time."""
    return re.sub(r"\n{3,}", "\n\n", text).strip()
