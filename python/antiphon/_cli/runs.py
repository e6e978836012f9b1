"""``antiphon runs``: lists, shows, forks, prunes and deletes threads."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from antiphon._cli.exit_codes import Exit
from antiphon._cli.store import open_store
from antiphon._cli.terminal import line, table, tell, write
from antiphon._cli.units import age, size_text
from antiphon._json_values import encode_or
from antiphon._state_schema import EXTRAS
from antiphon.errors import StateError, ValidationError

if TYPE_CHECKING:
    import argparse

    from antiphon.checkpoint import Saver, ThreadDetail, ThreadSummary

_WIDTH = 120
"""Characters of a value that are shown; `--json` has all of them."""


def runs(options: argparse.Namespace) -> Exit:
    """Runs an action on a store.

    Raises:
        AntiphonError: it could not be done.
    """
    if options.action == "resume":
        # It imports what the caller names, and nothing else does.
        from antiphon._cli.resume import resume

        return resume(options)
    with open_store(options.store) as saver:
        _ACTIONS[options.action](saver, options)
    return Exit.ANSWERED


def _list(saver: Saver, options: argparse.Namespace) -> None:
    found = saver.threads(
        status=options.status,
        graph=options.graph,
        after=options.after,
        limit=options.limit + 1,
    )
    shown = found[: options.limit]
    after = shown[-1].thread if len(found) > options.limit else None
    if options.json:
        _write_json({"threads": [_summary(one) for one in shown], "after": after})
        return
    heads = ("THREAD", "STATUS", "GRAPH", "STEPS", "SIZE", "WRITTEN")
    rows = [
        (one.thread, _state(one), one.graph, str(one.steps), size_text(one.size), age(one.at))
        for one in shown
    ]
    write(table(heads, rows) if rows else "no threads")
    if after is not None:
        tell(f"more threads: --after={line(after, _WIDTH)}")


def _show(saver: Saver, options: argparse.Namespace) -> None:
    detail = saver.thread(options.thread, limit=options.limit)
    if options.json:
        _write_json(_detail(detail))
        return
    one = detail.summary
    name, graph = line(one.thread, _WIDTH), line(one.graph, _WIDTH)
    parts = [
        ", ".join(
            (
                f"{name}: {_state(one)}",
                f"graph {graph}",
                f"{one.steps} steps",
                size_text(one.size),
                f"written {age(one.at)}",
            )
        )
    ]
    if one.reason:
        parts.append(line(one.reason, _WIDTH))
    parts += [
        f"question {key} of {line('/'.join(path), _WIDTH)}: {line(str(value), _WIDTH)}"
        for key, path, value in detail.questions
    ]
    parts += _tables(detail)
    parts += [f"{line(key, 40)} = {_value(value)}" for key, value in _written(detail).items()]
    write("\n".join(parts))


def _tables(detail: ThreadDetail) -> list[str]:
    ran = [
        (
            one.run_id,
            one.outcome or one.status,
            str(one.checkpoints),
            size_text(one.size),
            age(one.began),
        )
        for one in detail.runs
    ]
    kept = [
        (
            str(one.id),
            str(one.step),
            one.source or "",
            ", ".join(one.ran),
            ", ".join(one.next),
            size_text(one.size),
            age(one.at),
        )
        for one in detail.checkpoints
    ]
    return [
        "",
        table(("RUN", "STATUS", "CHECKPOINTS", "SIZE", "BEGAN"), ran),
        "",
        table(("CHECKPOINT", "STEP", "SOURCE", "RAN", "NEXT", "SIZE", "WRITTEN"), kept),
        "",
        "written last:",
    ]


def _fork(saver: Saver, options: argparse.Namespace) -> None:
    to = options.to or str(uuid4())
    saver.copy_thread(options.thread, to, checkpoint=options.checkpoint)
    write(line(to, 10_000))


def _prune(saver: Saver, options: argparse.Namespace) -> None:
    limits = (options.keep_last, options.keep_for, options.keep_bytes, options.delete_after)
    if all(limit is None for limit in limits):
        raise ValidationError(
            "`runs prune` needs a limit",
            code="call_invalid",
            hint="pass --keep-last N, --keep-for AGE, --keep-bytes SIZE or --delete-after AGE",
        )
    removed = saver.prune(
        options.thread,
        keep_last=options.keep_last,
        keep_for=options.keep_for,
        keep_bytes=options.keep_bytes,
        delete_after=options.delete_after,
        dry_run=options.dry_run,
    )
    if options.compact and not options.dry_run:
        saver.compact()
    if options.json:
        names = ("threads", "deleted", "entries", "size", "busy", "damaged")
        _write_json({name: getattr(removed, name) for name in names})
        return
    did = "would be removed" if options.dry_run else "removed"
    freed = f"{removed.entries} entries, {size_text(removed.size)}"
    write(f"{did}: {freed}, of {removed.threads} threads, {removed.deleted} of them entirely")
    for name in removed.busy:
        tell(f"skipped, a run is writing to it: {line(name, _WIDTH)}")
    for name in removed.damaged:
        tell(f"skipped, damaged: {line(name, _WIDTH)}")


def _delete(saver: Saver, options: argparse.Namespace) -> None:
    for thread in options.threads:
        # A thread that does not exist is a typing error.
        try:
            size = size_text(saver.thread(thread, limit=1).summary.size)
        except StateError as error:
            if not error.code.startswith("checkpoint_"):
                raise
            size = "which was damaged"
        saver.delete_thread(thread)
        write(f"removed: {line(thread, _WIDTH)}, {size}")


_ACTIONS = {"list": _list, "show": _show, "fork": _fork, "prune": _prune, "delete": _delete}


def _state(one: ThreadSummary) -> str:
    if one.questions:
        return f"{one.status} ({one.questions} question{'s' * (one.questions > 1)})"
    return one.status if one.outcome in (None, one.status, "completed") else one.outcome


def _summary(one: ThreadSummary) -> dict[str, Any]:
    names = ("thread", "status", "outcome", "reason", "graph", "run_id", "questions", "steps")
    fields = {name: getattr(one, name) for name in names}
    return {**fields, "began": _moment(one.began), "at": _moment(one.at), "size": one.size}


def _detail(detail: ThreadDetail) -> dict[str, Any]:
    run = ("run_id", "graph", "status", "outcome", "reason", "checkpoints", "size")
    shot = ("id", "parent", "step", "source", "ran", "next", "size")
    return {
        **_summary(detail.summary),
        "questions": [
            {"id": key, "path": path, "value": _plain(value)}
            for key, path, value in detail.questions
        ],
        "runs": [
            {name: getattr(one, name) for name in run}
            | {"began": _moment(one.began), "at": _moment(one.at)}
            for one in detail.runs
        ],
        "checkpoints": [
            {name: getattr(one, name) for name in shot} | {"at": _moment(one.at)}
            for one in detail.checkpoints
        ],
        "written": {key: _plain(value) for key, value in _written(detail).items()},
    }


def _written(detail: ThreadDetail) -> dict[str, Any]:
    """The values that were written last, also those of keys that agents have added."""
    written = dict(detail.written)
    added = written.pop(EXTRAS, None)
    return {**written, **added} if isinstance(added, dict) else written


def _moment(at: Any) -> str:
    return str(at.isoformat(timespec="microseconds")).replace("+00:00", "Z")


def _plain(value: Any) -> Any:
    return encode_or(value, repr(value))


def _value(value: Any) -> str:
    text = value if isinstance(value, str) else json.dumps(_plain(value), ensure_ascii=False)
    return line(text, _WIDTH)


def _write_json(fields: dict[str, Any]) -> None:
    write(json.dumps(fields))
