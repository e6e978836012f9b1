"""Reports as files: Markdown, HTML whose citations are clicked in a real browser, and PDF."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import threading
from dataclasses import replace
from html import unescape
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any

import pypdf
import pytest

from antiphon.errors import ValidationError
from antiphon.models import scripted
from antiphon.systems import DeepResearch, DeepResearchResult
from systems import research_scene
from systems.research_scene import QUOTE, research

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

QUESTION = "How long does <b>green</b> tea steep?"
# What a browser is told: click each citation, and say where it has led.
CLICKS = """
<!doctype html><iframe src="/report" width="800" height="500"></iframe><pre></pre><script>
const frame = document.querySelector('iframe');
frame.onload = () => {
  const page = frame.contentDocument, seen = [];
  for (const link of page.querySelectorAll('main a[href^="#"]')) {
    link.click();
    const place = page.querySelector(':target'), box = place.getBoundingClientRect();
    const isShown = box.top >= 0 && box.top < frame.clientHeight;
    seen.push([link.textContent, place.tagName, place.textContent, isShown]);
  }
  const [scripts, bold] = [page.scripts.length, page.querySelectorAll('h1 b').length];
  document.querySelector('pre').textContent = JSON.stringify({seen, scripts, bold});
};
</script>
"""


@pytest.fixture(scope="module")
def result() -> DeepResearchResult:
    return research().run(QUESTION)


def chromium() -> str | None:
    names = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
    found = next(filter(None, map(shutil.which, names)), None)
    if found is None and os.environ.get("ANTIPHON_REQUIRE_CHROMIUM"):
        pytest.fail("no Chromium on PATH: apt-get install chromium")
    return found


@pytest.fixture
def site(result: DeepResearchResult) -> Iterator[str]:
    pages = {"/": CLICKS, "/report": result.to_html()}

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            content = pages.get(self.path, "").encode()
            self.send_response(200 if content else 404)
            self.send_header("Content-Type", "text/html; charset=utf-8")
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, *args: object) -> None:
            """Stays quiet."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, args=(0.02,))
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}/"
    server.shutdown()
    thread.join()
    server.server_close()


def test_each_citation_leads_to_the_passage_when_it_is_clicked(site: str, tmp_path: Path) -> None:
    browser = chromium()
    if browser is None:
        pytest.skip("needs Chromium on PATH (Debian: apt-get install chromium)")
    command = [browser, "--headless", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run"]
    command += ["--no-sandbox"] if os.geteuid() == 0 else []
    command += [f"--user-data-dir={tmp_path}", "--virtual-time-budget=5000", "--dump-dom", site]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=120)
    written = re.search(r"<pre>(.*?)</pre>", done.stdout, re.DOTALL)
    assert written is not None, done.stdout
    found = json.loads(unescape(written[1]))
    assert found["seen"][0] == ["GreenTea", "MARK", QUOTE, True]
    label, tag, text, is_shown = found["seen"][1]
    assert (label, tag, is_shown) == ("supported", "LI", True)
    assert "so it is" in text
    assert (found["scripts"], found["bold"]) == (0, 0)


def test_the_page_has_the_report_its_verdicts_and_its_sources(result: DeepResearchResult) -> None:
    page = result.to_html()
    assert "default-src 'none'" in page
    assert "<title>How long does &lt;b&gt;green&lt;/b&gt; tea steep?</title>" in page
    assert "1 claim: 1 supported. All checks of the report hold." in page
    assert 'href="#supported-1"' in page
    assert page.count("<mark id=") == len(result.passages) == 1
    assert "<code>notes/green.md</code>" in page
    assert "References" not in page


def test_a_page_that_was_known_before_is_named_so(result: DeepResearchResult) -> None:
    again = research().run(QUESTION, existing_sources=result.sources)
    assert [source.was_known for source in again.sources if source.content] == [True]
    assert [reference["origin"] for reference in again.references] == ["known"]
    known = "(known before, not read again)"
    assert again.answer is not None
    assert again.answer.endswith(known)
    assert known in again.to_html()
    assert known in again.to_markdown()
    assert known not in result.to_html()


def test_what_pages_and_models_say_stays_text(monkeypatch: pytest.MonkeyPatch) -> None:
    hostile = "<script>x()</script> [a](javascript:x()) <img src=x onerror=x()> \u202e"
    quote = "Green tea steeps for two minutes at 80 degrees & no more."
    monkeypatch.setitem(research_scene.PAGES, "notes/green.md", f"{quote} {hostile} " * 30)
    spans = {"spans": [{"quote": quote, "relevance": 1}]}
    written = f"Green tea steeps for two minutes [0].\n\n{hostile} [x](#supported-1)"
    result = research(report=written, passage_extractor=lambda brief: spans).run(QUESTION)
    page = result.to_html()
    assert f">{quote.replace('&', '&amp;')}</mark>" in page
    assert "&lt;script&gt;x()&lt;/script&gt;" in page
    for sign in ("<script", "<img", 'href="javascript', "\u202e"):
        assert sign not in page


def test_a_report_that_was_not_verified_says_so_and_names_its_sources() -> None:
    result = research().run(QUESTION, verify_sources=False)
    page = result.to_html()
    assert "The claims of this report were not verified." in page
    assert "<code>notes/green.md</code>" in page
    assert 'id="claims"' not in page


def test_failed_checks_stand_above_the_report(result: DeepResearchResult) -> None:
    broken = replace(result, violations=("c1: no evidence says: <9>",), warnings=("Old pages.",))
    page = broken.to_html()
    assert "1 check of this report failed:</p><ul><li>c1: no evidence says: &lt;9&gt;</li>" in page
    assert "Old pages." in page
    assert page.index("violations") < page.index("<main")
    assert "- c1: no evidence says: \\<9\\>" in broken.to_markdown()


def test_a_report_is_written_in_the_format_that_its_path_names(
    result: DeepResearchResult, tmp_path: Path
) -> None:
    for name in ("tea.html", "tea.md", "tea.pdf", "tea.pdf"):
        result.write(tmp_path / name)
    assert (tmp_path / "tea.html").read_text(encoding="utf-8") == result.to_html()
    written = (tmp_path / "tea.md").read_text(encoding="utf-8")
    assert written.startswith(result.final_report)
    assert f"### GreenTea: Green tea\n\n> {QUOTE}\n" in written
    assert written.endswith("## Verification\n\n1 claim: 1 supported.\n")
    assert (tmp_path / "tea.pdf").read_bytes().startswith(b"%PDF-")
    with pytest.raises(ValidationError, match=r"\.html, \.md or \.pdf: tea\.doc"):
        result.write(tmp_path / "tea.doc")
    with pytest.raises(ValidationError, match="the folder of the report does not exist"):
        result.write(tmp_path / "absent" / "tea.md")


def test_a_pdf_file_of_a_report_has_its_font_and_margins(
    result: DeepResearchResult, tmp_path: Path
) -> None:
    target = tmp_path / "tea.pdf"
    result.write(target, font_name="Courier", font_size=12, margins=(40, 60, 80, 200))
    page = pypdf.PdfReader(target).pages[0]
    places: list[tuple[float, float]] = []

    def visit(text: str, ctm: list[float], tm: list[float], _font: object, _size: float) -> None:
        if text.strip():
            x, y = tm[4], tm[5]
            places.append((ctm[0] * x + ctm[4], ctm[3] * y + ctm[5]))

    text = page.extract_text(visitor_text=visit)
    assert "Tea steeps for two minutes" in text
    resources: Any = page["/Resources"]
    fonts = [font.get_object()["/BaseFont"] for font in resources["/Font"].values()]
    assert any("NotoSansMono" in font for font in fonts)
    number, others = places[-1], places[:-1]
    assert min(x for x, _ in others) == pytest.approx(200, abs=0.5)
    assert max(y for _, y in others) == pytest.approx(float(page.mediabox.height) - 40, abs=30)
    assert 0 < number[1] < 80


def test_a_layout_that_cannot_be_is_refused_before_anything_is_written(
    result: DeepResearchResult, tmp_path: Path
) -> None:
    with pytest.raises(ValidationError, match="no font of that name is here") as caught:
        result.write(tmp_path / "tea.pdf", font_name="No Such Font")
    assert caught.value.code == "tool_setting_invalid"
    with pytest.raises(ValidationError, match=r"`margins` must leave 144 of the 612 points"):
        result.write(tmp_path / "tea.pdf", margins=250, page_size="letter")
    with pytest.raises(ValidationError, match=r"only a PDF file has `margins`: tea\.html"):
        result.write(tmp_path / "tea.html", margins=72)
    assert list(tmp_path.iterdir()) == []


def test_a_research_without_a_report_has_a_page_that_says_why() -> None:
    page = DeepResearch(scripted([])).run("Why?").to_html()
    assert "no_answer: no source was found" in page
