"""Answers of people that have to fit a type."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from antiphon._json_values import encode_or
from antiphon._schema.contract import Contract
from antiphon.errors import ValidationError

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["ask_for"]


def ask_for(ask: Callable[[Any], Any], question: Any, returns: Any, where: str) -> Any:
    """Asks until an answer fits a type, and returns the value of that type.

    Args:
        ask: asks one question, or returns the next answer that was given.
        question: the question.
        returns: a type hint that has a JSON schema.
        where: the owner of the type, for errors.

    Raises:
        ValidationError: the type has no JSON schema (``unsupported_type``).
    """
    contract = Contract(returns, where)
    answer = ask(question)
    while True:
        try:
            return _value(contract, answer)
        except ValidationError as error:
            answer = ask(_again(question, error.message))


def _value(contract: Contract, answer: Any) -> Any:
    """The value that an answer is; a text that does not fit is read as JSON."""
    plain = encode_or(answer, answer)
    try:
        return contract.construct(plain, "answer")
    except ValidationError:
        if not isinstance(plain, str):
            raise
        try:
            read = json.loads(plain)
        except ValueError:
            read = plain
        return contract.construct(read, "answer")


def _again(question: Any, problem: str) -> Any:
    """The question once more, with what is wrong with the last answer."""
    if isinstance(question, str):
        return f"{question}\nThe last answer does not fit: {problem}"
    return {"question": question, "problem": problem}
