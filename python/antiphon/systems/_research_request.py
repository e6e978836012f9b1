"""What a deep research is asked with and set to, as mappings."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, TypedDict

from antiphon.errors import ValidationError
from antiphon.systems.deep_research_records import ResearchSource

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

__all__ = [
    "CitationSettings",
    "DepthSettings",
    "Message",
    "Source",
    "read_history",
    "read_sources",
]


class DepthSettings(TypedDict, total=False):
    """How thorough a depth is; docs/guides/deep-research.md describes each key."""

    min_steps: int
    max_steps: int
    min_words: int
    max_words: int
    researcher: Literal["classic", "react"]
    max_search_queries: int
    max_pages: int
    max_tool_calls: int


class CitationSettings(TypedDict, total=False):
    """Settings of the stages of citation; docs/guides/deep-research.md describes each key."""

    extracts_with_model: bool
    narrows_evidence: bool
    generation: Literal["strict", "natural"]
    synthesis_mode: Literal["interleaved", "react"]
    max_synthesis_calls: int
    verifies: bool
    corrects: bool
    asks_arbiter: bool
    max_arbitrations: int
    asks_about_numbers: bool
    isolates_answers: bool
    revises: bool
    contradicted_action: Literal["remove", "flag"]
    chunk_chars: int
    chunk_overlap: int
    max_chunks: int
    max_spans_per_source: int
    max_evidence: int
    min_relevance: float
    max_claims: int
    verification_batch: int
    max_parallel_requests: int
    citation_threshold: float
    keyword_weight: float
    max_facts: int
    searches_per_fact: int
    max_external_searches: int
    pages_per_search: int
    fact_threshold: float
    includes_abstained: bool


class Message(TypedDict):
    """A message of a conversation."""

    role: Literal["user", "assistant"]
    content: str


Source: TypeAlias = "ResearchSource | Mapping[str, str]"
"""A page that is known: of an earlier result, or texts under ``url``, ``title``, …"""

_SOURCE = ("url", "title", "snippet", "content")


def read_history(messages: Iterable[Any]) -> list[dict[str, Any]]:
    """The messages, as the engine reads them.

    Raises:
        ValidationError: one is no mapping of ``role`` and ``content`` (``input_invalid``).
    """
    found = []
    for message in messages:
        try:
            role, content = message["role"], message["content"]
        except (KeyError, TypeError):
            role = content = None
        if role not in {"user", "assistant"} or not isinstance(content, str):
            raise ValidationError(
                f"a message needs `role`, user or assistant, and a text `content`: {message!r}",
                code="input_invalid",
            )
        found.append({"role": role, "content": content})
    return found


def read_sources(sources: Iterable[Any]) -> list[dict[str, Any]]:
    """The sources, as the engine reads them.

    Raises:
        ValidationError: one is neither a `ResearchSource` nor a mapping of texts with a ``url``
            (``input_invalid``).
    """
    return [_source(source) for source in sources]


def _source(source: Any) -> dict[str, Any]:
    if isinstance(source, ResearchSource):
        fields = asdict(source)
        del fields["number"]
        return fields
    is_known = isinstance(source, dict) and source.get("url") and source.keys() <= set(_SOURCE)
    if not is_known or not all(isinstance(value, str) for value in source.values()):
        raise ValidationError(
            f"an existing source needs texts under `url` and {', '.join(_SOURCE[1:])}: {source!r}",
            code="input_invalid",
        )
    status = "success" if source.get("content") else "not_crawled"
    return {**source, "crawl_status": status}
