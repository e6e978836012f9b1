"""The official conformance suite, with our client and our server under test."""

from __future__ import annotations

import subprocess
import tomllib
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from support.mcp_peers import ROOT, node, node_environment, node_packages

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = [pytest.mark.network, pytest.mark.slow]
SCENARIOS = tomllib.loads(Path(__file__).with_name("scenarios.toml").read_text(encoding="utf-8"))


def example(name: str) -> Path:
    # As `make test-rust` builds it: other features would mean another build of most crates.
    tested = ["--workspace", "--exclude", "antiphon-binding", "--features", "antiphon-systems/echo"]
    command = ["cargo", "build", "--locked", "--quiet", *tested, "--example", name]
    subprocess.run(command, cwd=ROOT, check=True)
    return ROOT / "target" / "debug" / "examples" / name


def suite(*arguments: str) -> subprocess.CompletedProcess[str]:
    script = node_packages() / "@modelcontextprotocol" / "conformance" / "dist" / "index.js"
    command = [str(node()), str(script), *arguments]
    return subprocess.run(
        command, env=node_environment(), capture_output=True, text=True, check=False
    )


@pytest.fixture(scope="module")
def client() -> Path:
    return example("conformance_client")


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    command = [str(example("conformance_server"))]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as running:
        assert running.stdout is not None
        yield running.stdout.readline().strip()
        running.kill()


@pytest.mark.parametrize("scenario", SCENARIOS["client"]["pass"])
def test_client(client: Path, scenario: str) -> None:
    options = ["--scenario", scenario, "--timeout", "120000"]
    done = suite("client", "--command", str(client), *options)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("scenario", SCENARIOS["server"]["pass"])
def test_server(server: str, scenario: str) -> None:
    done = suite("server", "--url", server, "--scenario", scenario)
    assert done.returncode == 0, done.stdout + done.stderr


def test_each_scenario_passes_or_has_a_reason() -> None:
    listed = suite("list").stdout.splitlines()
    parts = {"Server": "server", "Client": "client"}
    part, found = "", {"server": set[str](), "client": set[str]()}
    for line in listed:
        part = parts.get(line.split(" ")[0], part)
        if line.startswith("  - "):
            found[part].add(line.split()[1])
    for part, names in found.items():
        known = SCENARIOS[part]
        assert names == {*known["pass"], *known["left_out"]}, part
