"""``antiphon systems``."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from antiphon.systems import systems
from support.commands import CommandServer

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


@pytest.mark.parametrize("name", systems())
def test_each_system_is_drawn(antiphon: Antiphon, name: str) -> None:
    drawn = antiphon("graph", name.replace("_", "-"))
    assert (drawn.returncode, drawn.stderr) == (0, "")
    assert "\ngraph TD;\n\t__start__(" in drawn.stdout
    assert drawn.stdout.endswith("\tclassDef last fill:#bfb6fc\n")


def test_objects_of_a_module_are_drawn(commands: CommandServer, tmp_path: Path) -> None:
    (tmp_path / "things.py").write_text(
        "from antiphon import Agent, Orchestrator\n"
        "from antiphon.graph import START, StateGraph\n"
        "lone = Agent(lambda request: 'yes', name='lone')\n"
        "team = Orchestrator([Agent(lambda request: 'yes', name='member')])\n"
        "graph = StateGraph(dict).add_node('node', dict).add_edge(START, 'node').compile()\n"
        "number = 1\n"
    )

    def draw(name: str) -> subprocess.CompletedProcess[str]:
        return commands.run("graph", "--svg", f"things:{name}", folder=tmp_path, variables={})

    for name, node in {"lone": "lone", "team": "member", "graph": "node"}.items():
        drawn = draw(name)
        assert drawn.stdout.startswith("<svg"), drawn.stderr
        assert f">{node}</text>" in drawn.stdout
    assert "`things:number` is not an agent" in draw("number").stderr


def test_json_has_the_schemas(antiphon: Antiphon) -> None:
    one = json.loads(antiphon("systems", "review-loop", "--json").stdout)
    assert one["config_schema"]["properties"]
    every = json.loads(antiphon("systems", "--json").stdout)
    assert one in every


def test_an_unknown_name_is_an_error_with_a_suggestion(antiphon: Antiphon) -> None:
    done = antiphon("systems", "data-analist")
    assert done.returncode == 2
    assert "did you mean `data_analyst`?" in done.stderr
