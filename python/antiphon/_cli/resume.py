"""``antiphon runs resume``: resumes a run with the code of its team, graph or system."""

from __future__ import annotations

import json
import sys
from difflib import get_close_matches
from re import fullmatch
from typing import TYPE_CHECKING, Any

from antiphon._cli.exit_codes import Exit, after
from antiphon._cli.progress import ProgressView
from antiphon._cli.ready_system import prepare, refuse_system_options, system_of
from antiphon._cli.report import check_report, write_report
from antiphon._cli.store import open_store
from antiphon._cli.target import import_object
from antiphon._cli.terminal import line, tell, write
from antiphon._json_values import encode_or
from antiphon._text import drop_controls
from antiphon.errors import ValidationError
from antiphon.graph import Command, CompiledGraph
from antiphon.orchestrator import Orchestrator
from antiphon.systems import System, SystemResult, systems

if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence

_PART = 4
"""Characters from which on the beginning of an id is taken for an id."""


def resume(options: argparse.Namespace) -> Exit:
    """Imports a team, a graph or a system, and resumes the run of a thread.

    Raises:
        ValidationError: there is nothing of that name (``team_unknown``), the answers are none,
            the thread is empty, ``--docs``, ``--workspace`` or ``--queue`` is given for a team with
            tools of its own, or ``--report`` for what writes no reports (``input_invalid``).
        AntiphonError: the run failed.
    """
    options.system = options.team
    if ":" not in options.team and options.team.replace("-", "_") in systems():
        return _ready_system(options)
    refuse_system_options(options, options.team)
    found = _import_team(options.team)
    if isinstance(found, System):
        return _system(found, options)
    if options.report is not None:
        raise ValidationError(f"a team writes no reports: {options.team}", code="input_invalid")
    if isinstance(found, Orchestrator):
        return _team(found, options)
    return _graph(found, options)


def _team(team: Orchestrator, options: argparse.Namespace) -> Exit:
    answers: tuple[Any, ...] = ()
    if options.answer:
        shown = team.state(options.thread)
        has_ended = shown.outcome not in {None, "paused", "error"}
        answers = _answers(options, [one.id for one in shown.questions], has_ended=has_ended)
    result = team.resume(options.thread, *answers)
    if options.json:
        write(result.to_json())
    else:
        write("" if result.answer is None else _text(result.answer))
    _ask([(one.id, one.agent, one.value) for one in result.questions])
    if result.outcome not in {"answered", "paused"}:
        tell(drop_controls(f"no answer ({result.outcome}): {result.reason}"))
    if result.outcome == "answered":
        return Exit.ANSWERED
    return Exit.ERROR if result.outcome == "error" else Exit.NO_ANSWER


def _ready_system(options: argparse.Namespace) -> Exit:
    """Resumes a question of a ready system, which the command opens itself."""
    kind = system_of(options)
    check_report(options, kind)
    prepared = prepare(options)
    with (
        open_store(options.store) as saver,
        ProgressView(sys.stderr, kind.progress_reporter()) as view,
    ):
        with prepared.opened(options, view, saver) as system:
            result = _resumed(system, options, view)
        write_report(result, options, view.say)
    return _shown(result, options)


def _system(system: System[Any], options: argparse.Namespace) -> Exit:
    check_report(options, type(system))
    result = _resumed(system, options, None)
    write_report(result, options, tell)
    return _shown(result, options)


def _resumed(
    system: System[Any], options: argparse.Namespace, view: ProgressView | None
) -> SystemResult:
    result: SystemResult = system.resume(options.thread, watch=view)
    if options.answer:
        asked_ids = [one.id for one in result.questions]
        has_ended = result.outcome != "paused"
        answers = _answers(options, asked_ids, has_ended=has_ended)
        result = system.resume(options.thread, *answers, watch=view)
    return result


def _shown(result: SystemResult, options: argparse.Namespace) -> Exit:
    if options.json:
        fields = {"answer": result.answer, "outcome": result.outcome}
        write(json.dumps(fields | {"run_id": result.run_id, "thread": result.thread}))
    else:
        write("" if result.answer is None else _text(result.answer))
    _ask([(one.id, one.agent, one.value) for one in result.questions])
    if result.outcome not in {"answered", "paused"}:
        why = result.error.message if result.error is not None else result.reason
        reason = f": {why}" if why else ""
        tell(drop_controls(f"no answer ({result.outcome}){reason}"))
    return after(result)


def _graph(graph: CompiledGraph, options: argparse.Namespace) -> Exit:
    config: Any = {"configurable": {"thread_id": options.thread}}
    given = None
    if options.answer:
        found = graph.get_state(config)
        asked_ids = [one.id for one in found.interrupts]
        # `invoke` says of an empty thread that it is empty.
        if found.metadata is not None:
            (answer,) = _answers(options, asked_ids, has_ended=not found.next)
            given = Command(resume=answer)
    state = graph.invoke(given, config)
    snapshot = graph.get_state(config)
    questions = [
        (one.id, task.name, one.value) for task in snapshot.tasks for one in task.interrupts
    ]
    values = encode_or(snapshot.values if questions else state, str(state))
    asked = [
        {"id": key, "node": node, "value": encode_or(value, str(value))}
        for key, node, value in questions
    ]
    write(json.dumps({"state": values, "questions": asked}) if options.json else _text(values))
    _ask(questions)
    return Exit.NO_ANSWER if questions else Exit.ANSWERED


def _import_team(target: str) -> Orchestrator | CompiledGraph | System[Any]:
    if ":" not in target:
        raise ValidationError(
            f"`--team` takes `module:attribute` or a ready system: {target}",
            code="team_unknown",
            hint=f"the ready systems are {', '.join(systems())}",
        )
    found = import_object(target, "--team")
    if not isinstance(found, Orchestrator | CompiledGraph | System):
        raise ValidationError(
            f"`{target}` is not an orchestrator, compiled graph or system: {type(found).__name__}",
            code="team_unknown",
        )
    return found


def _answers(
    options: argparse.Namespace, asked: Sequence[str], *, has_ended: bool
) -> tuple[Any, ...]:
    """The answer; several answers by ids are one dict.

    Raises:
        ValidationError: nothing is asked, or it is not clear what is answered
            (``answer_invalid``), or a question is not open (``question_unknown``).
    """
    given: list[str] = options.answer
    if not asked:
        raise _no_question(options.thread, has_ended=has_ended)
    parts = [(one, *_split_answer(one, asked)) for one in given]
    for _, key, _ in parts:
        if key is not None and key not in asked:
            raise ValidationError(
                f"no open question has the id: {line(key, 60)}",
                code="question_unknown",
                details={"questions": list(asked)},
                hint=f"{_open(asked)}; write an answer that contains `=` as a JSON string",
            )
    if all(key is not None for _, key, _ in parts):
        return ({key: _read(answer) for _, key, answer in parts},)
    if len(given) > 1:
        wrong = next(one for one, key, _ in parts if key is None)
        raise ValidationError(
            f"several answers must each be written `id=answer`: {line(wrong, 60)}",
            code="answer_invalid",
            hint=_open(asked),
        )
    if len(asked) > 1:
        raise ValidationError(
            f"several questions are open, and the answer names none: {line(given[0], 60)}",
            code="answer_invalid",
            hint=f"write `id=answer`; {_open(asked)}",
        )
    return (_read(given[0]),)


def _no_question(thread: str, *, has_ended: bool) -> ValidationError:
    if has_ended:
        return ValidationError(
            f"the run has ended and is not waiting for an answer: {line(thread, 60)}",
            code="answer_invalid",
            hint="omit --answer to print its result",
        )
    return ValidationError(
        f"the run is not waiting for an answer: {line(thread, 60)}",
        code="answer_invalid",
        hint="omit --answer to resume it",
    )


def _open(asked: Sequence[str]) -> str:
    return f"open are: {', '.join(asked)}"


def _split_answer(given: str, asked: Sequence[str]) -> tuple[str | None, str]:
    """An id and its answer; without an id the whole text is the answer."""
    key, equals, answer = given.partition("=")
    is_id = key in asked or fullmatch("[0-9a-f]{32}", key) or _is_mistyped(key, asked)
    return (key, answer) if equals and is_id else (None, given)


def _is_mistyped(key: str, asked: Sequence[str]) -> bool:
    """Whether a text is a prefix of an id, or similar to one."""
    is_beginning = len(key) >= _PART and any(one.startswith(key) for one in asked)
    return is_beginning or bool(get_close_matches(key[:64].lower(), asked, 1, 0.8))


def _read(given: str) -> Any:
    try:
        return json.loads(given)
    except ValueError:
        return given


def _ask(questions: list[tuple[str, str, Any]]) -> None:
    for key, who, value in questions:
        tell(f"question {key} of {line(who, 60)}: {line(_text(value), 1_000)}")


def _text(value: Any) -> str:
    text = value if isinstance(value, str) else json.dumps(encode_or(value, str(value)))
    return drop_controls(text) if sys.stdout.isatty() else text
