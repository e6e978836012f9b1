"""The report of a deep research as one HTML page: each citation leads to the passage it cites.

The page needs no script and loads nothing. Texts of pages and models are escaped; Markdown is
rendered by the engine, which takes no HTML from it.
"""

from __future__ import annotations

from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING, Any

from antiphon._antiphon import markdown_html
from antiphon._text import escape_controls

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from antiphon.systems.deep_research_records import CitedPassage, Claim, ResearchSource

_AROUND = 400
"""Characters of a source that are shown before and after a passage."""
_POLICY = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"
_STANDINGS = {
    "supported": "supported",
    "partial": "partly supported",
    "unsupported": "not supported",
    "contradicted": "contradicted",
    "open": "not judged",
}
"""How a claim stands, in words. Ids of claims begin with the key, which the style relies on."""
_STYLE = """
:root { color-scheme: light dark; --line: #8884; --good: #1a7f37; --fair: #9a6700; --bad: #cf222e }
@media (prefers-color-scheme: dark) { :root { --good: #3fb950; --fair: #d29922; --bad: #f85149 } }
body { font: 16px/1.55 system-ui, sans-serif; max-width: 46rem; margin: 2rem auto; padding: 0 1rem }
h1, h2, h3 { line-height: 1.25 } h1 { font-size: 1.5rem } h2 { margin-top: 2.5rem }
main h1 { font-size: 1.35rem } section h3 { font-size: 1rem; margin-bottom: .2rem }
table { border-collapse: collapse } td, th { border: 1px solid var(--line); padding: .2rem .6rem }
pre { overflow-x: auto } .small { font-size: .85rem; opacity: .8 }
a[href^="#passage-"], a[href^="#source-"] { font-size: .85em; text-decoration: none }
a[href^="#passage-"]::before, a[href^="#source-"]::before { content: "[" }
a[href^="#passage-"]::after, a[href^="#source-"]::after { content: "]" }
main a[href^="#supported-"], main a[href^="#partial-"], main a[href^="#unsupported-"],
main a[href^="#contradicted-"], main a[href^="#open-"] { font-size: .7em; vertical-align: super }
a[href^="#supported-"], .supported { color: var(--good) }
a[href^="#partial-"], .partial, a[href^="#open-"], .open { color: var(--fair) }
a[href^="#unsupported-"], .unsupported { color: var(--bad) }
a[href^="#contradicted-"], .contradicted { color: var(--bad) }
.notice { border-left: 4px solid var(--fair); padding: .1rem 1rem; margin: 1rem 0 }
blockquote { border: 1px solid var(--line); border-radius: 6px; margin: .6rem 0; font-size: .9rem;
  padding: .6rem .9rem; white-space: pre-wrap; overflow-wrap: anywhere }
mark { background: #ffe58a; color: #1f1f1f; scroll-margin: 30vh 0 }
mark:target { outline: 3px solid #e8a200 } li:target { outline: 2px solid var(--line) }
""".strip()


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """What a research has to show, however it ended.

    Attributes:
        title: the question.
        outcome: as in `DeepResearchResult`, like all that follow but the notes.
        reason: why there is no answer.
        text: the report as Markdown.
        claims: its claims.
        passages: what they cite.
        references: what its keys stand for.
        sources: all sources.
        violations: the checks that failed.
        notes: what a reader should know.
    """

    title: str
    outcome: str
    reason: str | None
    text: str
    claims: tuple[Claim, ...]
    passages: tuple[CitedPassage, ...]
    references: tuple[dict[str, Any], ...]
    sources: tuple[ResearchSource, ...]
    violations: tuple[str, ...]
    notes: tuple[str, ...]

    def body(self) -> str:
        """The text without its list of references and the note below it."""
        body, found, _ = self.text.rpartition("\n\n## References\n")
        return body if found and self.references else self.text


def report_page(report: Report) -> str:
    """The page of a report."""
    title = _text(report.title)
    parts = [
        "<!doctype html>",
        '<html><head><meta charset="utf-8">',
        f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">',
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        f"<title>{title}</title><style>{_STYLE}</style></head><body>",
        f'<header><h1 dir="auto">{title}</h1>',
        *_notices(report),
        "</header>",
        f'<main dir="auto">{_body(report)}</main>',
        *(_cited_sources(report) if report.references else _plain_sources(report)),
        *_claims(report),
        "</body></html>",
    ]
    return "\n".join(parts) + "\n"


def standing(claim: Claim) -> str:
    """How a claim stands, in words."""
    return _STANDINGS[_standing(claim)]


def tally(claims: Iterable[Claim]) -> str:
    """The delivered claims by how they stand: ``3 claims: 2 supported, 1 not judged``."""
    words = [standing(claim) for claim in claims if claim.span is not None]
    counts = [f"{words.count(one)} {one}" for one in _STANDINGS.values() if one in words]
    return f"{len(words)} {'claim' if len(words) == 1 else 'claims'}: {', '.join(counts)}"


def _notices(report: Report) -> Iterator[str]:
    if report.outcome != "answered":
        reason = f": {report.reason}" if report.reason else ""
        yield _notice(f"This is no verified answer ({report.outcome}{reason}).")
    if report.violations:
        items = "".join(f"<li>{_text(one)}</li>" for one in report.violations)
        count = len(report.violations)
        failed = f"{count} {'check' if count == 1 else 'checks'} of this report failed:"
        yield f'<div class="notice" id="violations"><p>{failed}</p><ul>{items}</ul></div>'
    yield from map(_notice, report.notes)
    if report.claims:
        checked = "" if report.violations else " All checks of the report hold."
        yield f'<p class="small">{tally(report.claims)}.{checked}</p>'
    elif report.text:
        yield '<p class="small">The claims of this report were not verified.</p>'


def _notice(text: str) -> str:
    return f'<div class="notice"><p>{_text(text)}</p></div>'


def _body(report: Report) -> str:
    """The report, whose citations lead to passages and whose verdicts lead to claims."""
    text, places = report.body(), _source_places(report)
    numbered = [(number, one) for number, one in enumerate(report.claims, 1) if one.span]
    for number, claim in sorted(numbered, key=lambda it: it[1].span or (0, 0), reverse=True):
        start, end = claim.span or (0, 0)
        sentence = text[start:end]
        for reference in report.references:
            cited = _links(reference, claim)
            sentence = sentence.replace(f"[{reference['key']}]", cited)
        places |= {_passage_place(one): _passage_place(one) for one in claim.passages}
        place = _claim_place(number, claim)
        places[place] = place
        bare = sentence.rstrip().removesuffix("|").rstrip()
        verdict = f" [{standing(claim)}][{place}]"
        text = f"{text[:start]}{bare}{verdict}{sentence[len(bare) :]}{text[end:]}"
    return markdown_html(escape_controls(text), places)


def _links(reference: dict[str, Any], claim: Claim) -> str:
    """The citations of a claim that lead to passages of one source; the key if there is none."""
    key = reference["key"]
    cited = [one for one in claim.passages if one in reference["evidence"]]
    names = [key, *(f"{key}, {number}" for number in range(2, len(cited) + 1))]
    links = [f"[{name}][{_passage_place(one)}]" for name, one in zip(names, cited, strict=False)]
    return "".join(links) or f"[{key}]"


def _source_places(report: Report) -> dict[str, str]:
    return {one["key"]: f"source-{one['number']}" for one in report.references}


def _claims(report: Report) -> Iterator[str]:
    if not report.claims:
        return
    keys = {one: ref["key"] for ref in report.references for one in ref["evidence"]}
    yield '<section id="claims"><h2>Claims</h2><ol>'
    for number, claim in enumerate(report.claims, 1):
        kind = _standing(claim)
        links = [
            f'<a href="#{_passage_place(one)}">{_text(keys[one])}</a>'
            for one in claim.passages
            if one in keys
        ]
        removed = "" if claim.span else " (taken out of the report)"
        reasoning = f'<br><span class="small">{_text(claim.reasoning)}</span>'
        yield (
            f'<li id="{_claim_place(number, claim)}" dir="auto">'
            f'<b class="{kind}">{_STANDINGS[kind]}</b>{removed}: {_text(claim.text.strip("| "))} '
            f"{' '.join(links)}{reasoning if claim.reasoning else ''}</li>"
        )
    yield "</ol></section>"


def _cited_sources(report: Report) -> Iterator[str]:
    yield "<h2>Sources</h2>"
    sources = {source.number: source for source in report.sources}
    for reference in report.references:
        cited = [one for one in report.passages if one.id in reference["evidence"]]
        source = next((sources[one.source] for one in cited if one.source in sources), None)
        heading = f"{reference['key']}: {reference['title'] or reference['url']}"
        yield f'<section id="source-{reference["number"]}"><h3 dir="auto">{_text(heading)}</h3>'
        known = " (known before, not read again)" if reference["origin"] == "known" else ""
        yield f'<p class="small">{_address(reference["url"])}{known}</p>'
        yield from _excerpts(source, cited)
        yield "</section>"


def _plain_sources(report: Report) -> Iterator[str]:
    cited = [source for source in report.sources if source.is_cited]
    if cited:
        items = "".join(
            f"<li>{_text(one.title or one.url)}, {_address(one.url)}</li>" for one in cited
        )
        yield f"<h2>Sources</h2><ol>{items}</ol>"


def _excerpts(source: ResearchSource | None, passages: list[CitedPassage]) -> Iterator[str]:
    """The text of a source around passages, each marked."""
    content = source.content if source else ""
    groups: list[list[tuple[int, int, CitedPassage]]] = []
    reach = 0
    for passage in sorted(passages, key=lambda one: one.span or (0, 0)):
        if passage.span is None or source is None:
            mark = f'<mark id="{_passage_place(passage.id)}">{_text(passage.quote)}</mark>'
            where = "" if passage.span else "shown by the search; the page was not read"
            yield f'<p class="small">{where}</p><blockquote dir="auto">{mark}</blockquote>'
            continue
        start, end = passage.span
        if not groups or start > reach + 2 * _AROUND:
            groups.append([])
        groups[-1].append((start, end, passage))
        reach = max(reach, end)
    for group in groups:
        yield f'<blockquote dir="auto">{_excerpt(content, group)}</blockquote>'


def _excerpt(content: str, group: list[tuple[int, int, CitedPassage]]) -> str:
    at = max(0, group[0][0] - _AROUND)
    last = min(len(content), max(end for _, end, _ in group) + _AROUND)
    parts = ["… " if at else ""]
    for start, end, passage in group:
        # Of passages that overlap, the later one marks what is left.
        begin = max(start, at)
        quote = content[begin : max(begin, end)]
        parts.append(_text(content[at:begin]))
        parts.append(f'<mark id="{_passage_place(passage.id)}">{_text(quote)}</mark>')
        at = max(begin, end)
    parts += [_text(content[at:last]), " …" if last < len(content) else ""]
    return "".join(parts)


def _standing(claim: Claim) -> str:
    return "open" if claim.is_abstained or claim.verdict is None else claim.verdict


def _claim_place(number: int, claim: Claim) -> str:
    return f"{_standing(claim)}-{number}"


def _passage_place(passage: str) -> str:
    return f"passage-{escape(passage)}"


def _address(url: str) -> str:
    """A link to a page of the web; other addresses, such as paths of documents, are text."""
    shown = _text(url)
    if url.lower().startswith(("https://", "http://")):
        return f'<a href="{shown}" rel="noopener noreferrer">{shown}</a>'
    return f"<code>{shown}</code>"


def _text(text: str) -> str:
    return escape(escape_controls(text))
