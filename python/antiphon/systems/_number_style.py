"""How the numbers of a text file are written: with a decimal point, or with a decimal comma."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

__all__ = ["COMMA", "NumberStyle", "is_code", "style_of_delimiter", "style_of_file", "styles_of"]

_SUSPECT = re.compile(r"[+-]?0\d+|\d+[eE]\d+|\+\d+")
_CODES = re.compile(r"[+-]?0\d+")
"""A leading zero is a part of a code, as in a postcode."""
_LETTERED = re.compile(r"\d+[eE]\d+")
_UNSIGNED = re.compile(r"\+?\d+")
_LONGEST = 309
"""No float has more digits before its point."""


@dataclass(frozen=True, slots=True)
class NumberStyle:
    """A way to write numbers.

    Attributes:
        decimal: the mark before the fraction.
        group: the mark between thousands.
    """

    decimal: str
    group: str

    @property
    def pattern(self) -> re.Pattern[str]:
        """Numbers in this style. A group of thousands never begins with 0."""
        decimal, group = re.escape(self.decimal), re.escape(self.group)
        plain = rf"(?:\d+(?:{decimal}\d*)?|{decimal}\d+)(?:[eE][+-]?\d+)?"
        return re.compile(rf"[+-]?(?:{plain}|[1-9]\d{{0,2}}(?:{group}\d{{3}})+(?:{decimal}\d+)?)")

    def plain(self, cell: str) -> str:
        """A number of this style as Python spells it."""
        return cell.replace(self.group, "").replace(self.decimal, ".")


_POINT = NumberStyle(".", ",")
COMMA = NumberStyle(",", ".")


def styles_of(cells: Sequence[str]) -> tuple[NumberStyle, ...]:
    """The styles in which all cells are numbers; none if there are no cells."""
    if not cells:
        return ()
    return tuple(style for style in (_POINT, COMMA) if all(map(style.pattern.fullmatch, cells)))


def is_code(cells: Sequence[str]) -> bool:
    """Whether numbers stand for something else, such as a postcode, a part or a telephone.

    They do with a leading zero; with `E` among digits, in a column without decimals; with a
    plus sign before whole numbers, in a column without negative ones; and with more digits than
    a number has.
    """
    if max(map(len, cells), default=0) > _LONGEST:
        return True
    suspect = list(filter(_SUSPECT.fullmatch, cells))
    if any(map(_CODES.fullmatch, suspect)):
        return True
    if any(map(_LETTERED.fullmatch, suspect)):
        return not any("." in cell or "," in cell for cell in cells)
    has_plus = any(cell[0] == "+" for cell in suspect)
    return has_plus and all(map(_UNSIGNED.fullmatch, cells))


def style_of_file(
    columns: Iterable[Sequence[NumberStyle]], delimiter: str
) -> tuple[NumberStyle, bool]:
    """The style of the numbers of a file, and whether its cells tell it.

    Columns that are numbers in one style only tell it. If there are none, or they disagree, the
    delimiter does: programs that write decimal commas separate cells by `;`.

    Args:
        columns: the `styles_of` each column.
        delimiter: what separates the cells.
    """
    told = {styles[0] for styles in columns if len(styles) == 1}
    if len(told) == 1:
        return told.pop(), True
    return style_of_delimiter(delimiter), False


def style_of_delimiter(delimiter: str) -> NumberStyle:
    """The usual style of files whose cells are separated so."""
    return COMMA if delimiter == ";" else _POINT
