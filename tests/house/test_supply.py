"""What enters the build has a licence and a source that deny.toml allows."""

from __future__ import annotations

import json
import re
import subprocess
import tomllib
from typing import Any

import pytest

from house.source import ROOT

DENY = tomllib.loads((ROOT / "deny.toml").read_text(encoding="utf-8"))
ALLOWED = frozenset(DENY["licenses"]["allow"])
SOURCES = frozenset(f"registry+{url}" for url in DENY["sources"]["allow-registry"])


@pytest.fixture(scope="module")
def packages() -> list[dict[str, Any]]:
    command = ["cargo", "metadata", "--locked", "--format-version", "1"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    found: list[dict[str, Any]] = json.loads(done.stdout)["packages"]
    return found


def test_each_licence_is_allowed(packages: list[dict[str, Any]]) -> None:
    refused = [
        f"{package['name']} {package['version']}: licence not in deny.toml: {package['license']}"
        for package in packages
        if not allows(package["license"] or "none", ALLOWED)
    ]
    assert not refused, "\n" + "\n".join(refused)


def test_each_package_comes_from_an_allowed_source(packages: list[dict[str, Any]]) -> None:
    strangers = [
        f"{package['name']} {package['version']}: source not in deny.toml: {package['source']}"
        for package in packages
        if package["source"] not in SOURCES | {None}
    ]
    assert not strangers, "\n" + "\n".join(strangers)


def test_the_wheel_requires_no_package() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert project["dependencies"] == []


@pytest.mark.parametrize(
    ("expression", "verdict"),
    [
        ("MIT", True),
        ("MIT/Apache-2.0", True),
        ("GPL-3.0 OR MIT", True),
        ("GPL-3.0", False),
        ("MIT AND GPL-3.0", False),
        ("(GPL-3.0 OR MIT) AND Unicode-3.0", True),
        ("Apache-2.0 WITH LLVM-exception OR GPL-3.0", True),
        ("none", False),
    ],
)
def test_a_licence_expression_is_read_as_spdx_means_it(expression: str, verdict: bool) -> None:
    assert allows(expression, ALLOWED) is verdict


def allows(expression: str, allowed: frozenset[str]) -> bool:
    """Whether some reading of an SPDX expression needs allowed licences only."""
    # Older manifests write a slash for "or".
    tokens = re.findall(r"\(|\)|[^\s()]+", expression.replace("/", " OR "))
    tokens.reverse()
    return _either(tokens, allowed)


def _either(tokens: list[str], allowed: frozenset[str]) -> bool:
    verdict = _both(tokens, allowed)
    while tokens and tokens[-1] == "OR":
        tokens.pop()
        verdict = _both(tokens, allowed) or verdict
    return verdict


def _both(tokens: list[str], allowed: frozenset[str]) -> bool:
    verdict = _single(tokens, allowed)
    while tokens and tokens[-1] == "AND":
        tokens.pop()
        verdict = _single(tokens, allowed) and verdict
    return verdict


def _single(tokens: list[str], allowed: frozenset[str]) -> bool:
    name = tokens.pop()
    if name == "(":
        verdict = _either(tokens, allowed)
        tokens.pop()
        return verdict
    if tokens and tokens[-1] == "WITH":
        tokens.pop()
        name = f"{name} WITH {tokens.pop()}"
    return name in allowed
