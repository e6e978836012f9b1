"""Whether an answer is right: numbers with tolerances and units, dates, names, and not knowing."""

from __future__ import annotations

import re
import unicodedata
from datetime import date
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

__all__ = ["Verdict", "is_abstention", "score", "states", "written_numbers"]

Verdict = Literal["right", "wrong", "abstained", "error"]
"""``wrong`` is wrong and delivered as an answer; ``abstained`` is no answer where there is one."""

_NUMBER = re.compile(
    r"(?<![\w.,])-?\d{1,3}(?:([,.' \u00a0\u202f])\d{3})(?:\1\d{3})*(?:[.,]\d+)?(?!\d)"
    r"|(?<![\w.,])-?\d+(?:[.,]\d+)?(?:[eE][+-]?\d+)?(?!\d)"
)
_SPELLED = (
    "zero one two three four five six seven eight nine ten eleven twelve "
    "null eins zwei drei vier fünf sechs sieben acht neun zehn elf zwölf"
)
_WORDS = {word: place % 13 for place, word in enumerate(_SPELLED.split())}
_ABSTAINING = re.compile(
    r"\b(?:(?:do|does|did) not know|don'?t know|doesn'?t know|not known|unknown|unclear"
    r"|(?:can|could)(?:not|n'?t) (?:be )?(?:determined?|answer(?:ed)?|say|tell|know|find|predict)"
    r"|no (?:information|data|answer|such|record)|not (?:available|possible|enough|provided|given"
    r"|specified|mentioned|listed|included|stated|found in|in the (?:file|data|table|text))"
    r"|(?:did|has|have) not"
    r"|never|does not (?:exist|contain|have|hold|say|mention)|is no king|has no king"
    r"|unable to|impossible|insufficient"
    r"|weiß (?:ich )?nicht|nicht bekannt|unbekannt|keine (?:angaben?|informationen|daten)"
    r"|nicht (?:möglich|beantworten|angegeben)|je ne sais pas|inconnu|no (?:lo )?sé|desconocid)",
    re.IGNORECASE,
)
_NEGATED = re.compile(
    r"(?:\bnot|\bnor|n't|\bnicht|\brather than|\binstead of)\s+(?:\w+\s+)?$", re.IGNORECASE
)
_NOTHING = re.compile(
    r"\s*(?:there (?:are|were|is|was) )?(?:no|none|kein\w*|ning[uú]n\w*)\b(?! idea)",
    re.IGNORECASE,
)
"""A count of zero in words."""
_NAMES = "january february march april may june july august september october november december"
_MONTHS = _NAMES.split()


def score(expected: Mapping[str, Any], outcome: str, answer: str) -> Verdict:
    """The verdict on an answer.

    Args:
        expected: one of ``number`` (with ``tolerance``), ``date``, ``text`` (a list of names of
            which one has to be there, with ``refuse``: names that must not), ``facts`` (which
            must all be there, each in one of its forms, as `states` says) and ``abstain``; with
            ``or_abstain``, not answering is right too.
        outcome: the outcome of the result.
        answer: the answer in words.
    """
    if outcome == "error":
        return "error"
    answer = answer.replace("\u2212", "-").replace("\u2019", "'")
    abstained = outcome != "answered" or not answer.strip()
    may_abstain = bool(expected.get("abstain") or expected.get("or_abstain"))
    if abstained:
        return "right" if may_abstain else "abstained"
    if expected.get("abstain"):
        return "right" if is_abstention(answer) else "wrong"
    if _is_right(expected, answer):
        return "right"
    if is_abstention(answer):
        return "right" if may_abstain else "abstained"
    return "wrong"


def states(text: str, fact: Sequence[float | str]) -> bool:
    """Whether a text has a fact, in one of its forms: a number, or words."""
    return any(
        _names(text, form)
        if isinstance(form, str)
        else any(abs(number - form) <= 1e-9 for number in _numbers(text))
        for form in fact
    )


def written_numbers(text: str) -> Iterator[tuple[float, ...]]:
    """The numbers that a text states in digits, each in the readings that its marks leave open."""
    for match in _NUMBER.finditer(text):
        if not _NEGATED.search(text[: match.start()]):
            yield tuple(_readings(match[0]))


def is_abstention(answer: str) -> bool:
    """Whether an answer says that it is not known."""
    return _ABSTAINING.search(answer) is not None


def _is_right(expected: Mapping[str, Any], answer: str) -> bool:
    if "number" in expected:
        wanted, tolerance = expected["number"], expected.get("tolerance", 1e-9)
        if wanted == 0 and _NOTHING.match(answer):
            return True
        return any(abs(number - wanted) <= tolerance for number in _numbers(answer))
    if "date" in expected:
        return date.fromisoformat(expected["date"]) in set(_dates(answer))
    if "facts" in expected:
        return all(states(answer, fact) for fact in expected["facts"])
    if any(_names(answer, name) for name in expected.get("refuse", ())):
        return False
    return any(_names(answer, name) for name in expected["text"])


def _numbers(answer: str) -> Iterator[float]:
    """The numbers that an answer states; one in two readings if its marks leave it open."""
    for readings in written_numbers(answer):
        yield from readings
    for match in re.finditer(r"[a-zäöü]+", answer.lower()):
        if match[0] in _WORDS and not _NEGATED.search(answer[: match.start()]):
            yield _WORDS[match[0]]


def _readings(text: str) -> Iterator[float]:
    marks = [mark for mark in text if mark in ",.' \u00a0\u202f"]
    if not marks:
        yield float(text)
        return
    digits = re.sub(r"[^\d\-eE+]", "", text)
    last = marks[-1]
    head, _, tail = text.rpartition(last)
    if last in ",." and marks.count(last) == 1:
        yield float(re.sub(r"[^\d\-]", "", head) + "." + tail)
    if re.search(r"\d{3}$", text) and (len(set(marks)) == 1):
        yield float(digits)


def _dates(answer: str) -> Iterator[date]:
    patterns = [
        (r"(\d{4})-(\d\d)-(\d\d)", "ymd"),
        (r"(\d{1,2})\.\s?(\d{1,2})\.\s?(\d{4})", "dmy"),
        (r"(\d{1,2})/(\d{1,2})/(\d{4})", "mdy"),
        (r"(\d{1,2})/(\d{1,2})/(\d{4})", "dmy"),
        (r"(\d{1,2})(?:st|nd|rd|th|\.)?(?: of)? ([A-Za-z]+),? (\d{4})", "dmy"),
        (r"([A-Za-z]+) (\d{1,2})(?:st|nd|rd|th)?,? (\d{4})", "mdy"),
    ]
    for pattern, order in patterns:
        for match in re.finditer(pattern, answer):
            parts = dict(zip(order, match.groups(), strict=True))
            month = parts["m"].lower()
            number = _MONTHS.index(month) + 1 if month in _MONTHS else month
            try:
                yield date(int(parts["y"]), int(number), int(parts["d"]))
            except ValueError:
                continue


def _names(answer: str, name: str) -> bool:
    """Whether a name stands in an answer as a word, and is not denied there."""
    text, name = _plain(answer), _plain(name)
    before = r"(?<!\w)(?<!\d[.,])" if name[:1].isdigit() else r"(?<!\w)"
    return any(
        not _NEGATED.search(text[: match.start()])
        for match in re.finditer(rf"{before}{re.escape(name)}(?!\w)", text)
    )


def _plain(text: str) -> str:
    marked = unicodedata.normalize("NFKD", text.casefold())
    return "".join(sign for sign in marked if not unicodedata.combining(sign))
