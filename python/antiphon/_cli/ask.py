"""``antiphon ask``: one question, answered."""

from __future__ import annotations

import inspect
import json
import sys
from typing import TYPE_CHECKING, Any

from antiphon._attachment import read_file
from antiphon._cli.exit_codes import Exit, after
from antiphon._cli.progress import ProgressView
from antiphon._cli.ready_system import prepare, system_of
from antiphon._cli.report import check_report, write_report
from antiphon._cli.store import create_store, no_store
from antiphon._cli.terminal import write
from antiphon._text import drop_controls, well_formed
from antiphon.errors import ValidationError

if TYPE_CHECKING:
    import argparse

    from antiphon.checkpoint import Saver
    from antiphon.errors import AntiphonError
    from antiphon.systems import SystemResult


def ask(options: argparse.Namespace) -> Exit:
    """Asks the question, with progress on standard error and the answer on standard output.

    Raises:
        AntiphonError: nothing could be asked.
    """
    kind = system_of(options)
    attached = read_file(options.file)
    given = {} if attached is None else {"file": attached}
    if given and "file" not in inspect.signature(kind.run).parameters:
        raise ValidationError(
            f"the system does not accept a file: {options.system}", code="input_invalid"
        )
    question = _question(options.question)
    check_report(options, kind)
    prepared = prepare(options)
    with ProgressView(sys.stderr, kind.progress_reporter()) as view:
        view.say(f"model: {prepared.choice.description}")
        with prepared.opened(options, view, _kept(options)) as system:
            result = system.run(question, watch=view, thread=options.thread, **given)
        for text in result.summary():
            view.say(text)
        write_report(result, options, view.say)
        if result.questions and result.thread is not None:
            store = f" --store {options.store}" if options.store else ""
            resume = f"runs resume {result.thread} --team {options.system}{store}"
            view.say(f"answer it: antiphon {resume} --answer JSON")
        elif result.questions:
            view.say("to answer it, ask again with --thread NAME and --store URL, which keep it")
    write(_output(result, options))
    sys.stdout.flush()
    return after(result)


def _kept(options: argparse.Namespace) -> Saver | None:
    """The store of a question that is to be kept.

    Raises:
        ValidationError: the question has a thread and no store (``store_missing``), or as
            `create_store`.
        StateError: it cannot be opened.
    """
    is_kept = options.store is not None or options.thread is not None
    store = create_store(options.store) if is_kept else None
    if store is None and options.thread is not None:
        raise no_store()
    return store


def _question(given: str) -> str:
    """The question; ``-`` reads it from standard input."""
    question = given if given != "-" else sys.stdin.buffer.read().decode(errors="surrogateescape")
    if not question.strip():
        raise ValidationError(
            f"the question is blank: {question!r}",
            code="question_blank",
            hint='antiphon ask "What is the capital of France?"',
        )
    if well_formed(question) != question:
        raise ValidationError(
            f"the question is not UTF-8 text: {question!r}", code="question_malformed"
        )
    return question


def _output(result: SystemResult, options: argparse.Namespace) -> str:
    if options.json:
        return json.dumps(_object(result, trace=options.trace))
    lines = [result.explanation or "" if result.answer is None else result.answer]
    if options.trace:
        lines += ["", result.trace.to_text()]
    text = "\n".join(lines)
    return drop_controls(text) if sys.stdout.isatty() else text


def _object(result: SystemResult, *, trace: bool) -> dict[str, Any]:
    error = result.error
    fields = result.to_dict()
    for name in ("state", "events_dropped", "models", "errors", "checkpoint"):
        fields.pop(name, None)
    fields |= {
        "answer": result.answer,
        "model": ", ".join(result.models),
        "error": None if error is None else _fault(error),
    }
    if trace:
        fields["trace"] = result.trace.to_dict()
        fields["events"] = [event.to_dict() for event in result.events]
    return fields


def _fault(error: AntiphonError) -> dict[str, Any]:
    return {"code": error.code, "message": error.message, "hint": error.hint}
