"""Outcomes of jobs as results and errors, for systems that run code through the engine."""

from antiphon.sandbox._faults import report, sandbox_error
from antiphon.sandbox._outcome import result_of

__all__ = ["report", "result_of", "sandbox_error"]
