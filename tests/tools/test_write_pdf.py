"""`antiphon.tools.write_pdf`: PDF files, as Python sees them and as pypdf reads them."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pypdf
import pytest

from antiphon import Agent, Orchestrator
from antiphon.errors import PolicyError, ToolError, ValidationError
from antiphon.models import scripted
from antiphon.tools import files, write_pdf

NUMERALS = Path(__file__).parents[2] / "src/tools/tests/tools/pdf_writer/numerals.ttf"
"""A font with three Chinese numerals and nothing else."""

REPORT = """# Tea

Green tea needs **two** minutes; [more](https://example.com).

| Tea | Minutes |
|---|---:|
| green | 2 |
| black | 4 |
"""


def test_an_agent_turns_its_notes_into_a_file(tmp_path: Path) -> None:
    calls = [
        {"name": "write_file", "arguments": {"path": "tea.md", "content": REPORT}},
        {"name": "write_pdf", "arguments": {"path": "out/tea.pdf", "source": "tea.md"}},
    ]
    model = scripted([{"tool_calls": [call]} for call in calls] + ["It is written."])
    team = Orchestrator(
        [Agent(name="writer", model=model, tools=[files(tmp_path), write_pdf(tmp_path)])]
    )
    assert team.run("Write about tea").answer == "It is written."
    report = json.loads(model.requests[2]["messages"][-1]["content"])
    assert (report["path"], report["pages"]) == ("out/tea.pdf", 1)
    reader = pypdf.PdfReader(tmp_path / "out/tea.pdf")
    text = reader.pages[0].extract_text()
    assert "Green tea needs two minutes; more." in text
    assert "black" in text
    assert [str(one["/Title"]) for one in reader.outline if isinstance(one, dict)] == ["Tea"]


def test_a_missing_character_is_told(tmp_path: Path) -> None:
    written = write_pdf(tmp_path, system_fonts=False).call({"path": "a.pdf", "content": "一 A 一"})
    assert written["missing_characters"] == [{"character": "一", "code": "U+4E00", "count": 2}]
    given = write_pdf(tmp_path, fonts=[NUMERALS], system_fonts=False)
    written = given.call({"path": "b.pdf", "content": "一 A 一"})
    assert "missing_characters" not in written
    assert "一 A 一" in pypdf.PdfReader(tmp_path / "b.pdf").pages[0].extract_text()


@pytest.mark.skipif(
    sys.platform == "win32", reason="the folder of a user's fonts is not below HOME"
)
def test_a_font_of_the_machine_is_found(tmp_path: Path) -> None:
    for folder in (".fonts", "Library/Fonts"):
        (tmp_path / folder).mkdir(parents=True)
        shutil.copy(NUMERALS, tmp_path / folder)
    code = (
        "from antiphon.tools import write_pdf; import json, sys;"
        "tool = write_pdf(sys.argv[1], system_fonts=json.loads(sys.argv[2]));"
        "print(json.dumps(tool.call({'path': sys.argv[2] + '.pdf', 'content': '三'})))"
    )

    def write(system_fonts: str) -> dict[str, object]:
        command = [sys.executable, "-c", code, str(tmp_path), system_fonts]
        environment = os.environ | {"HOME": str(tmp_path)}
        done = subprocess.run(command, check=True, capture_output=True, env=environment)
        written: dict[str, object] = json.loads(done.stdout)
        return written

    assert "missing_characters" not in write("true")
    assert "missing_characters" in write("false")


def test_errors_have_their_classes(tmp_path: Path) -> None:
    with pytest.raises(ValidationError, match="no font in it") as invalid:
        write_pdf(tmp_path, fonts=[__file__])
    assert invalid.value.code == "tool_setting_invalid"
    tool = write_pdf(tmp_path, max_pages=1)
    with pytest.raises(PolicyError) as refused:
        tool.call({"path": "../a.pdf", "content": "x"})
    assert refused.value.code == "path_refused"
    with pytest.raises(ToolError) as unwritable:
        tool.call({"path": "a.pdf", "content": "x\n\n" * 1_000})
    assert unwritable.value.code == "pdf_unwritable"
    assert list(tmp_path.iterdir()) == []


def test_margins_and_the_name_of_a_font_are_settings_and_arguments(tmp_path: Path) -> None:
    write = write_pdf(tmp_path, margins=(18, 36, 18, 36), font_name="Noto Sans Mono")
    assert write.call({"path": "a.pdf", "content": REPORT})["pages"] == 1
    call = {"path": "b.pdf", "content": REPORT * 3, "margins": [300, 36, 380, 36]}
    assert write.call(call | {"font_name": "Helvetica"})["pages"] > 1

    def fonts(name: str) -> set[str]:
        resources: Any = pypdf.PdfReader(tmp_path / name).pages[0]["/Resources"]
        every = resources["/Font"].values()
        return {font.get_object()["/BaseFont"].partition("+")[2] for font in every}

    assert fonts("a.pdf") >= {"NotoSansMono-Regular"}
    assert "NotoSansMono-Regular" not in fonts("b.pdf")
    with pytest.raises(ValidationError, match="`margins` must be points from 0 on: -1"):
        write.call({"path": "c.pdf", "content": "x", "margins": -1})
    settings: list[tuple[dict[str, Any], str]] = [
        ({"margins": (1, 2)}, "must be a number of points, or four: top, right, bottom, left"),
        ({"margins": "wide"}, "must be a number of points, or four"),
        ({"margins": 2j}, "complex"),
        ({"margins": 10}, "18 points at the bottom for the page number: 10"),
        ({"font_name": "No Such Font"}, "`font_name` cannot be used: no font of that name"),
    ]
    for wrong, message in settings:
        with pytest.raises(ValidationError, match=message):
            write_pdf(tmp_path, **wrong)
