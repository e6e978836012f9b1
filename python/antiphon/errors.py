"""The exceptions of antiphon, one class per category of failure.

::

    AntiphonError
    ├── ValidationError           a request, setting or argument is wrong; nothing has run
    ├── StateError                a field is missing, a type is wrong, a target is unknown
    ├── ModelTransportError       a model could not be reached, or answered 429 or 5xx
    ├── ModelOutputError          the answer of a model cannot be used
    ├── ToolError                 a tool returned an error
    ├── ToolTransportError        a tool could not be reached
    ├── RunTimeout                a node, a tool or the run took too long
    ├── AuthError                 a credential is missing, wrong or refused
    ├── PolicyError               something is forbidden
    ├── BudgetError               calls, tokens, steps or time are spent
    ├── RunCancelled              the caller cancelled
    ├── InternalError             a defect in antiphon or in a callable it was given
    └── SandboxError              a sandbox; each class below has a category beside it
        ├── GuestError            (Tool) the code raised
        ├── GuestSyntaxError      (Tool) the code is not valid Python
        ├── UnsupportedCode       (Tool) this engine lacks what the code uses
        ├── HostCallError         (Tool) a host function: too many calls, not granted, failed
        ├── WorkerCrashed         (Tool) the worker died, or broke the protocol
        ├── AccessDenied          (Policy) files, network, processes: kept from the code
        ├── SandboxUnavailable    (Policy) no engine on this machine isolates the code
        ├── TimeLimitExceeded     (RunTimeout)
        ├── MemoryLimitExceeded   (Budget)
        ├── OutputLimitExceeded   (Budget)
        ├── RecursionLimitExceeded (Budget)
        ├── ResultTooLarge        (Budget)
        └── SandboxCancelled      (RunCancelled)

``antiphon.graph`` adds subclasses that carry LangGraph's names. Each ``code``
has a page in ``docs/errors/``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

from antiphon._text import escape_controls

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

__all__ = [
    "AccessDenied",
    "AntiphonError",
    "AuthError",
    "BudgetError",
    "GuestError",
    "GuestSyntaxError",
    "HostCallError",
    "InternalError",
    "MemoryLimitExceeded",
    "ModelOutputError",
    "ModelTransportError",
    "OutputLimitExceeded",
    "PolicyError",
    "RecursionLimitExceeded",
    "ResultTooLarge",
    "RunCancelled",
    "RunTimeout",
    "SandboxCancelled",
    "SandboxError",
    "SandboxUnavailable",
    "StateError",
    "TimeLimitExceeded",
    "ToolError",
    "ToolTransportError",
    "UnsupportedCode",
    "ValidationError",
    "WorkerCrashed",
]

_T = TypeVar("_T")


class AntiphonError(Exception):
    """The root of the tree; catch it to catch everything antiphon raises.

    Args:
        message: one sentence for a reader; it may be shown to a user.
        code: the stable name of this failure, with a page in ``docs/errors/``.
        details: fields of this failure by name, for programs and traces; they
            appear in neither ``str`` nor ``repr``. Default: none.
        hint: what the reader can do about it. Default: none.

    Example:
        >>> error = ToolError("the city is unknown: Atlantis", code="unknown_city")
        >>> error.category, error.code
        ('tool', 'unknown_city')
    """

    category: ClassVar[str]
    """The row of the taxonomy, for instance ``model_transport``; retry and routing read it."""

    def __init__(
        self,
        message: str,
        *,
        code: str,
        details: Mapping[str, Any] | None = None,
        hint: str | None = None,
    ) -> None:
        super().__init__(message)
        self.message = message
        self.code = code
        self.details = dict(details or {})
        self.hint = hint
        # Tracebacks show it below the message; `str`, which models read, leaves it out.
        self.add_note(f"code: {code}, see docs/errors")

    def __str__(self) -> str:
        return self.message if self.hint is None else f"{self.message}\nhint: {self.hint}"

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.message!r}, code={self.code!r})"

    def __reduce__(self) -> tuple[Any, ...]:
        # Pickle would call the class with the message alone, and `code` has no default.
        return _revive, (type(self), self.args), self.__dict__


class ValidationError(AntiphonError):
    """A request, setting or argument is wrong; nothing has run yet."""

    category = "validation"


class StateError(AntiphonError):
    """A field is missing, a type is wrong, or a target is not declared."""

    category = "state"


class ModelTransportError(AntiphonError):
    """A model could not be reached, or answered 429 or 5xx, until retries ended."""

    category = "model_transport"


class ModelOutputError(AntiphonError):
    """A model refused, or its answer cannot be used."""

    category = "model_output"


class ToolError(AntiphonError):
    """The tool returned an error."""

    category = "tool"


class ToolTransportError(AntiphonError):
    """A tool could not be reached."""

    category = "tool_transport"


class RunTimeout(AntiphonError):
    """A node, a tool or the whole run took longer than it may.

    The plain name would shadow the builtin ``TimeoutError``, which is an
    ``OSError``; this is none.
    """

    category = "timeout"


class AuthError(AntiphonError):
    """A credential is missing, wrong or refused."""

    category = "auth"


class PolicyError(AntiphonError):
    """Something is forbidden: a statement, a path, an address, an action."""

    category = "policy"


class BudgetError(AntiphonError):
    """Calls, tokens, steps or time are spent."""

    category = "budget"


class RunCancelled(AntiphonError):
    """The caller cancelled the run.

    The plain name would be taken for ``asyncio.CancelledError``; this is none.
    """

    category = "cancelled"


class InternalError(AntiphonError):
    """A defect in antiphon, or in a callable that it was given."""

    category = "internal"


class SandboxError(AntiphonError):
    """Code in a sandbox failed, was stopped, or could not be run.

    Its text may come from the code that ran: it is data, not to be trusted. ``str`` spells out
    what a terminal would obey in it; ``message`` does not. Each class
    below has a category of the tree beside it, so ``except RunTimeout`` catches a time
    limit too.

    Example:
        >>> error = GuestError("boom", code="sandbox_python_error", details={"line": 3})
        >>> error.kind, error.line
        ('python_error', 3)
    """

    def __str__(self) -> str:
        # A traceback shows this; `message` has the text as it came.
        return escape_controls(super().__str__())

    @property
    def kind(self) -> str:
        """What happened, in a word that stays; for instance ``time_limit``."""
        return self.code.removeprefix("sandbox_")

    @property
    def type(self) -> str | None:
        """The name of the exception's class in the code, if it raised one."""
        return self._detail("type", str)

    @property
    def line(self) -> int | None:
        """The line of the code, from 1, if one is to blame."""
        return self._detail("line", int)

    @property
    def column(self) -> int | None:
        """The column in that line, from 1, if known."""
        return self._detail("column", int)

    @property
    def source(self) -> str | None:
        """The text of that line, if known."""
        return self._detail("source", str)

    @property
    def frames(self) -> tuple[Mapping[str, Any], ...]:
        """The last calls in the code, outermost first: ``line``, ``function``, ``source``."""
        return tuple(self.details.get("frames") or ())

    def _detail(self, name: str, kind: Callable[[Any], _T]) -> _T | None:
        value = self.details.get(name)
        return None if value is None else kind(value)


class GuestError(SandboxError, ToolError):
    """The code in a sandbox raised an exception, or left by ``sys.exit``."""


class GuestSyntaxError(SandboxError, ToolError):
    """The code for a sandbox is not valid Python."""


class UnsupportedCode(SandboxError, ToolError):
    """The engine runs a part of Python only, and the code uses another."""


class HostCallError(SandboxError, ToolError):
    """The code called a host function too often, one not granted, or one that failed."""


class WorkerCrashed(SandboxError, ToolError):
    """The worker died without a result, or sent an invalid one."""


class AccessDenied(SandboxError, PolicyError):
    """The code was denied a file, a connection, a process or disk space."""


class SandboxUnavailable(SandboxError, PolicyError):
    """No engine on this machine can isolate the code; nothing has run."""


class TimeLimitExceeded(SandboxError, RunTimeout):
    """The code took longer than its limits say, calls of host functions included."""


class MemoryLimitExceeded(SandboxError, BudgetError):
    """The code needed more memory than its limits say."""


class OutputLimitExceeded(SandboxError, BudgetError):
    """The code wrote far more to stdout or stderr than its limits say."""


class RecursionLimitExceeded(SandboxError, BudgetError):
    """The code called itself too deeply."""


class ResultTooLarge(SandboxError, BudgetError):
    """A value, table or figure of the code is larger than its limits say."""


class SandboxCancelled(SandboxError, RunCancelled):
    """The caller cancelled, and the worker was killed."""


def _revive(kind: type[AntiphonError], args: tuple[Any, ...]) -> AntiphonError:
    """Makes an empty exception for pickle, which then fills its fields."""
    return kind.__new__(kind, *args)
