"""Code that nobody trusts, run so that it can do no harm."""

from __future__ import annotations

from antiphon.sandbox._figure import SandboxFigure
from antiphon.sandbox._result import Isolation, SandboxResult, SandboxUsage
from antiphon.sandbox._table import SandboxTable

__all__ = ["Isolation", "SandboxFigure", "SandboxResult", "SandboxTable", "SandboxUsage"]
