"""Names that say nothing, retired names, and marks of unfinished work stay out."""

from __future__ import annotations

import re
import tokenize
from typing import TYPE_CHECKING

from house.source import ROOT, Finding, files, finding, line_of, python, report, rust

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

BANNED = {"util", "helper", "common", "misc", "base", "manager"}

RETIRED = frozenset(
    re.findall(
        r"\w+",
        """
    Actor Agenda Alone AnnouncedTable Answered Anything Arrived Asked Asker Attempt Begun Bench
    Breach CallFields Came Chooser Clerk Closed Computed Course Current Declared Deed Desk Doer
    Doom Due Enclosing Ended Errand Exchange Family Fence Fixed Flaw Flood Fold Foreign Form
    Given Glance Grip Habits Handling Haste Hold Home Image Incident Jail Keep Keeper Kept
    KnownList KnownValues Lane Leash Letters Look Luggage Made Mail Material Nothing Older Open
    Opens Outlook Owned Pages Parts Past Patience Peeled Pen Phase Picture Pieces Place Plain
    Plan Player Problem Purpose Room Roster Scratch Seal Shelf Shot Shown Shows Sight Sign
    Situation Slot Standby Stepped Stopper Sync Tenant Tidy Told Trouble Vault Waits Ways Wire
    Withheld
    """,
    )
)
"""Names of types that say too little, in Rust and Python."""
RETIRED_VERBS = frozenset(
    re.findall(
        r"\w+",
        """
    actor anew asker bench came card cast clerk course deed desk doer doom errand flaw flight
    glance grip go_on habits haste heed incident judge keeper lane leash ledger luggage patience
    pen picture pictured played player portrait rehearsal ring rouse shelf shot stopper teller
    tenant trouble vault withheld
    """,
    )
)
"""Names of functions and modules that say too little, in Rust and Python."""
RETIRED_ANYWHERE = frozenset(
    re.findall(
        r"\w+",
        """
    actor asker begun breach breaches course deed deeds desk doer doom errand flaw flaws
    glance goes_on grip habits haste heed incident keeper lane leash luggage patience pictured
    play played player playing plays portrait rehearsal rouse shelf stopper tenant vault withheld
    """,
    )
)
"""Names that say too little for anything: also for fields, parameters, variables, constants and
tests, and as a part of such a name."""
_FIELDS_OWN = {"context_keeper"}
"""Names with such a part that a specification gives, here to a role."""
_PUBLIC = {"Image"}
"""Public classes that are what they are called."""
_RUST_TYPE = re.compile(r"\b(?:struct|enum|trait|type) (\w+)")
_PYTHON_TYPE = re.compile(r"^ *class _*(\w+)", re.MULTILINE)
_RUST_VERB = re.compile(r"\b(?:fn|mod) (\w+)")
_PYTHON_VERB = re.compile(r"\bdef _*(\w+)")

_RUST_SILENT = re.compile(r"""//[^\n]*|"(?:[^"\\]|\\.)*"|\br(#*)".*?"\1""", re.DOTALL)
"""Comments and strings of Rust."""
_WORD = re.compile(r"(?<![\w'])_*([A-Za-z]\w*)")
_PART = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")

_RUST = {
    r"#!?\[allow\(": "write `#[expect(…, reason = …)]` in place of `allow`",
    r"\b(todo|unimplemented)!\s*\(": "what is not built is absent: no `todo!`, no `unimplemented!`",
    r"//.*\b(TODO|FIXME|XXX)\b": "what is not built is absent: no note to do it later",
}
_PYTHON = {
    r"#.*\b(TODO|FIXME|XXX)\b": "what is not built is absent: no note to do it later",
    r"\braise NotImplementedError\b": "what is not built is absent: no `NotImplementedError`",
}


def test_no_file_is_named_after_nothing() -> None:
    report(vague_names(ROOT))


def test_retired_names_stay_away() -> None:
    report(retired_names(ROOT))


def test_no_field_parameter_or_variable_has_a_retired_name() -> None:
    report(retired_words(ROOT))


def test_nothing_is_left_for_later() -> None:
    report(unfinished(ROOT))


def vague_names(root: Path) -> Iterator[Finding]:
    """Files and folders whose name would fit any content."""
    sources = [
        path for top in ("src", "python", "tests") for path in files(root, top, ".rs", ".py")
    ]
    for path in sources:
        for part in path.relative_to(root).with_suffix("").parts:
            if part.strip("_").removesuffix("s") in BANNED:
                yield finding(root, path, 1, f"name it after what it holds: {part}")


def retired_names(root: Path) -> Iterator[Finding]:
    """Types, functions and modules with a name that the field has a word for."""
    ours = files(root, "python", ".py")
    sources = [(path, _RUST_TYPE, RETIRED) for path in rust(root)]
    sources += [(path, _PYTHON_TYPE, RETIRED - _PUBLIC) for path in ours]
    sources += [(path, _RUST_VERB, RETIRED_VERBS) for path in rust(root)]
    sources += [(path, _PYTHON_VERB, RETIRED_VERBS) for path in ours]
    for path, pattern, retired in sources:
        text = path.read_text(encoding="utf-8")
        if path.stem.strip("_") in RETIRED_VERBS:
            yield finding(root, path, 1, f"the field has a word for it: {path.stem}")
        for match in pattern.finditer(text):
            if match[1] in retired:
                rule = f"the field has a word for it, see the glossary: {match[1]}"
                yield finding(root, path, line_of(text, match.start()), rule)


def retired_words(root: Path) -> Iterator[Finding]:
    """Identifiers of any kind, those of tests too, that the field has a word for."""
    for path in rust(root, tests=True):
        text = _RUST_SILENT.sub(_blanked, path.read_text(encoding="utf-8"))
        for match in _WORD.finditer(text):
            if _is_retired(match[1]):
                yield finding(root, path, line_of(text, match.start()), _retired(match[1]))
    for path in [*python(root), *files(root, "tests", ".py")]:
        with path.open("rb") as source:
            for token in tokenize.tokenize(source.readline):
                if token.type == tokenize.NAME and _is_retired(token.string):
                    yield finding(root, path, token.start[0], _retired(token.string))


def _is_retired(name: str) -> bool:
    bare = name.strip("_").lower()
    parts = (part.lower() for part in _PART.findall(name))
    return bare not in _FIELDS_OWN and not RETIRED_ANYWHERE.isdisjoint([bare, *parts])


def _blanked(silent: re.Match[str]) -> str:
    """The line breaks of a comment or string, so that lines keep their numbers."""
    return "\n" * silent[0].count("\n")


def _retired(name: str) -> str:
    return f"the field has a word for it: {name}"


def unfinished(root: Path) -> Iterator[Finding]:
    """Marks of unfinished work, and lints switched off without a reason."""
    for paths, rules in ((rust(root, tests=True), _RUST), (python(root), _PYTHON)):
        for path in paths:
            text = path.read_text(encoding="utf-8")
            for pattern, rule in rules.items():
                for match in re.finditer(pattern, text):
                    yield finding(root, path, line_of(text, match.start()), rule)
