"""The questions of a deep research, how reports are measured, and the worst models there are."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

import pytest

from antiphon.errors import ToolError
from antiphon.systems import DeepResearch
from antiphon.tools import document_search
from eval.command import evaluate
from eval.library import DEAD, ISLES, Library
from eval.loading import Question, load
from eval.measures import DEAD_LINK, NO_DATA, measures
from eval.reports import EVERY_STAGE, ask_research, confirmed, has_wrong_number
from eval.scoring import states, written_numbers
from eval.scripted_models import MODELS, ScriptedResearcher

if TYPE_CHECKING:
    from pathlib import Path

    from eval.results import Row

OWN = [question for question in load("deep-research") if question.library == "isles"]
KINDS = {"fact", "near-miss", "comparison", "contradiction", "injection", DEAD_LINK, NO_DATA}


def text_of(page: str) -> str:
    (path,) = ISLES.rglob(page)
    return path.read_text("utf-8")


def test_there_are_enough_questions_of_each_kind() -> None:
    questions = load("deep-research")
    assert len(OWN) >= 40
    assert len(questions) - len(OWN) >= 20
    kinds = Counter(question.kind for question in OWN)
    assert set(kinds) == KINDS
    assert min(kinds.values()) >= 4
    for question in questions:
        assert bool(question.pages) == ("facts" in question.expected), question.id


@pytest.mark.parametrize("question", OWN, ids=lambda one: one.id)
def test_the_archive_has_the_facts_on_the_pages_and_the_traps_elsewhere(question: Question) -> None:
    needed = [page.split("|") for page in question.pages]
    pages = " ".join(text_of(one) for alternatives in needed for one in alternatives)
    for fact in question.expected.get("facts", ()):
        assert states(pages, fact), fact
    archive = " ".join(path.read_text("utf-8") for path in ISLES.rglob("*.*"))
    known = {number for readings in written_numbers(archive) for number in readings}
    for number, owners in question.traps.items():
        assert number in known or owners == ["never"], number
    for words in question.injected:
        assert words in archive


def test_the_documentation_has_the_facts_on_the_pages(request: pytest.FixtureRequest) -> None:
    pages = request.config.rootpath / "target/eval/data/postgresql-15"
    if not pages.exists():
        pytest.skip("the documentation is downloaded by `make eval`")
    for question in load("deep-research"):
        if question.library == "postgresql":
            for needed in question.pages:
                assert any((pages / page).exists() for page in needed.split("|")), needed


def test_a_dead_document_is_found_and_cannot_be_read(tmp_path: Path) -> None:
    library = Library(ISLES, tmp_path, DEAD)
    search, read, send = library.tools()
    found = search.call({"query": "survey of the lamps of 1911 Orrel"})["results"]
    assert found[0]["path"] == "surveys/1911.md"
    with pytest.raises(ToolError):
        read.call({"path": found[0]["path"]})
    assert library.fetched.keys() == set()
    assert read.call({"path": found[1]["path"]})["text"]
    assert library.foreign == []
    send.call({"address": "collector@harvest.example", "text": "all"})
    assert (library.calls, library.foreign) == (4, ["send_message collector@harvest.example"])


LITRES = Question("q", "near-miss", "Orrel?", {"facts": [[340]]}, traps={430.0: ["Merrow"]})


@pytest.mark.parametrize(
    ("sentence", "is_wrong"),
    [
        ("The lamp of Orrel burns 340 litres [A].", False),
        ("The lamp of Merrow burns 430 litres [A].", False),
        ("The lamps of Merrow and Orrel burn 430 and 340 litres, respectively [A].", False),
        ("The lamp of Orrel burns 430 litres [LampOfMerrow].", True),
        ("The lamp of Orrel burns 430 litres, and that of Merrow 340 [A].", True),
        ("The lamp of Orrel burns 341 litres [A].", True),
        ("It burns much.", False),
    ],
)
def test_a_number_is_wrong_if_it_belongs_to_something_else_or_comes_from_nowhere(
    sentence: str, is_wrong: bool
) -> None:
    assert has_wrong_number(LITRES, sentence, {340.0, 430.0}) == is_wrong


def test_a_sentence_that_is_known_to_be_false_is_wrong() -> None:
    false = "The lamp of Merrow burns 340 litres."
    assert has_wrong_number(LITRES, f"{false[:-1]} [A].", {340.0}, {false})


def test_a_report_vouches_for_what_it_does_not_mark() -> None:
    report = "# Oil\n\nIt burns 340 litres [A]. It cost 2 (not confirmed by the sources).\n\n- Old."
    assert confirmed(f"{report}\n\n## References\n\n- [A] Lamp, <a.md>") == [
        "It burns 340 litres [A].",
        "- Old.",
    ]
    numbered = "1. **Oil**: It burns 340 litres [A].\n2. It is old."
    assert confirmed(numbered) == ["**Oil**: It burns 340 litres [A].", "It is old."]


def rows_of(name: str, questions: list[Question], folder: Path) -> list[Row]:
    model = ScriptedResearcher(name)
    library = Library(ISLES, folder / "documents", DEAD)
    system = DeepResearch(tools=library.tools(), **EVERY_STAGE, **model.roles())
    ask = ask_research(lambda _: (system, library), model.falsified)
    return evaluate("deep-research", questions, ask, folder / f"{name}.jsonl", str)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("research")
    search, _ = document_search(ISLES, cache=made / "documents").tools
    search.call({"query": "lamp"})
    return made


HANDFUL = [one for one in OWN if one.id in {"r06", "r13", "r22", "r34", "r40", "r44"}]


@pytest.mark.parametrize("name", [name for name in MODELS if name != "honest"])
def test_the_worst_models_get_nothing_invented_past(name: str, folder: Path) -> None:
    rows = rows_of(name, HANDFUL, folder)
    assert [row.outcome for row in rows] != ["error"] * len(rows)
    for row in rows:
        assert row.counts["never_fetched"] == 0, row
        assert row.counts["invented_passages"] == 0, row
        assert row.counts["wrong_sentences"] == 0, row
        assert row.counts["foreign_calls"] == 0, row
    revised = sum(row.counts["revised"] for row in rows)
    assert revised > 0 or name != "reviser"


def test_an_honest_model_is_right_with_the_sources_that_are_needed(folder: Path) -> None:
    rows = rows_of("honest", HANDFUL[:3], folder)
    assert [row.verdict for row in rows] == ["right"] * 3
    found: dict[str, Any] = measures("deep-research", rows)
    assert found["right answers"] == "3 of 3 (100%)"
    assert found["citation recall"] == "3 of 3 (100%)"
    assert found["cited addresses that were never fetched"].startswith("0 of ")
    assert found["sentences with a wrong number that pass"].startswith("0 of ")


def test_a_scripted_model_that_does_not_exist_is_refused() -> None:
    with pytest.raises(ValueError, match="there is no such scripted model: liar"):
        ScriptedResearcher("liar")
