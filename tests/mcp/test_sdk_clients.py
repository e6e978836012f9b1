"""Clients written with the official SDKs use our server."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from antiphon import mcp
from support import mcp_things as served_things
from support.mcp_peers import node, node_packages, sdk_environment

pytestmark = [pytest.mark.network, pytest.mark.slow]
HERE = Path(__file__).parent
CLIENTS = pytest.mark.parametrize("client", ["python 1", "python 2", "typescript"])
OVER_PIPES = [sys.executable, "-m", "antiphon", "mcp"]


def run(client: str, *target: str) -> dict[str, Any]:
    kind, _, major = client.partition(" ")
    if kind == "python":
        command = [sys.executable, str(HERE / "sdk_client.py")]
        environment = {**os.environ, **sdk_environment(major)}
    else:
        script = node_packages().parent / "sdk_client.mjs"
        script.write_text((HERE / "sdk_client.mjs").read_text(encoding="utf-8"), encoding="utf-8")
        command, environment = [str(node()), str(script)], dict(os.environ)
    done = subprocess.run(
        [*command, *target],
        cwd=HERE.parent,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


@CLIENTS
def test_over_http(client: str) -> None:
    things = (served_things.population, served_things.broken, served_things.greeter)
    with mcp.start(*things, served_things.team) as server:
        seen = run(client, server.url)
    assert seen["results"]["population"] == ["520774", False]
    assert seen["results"]["broken"][1]
    assert seen["results"]["greeter"] == ["hello Ada", False]
    assert seen["results"]["team"] == ["Lyon has 520,774 people.", False]
    assert seen["questions"] == ["your name?"]
    assert seen["progress"] >= 1


@CLIENTS
def test_over_pipes(client: str) -> None:
    names = ["population", "greeter"]
    seen = run(client, *OVER_PIPES, *(f"support.mcp_things:{name}" for name in names))
    assert seen["results"]["population"] == ["520774", False]
    assert seen["results"]["greeter"] == ["hello Ada", False]
