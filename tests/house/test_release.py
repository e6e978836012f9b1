"""One version, stated once, with an entry in the change log."""

from __future__ import annotations

import re
import tomllib

from house.source import ROOT


def test_the_change_log_begins_with_the_version_of_the_workspace() -> None:
    cargo = tomllib.loads((ROOT / "Cargo.toml").read_text(encoding="utf-8"))
    log = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    top = re.search(r"^## (\S+)", log, re.MULTILINE)
    assert top is not None, "CHANGELOG.md:1: no entry"
    assert top[1] == cargo["workspace"]["package"]["version"]


def test_the_wheel_takes_its_version_from_cargo() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert "version" in project["dynamic"]
    assert "version" not in project


def test_each_job_that_a_page_names_is_in_the_makefile() -> None:
    jobs = set(
        re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE)
    )
    pages = [*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")]
    named = [
        (page, job)
        for page in pages
        for job in re.findall(r"\bmake ([a-z][a-z-]*)`", page.read_text(encoding="utf-8"))
    ]
    unknown = [f"{page.name}: no such job: {job}" for page, job in named if job not in jobs]
    assert not unknown, "\n" + "\n".join(unknown)
