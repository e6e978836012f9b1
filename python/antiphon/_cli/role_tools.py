"""The tools that a command gives to the roles of a system."""

from __future__ import annotations

import inspect
from pathlib import Path
from typing import TYPE_CHECKING, Any

from antiphon._builtin_tools.files import files
from antiphon._builtin_tools.write_pdf import write_pdf
from antiphon._cli.calculator import calculator
from antiphon._cli.systems import other_systems
from antiphon._cli.terminal import tell
from antiphon.errors import ValidationError
from antiphon.systems.analyst_database import check_rows, database_tools

if TYPE_CHECKING:
    import argparse

    from antiphon._cli.progress import ProgressView
    from antiphon._tool.tool import Tool
    from antiphon.systems import System
    from antiphon.toolset import Toolset

_EXPECTED = {"no document", "symbolic link", "broken link"}
"""Why files are left out that nobody expects to be read."""
_MOST_REASONS = 4
_FILES = {"read_file", "list_files", "write_file", "append_file"}
"""What is done with files of a workspace; nothing is moved or deleted."""
_PARAMETERS = ("research_tools", "tools")
"""Where a system takes tools that look things up; the first one that it has."""


def role_tools(
    options: argparse.Namespace, system: type[System[Any]], view: ProgressView | None
) -> dict[str, Any]:
    """The tools of a system by parameter: a calculator, those of ``--docs`` and ``--workspace``.

    Args:
        options: ``docs`` and ``workspace`` name folders; the second one is made if it is missing.
            ``no_tools`` asks for no calculator.
        system: the system.
        view: shows how indexing goes on, and that the machine has no sandbox.

    Raises:
        ValidationError: the system takes no such tools (``input_invalid``), or there is no such
            folder (``tool_setting_invalid``).
        ToolError: the folder cannot be indexed (``document_index_unavailable``).
    """
    tools = calculator(options, system, view)
    workspace = _workspace(options.workspace, options, system)
    if options.docs is None:
        return {**tools, "tools": workspace} if workspace else tools
    accepted = inspect.signature(system).parameters
    parameter = next((name for name in _PARAMETERS if name in accepted), None)
    if parameter is None:
        raise ValidationError(
            f"the system does not accept documents: {options.system}", code="input_invalid"
        )
    return {**tools, parameter: [documents(options.docs, view), *workspace]}


def database_settings(system: type[System[Any]]) -> set[str]:
    """The settings of a command that are those of its database."""
    return {"max_rows"} if _reads_databases(system) else set()


def database_of(
    options: argparse.Namespace, system: type[System[Any]], settings: dict[str, Any]
) -> dict[str, Any]:
    """The database of a system by parameter, opened before a model is looked for.

    The copy of a file of a table lives as long as the options.

    Args:
        options: ``db`` names it.
        system: the system.
        settings: those of the command, from which its own are taken out.

    Raises:
        ValidationError: the system accepts none, or needs one (``input_invalid``); or it cannot
            be read (``tool_setting_invalid``, ``input_invalid``).
    """
    accepts = _reads_databases(system)
    if options.db is None:
        if not accepts:
            return {}
        raise ValidationError(
            f"the system needs a database: {options.system}",
            code="input_invalid",
            hint="give it with --db PATH",
        )
    if not accepts:
        raise ValidationError(
            f"the system does not accept a database: {options.system}",
            code="input_invalid",
            hint=other_systems(_reads_databases),
        )
    descriptions, rows = settings.get("descriptions"), settings.pop("max_rows", None)
    check_rows(rows)
    return {"database": database_tools(options.db, options, descriptions, max_rows=rows)}


def _reads_databases(system: type[System[Any]]) -> bool:
    return "database" in inspect.signature(system).parameters


def _workspace(
    folder: str | None, options: argparse.Namespace, system: type[System[Any]]
) -> list[Tool]:
    """The tools of a folder that files are read from and written to."""
    if folder is None:
        return []
    if not system.works_with_files:
        raise ValidationError(
            f"the system does not work with files: {options.system}",
            code="input_invalid",
            hint=other_systems(lambda one: one.works_with_files),
        )
    try:
        Path(folder).mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ValidationError(
            f"`--workspace` must be a folder ({error.strerror}): {folder}",
            code="tool_setting_invalid",
        ) from error
    return [*(tool for tool in files(folder).tools if tool.name in _FILES), write_pdf(folder)]


def documents(folder: str, view: ProgressView | None) -> Toolset:
    """The tools that search and read the documents of a folder, which is indexed first.

    Args:
        folder: the folder.
        view: shows how indexing goes on.

    Raises:
        ValidationError: there is no such folder (``tool_setting_invalid``).
        ToolError: it cannot be indexed (``document_index_unavailable``).
    """
    if not Path(folder).is_dir():
        raise ValidationError(
            f"`--docs` must be an existing folder: {folder}", code="tool_setting_invalid"
        )
    from antiphon._builtin_tools.document_search import indexed_folder

    say = tell if view is None else view.say

    def watch(report: dict[str, Any]) -> None:
        if not report["left"]:
            for text in _summary(report):
                say(text)
        elif view is not None:
            view.show(f"documents: {report['files'] - report['left']} of {report['files']} indexed")

    return indexed_folder(folder, watch)


def _summary(report: dict[str, Any]) -> list[str]:
    """What can be searched, and what can not."""
    left_out = [
        f"documents left out, {reason}: {files['count']}, for instance {files['examples'][0]}"
        for reason, files in report["skipped"].items()
        if reason not in _EXPECTED
    ]
    notes = [f"documents: {note}" for note in report["notes"]]
    return [f"documents: {report['documents']}", *notes, *left_out[:_MOST_REASONS]]
