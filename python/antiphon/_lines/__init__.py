"""Batches in files: a question per line in, an answer per line out."""

from antiphon._lines.report import BatchReport, LineProblem
from antiphon._lines.shown import Shown
from antiphon._lines.source import open_questions
from antiphon._lines.task import Task
from antiphon._lines.work import Batch, abatch_file, batch_file

__all__ = [
    "Batch",
    "BatchReport",
    "LineProblem",
    "Shown",
    "Task",
    "abatch_file",
    "batch_file",
    "open_questions",
]
