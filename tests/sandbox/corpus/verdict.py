"""Whether a case was contained."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sandbox.corpus.cases import Case

ESCAPED = "ESCAPED"
GRACE = 6.0
"""Seconds past the limit of time before a run counts as an overrun."""


@dataclass
class Seen:
    """What one run came to.

    Attributes:
        error: the kind of its error, or `none`.
        said: its value as text, and its standard output.
        beside: the other output: errors, names, standard error.
        seconds: how long it took.
        memory: bytes at its peak, 0 if unknown.
    """

    error: str
    said: str
    beside: str = ""
    seconds: float = 0.0
    memory: int = 0


@dataclass(frozen=True)
class Bounds:
    """What a run may take.

    Attributes:
        seconds: of time.
        memory: bytes at its peak.
        output: characters of value and standard output.
    """

    seconds: float
    memory: int
    output: int


@dataclass
class Verdict:
    """What became of a case.

    Attributes:
        case: its name.
        kind: its kind.
        escapes: what got through.
        overruns: which limits did not hold.
        errors: the kinds of errors of its runs.
        odd: kinds of errors that were not expected.
    """

    case: str
    kind: str
    escapes: list[str] = field(default_factory=list)
    overruns: list[str] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)
    odd: list[str] = field(default_factory=list)

    @property
    def contained(self) -> bool:
        """Whether nothing got through, and limits held."""
        return not self.escapes and not self.overruns


def judge(case: Case, seen: list[Seen], harm: list[str], token: str, bounds: Bounds) -> Verdict:
    """What became of a case.

    Args:
        case: what was tried.
        seen: its runs.
        harm: what was touched meanwhile.
        token: the secret.
        bounds: what each run was allowed.
    """
    verdict = Verdict(case.id, case.kind, escapes=list(harm))
    for run in seen:
        if ESCAPED in run.said:
            at = run.said.index(ESCAPED)
            verdict.escapes.append(run.said[at : at + 80])
        everything = run.said + run.beside
        if token in everything or token[::-1] in everything:
            verdict.escapes.append("the token came out")
        if run.seconds > bounds.seconds + GRACE:
            verdict.overruns.append(f"{run.seconds:.1f} s")
        if run.memory > bounds.memory:
            verdict.overruns.append(f"{run.memory >> 20} MiB")
        if len(run.said) > bounds.output:
            verdict.overruns.append(f"{len(run.said)} characters")
        verdict.errors.append(run.error)
    # Without an error it did nothing that showed, or an escape tells; a kill is no surprise.
    allowed = case.expected | {"none", "time_limit"}
    if "python_error" in allowed:
        allowed |= {"syntax_error", "host_call_failed"}
    verdict.odd = [kind for kind in verdict.errors if kind not in allowed]
    return verdict
