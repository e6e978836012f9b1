"""The questions about documentation: facts, the pages that support them, and what is not there."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from antiphon.models import scripted
from antiphon.systems import AgenticSearch
from antiphon.tools import document_search
from eval.asking import ask_documents
from eval.command import evaluate
from eval.documentation import documentation, supports
from eval.loading import Question, load
from eval.measures import NO_DATA, measures
from eval.scoring import score

FACTS = {"facts": [["server.crt"], [4096, "4 kB"]]}
QUESTION = Question("d", "limit", "?", FACTS, pages=("limits.html",))


def test_there_are_enough_questions_with_pages_and_some_that_nothing_answers() -> None:
    questions = load("agentic-search")
    kinds = Counter(question.kind for question in questions)
    assert len(questions) >= 40
    assert kinds[NO_DATA] >= 6
    assert len(questions) - kinds[NO_DATA] >= 40
    for question in questions:
        assert bool(question.pages) == ("facts" in question.expected), question.id
        words = " and ".join(str(fact[0]) for fact in question.expected.get("facts", ()))
        outcome = "answered" if words else "no_answer"
        assert score(question.expected, outcome, f"It is {words}.") == "right", question.id
        assert score(question.expected, "answered", "It is 77777.") == "wrong", question.id


def test_the_expected_pages_are_in_the_documentation(request: pytest.FixtureRequest) -> None:
    downloaded = request.config.rootpath / "target/eval/data"
    if not (downloaded / "postgresql-15").exists():
        pytest.skip("the documentation is downloaded by `make eval`")
    pages = documentation(downloaded)
    for question in load("agentic-search"):
        for page in question.pages:
            assert (pages / page).exists(), page


@pytest.mark.parametrize(
    ("answer", "verdict"),
    [
        ("server.crt, 4,096 bytes", "right"),
        ("server.crt and 4 kB", "right"),
        ("server.crt", "wrong"),
        ("server.crt and 20.4 kB", "wrong"),
        ("4096 and server.crt.old.crtx", "right"),
        ("not server.crt but 4096", "wrong"),
        ("", "abstained"),
        ("The documentation does not mention it.", "abstained"),
    ],
)
def test_an_answer_needs_all_facts(answer: str, verdict: str) -> None:
    assert score(FACTS, "answered", answer) == verdict


@pytest.mark.parametrize(
    ("location", "excerpt", "is_support"),
    [
        ("limits.html", "", True),
        ("sub/limits.html#columns", "", True),
        ("other.html", "server.crt has 4096 bytes", True),
        ("other.html", "server.crt", False),
        (None, "nothing", False),
    ],
)
def test_a_source_supports_by_its_page_or_its_text(
    location: str | None, excerpt: str, is_support: bool
) -> None:
    assert supports(QUESTION, location, excerpt) == is_support


def test_small_numbers_in_an_excerpt_are_no_support() -> None:
    question = Question("d", "limit", "?", {"facts": [[8]]}, pages=("limits.html",))
    assert not supports(question, "other.html", "8 bytes")


def test_a_search_is_evaluated_on_documents(tmp_path: Path) -> None:
    pages = tmp_path / "pages"
    pages.mkdir()
    (pages / "limits.html").write_text("<h1>Limits</h1><p>A table has at most 1600 columns.</p>")
    (pages / "tea.html").write_text("<h1>Tea</h1><p>A table with tea has no limits.</p>")
    questions = [
        Question("a", "limit", "Columns?", {"facts": [[1600]]}, pages=("limits.html",)),
        Question("b", "limit", "Columns?", {"facts": [[1600]]}, pages=("limits.html",)),
        Question("c", NO_DATA, "Price?", {"abstain": True}),
        Question("d", NO_DATA, "Price?", {"abstain": True}),
    ]

    def replies(query: str, words: str, *sources: int) -> list[dict[str, object]]:
        task = {"tool_name": "search_documents", "tool_arguments": {"query": query}}
        return [
            {"json": {"tasks": [task]}},
            {"json": {"response_content": f"<p>{words}</p>", "sources": list(sources)}},
        ]

    model = scripted(
        [
            *replies("columns", "At most 1,600.", 1),
            *replies("tea", "At most 250.", 1),
            *replies("limits", "The documentation does not mention prices."),
            *replies("limits", "It costs 12 euros.", 1, 2),
        ]
    )
    tools = [document_search(pages, cache=tmp_path / "index")]
    search = AgenticSearch(model, tools=tools, check_figures=False)
    path = tmp_path / "rows.jsonl"
    rows = evaluate("agentic-search", questions, ask_documents(search), path, str)
    assert [row.verdict for row in rows] == ["right", "wrong", "right", "wrong"], rows
    assert rows[0].query.startswith('[["search_documents", {"query": "columns"')
    assert measures("agentic-search", rows) == {
        "right answers": "1 of 2 (50%)",
        "sources that support the answer": "1 of 4 (25%)",
        "answers without support": "2 of 3 (67%)",
        "right refusals": "1 of 2 (50%)",
        "refusals of what the documentation has": "0 of 2 (0%)",
    }
