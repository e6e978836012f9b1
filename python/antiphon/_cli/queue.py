"""The queue of a command."""

from __future__ import annotations

import os
from inspect import signature
from typing import TYPE_CHECKING, Any

from antiphon._cli.systems import other_systems
from antiphon.errors import ValidationError
from antiphon.systems import Queue

if TYPE_CHECKING:
    import argparse

    from antiphon.systems import System

_VARIABLE = "NATS_URL"
_NAME = "antiphon"
"""The queue of a server, if no other is named."""


def queue_of(options: argparse.Namespace, system: type[System[Any]]) -> dict[str, Any]:
    """The queue of a system by parameter, opened before a model is looked for.

    Raises:
        ValidationError: the system has no workers (``input_invalid``).
        AntiphonError: the queue cannot be opened.
    """
    if options.queue is None:
        if options.queue_name is not None:
            raise ValidationError(
                f"`--queue-name` names a queue of no server: {options.queue_name}",
                code="input_invalid",
                hint="pass `--queue nats://host:4222` as well",
            )
        return {}
    if not _has_workers(system):
        raise ValidationError(
            f"the system has no workers: {options.system}",
            code="input_invalid",
            hint=other_systems(_has_workers),
        )
    return {"queue": Queue.connect(options.queue, name=options.queue_name or _NAME)}


def _has_workers(system: type[System[Any]]) -> bool:
    return "queue" in signature(system).parameters


def open_queue(options: argparse.Namespace) -> Queue:
    """The queue of a worker. Default: that of ``NATS_URL``.

    Raises:
        ValidationError: nothing names one (``queue_setting_invalid``).
        AntiphonError: it cannot be opened.
    """
    url = options.queue or os.environ.get(_VARIABLE, "").strip()
    if not url:
        raise ValidationError(
            f"no queue: {_VARIABLE} is not set",
            code="queue_setting_invalid",
            hint="pass --queue nats://host:4222, or set the variable",
        )
    return Queue.connect(url, name=options.queue_name or _NAME)
