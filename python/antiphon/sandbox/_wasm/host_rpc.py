"""The host's side of the protocol with a worker in WebAssembly."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from antiphon._antiphon import sandbox_budget, sandbox_figure, sandbox_json, sandbox_outcome
from antiphon.sandbox._deadline import JobEnded
from antiphon.sandbox._guest.decode import MalformedValue
from antiphon.sandbox._host_calls import CallFailed, JobCalls

if TYPE_CHECKING:
    from collections.abc import Mapping

    from antiphon.sandbox._deadline import Deadline

__all__ = ["HostRpc"]

_JOB, _ATTACHMENT, _CALL, _REPLY, _OUTCOME, _READY, _ASK = b"JACROS?"
_SLACK = 2**20
_DEPTH, _NODES = 212, 1_200_000
"""Limits of a call's JSON, checked before parsing."""


class HostRpc:
    """Answers the requests of a worker for one job; form and size of each are validated.

    Args:
        job: the job in the engines' form, with tables as columns.
        limits: all limits.
        call: calls a host function.
        deadline: the job's.

    Attributes:
        violation: the violation of the protocol, if any.
        calls: the calls of host functions.
    """

    def __init__(
        self, job: Mapping[str, Any], limits: Mapping[str, Any], call: Any, deadline: Deadline
    ) -> None:
        self.violation: str | None = None
        self.calls = JobCalls(call, deadline, limit=limits["host_calls"])
        self._limits, self._deadline = dict(limits), deadline
        self._granted = {each["name"] for each in job["functions"]} if call is not None else set()
        self._budget = sandbox_budget(self._limits)
        self._want = list(job["want"])
        body = {**job, "tables": list(job["tables"]), "limits": self._budget}
        self._waiting: list[tuple[int, bytes]] = [(_JOB, json.dumps(body).encode())]
        self._waiting += [(_ATTACHMENT, columns) for columns in job["tables"].values()]
        self._outcome: dict[str, Any] | None = None
        self._announced: tuple[list[str], int] = ([], 0)
        """Names of tables and number of figures that follow the outcome."""
        self._tables: list[bytes] = []
        self._figures: list[bytes] = []

    def __call__(self, request: bytes) -> bytes:
        """Answer one request; after a violation, none."""
        if self.violation is not None or not request or self._deadline.ended is not None:
            return b""
        kind, body = request[0], request[1:]
        try:
            return self._answer(kind, body)
        except (MalformedValue, ValueError, TypeError, KeyError, RecursionError) as problem:
            self.violation = f"{type(problem).__name__}: {problem}"[:200]
        except JobEnded:
            pass
        return b""

    def _answer(self, kind: int, body: bytes) -> bytes:
        if kind == _ASK:
            if not self._waiting or self._waiting[0][0] not in body:
                return b""
            found = self._waiting.pop(0)
            if found[0] == _JOB:
                self._deadline.restart(self._limits["wall"])
            return bytes([found[0]]) + found[1]
        if kind == _CALL:
            self._waiting.append((_REPLY, json.dumps(self._answer_call(body)).encode()))
        elif kind == _OUTCOME and self._outcome is None:
            self._outcome, names, figures = sandbox_outcome(body, self._limits, self._want)
            self._announced = names, figures
        elif kind == _ATTACHMENT and self._outcome is not None:
            self._attach(body)
        elif kind != _READY:
            raise MalformedValue(f"a frame is not expected: {kind}")
        return b""

    def _answer_call(self, body: bytes) -> dict[str, Any]:
        # A guest that calls without reading replies would fill the host's memory.
        if self._waiting:
            raise MalformedValue("a call before the reply to the previous one was read")
        if len(body) > 2 * self._budget["argument_bytes"] + _SLACK:
            raise MalformedValue("a frame is too long")
        sandbox_json(body, _DEPTH, _NODES)
        asked = json.loads(body)
        number, name = asked["id"], asked["name"]
        self.calls.count()
        if name not in self._granted:
            raise MalformedValue("the function is not granted")
        try:
            value = self.calls.make(name, list(asked["args"]), dict(asked["kwargs"]))
        except CallFailed as failure:
            return {"id": number, "error": {"type": failure.type, "message": failure.message}}
        return {"id": number, "value": value}

    def _attach(self, body: bytes) -> None:
        """Receive an attachment of the outcome, within its own and the total limit."""
        names, figures = self._announced
        most = self._budget
        if len(self._tables) < len(names):
            _check_length(body, most["table_bytes"], most["tables_bytes"], self._tables)
            self._tables.append(body)
        elif len(self._figures) < figures:
            _check_length(body, most["figure_bytes"], most["figures_bytes"], self._figures)
            sandbox_figure(body, most["figure_pixels"])
            self._figures.append(body)
        else:
            raise MalformedValue("there are too many attachments")

    def outcome(self) -> dict[str, Any] | None:
        """Return the validated outcome; ``None`` if the worker sent none.

        Raises:
            MalformedValue: no honest worker sends this.
        """
        if self._outcome is None:
            return None
        names, figures = self._announced
        if (len(names), figures) != (len(self._tables), len(self._figures)):
            raise MalformedValue("an attachment is missing")
        if (error := self._outcome.get("error")) is not None:
            self.calls.attribute(error, "ToolError")
        # Each is released once it was read.
        columns = ((name, self._tables.pop(0)) for name in names)
        return {**self._outcome, "tables": [], "columns": columns, "figures": self._figures}


def _check_length(body: bytes, each: int, together: int, before: list[bytes]) -> None:
    if len(body) > min(each, together - sum(map(len, before))):
        raise MalformedValue("an attachment is too long")
