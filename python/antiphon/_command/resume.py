"""``antiphon runs resume``: a run that goes on, by the code it is a run of."""

from __future__ import annotations

import importlib
import json
import sys
from pathlib import Path
from re import DOTALL, Match, fullmatch
from typing import TYPE_CHECKING, Any

from antiphon._command.exits import Exit, after
from antiphon._command.output import tell
from antiphon._command.plain import line, safe
from antiphon._encode import encode_or
from antiphon.errors import ValidationError
from antiphon.graph import Command, CompiledGraph
from antiphon.orchestrator import Orchestrator
from antiphon.systems import ReviewLoop

if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence

__all__ = ["resume"]


def resume(options: argparse.Namespace) -> Exit:
    """Imports a team, a graph or a system, and lets a run of one of its threads go on.

    Raises:
        ValidationError: there is nothing of that name (``team_unknown``), the answers are none,
            or the thread holds nothing to go on from.
        AntiphonError: the run failed.
    """
    answers = _answers(options.answer or [])
    found = _imported(options.team)
    if isinstance(found, Orchestrator):
        return _team(found, options, answers)
    if isinstance(found, ReviewLoop):
        return _system(found, options, answers)
    return _graph(found, options, answers)


def _team(team: Orchestrator, options: argparse.Namespace, answers: Sequence[Any]) -> Exit:
    if answers and _is_by_id(options.answer[0]):
        _check_ids(answers[0], {one.id for one in team.state(options.thread).questions})
    result = team.resume(options.thread, *answers)
    if options.json:
        _write(result.to_json())
    else:
        _write("" if result.answer is None else _text(result.answer))
    _ask([(one.id, one.agent, one.value) for one in result.questions])
    if result.outcome not in {"answered", "paused"}:
        tell(safe(f"no answer ({result.outcome}): {result.detail}"))
    if result.outcome == "answered":
        return Exit.ANSWERED
    return Exit.ERROR if result.outcome == "error" else Exit.NO_ANSWER


def _system(system: ReviewLoop, options: argparse.Namespace, answers: Sequence[Any]) -> Exit:
    if answers:
        raise ValidationError("a review loop asks nothing: --answer", code="answer_invalid")
    result = system.resume(options.thread)
    if options.json:
        told = {"final_answer": result.final_answer, "outcome": result.outcome}
        _write(json.dumps(told | {"run_id": result.run_id, "thread": result.thread}))
    else:
        _write(_text(result.final_answer))
    return after(result)


def _graph(graph: CompiledGraph, options: argparse.Namespace, answers: Sequence[Any]) -> Exit:
    config: Any = {"configurable": {"thread_id": options.thread}}
    given = Command(resume=answers[0]) if answers else None
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
    _write(json.dumps({"state": values, "questions": asked}) if options.json else _text(values))
    _ask(questions)
    return Exit.NO_ANSWER if questions else Exit.ANSWERED


def _check_ids(answers: dict[str, Any], known: set[str]) -> None:
    for key in answers:
        if key not in known:
            raise ValidationError(
                f"no open question has the id: {key}",
                code="question_unknown",
                hint="`antiphon runs show` lists the questions and their ids",
            )


def _imported(target: str) -> Orchestrator | CompiledGraph | ReviewLoop:
    module, colon, path = target.partition(":")
    if not (module and colon and path):
        raise ValidationError(f"a team is named `module:attribute`: {target}", code="team_unknown")
    sys.path.insert(0, str(Path.cwd()))
    try:
        found: Any = importlib.import_module(module)
        for name in path.split("."):
            found = getattr(found, name)
    except AttributeError as error:
        raise ValidationError(f"{error}: {target}", code="team_unknown") from error
    except ModuleNotFoundError as error:
        # What a module of theirs lacks is theirs to see.
        if (error.name or "") not in _parents(module):
            raise
        raise ValidationError(
            f"there is no such module in this folder or installed: {error.name}",
            code="team_unknown",
            hint="run the command where the module is, or install it",
        ) from error
    if not isinstance(found, Orchestrator | CompiledGraph | ReviewLoop):
        raise ValidationError(
            f"`{target}` is no team, compiled graph or review loop: {type(found).__name__}",
            code="team_unknown",
        )
    return found


def _parents(module: str) -> set[str]:
    parts = module.split(".")
    return {".".join(parts[: place + 1]) for place in range(len(parts))}


def _answers(given: list[str]) -> tuple[Any, ...]:
    """The answer, if there is one; answers by ids are one dict."""
    if not given:
        return ()
    by_id = [_is_by_id(one) for one in given]
    if all(by_id):
        return ({found[1]: _read(found[2]) for found in by_id if found},)
    if len(given) > 1:
        raise ValidationError(
            f"several answers are each written `id=answer`: {given[0]}",
            code="answer_invalid",
            hint="`antiphon runs show` lists the questions and their ids",
        )
    return (_read(given[0]),)


def _is_by_id(given: str) -> Match[str] | None:
    return fullmatch(r"([0-9a-f]{32})=(.*)", given, flags=DOTALL)


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
    return safe(text) if sys.stdout.isatty() else text


def _write(text: str) -> None:
    sys.stdout.write(text + "\n")
