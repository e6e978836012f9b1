"""``antiphon worker``: carries out the steps that ready systems leave in a queue."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from antiphon._cli.queue import open_queue
from antiphon._cli.ready_system import read_setting
from antiphon._cli.role_tools import documents
from antiphon._cli.stop_signals import StopSignals
from antiphon._cli.target import import_object
from antiphon._cli.terminal import tell
from antiphon._text import drop_controls
from antiphon.errors import ValidationError
from antiphon.systems import Worker

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterable

    from antiphon._cli.exit_codes import Exit
    from antiphon.systems import WorkerNotice


def work(options: argparse.Namespace) -> Exit:
    """Works until SIGINT or SIGTERM; says on standard error what it does.

    Raises:
        AntiphonError: the queue cannot be opened, or a tool or role cannot be used.
    """
    tools = [tool for target in options.tools or () for tool in _tools(target)]
    if options.docs is not None:
        tools.append(documents(options.docs, None))
    roles = None if options.roles is None else [role.strip() for role in options.roles.split(",")]
    profiles = _profiles(options.profile or ())
    queue = open_queue(options)
    worker = Worker(
        queue,
        tools=tools,
        roles=roles,
        workers=_workers(options),
        key_profiles=profiles,
        concurrency=options.concurrency,
        drain_s=options.drain,
        watch=_show,
    )
    signals = StopSignals(
        lambda again: worker.stop(now=again),
        first="stopping once what is under way is finished; a second signal gives it back",
        second="stopping: what is under way is given back",
    )
    known = [f"{role} ({', '.join(names)})" for role, names in worker.roles.items()]
    tell(f"ready at {queue.name}: {', '.join(known)}; stop with Ctrl-C")
    tally = worker.run()
    tell(f"completed: {tally.completed}, failed: {tally.failed}, dropped: {tally.dropped}")
    return signals.exit


def _tools(target: str) -> list[Any]:
    """What a target names: a tool, or a list of them."""
    found = import_object(target, "--tools")
    return list(found) if isinstance(found, list | tuple) else [found]


def _profiles(given: Iterable[str]) -> dict[str, list[Any]]:
    """The tools of key profiles, each as ``NAME=MODULE:NAME``.

    Raises:
        ValidationError: one is not of that form (``command_setting_malformed``).
    """
    profiles: dict[str, list[Any]] = {}
    for one in given:
        name, equals, target = one.partition("=")
        if not equals or not name.strip():
            raise ValidationError(
                f"`--profile` takes `name=module:attribute`: {one}",
                code="command_setting_malformed",
            )
        profiles.setdefault(name.strip(), []).extend(_tools(target))
    return profiles


def _workers(options: argparse.Namespace) -> dict[str, Any]:
    """The roles of the user's own, as ``--set workers={…}`` has them for ``antiphon ask``."""
    settings = dict(map(read_setting, options.set or ()))
    workers = settings.pop("workers", {})
    for name in settings:
        raise ValidationError(f"unknown setting: {name}", code="system_setting_invalid")
    if not isinstance(workers, dict):
        raise ValidationError(
            f"`workers` must be a JSON object: {workers}", code="system_setting_invalid"
        )
    return workers


def _show(notice: WorkerNotice) -> None:
    tell(drop_controls(str(notice)))
