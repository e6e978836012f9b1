"""``antiphon systems``."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from antiphon.systems import systems

if TYPE_CHECKING:
    from cli.conftest import Antiphon


def test_all_systems_are_listed_each_on_a_line(antiphon: Antiphon) -> None:
    done = antiphon("systems")
    listed = dict(line.split("  ", 1) for line in done.stdout.splitlines())
    known = {name.replace("_", "-"): info.description for name, info in systems().items()}
    assert {name: about.strip() for name, about in listed.items()} == known


@pytest.mark.parametrize("name", ["data-analyst", "data_analyst"])
def test_one_system_is_described(antiphon: Antiphon, name: str) -> None:
    done = antiphon("systems", name)
    info = systems()["data_analyst"]
    assert done.stdout.startswith(info.description)
    for role, about in info.roles.items():
        assert f"  {role} " in done.stdout
        assert about in done.stdout
    for setting in info.config_schema["properties"]:
        assert f"\n  {setting} " in done.stdout
    (line,) = (line for line in done.stdout.splitlines() if "max_sql_attempts" in line)
    assert line.endswith("by default 4")
    (line,) = (line for line in done.stdout.splitlines() if "add_preferred" in line)
    assert line.endswith("(default: false)")


def test_json_has_the_schemas(antiphon: Antiphon) -> None:
    one = json.loads(antiphon("systems", "review-loop", "--json").stdout)
    assert one["config_schema"]["properties"]
    every = json.loads(antiphon("systems", "--json").stdout)
    assert one in every


def test_an_unknown_name_is_an_error_with_a_suggestion(antiphon: Antiphon) -> None:
    done = antiphon("systems", "data-analist")
    assert done.returncode == 2
    assert "did you mean `data_analyst`?" in done.stderr
