"""Deep research from Python."""

from __future__ import annotations

import datetime as dt
import json
from dataclasses import dataclass
from typing import Any

import pytest

from antiphon.checkpoint import MemorySaver
from antiphon.errors import ValidationError
from antiphon.models import scripted
from antiphon.systems import DeepResearch, DeepResearchResult, find, systems
from systems import research_scene
from systems.research_scene import CLASSIFIED, QUOTE, research


def test_a_report_has_claims_whose_passages_stand_in_its_sources() -> None:
    result = research().run("How long does green tea steep?")
    assert (result.outcome, result.research_outcome) == ("answered", "completed")
    assert result.answer is not None
    assert result.answer.startswith("Tea steeps for two minutes [GreenTea].")
    assert result.answer == result.final_report
    (claim,) = result.claims
    assert (claim.verdict, claim.keys, claim.is_numeric) == ("supported", ("GreenTea",), True)
    assert claim.span is not None
    assert result.answer[slice(*claim.span)] == "Tea steeps for two minutes [GreenTea]."
    passage = next(one for one in result.passages if one.id in claim.passages)
    assert passage.source is not None
    assert passage.span is not None
    source = result.sources[passage.source - 1]
    assert (source.url, source.crawl_status, source.is_cited) == ("notes/green.md", "success", True)
    assert source.content[slice(*passage.span)] == passage.quote == QUOTE
    assert result.references[0]["key"] == "GreenTea"
    assert (result.violations, result.links_removed, result.effective_depth) == ((), 0, "light")
    assert result.verification_summary is not None
    assert result.verification_summary["supported"] == 1
    assert [step.status for step in result.plan] == ["completed"]
    assert result.observations[0].text == "Green tea steeps for two minutes."


@dataclass
class Steeping:
    """How long a tea steeps."""

    answer: str
    answer_source_refs: list[int]
    minutes: int | None


def test_a_report_can_have_a_form_of_the_callers() -> None:
    steeps = "Tea steeps for two minutes."
    replies = iter([2, 9])

    def reporter(brief: dict[str, Any]) -> dict[str, Any]:
        assert brief["evidence"][0]["source"] == 1
        return {"answer": steeps, "answer_source_refs": [1, 5], "minutes": next(replies)}

    system = research(reporter=reporter, output=Steeping)
    result = system.run("How long does green tea steep?")
    assert result.structured_output == Steeping(steeps, [1], 2)
    assert result.answer is not None
    assert "Tea steeps for two minutes [GreenTea]." in result.answer
    assert json.loads(result.to_json())["structured_output"]["answer_source_refs"] == [1]
    again = system.run("How long does green tea steep?")
    assert again.structured_output == Steeping(steeps, [1], None), "no page says nine"
    assert system.run("Hello", query_mode="simple").structured_output is None


@dataclass
class Dated:
    """A report with a date, and more of them."""

    answer: str
    answer_source_refs: list[int]
    day: dt.date | None
    days: list[dt.date]


def test_what_no_longer_fits_its_type_once_verified_is_left_out() -> None:
    steeps = "Tea steeps for two minutes."
    reply = {
        "answer": steeps,
        "answer_source_refs": [1],
        "day": "2020-01-01",
        "days": ["2020-01-02", "2020-01-03"],
    }
    result = research(reporter=lambda brief: reply, output=Dated).run("How long does it steep?")
    assert result.structured_output == Dated(steeps, [1], None, [])
    assert any("answer.day" in warning for warning in result.warnings)


def test_a_number_that_no_page_has_is_not_delivered_as_supported() -> None:
    result = research("Tea steeps for nine minutes [0].").run("How long does green tea steep?")
    assert not [claim for claim in result.claims if claim.verdict == "supported"]
    assert "nine minutes [GreenTea]" not in result.final_report


def test_a_report_without_verification_has_no_claims() -> None:
    result = research().run("How long?", verify_sources=False)
    assert result.answer is not None
    assert "notes/green.md" in result.answer
    assert (result.claims, result.verification_summary) == ((), None)


def test_a_question_can_be_answered_without_research() -> None:
    result = research().run("Hello", query_mode="simple")
    assert (result.answer, result.research_outcome, result.sources) == ("Hello!", "direct", ())


def test_a_person_is_asked_what_the_question_means() -> None:
    asked = {**CLASSIFIED, "is_ambiguous": True, "clarifying_questions": ["Which tea?"]}

    def coordinator(brief: dict[str, Any]) -> dict[str, Any]:
        return CLASSIFIED if "green" in json.dumps(brief) else asked

    system = research(coordinator=coordinator, checkpointer=MemorySaver())
    paused = system.run("How long does it steep?", thread="tea")
    assert paused.outcome == "paused"
    assert paused.questions[0].value == "Which tea?"
    assert system.resume("tea", "green tea").outcome == "answered"


def test_a_thread_keeps_the_sources() -> None:
    system = research(checkpointer=MemorySaver())
    system.run("How long does green tea steep?", thread="tea")
    again = system.run("Hello", query_mode="simple", thread="tea")
    assert [source.url for source in again.sources] == ["notes/green.md"]


def test_a_result_is_shown_and_written() -> None:
    result = research().run("How long does green tea steep?")
    plain = json.loads(result.to_json())
    assert plain["claims"][0]["verdict"] == "supported"
    assert plain["sources"][0]["number"] == 1
    shown = result._repr_mimebundle_()
    assert "[1] Green tea, notes/green.md" in shown["text/plain"]
    assert "1 claims" in shown["text/html"]


def test_without_tools_that_search_nothing_is_found() -> None:
    result = DeepResearch(scripted([])).run("Why?")
    assert (result.outcome, result.answer) == ("no_answer", None)
    assert result.research_outcome == "nothing_found"


def test_wrong_settings_are_refused() -> None:
    with pytest.raises(ValidationError, match="max_plan_iterations"):
        DeepResearch(scripted([]), max_plan_iterations=0)
    with pytest.raises(
        ValidationError, match=r"unknown setting of the deep research: light\.steps"
    ):
        DeepResearch(scripted([]), light={"steps": 2})  # type: ignore[typeddict-unknown-key]
    with pytest.raises(ValidationError, match="not a valid JSON schema") as caught:
        DeepResearch(scripted([]), output={"type": "object", "properties": {"a": {"type": "x"}}})
    assert caught.value.code == "schema_invalid"
    with pytest.raises(ValidationError, match="`max_facts` must be at least 1"):
        DeepResearch(scripted([]), citation={"max_facts": 0})


def test_a_setting_within_a_setting_is_named_with_the_one_that_was_meant() -> None:
    given: list[dict[str, Any]] = [{"light": {"max_step": 3}}, {"citation": {"max_fact": 3}}]
    for settings in given:
        (outer, (inner,)), *_ = settings.items()
        with pytest.raises(ValidationError, match=f"unknown setting .*: {outer}.{inner}") as caught:
            research(**settings)
        assert f"did you mean `{inner}s`?" in str(caught.value.hint)
    with pytest.raises(
        ValidationError, match=r'`research_depth` must be one of .*: "lite"'
    ) as told:
        research().run("Teas?", research_depth="lite")  # type: ignore[arg-type]
    assert told.value.hint == "did you mean `light`?"


def test_a_depth_and_the_stages_of_citation_are_set_in_part() -> None:
    system = research(light={"max_words": 900}, citation={"verifies": False})
    result = system.run("How long does green tea steep?", research_depth="light")
    assert result.outcome == "answered"
    assert {claim.verdict for claim in result.claims} == {None}


def test_a_conversation_and_known_sources_can_be_given() -> None:
    first = research().run("How long does green tea steep?")
    briefs: list[dict[str, Any]] = []

    def responder(brief: dict[str, Any]) -> dict[str, Any]:
        briefs.append(brief)
        return {"response": "As before."}

    said = {"role": "user", "content": "Is tea good?"}
    again = research(responder=responder).run(
        "And now?",
        query_mode="simple",
        conversation_history=[said],  # type: ignore[list-item]
        existing_sources=[*first.sources, {"url": "https://x.example", "content": "About tea."}],
    )
    assert briefs[0]["history"] == [said]
    assert [source.url for source in again.sources] == ["notes/green.md", "https://x.example"]
    assert [source.crawl_status for source in again.sources] == ["success", "success"]
    for wrong in ({"title": "no address"}, {"url": "a", "text": "b"}, "https://x.example"):
        with pytest.raises(ValidationError, match="existing source"):
            research().run("And?", existing_sources=[wrong])  # type: ignore[list-item]
    with pytest.raises(ValidationError, match="a message needs"):
        research().run("And?", conversation_history=[{"role": "system", "content": ""}])  # type: ignore[typeddict-item]


def test_the_registry_knows_it() -> None:
    assert find("deep_research") is DeepResearch
    assert "deep_research" in systems()
    assert DeepResearch._result is DeepResearchResult


def test_an_arbiter_decides_about_citations_where_scores_are_close(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    harvest = "Kenya harvested tea on large estates in the highlands in {}, says the guild."
    pages = {f"notes/{year}.md": f"{harvest.format(year)} " * 30 for year in (2019, 2020)}
    monkeypatch.setattr(research_scene, "PAGES", pages)
    asked: list[dict[str, Any]] = []

    def arbiter(brief: dict[str, Any]) -> dict[str, Any]:
        asked.append(brief)
        (other,) = (one["number"] for one in brief["options"] if not one["is_cited"])
        return {"reasoning": "the other one", "action": "replace", "number": other}

    def verifier(brief: dict[str, Any]) -> dict[str, Any]:
        supports = "2020" in brief["items"][0]["evidence"][0]["text"]
        verdict = "supported" if supports else "partial"
        return {"verdicts": [{"number": 0, "reasoning": "", "verdict": verdict}]}

    def write(brief: dict[str, Any]) -> dict[str, Any]:
        (place,) = (place for place, one in enumerate(brief["evidence"]) if "2019" in one["text"])
        return {"report": f"In the highlands Kenya harvested tea on estates of growers [{place}]."}

    system = research(
        reporter=write,
        verifier=verifier,
        quick_verifier=verifier,
        citation_arbiter=arbiter,
        passage_extractor=lambda brief: {
            "spans": [{"quote": brief["text"][: len(harvest) + 2], "relevance": 1}]
        },
        citation={"asks_arbiter": True},
    )
    result = system.run("Where does Kenya harvest tea?")
    assert result.outcome == "answered"
    assert [one["is_cited"] for one in asked[0]["options"]] == [True, False]
    assert (asked[0]["kind"], asked[0]["verdict"]) == ("arbitrate", "partial")
    assert result.claims[0].verdict == "supported"
    assert [one.url for one in result.sources if one.is_cited] == ["notes/2020.md"]


def test_a_reporter_looks_evidence_up_and_writes_part_after_part() -> None:
    briefs: list[dict[str, Any]] = []

    def reporter(brief: dict[str, Any]) -> dict[str, Any]:
        briefs.append(brief)
        if not brief["evidence"]:
            search = {"tool": "search_evidence", "query": "tea minutes"}
            return {"calls": [search], "text": None}
        index = brief["evidence"][0]["index"]
        part = f'<cite key="{index}">Tea steeps for two minutes at 80 degrees.</cite>'
        return {"calls": [], "text": f'{part} <cite key="7">It is drunk by kings.</cite>'}

    result = research(
        reporter=reporter,
        citation={"synthesis_mode": "react", "max_synthesis_calls": 5},
    ).run("How long does tea steep?")
    assert [one["kind"] for one in briefs] == ["compose", "compose"]
    assert [one["calls_left"] for one in briefs] == [5, 4]
    assert result.final_report.startswith("Tea steeps for two minutes at 80 degrees [GreenTea].")
    assert "It is drunk by kings (not confirmed by the sources)." in result.final_report
    with pytest.raises(ValidationError, match="synthesis_mode"):
        research(citation={"synthesis_mode": "slow"})
