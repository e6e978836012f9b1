"""The option ``--report``: the answer as a file, with its sources."""

from __future__ import annotations

from typing import TYPE_CHECKING

from antiphon._cli.systems import other_systems
from antiphon.errors import ValidationError
from antiphon.systems.report_file import WritableReport, report_path

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable
    from typing import Any

    from antiphon.systems import System, SystemResult


def check_report(options: argparse.Namespace, system: type[System[Any]]) -> None:
    """Refuses a file that cannot be written, before a model is opened.

    Raises:
        ValidationError: the system writes no reports, the name has no known ending, or there is
            no such folder (``input_invalid``).
    """
    if options.report is None:
        return
    if not system.writes_reports:
        raise ValidationError(
            f"the system writes no reports: {options.system}",
            code="input_invalid",
            hint=other_systems(lambda one: one.writes_reports),
        )
    report_path(options.report)


def write_report(
    result: SystemResult, options: argparse.Namespace, say: Callable[[str], None]
) -> None:
    """Writes the file, unless there is nothing to write, and says so.

    Raises:
        ToolError: it cannot be written as PDF (``pdf_unwritable``).
        OSError: the file cannot be written.
    """
    if options.report is None or not isinstance(result, WritableReport):
        return
    if not result.final_report:
        say("report: there is nothing to write")
        return
    result.write(options.report)
    say(f"report: {options.report}")
