"""Each crate depends on the rooms below it, and on nothing else."""

from __future__ import annotations

import subprocess
import tomllib
from dataclasses import dataclass, field

import pytest

from house.source import ROOT

_PYTHON = frozenset({"pyo3", "pyo3-ffi", "pythonize"})
_HTTP = frozenset({"reqwest", "hyper", "ureq"})
_SQL = frozenset({"rusqlite", "sqlx-core", "tokio-postgres", "libsqlite3-sys"})
_WAITING = frozenset({"tokio", "mio", "async-std", "smol"})
_ADAPTERS = frozenset({"net", "models", "tools", "mcp", "stores", "sandbox", "queue"})
_PORTS = frozenset({"core", "runtime"})
_TEXTS = frozenset({"citation", "figures", "html", "markdown"})
_CLOSURE = 25
"""Packages that the engine may need in all, itself included."""


@dataclass(frozen=True)
class Room:
    """What a crate may use of ours, and what it must not even know."""

    may_use: frozenset[str] = _PORTS
    unknown: frozenset[str] = field(default=_PYTHON)


HOUSE = {
    "core": Room(frozenset(), _PYTHON | _HTTP | _SQL | _WAITING | {"tracing"}),
    "reply": Room(frozenset({"core"}), _PYTHON | _HTTP | _SQL | _WAITING),
    "figures": Room(frozenset(), _PYTHON | _HTTP | _SQL | _WAITING),
    "citation": Room(frozenset({"figures"}), _PYTHON | _HTTP | _SQL | _WAITING),
    "markdown": Room(frozenset(), _PYTHON | _HTTP | _SQL | _WAITING),
    "html": Room(frozenset(), _PYTHON | _HTTP | _SQL | _WAITING),
    "runtime": Room(frozenset({"core"}), _PYTHON | _HTTP | _SQL),
    "net": Room(),
    "models": Room(_PORTS | {"net"}),
    "tools": Room(_PORTS | {"html", "net", "sandbox"}),
    "mcp": Room(_PORTS | {"net", "reply"}),
    "stores": Room(),
    "sandbox": Room(),
    "queue": Room(),
    "systems": Room(_PORTS | _TEXTS | {"reply"}, _PYTHON | _HTTP | _SQL),
    "server": Room(_PORTS | _ADAPTERS | _TEXTS | {"reply", "systems"}),
    "binding": Room(_PORTS | _ADAPTERS | _TEXTS | {"reply", "systems", "server"}, frozenset()),
}
CRATES = sorted(path.parent.name for path in ROOT.glob("src/*/Cargo.toml"))


@pytest.mark.parametrize("crate", CRATES)
def test_a_crate_keeps_to_its_layer(crate: str) -> None:
    assert crate in HOUSE, f"src/{crate}: add the room to design and to HOUSE in this file"
    found = misfits(crate, dependencies(crate))
    assert not found, "\n" + "\n".join(found)


@pytest.mark.parametrize("crate", CRATES)
def test_a_package_is_named_after_its_folder(crate: str) -> None:
    manifest = tomllib.loads((ROOT / "src" / crate / "Cargo.toml").read_text(encoding="utf-8"))
    assert manifest["package"]["name"] == f"antiphon-{crate}"


def test_a_crate_that_reaches_past_its_layer_is_found() -> None:
    assert misfits("core", {"serde", "tokio"}) == [
        "src/core/Cargo.toml:1: core must not know: tokio"
    ]
    assert misfits("stores", {"antiphon-models"}) == [
        "src/stores/Cargo.toml:1: stores may not depend on: antiphon-models"
    ]
    assert misfits("models", {"antiphon-net", "reqwest"}) == []


def test_the_engine_needs_few_packages() -> None:
    needed = dependencies("core")
    assert len(needed) <= _CLOSURE, f"core needs {len(needed)} packages: {sorted(needed)}"


def misfits(crate: str, known: set[str]) -> list[str]:
    """What a crate should not depend on, given all it depends on."""
    room, place = HOUSE[crate], f"src/{crate}/Cargo.toml:1"
    ours = {name.removeprefix("antiphon-") for name in known if name.startswith("antiphon-")}
    strangers = [f"antiphon-{name}" for name in sorted(ours - room.may_use - {crate})]
    return [
        *(f"{place}: {crate} must not know: {name}" for name in sorted(known & room.unknown)),
        *(f"{place}: {crate} may not depend on: {name}" for name in strangers),
    ]


def dependencies(crate: str) -> set[str]:
    """The names in the crate's tree of normal dependencies, with default features."""
    command = ["cargo", "tree", "--locked", "-p", f"antiphon-{crate}", "-e", "normal"]
    done = subprocess.run(
        [*command, "--prefix", "none", "--format", "{p}"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return {line.split()[0] for line in done.stdout.splitlines() if line.strip()}
