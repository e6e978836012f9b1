"""What a deep research returns for a question."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, Self, Unpack

from antiphon._html import WARNING, escaped
from antiphon._json_values import encode_result
from antiphon._state_schema import fields_of_state
from antiphon.systems._report_page import Report, report_page
from antiphon.systems.deep_research_records import (
    CitedPassage,
    Claim,
    Observation,
    ResearchSource,
    ResearchStep,
)
from antiphon.systems.result import SystemResult

if TYPE_CHECKING:
    import os
    from collections.abc import Iterator, Mapping

    from antiphon.systems.report_file import PdfLayout

__all__ = ["DeepResearchResult"]

_LONGEST = 2_000
"""Characters of a text that are shown."""

_ResearchOutcome = Literal[
    "completed",
    "direct",
    "fallback_simple",
    "degraded",
    "timeout_partial",
    "nothing_found",
    "failed",
]
"""How a research ended."""


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class DeepResearchResult(SystemResult):
    """What a deep research returns for a question, beside the fields of `SystemResult`.

    Attributes:
        text: the report as Markdown; empty if there is no answer.
        final_report: what can be shown in any case: the report, or what the steps have found.
        structured_output: the report in the form of the setting ``output``, as a value of its
            type; ``None`` without it, and if there is no answer or one without research.
        research_outcome: ``completed``; ``direct``, without research; ``fallback_simple`` if a web
            search came to nothing in time; ``degraded`` if no model has written the report, which
            then lists what was found; ``timeout_partial``, the same because the time was over;
            ``nothing_found``; ``failed``.
        sources: all sources, by number.
        claims: the claims of the report with their verdicts; empty unless they were verified.
        passages: the passages that the claims cite.
        references: what the keys in the report stand for, as JSON values: ``number``, ``key``,
            ``url``, ``title``, ``evidence`` (the ids of its passages), and ``origin``:
            ``fetched`` for a page that was read for this report, ``known`` for one that was known
            before, ``found`` for what a search shows of one that was not read.
        verification_summary: what was done with the claims, in numbers; ``None`` unless they were
            verified.
        violations: the promises that the verified report does not keep, each as a sentence.
        plan: the steps of the last plan.
        observations: what the steps have found.
        reflection_history: what the reflector said after each step, as JSON values.
        effective_depth: how thorough the research was.
        links_removed: links of the report that led to no source.
        research_errors: what went wrong on the way, as JSON values.
        warnings: what a reader should know.
    """

    text: str
    final_report: str
    structured_output: Any
    research_outcome: _ResearchOutcome
    sources: tuple[ResearchSource, ...]
    claims: tuple[Claim, ...]
    passages: tuple[CitedPassage, ...]
    references: tuple[dict[str, Any], ...]
    verification_summary: dict[str, Any] | None
    violations: tuple[str, ...]
    plan: tuple[ResearchStep, ...]
    observations: tuple[Observation, ...]
    reflection_history: tuple[dict[str, Any], ...]
    effective_depth: Literal["light", "medium", "extended"]
    links_removed: int
    research_errors: tuple[dict[str, Any], ...]
    warnings: tuple[str, ...]

    @property
    def answer(self) -> str | None:
        """The report as Markdown; ``None`` if there is no answer."""
        return self.text or None

    @classmethod
    def of(cls, native: Mapping[str, Any]) -> Self:
        """The result as the engine has it, in Python's own types."""
        plan = native["plan"]
        audit = native["audit"]
        return super().of(
            {
                **native,
                "text": native["answer"],
                "sources": tuple(
                    _source(number, one) for number, one in enumerate(native["sources"], 1)
                ),
                "claims": tuple(map(_claim, native["claims"])),
                "passages": tuple(
                    CitedPassage(**{**one, "span": _span(one["span"])})
                    for one in native["passages"]
                ),
                "references": tuple(native["references"]),
                "violations": tuple(
                    f"{one['subject']}: {one['detail']}"
                    for one in (audit["violations"] if audit else ())
                ),
                "plan": () if plan is None else tuple(map(_step, plan["steps"])),
                "observations": tuple(map(_observation, native["observations"])),
                "reflection_history": tuple(native["reflection_history"]),
                "research_errors": tuple(native["errors"]),
                "warnings": tuple(native["warnings"]),
            }
        )

    def to_dict(self, *, events: bool = False) -> dict[str, Any]:
        """The result as JSON values.

        Args:
            events: whether to include the events. Default: no.
        """
        from dataclasses import asdict

        plain = super().to_dict(events=events)
        del plain["text"]
        plain["structured_output"] = encode_result(self.structured_output)
        for name in ("sources", "claims", "passages", "plan", "observations"):
            plain[name] = [asdict(one) for one in getattr(self, name)]
        for name in (
            "references",
            "violations",
            "reflection_history",
            "research_errors",
            "warnings",
        ):
            plain[name] = list(getattr(self, name))
        return plain

    def to_markdown(self) -> str:
        """The report as Markdown, with the passages that it cites and how its claims stand."""
        from antiphon.systems.report_file import report_markdown

        return report_markdown(self._report())

    def to_html(self) -> str:
        """The report as one HTML page without scripts, which loads nothing.

        Each citation leads to the passage it cites, marked in the text of its source; each claim
        has its verdict, and checks that failed are named.
        """
        return report_page(self._report())

    def write(self, path: str | os.PathLike[str], **layout: Unpack[PdfLayout]) -> None:
        """Write the report to a file, replacing it.

        Args:
            path: where; it ends in ``.html`` as `to_html`, or in ``.md`` or ``.pdf`` as
                `to_markdown`.
            **layout: of a PDF file: ``fonts`` (font files), ``font_name`` (a family), ``font_size``
                and ``margins`` (both in points) and ``page_size``, as for
                `antiphon.tools.write_pdf`.

        Raises:
            ValidationError: the path has another ending, its folder does not exist, or a file
                with ``layout`` is no PDF (``input_invalid``); ``layout`` is wrong
                (``tool_setting_invalid``). Nothing is written then.
            ToolError: the report cannot be written as PDF (``pdf_unwritable``).
            OSError: the file cannot be written.
        """
        from antiphon.systems.report_file import write_report

        write_report(self._report(), path, layout)

    def _report(self) -> Report:
        return Report(
            title=str(fields_of_state(self.state).get("query") or "Report"),
            outcome=self.outcome,
            reason=self.reason,
            text=self.final_report,
            claims=self.claims,
            passages=self.passages,
            references=self.references,
            sources=self.sources,
            violations=self.violations,
            notes=(*self.warnings, *([self.caveat] if self.caveat else [])),
        )

    def _text_lines(self) -> Iterator[str]:
        if not self.text and self.final_report:
            yield self.final_report
        yield from (_line(source) for source in self.sources if source.is_cited)
        yield from self.violations
        yield from self.warnings
        if self.caveat is not None:
            yield self.caveat

    def _html_parts(self) -> Iterator[str]:
        for warning in (*self.violations, *self.warnings, self.caveat):
            if warning is not None:
                yield f'<div style="color:{WARNING}">{escaped(warning)}</div>'
        if not self.text and self.final_report:
            yield f"<p>{escaped(self.final_report, _LONGEST)}</p>"
        yield from _folded("sources", [_line(source) for source in self.sources])
        claims = [f"{one.verdict or 'not verified'}: {one.text}" for one in self.claims]
        yield from _folded("claims", claims)


def _folded(title: str, lines: list[str]) -> Iterator[str]:
    if not lines:
        return
    items = "".join(f"<li>{escaped(line, _LONGEST)}</li>" for line in lines)
    yield f'<details><summary style="font-size:12px">{len(lines)} {title}</summary>'
    yield f'<ol style="font-size:12px">{items}</ol></details>'


def _line(source: ResearchSource) -> str:
    return f"[{source.number}] {source.title or source.url}, {source.url}"


def _source(number: int, native: Mapping[str, Any]) -> ResearchSource:
    names = ("url", "title", "snippet", "content", "crawl_status", "error_reason", "step_title")
    given = {name: native[name] for name in names}
    flags = {name: native[name] for name in ("was_known", "is_cited")}
    return ResearchSource(number=number, **flags, **given)


def _claim(native: Mapping[str, Any]) -> Claim:
    names = ("text", "verdict", "reasoning", "is_abstained", "is_numeric", "revision")
    return Claim(
        **{name: native[name] for name in names},
        span=_span(native["span"]),
        keys=tuple(native["keys"]),
        passages=tuple(native["evidence"]),
    )


def _step(native: Mapping[str, Any]) -> ResearchStep:
    return ResearchStep(**{name: native[name] for name in ("title", "description", "status")})


def _observation(native: Mapping[str, Any]) -> Observation:
    given = {name: native[name] for name in ("step_title", "text", "failed")}
    return Observation(**given, sources=tuple(native["sources"]))


def _span(native: Mapping[str, int] | None) -> tuple[int, int] | None:
    return None if native is None else (native["start"], native["end"])
