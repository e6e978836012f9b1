"""The ids of the specification in `docs/` and the tests that prove them belong together."""

import re
import subprocess
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "docs/engine.md", *sorted((ROOT / "docs/systems").glob("*.md"))]
ID = re.compile(r"\b(?:EN|RL|CO|AS|DA|DR|PE)-\d{2}\b")
DEFINED = re.compile(r"^\| ((?:EN|RL|CO|AS|DA|DR|PE)-\d{2}) \|", re.MULTILINE)
PREFIXED = re.compile(r"\b(?:fn|def) (?:test_)?[a-z]\d{1,2}_\w+")


def sources() -> list[Path]:
    """Return the committed Rust and Python files, except this one."""
    found = subprocess.run(
        ["git", "ls-files", "*.rs", "*.py"], cwd=ROOT, capture_output=True, text=True, check=True
    )
    paths = [ROOT / line for line in found.stdout.splitlines()]
    return [path for path in paths if path.exists() and path != Path(__file__)]


def defined() -> list[str]:
    return [one for page in PAGES for one in DEFINED.findall(page.read_text())]


def test_each_id_is_defined_once() -> None:
    ids = defined()
    assert ids
    assert len(ids) == len(set(ids)), sorted({one for one in ids if ids.count(one) > 1})


def test_each_cited_id_is_defined_and_each_defined_id_is_cited_by_a_test() -> None:
    ids = set(defined())
    cited = {path: set(ID.findall(path.read_text())) for path in sources()}
    unknown = {str(path): sorted(found - ids) for path, found in cited.items() if found - ids}
    assert not unknown
    tested = {one for path, found in cited.items() if "tests" in path.parts for one in found}
    assert not ids - tested, sorted(ids - tested)


NAMING = re.compile(r"^\| ([A-Z]{2}-\d{2}) \| [^|]+ \| (`\w+`(?:, `\w+`)*) \|$", re.MULTILINE)


def test_the_tests_that_a_list_names_cite_the_item() -> None:
    texts = [path.read_text() for path in sources() if "tests" in path.parts]
    named = [row for page in PAGES for row in NAMING.findall(page.read_text())]
    assert named
    for item, tests in named:
        for name in tests.replace("`", "").split(", "):
            assert any(item in text and f" {name}(" in text for text in texts), (item, name)


def test_no_function_is_named_by_a_number_of_a_list() -> None:
    named = {str(path): PREFIXED.findall(path.read_text()) for path in sources()}
    assert not {path: found for path, found in named.items() if found}


NOTED = re.compile(r'\bnote\(\s*"(\w+)"')
EVENTS = re.compile(r"^## Events\n(.*?)(?=^## |\Z)", re.MULTILINE | re.DOTALL)


def test_the_page_of_a_system_lists_the_events_that_its_code_emits() -> None:
    systems = (
        "review_loop",
        "computation",
        "agentic_search",
        "data_analyst",
        "plan_execute",
        "deep_research",
    )
    for system in systems:
        code = (ROOT / "src/systems/src" / system).rglob("*.rs")
        emitted = {name for path in code for name in NOTED.findall(path.read_text())}
        page = (ROOT / "docs/systems" / f"{system.replace('_', '-')}.md").read_text()
        rows = EVENTS.findall(page)[0].splitlines()
        cells = [row.split("|")[1] for row in rows if row.startswith("| `")]
        assert {name for cell in cells for name in re.findall(r"`(\w+)`", cell)} == emitted
