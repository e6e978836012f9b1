"""``antiphon serve``: an agent, a team or a ready system behind HTTP."""

from __future__ import annotations

import os
from contextlib import contextmanager, nullcontext
from typing import TYPE_CHECKING, Any

from antiphon import server
from antiphon._cli.ready_system import prepare, refuse_system_options
from antiphon._cli.stop_signals import StopSignals
from antiphon._cli.store import create_store
from antiphon._cli.target import import_object
from antiphon._cli.terminal import tell
from antiphon._serve.access import check_access, check_installed, read_hosts
from antiphon.errors import ValidationError

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator

    from antiphon._cli.exit_codes import Exit


_QUEUE = ("queue", "queue-name")
_OF_SYSTEMS = ("store", "model", "set", "db", "docs", "workspace", *_QUEUE, "no-tools")
"""Options of ready systems; an object of the user's own has what they give."""


def serve(options: argparse.Namespace) -> Exit:
    """Serves until SIGINT or SIGTERM.

    Raises:
        ValidationError: there is no such object or system (``team_unknown``,
            ``system_unknown``), or an option cannot be used.
        AntiphonError: the server cannot start.
    """
    # What is cheap to know comes before a model is opened.
    token = _token(options.token_env)
    check_installed()
    check_access(options.host, options.port, token)
    read_hosts(options.allow_host or ())
    with _served(options) as thing:
        running = server.start(
            thing,
            port=options.port,
            host=options.host,
            token=token,
            allowed_hosts=options.allow_host or (),
            max_runs=options.max_runs,
            max_body=options.max_body,
            timeout=options.timeout,
            grace=options.grace,
        )
        signals = StopSignals(
            lambda again: running.stop(0 if again else None, wait=False),
            first="stopping once runs under way have ended; a second signal cancels them",
            second="stopping: runs under way are cancelled",
        )
        tell(f"serving `{options.target}` at {running.url}; stop with Ctrl-C")
        running.wait()
    return signals.exit


@contextmanager
def _served(options: argparse.Namespace) -> Iterator[Any]:
    if ":" in options.target:
        refuse_system_options(options, options.target, *_OF_SYSTEMS)
        yield import_object(options.target, "TARGET")
        return
    options.system = options.target
    prepared = prepare(options)
    tell(f"model: {prepared.choice.description}")
    saver = create_store(options.store)
    with saver or nullcontext(), prepared.opened(options, None, saver) as system:
        yield system


def _token(variable: str | None) -> str | None:
    """The token of a variable.

    Raises:
        ValidationError: the variable holds none (``server_setting_invalid``).
    """
    if variable is None:
        return None
    token = os.environ.get(variable, "").strip()
    if not token:
        # What was given may be the token itself.
        raise ValidationError(
            "the variable that `--token-env` names is not set",
            code="server_setting_invalid",
            hint="set it to a long random text, such as from `openssl rand -hex 32`",
        )
    return token
