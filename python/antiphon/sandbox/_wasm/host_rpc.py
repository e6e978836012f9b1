"""The host's side of the protocol with a worker in WebAssembly."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from antiphon._antiphon import sandbox_figure, sandbox_json
from antiphon.sandbox._deadline import JobEnded
from antiphon.sandbox._guest.decode import Malformed
from antiphon.sandbox._host_calls import CallFailed, timed_call
from antiphon.sandbox._wasm.validation import validate_outcome

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from antiphon.sandbox._deadline import Deadline

__all__ = ["HostRpc", "TooManyCalls", "budgets"]

_JOB, _ATTACHMENT, _CALL, _REPLY, _OUTCOME, _READY, _ASK = b"JACROS?"
_SLACK = 2**20
_ARGUMENTS = 2**20
_FIGURES, _TABLES, _PIXELS = 10, 8, 16_000_000
_DEPTH, _NODES = 212, 1_200_000
"""Limits of a worker's JSON, checked before parsing; the same as in the Rust engines."""


class TooManyCalls(Exception):
    """More calls of host functions than the limits allow."""


class HostRpc:
    """Answers the requests of a worker for one job; form and size of each are validated.

    Args:
        job: the job in the engines' form, with tables as columns.
        limits: all limits.
        call: calls a host function.
        deadline: the job's.

    Attributes:
        breach: the violation of the protocol, if any.
        calls: number of calls of host functions.
    """

    def __init__(
        self,
        job: Mapping[str, Any],
        limits: Mapping[str, Any],
        call: Callable[[str, list[Any], dict[str, Any]], Any] | None,
        deadline: Deadline,
    ) -> None:
        self.breach: str | None = None
        self.calls = 0
        self._limits, self._call, self._deadline = limits, call, deadline
        self._granted = {each["name"] for each in job["functions"]}
        self._budgets = budgets(limits)
        self._want = frozenset(job["want"])
        body = {**job, "tables": list(job["tables"]), "limits": self._budgets}
        self._waiting: list[tuple[int, bytes]] = [(_JOB, json.dumps(body).encode())]
        self._waiting += [(_ATTACHMENT, columns) for columns in job["tables"].values()]
        self._outcome: dict[str, Any] | None = None
        self._tables: list[bytes] = []
        self._figures: list[bytes] = []
        self._failure: str | None = None

    def __call__(self, request: bytes) -> bytes:
        """Answer one request; after a breach, none."""
        if self.breach is not None or not request or self._deadline.ended is not None:
            return b""
        kind, body = request[0], request[1:]
        try:
            return self._answer(kind, body)
        except (Malformed, ValueError, TypeError, KeyError, RecursionError) as problem:
            self.breach = f"{type(problem).__name__}: {problem}"[:200]
        except TooManyCalls:
            self._deadline.end("host_call_limit")
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
            self._waiting.append((_REPLY, json.dumps(self._called(body)).encode()))
        elif kind == _OUTCOME and self._outcome is None:
            self._outcome = validate_outcome(self._read_outcome(body), self._budgets, self._want)
        elif kind == _ATTACHMENT and self._outcome is not None:
            self._attach(self._outcome, body)
        elif kind != _READY:
            raise Malformed(f"a frame is not expected: {kind}")
        return b""

    def _called(self, body: bytes) -> dict[str, Any]:
        # A guest that calls without reading replies would fill the host's memory.
        if self._waiting:
            raise Malformed("a call before the reply to the previous one was read")
        asked = _read(body, 2 * _ARGUMENTS + _SLACK)
        number, name = asked["id"], asked["name"]
        self.calls += 1
        if self.calls > self._limits["host_calls"]:
            raise TooManyCalls
        if name not in self._granted or self._call is None:
            raise Malformed("the function is not granted")
        args, kwargs, call = list(asked["args"]), dict(asked["kwargs"]), self._call
        try:
            value = timed_call(lambda: call(name, args, kwargs), self._deadline)
        except JobEnded:
            raise
        except Exception as error:  # noqa: BLE001 - reported to the guest
            failure = error if isinstance(error, CallFailed) else CallFailed.of(error)
            self._failure = str(failure)
            return {"id": number, "error": {"type": failure.type, "message": failure.message}}
        return {"id": number, "value": value}

    def _read_outcome(self, body: bytes) -> dict[str, Any]:
        parts = {"value": self._limits["value"], "locals": self._limits["locals"]}
        return _read(body, _SLACK + sum(size for what, size in parts.items() if what in self._want))

    def _attach(self, claims: dict[str, Any], body: bytes) -> None:
        """Receive an attachment of the outcome, within its own and the total limit."""
        most = self._budgets
        if len(self._tables) < len(claims["tables"]):
            _bound(body, most["table_bytes"], most["tables_bytes"], self._tables)
            self._tables.append(body)
        elif len(self._figures) < claims["figures"]:
            _bound(body, most["figure_bytes"], most["figures_bytes"], self._figures)
            sandbox_figure(body, _PIXELS)
            self._figures.append(body)
        else:
            raise Malformed("there are too many attachments")

    def outcome(self) -> dict[str, Any] | None:
        """Return the validated outcome; ``None`` if the worker sent none.

        Raises:
            Malformed: no honest worker sends this.
        """
        if self._outcome is None:
            return None
        found = self._outcome
        names = found["tables"]
        if (len(names), found["figures"]) != (len(self._tables), len(self._figures)):
            raise Malformed("an attachment is missing")
        _name_failure(found.get("error"), self._failure)
        # Each is released once it was read.
        columns = ((name, self._tables.pop(0)) for name in names)
        return {**found, "tables": [], "columns": columns, "figures": self._figures}


def _name_failure(error: dict[str, Any] | None, failure: str | None) -> None:
    """Mark the uncaught failure of a host function as such."""
    if error and error.get("type") == "ToolError" and error["message"] == failure:
        error["kind"] = "host_call_failed"


def budgets(limits: Mapping[str, Any]) -> dict[str, int]:
    """Return the budgets of the guest's encoder."""
    return {
        "value_bytes": limits["value"],
        "value_nodes": 100_000,
        "value_depth": 64,
        "local_names": 200,
        "local_bytes": min(64 * 2**10, limits["locals"]),
        "locals_bytes": limits["locals"],
        "tables": _TABLES,
        "table_bytes": limits["tables"],
        "tables_bytes": 2 * limits["tables"],
        "figures": _FIGURES,
        "figure_bytes": limits["figures"],
        "figures_bytes": 4 * limits["figures"],
        "figure_pixels": _PIXELS,
        "argument_bytes": _ARGUMENTS,
    }


def _read(body: bytes, most: int) -> dict[str, Any]:
    if len(body) > most:
        raise Malformed("a frame is too long")
    sandbox_json(body, _DEPTH, _NODES)
    found = json.loads(body)
    if type(found) is not dict:
        raise Malformed("a frame holds no object")
    return found


def _bound(body: bytes, each: int, together: int, before: list[bytes]) -> None:
    if len(body) > min(each, together - sum(map(len, before))):
        raise Malformed("an attachment is too long")
