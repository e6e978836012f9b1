"""What the result of a deep research consists of: sources, passages, claims, steps."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal

__all__ = ["CitedPassage", "Claim", "Observation", "ResearchSource", "ResearchStep"]

_Verdict = Literal["supported", "partial", "unsupported", "contradicted"]
"""What evidence says about a claim."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ResearchSource:
    """A page or document that was found.

    Attributes:
        number: its number, counted from 1.
        url: its address, or its path.
        title: its title.
        snippet: what the search showed of it.
        content: its text, as far as it is kept; empty unless it was read.
        crawl_status: what came of reading it.
        error_reason: why it was not read.
        step_title: the step that found it.
        was_known: whether its text was known before the question: given with it, or read for an
            earlier one of the thread.
        is_cited: whether the report cites it.
    """

    number: int
    url: str
    title: str
    snippet: str
    content: str = field(repr=False)
    crawl_status: Literal["success", "failed", "timeout", "blocked", "not_crawled"]
    error_reason: str | None
    step_title: str | None
    was_known: bool
    is_cited: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class CitedPassage:
    """A passage that claims of the report cite.

    Attributes:
        id: names it in `Claim.passages`.
        source: the number of its source; ``None`` if that is not kept.
        quote: the passage, as it stands in the source.
        span: where it stands in `ResearchSource.content`, as start and end in characters; ``None``
            for what a search said of a page that was not read.
        section: the heading above it.
    """

    id: str
    source: int | None
    quote: str
    span: tuple[int, int] | None
    section: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """A statement of the report.

    Attributes:
        text: the sentence without citations.
        span: where it stands in the report, as start and end in characters; ``None`` once it was
            taken out.
        keys: the keys that it cites.
        passages: the ids of the passages that it cites.
        verdict: what they say about it; ``None`` if that was not asked.
        reasoning: why.
        is_abstained: whether there was nothing to judge it by.
        is_numeric: whether it states a quantity.
        revision: how the sentence was changed, as JSON values; ``None`` if it was not.
    """

    text: str
    span: tuple[int, int] | None
    keys: tuple[str, ...]
    passages: tuple[str, ...]
    verdict: _Verdict | None
    reasoning: str
    is_abstained: bool
    is_numeric: bool
    revision: dict[str, Any] | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ResearchStep:
    """One step of a plan.

    Attributes:
        title: what it is about.
        description: what is to be found out.
        status: how it stands.
    """

    title: str
    description: str
    status: Literal["pending", "in_progress", "completed", "skipped"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Observation:
    """What a step has found.

    Attributes:
        step_title: the step.
        text: what was found, or why nothing was.
        sources: the numbers of the sources that the step has found.
        failed: whether it has found nothing.
    """

    step_title: str
    text: str
    sources: tuple[int, ...]
    failed: bool
