"""Batches in files: a question per line in, an answer per line out."""

from antiphon._batch_file.progress import BatchProgress
from antiphon._batch_file.reader import Task, open_questions
from antiphon._batch_file.report import BatchReport, LineProblem
from antiphon._batch_file.run import Batch, abatch_file, batch_file

__all__ = [
    "Batch",
    "BatchProgress",
    "BatchReport",
    "LineProblem",
    "Task",
    "abatch_file",
    "batch_file",
    "open_questions",
]
