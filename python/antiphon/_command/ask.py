"""``antiphon ask``: one question, answered."""

from __future__ import annotations

import inspect
import json
import os
import sys
from typing import TYPE_CHECKING, Any

from antiphon._command.exits import Exit, after
from antiphon._command.plain import safe
from antiphon._command.progress import ProgressView
from antiphon._model.default_model import choose, open_model
from antiphon._text import well_formed
from antiphon.errors import ValidationError
from antiphon.local import ProgressBar
from antiphon.models import Model
from antiphon.systems import ReviewLoop, ReviewLoopResult
from antiphon.systems._file import read_file

if TYPE_CHECKING:
    import argparse

    from antiphon.errors import AntiphonError

__all__ = ["ask", "checked_settings"]

_ARGUMENTS = set(inspect.signature(ReviewLoop).parameters)


def ask(options: argparse.Namespace) -> Exit:
    """Puts the question, shows progress on standard error and the answer on standard output.

    Raises:
        AntiphonError: nothing could be asked.
    """
    settings = checked_settings(options)
    attached = read_file(options.file)
    _require_question(options.question)
    choice = choose(options.model, os.environ)
    with ProgressView(sys.stderr) as view:
        view.say(f"model: {choice.description}")
        with ProgressBar() as bar, open_model(choice, bar) as model:
            loop = ReviewLoop(model, **settings)
            result = loop.run(options.question, file=attached, watch=view)
        _report(view, result)
    sys.stdout.write(_told(result, options) + "\n")
    sys.stdout.flush()
    return after(result)


def checked_settings(options: argparse.Namespace) -> dict[str, Any]:
    """The settings of a command; what is wrong with them is said before a model costs anything.

    Raises:
        ValidationError: one cannot be used (``command_setting_malformed``,
            ``system_setting_invalid``).
    """
    settings = dict(map(_setting, options.set or ()))
    for name in settings.keys() & _ARGUMENTS:
        raise ValidationError(f"this is no setting: {name}", code="system_setting_invalid")
    ReviewLoop(Model.scripted([]), **settings)
    return settings


def _require_question(question: str) -> None:
    if not question.strip():
        raise ValidationError(
            f"there is no question to answer: {question!r}",
            code="question_blank",
            hint='antiphon ask "What is the capital of France?"',
        )
    if well_formed(question) != question:
        raise ValidationError(
            f"the question is not UTF-8 text: {question!r}", code="question_malformed"
        )


def _setting(given: str) -> tuple[str, Any]:
    key, equals, value = given.partition("=")
    if not equals or not key.strip():
        raise ValidationError(
            f"a setting is written `key=value`: {given}", code="command_setting_malformed"
        )
    try:
        return key.strip(), json.loads(value)
    except ValueError:
        return key.strip(), value


def _report(view: ProgressView, result: ReviewLoopResult) -> None:
    usage = result.usage
    if result.outcome != "answered":
        view.say(f"no answer ({result.outcome}) at the step: {result.error_component}")
    if result.outcome != "answered" and result.error is not None:
        view.say(f"error: {result.error.message}")
        if result.error.hint:
            view.say(f"hint: {result.error.hint}")
    view.say(
        f"tokens: {usage.get('input_tokens', 0)} read, {usage.get('output_tokens', 0)} written; "
        f"retries: {result.retry_count}"
    )


def _told(result: ReviewLoopResult, options: argparse.Namespace) -> str:
    if options.json:
        return json.dumps(_object(result, trace=options.trace))
    lines = [result.final_answer]
    if options.trace:
        lines = [json.dumps(event.to_dict()) for event in result.trace] + lines
    text = "\n".join(lines)
    return safe(text) if sys.stdout.isatty() else text


def _object(result: ReviewLoopResult, *, trace: bool) -> dict[str, Any]:
    error = result.error
    told: dict[str, Any] = {
        "final_answer": result.final_answer,
        "final_reasoning_trace": result.final_reasoning_trace,
        "outcome": result.outcome,
        "model": ", ".join(result.models),
        "caveat": result.caveat,
        "usage": result.usage,
        "retry_count": result.retry_count,
        "error": None if error is None else _fault(error),
    }
    if trace:
        told["trace"] = [event.to_dict() for event in result.trace]
    return told


def _fault(error: AntiphonError) -> dict[str, Any]:
    return {"code": error.code, "message": error.message, "hint": error.hint}
