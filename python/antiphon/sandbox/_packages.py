"""The files of packages and their dependencies, which a sandbox may read."""

from __future__ import annotations

import re
from importlib.metadata import Distribution, PackageNotFoundError, distribution
from importlib.metadata import packages_distributions as homes
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from antiphon.errors import ValidationError

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["PackageFiles", "package_files", "with_arrow"]

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
_PREPARED = ("matplotlib", "polars", "statsmodels")
"""Packages that a worker cannot import by itself; see `_guest.preload`."""
_EXTRA = re.compile(r"\bextra\s*==")


class PackageFiles(NamedTuple):
    """The files that a sandbox with packages can read.

    Attributes:
        modules: modules to import: one for each requested package, and dependencies that must be
            loaded before the code runs.
        paths: files and folders to read: absolute, sorted, without duplicates.
        homes: folders for `sys.path`.
    """

    modules: list[str]
    paths: list[str]
    homes: list[str]


def package_files(packages: Iterable[str]) -> PackageFiles:
    """Find the files of packages and of their installed dependencies.

    Raises:
        ValidationError: one is not installed, or not as files
            (``sandbox_package_missing``), or lists a file outside its folder
            (``sandbox_package_outside``).

    Example:
        >>> package_files([])
        PackageFiles(modules=[], paths=[], homes=[])
    """
    modules: list[str] = []
    paths: dict[str, None] = {}
    seen: set[str] = set()
    todo: list[Distribution] = []
    for name in dict.fromkeys(packages):
        found = _find_distribution(name)
        modules.append(_module_of(name, found))
        todo.append(found)
    while todo:
        found = todo.pop()
        if _normal(found.name) in seen:
            continue
        seen.add(_normal(found.name))
        paths.update(dict.fromkeys(_places(found)))
        todo += _dependencies(found)
    brought = {Path(path).name for path in paths}.intersection(_PREPARED) - {*modules}
    return PackageFiles(
        [*modules, *sorted(brought)],
        sorted(paths),
        sorted({str(Path(path).parent) for path in paths}),
    )


def with_arrow(packages: list[str]) -> list[str]:
    """Add pyarrow to pandas, if it is installed: tables are passed as Arrow."""
    if "pandas" not in packages or "pyarrow" in packages or find_spec("pyarrow") is None:
        return packages
    return [*packages, "pyarrow"]


def _find_distribution(name: str) -> Distribution:
    try:
        return distribution(name)
    except (PackageNotFoundError, ValueError):
        found = homes().get(name)
    if not found:
        raise ValidationError(
            f"a package for the sandbox is not installed: {name}",
            code="sandbox_package_missing",
            details={"package": name},
            hint=f"install it beside antiphon: pip install {name}",
        )
    return distribution(found[0])


def _module_of(name: str, found: Distribution) -> str:
    """Return the name under which a package is imported."""
    plain = name.replace("-", "_")
    if plain in {top.partition(".")[0] for top in _tops(found)}:
        return plain
    ours = [module for module, owners in homes().items() if found.name in owners]
    public = [module for module in ours if not module.startswith("_")]
    return public[0] if public else plain


def _dependencies(found: Distribution) -> list[Distribution]:
    """Return its installed dependencies, without those of extras."""
    needed = []
    for line in found.requires or []:
        text, _, condition = line.partition(";")
        name = _NAME.match(text.strip())
        if name is None or _EXTRA.search(condition):
            continue
        try:
            needed.append(distribution(name[0]))
        except PackageNotFoundError:
            # Its marker may exclude this system or Python version.
            continue
    return needed


def _places(found: Distribution) -> list[str]:
    """Return its top-level files and folders."""
    home = Path(str(found.locate_file(""))).resolve()
    places = [_inside(found, home, top) for top in sorted(_tops(found))]
    if not any(place.suffix == ".py" or _is_code(place) for place in places):
        raise ValidationError(
            f"a package for the sandbox has no importable files: {found.name}",
            code="sandbox_package_missing",
            details={"package": found.name},
            hint="editable installs are not supported in a sandbox; install it as a wheel",
        )
    return [str(place) for place in places if place.exists()]


def _inside(found: Distribution, home: Path, top: str) -> Path:
    """Return the path of `top`, which must be in the package's folder.

    The package itself supplies the list of its files: an absolute path in it, or a symbolic link
    beside its modules, would give the sandbox access to any file.
    """
    place = Path(str(found.locate_file(top))).resolve()
    if home not in place.parents:
        raise ValidationError(
            f"a package for the sandbox lists a file outside of its folder: {found.name}: {place}",
            code="sandbox_package_outside",
            details={"package": found.name, "path": str(place)},
            hint=f"install it as a wheel whose files are all in {home}",
        )
    return place


def _is_code(place: Path) -> bool:
    return place.is_dir() and place.suffix not in {".dist-info", ".egg-info"}


def _tops(found: Distribution) -> set[str]:
    return {file.parts[0] for file in found.files or ()} - {"..", "__pycache__"}


def _normal(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()
