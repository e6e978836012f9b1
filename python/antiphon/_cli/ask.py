"""``antiphon ask``: one question, answered."""

from __future__ import annotations

import inspect
import json
import os
import sys
from typing import TYPE_CHECKING, Any

from antiphon._attachment import read_file
from antiphon._cli.exit_codes import Exit, after
from antiphon._cli.progress import ProgressView
from antiphon._cli.queue import queue_of
from antiphon._cli.report import check_report, write_report
from antiphon._cli.role_tools import database_of, database_settings, role_tools
from antiphon._cli.store import create_store
from antiphon._cli.terminal import write
from antiphon._model.default_model import choose, open_model
from antiphon._text import drop_controls, well_formed
from antiphon.errors import ValidationError
from antiphon.local import ProgressBar
from antiphon.models import Model
from antiphon.systems import System, SystemResult, find, systems

if TYPE_CHECKING:
    import argparse
    from collections.abc import Mapping

    from antiphon._model.default_model import Choice
    from antiphon.errors import AntiphonError

_LOCAL_TIME = 5
"""How many times longer a question may take with a model that runs on this machine."""
_LOCAL_SETTINGS: Mapping[str, Any] = {"expert_max_tool_calls": 4, "stop_on_no_progress": True}
"""Settings for a model that runs on this machine, of systems that have them."""
_MODEL_LIMITS = {
    "question_timeout_s",
    "agent_timeout_s",
    "simple_timeout_s",
    "web_search_timeout_s",
    "research_timeout_s",
}
"""Time limits of work that calls models, in seconds."""


def ask(options: argparse.Namespace) -> Exit:
    """Asks the question, with progress on standard error and the answer on standard output.

    Raises:
        AntiphonError: nothing could be asked.
    """
    queue = queue_of(options, system_of(options))
    settings = checked_settings(options, **queue)
    attached = read_file(options.file)
    given = {} if attached is None else {"file": attached}
    if given and "file" not in inspect.signature(system_of(options).run).parameters:
        raise ValidationError(
            f"the system does not accept a file: {options.system}", code="input_invalid"
        )
    question = _question(options.question)
    database = database_of(options, system_of(options), settings)
    check_report(options, system_of(options))
    choice = choose(options.model, os.environ)
    settings = settings_for(choice, system_of(options).name, settings)
    with ProgressView(sys.stderr, system_of(options).progress_reporter()) as view:
        view.say(f"model: {choice.description}")
        tools = role_tools(options, system_of(options), view)
        with ProgressBar() as bar, open_model(choice, bar) as model:
            kept = _kept(options)
            system = system_of(options)(model, **settings, **kept, **database, **queue, **tools)
            result = system.run(question, watch=view, thread=options.thread, **given)
        for text in result.summary():
            view.say(text)
        write_report(result, options, view.say)
        if result.questions and result.thread is not None:
            store = f" --store {options.store}" if options.store else ""
            resume = f"runs resume {result.thread} --team {options.system}{store}"
            view.say(f"answer it: antiphon {resume} --answer JSON")
        elif result.questions:
            view.say("to answer it, ask again with --thread NAME, which keeps the question")
    write(_output(result, options))
    sys.stdout.flush()
    return after(result)


def checked_settings(options: argparse.Namespace, **queue: Any) -> dict[str, Any]:
    """The settings of a command, validated before a model is opened.

    Those of a database are validated when it is opened.

    Args:
        options: of the command.
        **queue: the queue of the system, if it has one.

    Raises:
        ValidationError: one cannot be used (``command_setting_malformed``,
            ``system_setting_invalid``).
    """
    settings = dict(map(read_setting, options.set or ()))
    system = system_of(options)
    of_database = database_settings(system)
    for name in (settings.keys() & inspect.signature(system).parameters.keys()) - of_database:
        raise ValidationError(f"unknown setting: {name}", code="system_setting_invalid")
    others = {name: value for name, value in settings.items() if name not in of_database}
    system(Model.scripted([]), **others, **queue)
    return settings


def settings_for(choice: Choice, system: str, settings: Mapping[str, Any]) -> dict[str, Any]:
    """The settings, adapted to a model on this machine.

    It is slow, so time limits are longer. It often repeats itself, so few calls of tools are
    enough, and rejected work that is submitted again unchanged ends the question.

    Args:
        choice: the model.
        system: the name of the system.
        settings: those that were given, which stay.
    """
    if choice.weights is None:
        return dict(settings)
    known = systems()[system].config_schema["properties"]
    longer = {one: _LOCAL_TIME * known[one]["default"] for one in _MODEL_LIMITS & known.keys()}
    sooner = {one: value for one, value in _LOCAL_SETTINGS.items() if one in known}
    return {**longer, **sooner, **settings}


def system_of(options: argparse.Namespace) -> type[System[Any]]:
    """The system of a command.

    Raises:
        ValidationError: there is none of that name (``system_unknown``).
    """
    return find(options.system.replace("-", "_"))


def _kept(options: argparse.Namespace) -> dict[str, Any]:
    """The store of a question that is to be kept."""
    if options.store is None and options.thread is None:
        return {}
    saver = create_store(options.store)
    return {} if saver is None else {"checkpointer": saver}


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


def read_setting(given: str) -> tuple[str, Any]:
    """A setting as ``KEY=VALUE``; the value is JSON, else a text.

    Raises:
        ValidationError: it is none (``command_setting_malformed``).
    """
    key, equals, value = given.partition("=")
    if not equals or not key.strip():
        raise ValidationError(
            f"`--set` takes `key=value`: {given}", code="command_setting_malformed"
        )
    try:
        return key.strip(), json.loads(value)
    except ValueError:
        return key.strip(), value


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
