"""What a sandbox is made with: limits, files, packages, an engine."""

from __future__ import annotations

import importlib.metadata
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from antiphon.errors import SandboxUnavailable, ValidationError
from antiphon.sandbox import Limits, Sandbox
from antiphon.sandbox import _engines as engines
from antiphon.sandbox._engine import EngineKind
from antiphon.sandbox._engines import ENGINES
from antiphon.sandbox._job import granted_files
from antiphon.sandbox._packages import package_files

MIB = 2**20


def test_each_limit_has_a_default() -> None:
    table = Limits().complete()
    assert table["wall"] == 5
    assert table["cpu"] == 6
    assert table["memory"] == 256 * MIB
    assert table["host_calls"] == 1_000
    assert Limits().complete(["pandas"])["memory"] == 512 * MIB


def test_none_is_the_ceiling_and_processor_time_follows_the_clock() -> None:
    assert Limits(wall=None).complete()["wall"] == 300
    assert Limits(wall=2).complete()["cpu"] == 3
    assert Limits(memory=64 * MIB).complete(["pandas"])["memory"] == 64 * MIB


@pytest.mark.parametrize(
    "given",
    [
        {"wall": 0},
        {"wall": -1},
        {"wall": float("nan")},
        {"wall": float("inf")},
        {"wall": 301},
        {"wall": True},
        {"wall": "5"},
        {"memory": 2**40},
        {"files": 9.5},
        {"host_calls": 10**400},
        {"time": 5},
    ],
)
def test_a_limit_that_is_none_is_refused(given: dict[str, Any]) -> None:
    with pytest.raises(ValidationError) as caught:
        Limits(**given)
    assert caught.value.code == "sandbox_limit_invalid"


def test_limits_are_shown_and_compared_by_what_was_given() -> None:
    assert repr(Limits(wall=2)) == "Limits(wall=2)"
    assert Limits(wall=2) == Limits(wall=2)
    assert len({Limits(wall=2), Limits(wall=2), Limits()}) == 2


def test_files_have_the_names_of_their_paths_or_those_that_are_given(tmp_path: Path) -> None:
    data = tmp_path / "data.csv"
    data.write_text("a\n1\n")
    assert granted_files([data]) == [[str(data), "/files/data.csv"]]
    assert granted_files([str(data)]) == [[str(data), "/files/data.csv"]]
    assert granted_files({"sales.csv": data}) == [[str(data), "/files/sales.csv"]]


@pytest.mark.parametrize("name", ["a/b", "", "..", ".", "x\0y"])
def test_a_file_s_name_has_no_folders(tmp_path: Path, name: str) -> None:
    (tmp_path / "data.csv").write_text("")
    with pytest.raises(ValidationError) as caught:
        granted_files({name: tmp_path / "data.csv"})
    assert caught.value.code == "sandbox_file_invalid"


def test_a_folder_a_missing_file_and_a_name_given_twice_are_refused(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "a/data.csv").write_text("")
    (tmp_path / "data.csv").write_text("")
    cases: list[list[Path]] = [
        [tmp_path],
        [tmp_path / "none"],
        [tmp_path / "data.csv", tmp_path / "a/data.csv"],
    ]
    for files in cases:
        with pytest.raises(ValidationError) as caught:
            granted_files(files)
        assert caught.value.code == "sandbox_file_invalid"


def test_a_package_brings_its_own_files_and_those_of_what_it_needs() -> None:
    found = package_files(["pandas"])
    names = {Path(path).name for path in found.paths}
    assert found.modules == ["pandas"]
    assert {"pandas", "numpy", "dateutil"} <= names
    assert not {"pytest", "polars", "pip", "bin"} & names
    assert all(Path(path).is_absolute() and Path(path).exists() for path in found.paths)
    assert found.paths == sorted(set(found.paths))


def test_a_package_may_be_named_as_it_is_imported() -> None:
    assert package_files(["dateutil"]).modules == ["dateutil"]
    assert package_files(["python-dateutil"]).modules == ["dateutil"]


def _installed(home: Path, name: str, record: str) -> None:
    """A package as it would be installed below `home`, with this list of its files."""
    (home / name).mkdir(parents=True)
    (home / name / "__init__.py").write_text("", encoding="utf-8")
    about = home / f"{name}-1.0.dist-info"
    about.mkdir()
    (about / "METADATA").write_text(f"Name: {name}\nVersion: 1.0\n", encoding="utf-8")
    own = f"{name}/__init__.py,,\n{about.name}/METADATA,,\n"
    (about / "RECORD").write_text(own + record, encoding="utf-8")


# Files that exist: from Python 3.12 on, those that do not are not in the list.
@pytest.mark.parametrize("listed", ["/etc/passwd,,", "//etc/passwd,,", "way/x,,", "way,,"])
def test_a_package_grants_nothing_outside_of_where_it_is_installed(
    listed: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "x").touch()
    _installed(tmp_path / "home", "strange", listed + "\n")
    (tmp_path / "home/way").symlink_to(outside)
    monkeypatch.syspath_prepend(str(tmp_path / "home"))
    with pytest.raises(ValidationError, match="strange") as caught:
        package_files(["strange"])
    assert caught.value.code == "sandbox_package_outside"


def test_files_of_a_package_that_are_beside_its_home_are_not_granted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Programs are listed so; a path that only passes outside stays inside.
    _installed(tmp_path / "home", "usual", "../../bin/usual,,\nusual/../../x,,\n")
    monkeypatch.syspath_prepend(str(tmp_path / "home"))
    home = tmp_path.resolve() / "home"
    assert package_files(["usual"]).paths == [
        str(home / "usual"),
        str(home / "usual-1.0.dist-info"),
    ]


def test_what_only_an_extra_needs_stays_outside() -> None:
    required = importlib.metadata.requires("pandas") or []
    assert any("extra ==" in line and line.startswith("pyarrow") for line in required)
    assert "pyarrow" not in {Path(path).name for path in package_files(["pandas"]).paths}


@pytest.mark.parametrize("name", ["no-such-package", "antiphon", ""])
def test_a_package_without_files_to_show_is_refused(name: str) -> None:
    with pytest.raises(ValidationError) as caught:
        package_files([name])
    assert caught.value.code == "sandbox_package_missing"


def test_an_engine_that_is_none_is_refused() -> None:
    with pytest.raises(ValidationError, match="unknown sandbox engine: docker") as caught:
        Sandbox(engine="docker")  # type: ignore[arg-type]
    assert caught.value.code == "sandbox_engine_invalid"


def _kind(name: str, *, ok: bool, **options: Any) -> EngineKind:
    def found() -> Any:
        missing = [] if ok else [f"what {name} needs"]
        return {"engine": name, "ok": ok, "isolation": "none", "missing": missing}

    monty = ENGINES["monty"]
    return EngineKind(probe=found, make=monty.make, **options)


def test_auto_takes_the_first_engine_that_passes_its_probe(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    kinds = {
        "strong": _kind("strong", ok=False),
        "loud": _kind("loud", ok=True, by_choice=False),
        "weak": _kind("weak", ok=True),
    }
    monkeypatch.setattr(engines, "ENGINES", kinds)
    monkeypatch.setattr(engines, "probe", lambda name, **_: kinds[name].probe())
    with pytest.warns(RuntimeWarning, match="takes the engine `weak`.*what strong needs"):
        assert engines.choose("auto") == "weak"
    assert engines.choose("loud") == "loud"
    with pytest.raises(SandboxUnavailable) as caught:
        engines.choose("strong")
    assert "what strong needs" in str(caught.value)


def test_when_no_engine_can_be_used_the_error_names_what_each_lacks(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    kinds = {
        "strong": _kind("strong", ok=False),
        "narrow": _kind("narrow", ok=True, packages=frozenset()),
    }
    monkeypatch.setattr(engines, "ENGINES", kinds)
    monkeypatch.setattr(engines, "probe", lambda name, **_: kinds[name].probe())
    with pytest.raises(SandboxUnavailable) as caught:
        engines.choose("auto", packages=["numpy"])
    assert caught.value.details["engines"] == {
        "strong": "what strong needs",
        "narrow": "has no package: numpy",
    }
    assert "antiphon doctor" in str(caught.value)
    with pytest.raises(ValidationError, match="cannot pause"):
        engines.choose("narrow", pauses=True)


def test_what_isolates_nothing_needs_to_be_asked_for_and_warns_once() -> None:
    with pytest.raises(ValidationError, match="no isolation"):
        Sandbox(engine="subprocess")
    script = (
        "import warnings\n"
        "from antiphon.sandbox import Sandbox\n"
        "with warnings.catch_warnings(record=True) as caught:\n"
        "    warnings.simplefilter('always')\n"
        "    for _ in range(2):\n"
        "        with Sandbox(engine='subprocess', i_accept_no_isolation=True) as box:\n"
        "            result = box.run('1 + 1').check()\n"
        "print(result.value, result.isolation, [str(each.message) for each in caught])\n"
    )
    command = [sys.executable, "-c", script]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60)
    assert done.stdout.startswith("2 none ['code runs in a sandbox without isolation")
    assert done.stdout.count("isolation") == 1


def test_an_engine_that_cannot_be_given_files_refuses_them(tmp_path: Path) -> None:
    (tmp_path / "data.csv").write_text("")
    with pytest.raises(
        ValidationError, match="cannot be given files: pass their content as inputs"
    ):
        Sandbox(engine="subprocess", i_accept_no_isolation=True, files=[tmp_path / "data.csv"])


def test_a_python_that_was_started_by_a_relative_path_has_a_sandbox() -> None:
    code = (
        "from antiphon.sandbox import Sandbox\n"
        "with Sandbox(engine='subprocess', i_accept_no_isolation=True) as box:\n"
        "    print(box.run('1 + 1').value)"
    )
    program = Path(sys.executable)
    beside = program.parent / ".." / program.parent.name / program.name
    done = subprocess.run([beside, "-c", code], capture_output=True, text=True, check=False)
    assert done.stdout == "2\n", done.stderr


def test_a_limit_outside_of_the_limits_is_told_the_options() -> None:
    made: Any = Sandbox
    with pytest.raises(ValidationError, match="`Sandbox` has no option of that name: memory") as it:
        made(memory=1)
    assert "limits" in str(it.value.hint)
