"""The ready system of a command, with its settings, model, tools, database and queue."""

from __future__ import annotations

import inspect
import json
import os
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from antiphon._cli.queue import queue_of
from antiphon._cli.role_tools import database_of, database_settings, role_tools
from antiphon._model.default_model import choose, open_model
from antiphon.errors import ValidationError
from antiphon.local import ProgressBar
from antiphon.models import Model
from antiphon.systems import System, find, systems

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator, Mapping

    from antiphon._cli.progress import ProgressView
    from antiphon._model.default_model import Choice
    from antiphon.checkpoint import Saver

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


_OF_TEAM = "a team has its own tools"
_OWN = {
    "docs": (_OF_TEAM, "give the team `antiphon.tools.document_search(folder)`"),
    "workspace": (_OF_TEAM, "give the team `antiphon.tools.files(folder)`"),
    "db": (_OF_TEAM, "give the team `antiphon.tools.sql(database)`"),
    "queue": ("a system of yours has its own queue", "give it `queue=` where it is made"),
    "queue-name": ("a system of yours has its own queue", "give it `queue=` where it is made"),
    "store": ("an object of yours has its own store", "give it `checkpointer=` where it is made"),
    "model": ("an object of yours has its own model", "give it `model` where it is made"),
    "no-tools": (_OF_TEAM, "give the team the tools that it needs"),
    "set": ("an object of yours has its own settings", "give them where it is made"),
}
"""What an object of the user's own has in place of an option, and the way to give it."""


@dataclass(frozen=True)
class PreparedSystem:
    """A ready system that is known to be possible, before a model is opened.

    Attributes:
        kind: its class.
        choice: its model.
        settings: of the system.
        parts: its database and its queue, by parameter.
    """

    kind: type[System[Any]]
    choice: Choice
    settings: Mapping[str, Any]
    parts: Mapping[str, Any]

    @contextmanager
    def opened(
        self, options: argparse.Namespace, view: ProgressView | None, saver: Saver | None = None
    ) -> Iterator[System[Any]]:
        """The system, as long as its model is open.

        Args:
            options: name the folders of its tools.
            view: shows how indexing goes on.
            saver: the store of its threads.
        """
        tools = role_tools(options, self.kind, view)
        with ProgressBar() as bar, open_model(self.choice, bar) as model:
            parts = {**self.parts, **tools}
            yield self.kind(model, checkpointer=saver, **self.settings, **parts)


def prepare(options: argparse.Namespace) -> PreparedSystem:
    """The system that the options describe.

    Raises:
        AntiphonError: an option cannot be used, or there is no model.
    """
    kind = system_of(options)
    queue = queue_of(options, kind)
    settings = checked_settings(options, **queue)
    database = database_of(options, kind, settings)
    choice = choose(options.model, os.environ)
    return PreparedSystem(
        kind, choice, settings_for(choice, kind.name, settings), {**database, **queue}
    )


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


def refuse_system_options(options: argparse.Namespace, target: str, *names: str) -> None:
    """Refuses options of ready systems for an object of the user's own, which has its own.

    Args:
        options: of the command.
        target: the object.
        *names: the options. Default: documents, workspace, queue and its name.

    Raises:
        ValidationError: one is given (``input_invalid``).
    """
    for name in names or ("docs", "workspace", "queue", "queue-name"):
        if getattr(options, name.replace("-", "_")) not in (None, False):
            has, hint = _OWN[name]
            raise ValidationError(
                f"`--{name}` is for ready systems; {has}: {target}",
                code="input_invalid",
                hint=hint,
            )
