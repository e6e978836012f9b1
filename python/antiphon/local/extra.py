"""Check that the packages of the extra ``local`` are installed."""

from __future__ import annotations

import importlib.util

from antiphon.errors import ValidationError

__all__ = ["extra_missing", "require_extra"]


def require_extra(*packages: str) -> None:
    """Check that all of ``packages`` can be imported.

    Raises:
        ValidationError: ``local_runtime_missing``.
    """
    for package in packages:
        if importlib.util.find_spec(package) is None:
            raise extra_missing(package, package)


def extra_missing(package: str, reason: str) -> ValidationError:
    """Build the error for an environment without ``package``."""
    return ValidationError(
        f"a package that local models need is not installed: {reason}",
        code="local_runtime_missing",
        details={"package": package},
        hint='run `pip install "antiphon[local]"`',
    )
