"""Files of a report: an HTML page, Markdown, or PDF."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Literal, Protocol, TypedDict, Unpack, runtime_checkable

from antiphon._builtin_tools.write_pdf import write_pdf
from antiphon._text import escape_controls, well_formed
from antiphon.errors import ValidationError
from antiphon.systems._report_page import Report, report_page, tally

if TYPE_CHECKING:
    import os
    from collections.abc import Iterator, Sequence

__all__ = ["PdfLayout", "WritableReport", "report_markdown", "report_path", "write_report"]

_SIGNS = re.compile(r"([\\`*_\[\]<>#|~!])")
"""Signs that mean something in Markdown wherever they stand."""
_FIRST_SIGNS = re.compile(r"^(?:[-+=]|\d+(?=[.)]))")
"""What means something in Markdown at the start of a line."""


class PdfLayout(TypedDict, total=False):
    """How a PDF file looks; each as the setting of that name of `antiphon.tools.write_pdf`."""

    fonts: Sequence[str | os.PathLike[str]]
    font_name: str | None
    font_size: float
    margins: float | Sequence[float]
    page_size: Literal["a4", "letter"]


@runtime_checkable
class WritableReport(Protocol):
    """A result with a report that can be written to a file."""

    @property
    def final_report(self) -> str:
        """The report; empty if there is none."""

    def write(self, path: str | os.PathLike[str], **layout: Unpack[PdfLayout]) -> None:
        """Write it; the ending of the path chooses the format."""


def report_markdown(report: Report) -> str:
    """The report as Markdown, followed by the passages that it cites and how its claims stand."""
    parts = [report.text.rstrip(), *_passages(report), *_checks(report)]
    return "\n\n".join(part for part in parts if part) + "\n"


def report_path(path: str | os.PathLike[str]) -> Path:
    """The path of a report, checked before anything is spent on it.

    Raises:
        ValidationError: it names no format, or its folder does not exist (``input_invalid``).
    """
    target = Path(path)
    if target.suffix.lower() not in {".html", ".htm", ".md", ".pdf"}:
        raise ValidationError(
            f"the file of a report must end in .html, .md or .pdf: {target.name}",
            code="input_invalid",
        )
    if not target.parent.is_dir():
        raise ValidationError(
            f"the folder of the report does not exist: {target.parent}", code="input_invalid"
        )
    return target


def write_report(report: Report, path: str | os.PathLike[str], layout: PdfLayout) -> None:
    """Write a report in the format that its path names.

    Raises:
        ValidationError: as `report_path`; ``layout`` is wrong (``tool_setting_invalid``), or the
            file is no PDF (``input_invalid``).
        ToolError: the report cannot be written as PDF (``pdf_unwritable``).
        OSError: the file cannot be written.
    """
    target = report_path(path)
    if target.suffix.lower() == ".pdf":
        writer = write_pdf(target.parent, **layout)
        content = {
            "content": well_formed(report_markdown(report)),
            "title": well_formed(report.title),
        }
        writer.call({"path": target.name, "overwrite": True, **content})
        return
    if layout:
        names = ", ".join(f"`{name}`" for name in layout)
        raise ValidationError(
            f"only a PDF file has {names}: {target.name}",
            code="input_invalid",
            hint="write to a path that ends in .pdf, or leave them out",
        )
    text = report_markdown(report) if target.suffix.lower() == ".md" else report_page(report)
    target.write_text(well_formed(text), encoding="utf-8")


def _passages(report: Report) -> Iterator[str]:
    if report.references:
        yield "## Passages"
    for reference in report.references:
        yield f"### {reference['key']}: {_plain(reference['title'] or reference['url'])}"
        for passage in report.passages:
            if passage.id in reference["evidence"]:
                yield f"> {_plain(passage.quote)}"


def _checks(report: Report) -> Iterator[str]:
    if report.claims:
        yield "## Verification"
        yield f"{tally(report.claims)}."
    if report.violations:
        yield "\n".join(f"- {_plain(one)}" for one in report.violations)


def _plain(text: str) -> str:
    """A text in one line, whose signs mean themselves in Markdown."""
    line = _SIGNS.sub(r"\\\1", " ".join(escape_controls(text).split()))
    return _FIRST_SIGNS.sub(
        lambda found: f"{found[0]}\\" if found[0].isdigit() else f"\\{found[0]}", line
    )
