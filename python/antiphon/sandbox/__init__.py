r"""Run untrusted code in isolation.

Example:
    >>> with Sandbox(engine="monty") as box:
    ...     result = box.run("print('hello'); 6 * 7")
    >>> result.value, result.stdout
    (42, 'hello\n')
"""

from __future__ import annotations

from antiphon.sandbox._compute import compute
from antiphon.sandbox._guest.decode import Opaque
from antiphon.sandbox._limits import Limits
from antiphon.sandbox._pause import SandboxPause
from antiphon.sandbox._result import Isolation, SandboxFigure, SandboxResult, SandboxUsage
from antiphon.sandbox._sandbox import Sandbox
from antiphon.sandbox._session import SandboxSession
from antiphon.sandbox._table import SandboxTable

__all__ = [
    "Isolation",
    "Limits",
    "Opaque",
    "Sandbox",
    "SandboxFigure",
    "SandboxPause",
    "SandboxResult",
    "SandboxSession",
    "SandboxTable",
    "SandboxUsage",
    "compute",
]
