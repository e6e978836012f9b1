"""``antiphon ask --batch``: the questions of a file, answered."""

from __future__ import annotations

import json
import sys
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from antiphon._batch_file import open_questions
from antiphon._cli.exit_codes import Exit
from antiphon._cli.progress import ProgressView
from antiphon._cli.ready_system import prepare
from antiphon._cli.store import create_store
from antiphon._cli.terminal import tell, write
from antiphon._text import drop_controls
from antiphon.checkpoint import SqliteSaver

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable, Iterator

    from antiphon.checkpoint import Saver
    from antiphon.event import Event

_AT_A_TIME = 8


def batch(options: argparse.Namespace) -> Exit:
    """Asks the questions of a file; progress goes to standard error, a report to standard output.

    Raises:
        AntiphonError: nothing could be asked, or nothing more.
    """
    questions, output = Path(options.batch), Path(options.out)
    open_questions(questions).close()
    prepared = prepare(options)
    # A local model answers one question after the other.
    usual = _AT_A_TIME if prepared.choice.weights is None else 1
    concurrency = usual if options.concurrency is None else options.concurrency
    with ProgressView(sys.stderr) as view, _batch_store(options.store, output) as saver:
        view.say(f"model: {prepared.choice.description}")
        with prepared.opened(options, view, saver) as system:
            report = system.batch_file(
                questions,
                output,
                files=options.files,
                concurrency=concurrency,
                redo_failed=options.redo_failed,
                watch=_telling(view),
            )
    text = json.dumps(report.to_dict()) if options.json else str(report)
    write(drop_controls(text))
    return Exit.ERROR if report.refused else Exit.ANSWERED


@contextmanager
def _batch_store(store: str | None, output: Path) -> Iterator[Saver]:
    """The store of open questions.

    The default is a file beside the output, which is removed once all questions have ended; a
    paused one has not.
    """
    named = create_store(store)
    if named is not None:
        with named:
            yield named
        return
    path = output.with_name(f"{output.name}.threads")
    with SqliteSaver.open(path) as saver:
        yield saver
        waits = bool(saver.threads(status="paused", limit=1))
    if waits:
        tell(f"questions wait for answers in the store: sqlite:{path}")
        return
    for end in ("", "-wal", "-shm"):
        path.with_name(path.name + end).unlink(missing_ok=True)


def _telling(view: ProgressView) -> Callable[[Event], None]:
    """Reports problems, and results unless a progress bar shows them."""
    watched = sys.stderr.isatty()

    def tell(event: Event) -> None:
        data = event.data
        if event.name == "torn_line_dropped":
            view.say(f"a last line that was torn is dropped, bytes: {data['bytes']}")
        elif event.name == "line_refused":
            view.say(f"not asked: {data['message']}")
        elif event.name == "question_finished" and not watched:
            view.say(f"{data['task_id']}: {data['outcome']}")

    return tell
