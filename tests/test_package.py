"""The package's face: what `import antiphon` gives, and what it does not load."""

from __future__ import annotations

import subprocess
import sys

import pytest

import antiphon


def loaded(script: str) -> set[str]:
    command = [sys.executable, "-c", f"import sys\n{script}\nprint(*sys.modules)"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return set(done.stdout.split())


def test_importing_the_package_loads_nothing_heavy() -> None:
    modules = loaded("import antiphon")
    assert not modules & {"antiphon._antiphon", "asyncio", "inspect", "json", "typing_extensions"}


def test_running_a_team_loads_neither_langchain_nor_pydantic() -> None:
    script = """
from antiphon import Agent, Orchestrator
class A(Agent):
    def act(self, state, ctx): return "x"
assert Orchestrator([A()]).run("q").answer == "x"
"""
    assert not loaded(script) & {"pydantic", "langchain_core", "IPython"}


def test_every_name_is_there_and_listed() -> None:
    for name in antiphon.__all__:
        assert getattr(antiphon, name) is not None
    assert set(antiphon.__all__) <= set(dir(antiphon))


def test_no_submodule_shadows_a_name() -> None:
    script = """
import antiphon.orchestrator, antiphon.tools, antiphon.agent, antiphon.result
from antiphon import Agent, tool
assert not isinstance(tool, type(sys))
assert isinstance(Agent, type)
"""
    loaded(script)


def test_an_unknown_name_is_named() -> None:
    with pytest.raises(AttributeError, match="nothing"):
        _ = antiphon.nothing
