"""Runs that wait for the answer to a call, perhaps in another process."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from antiphon._antiphon import Proposal
from antiphon._tool.approval import approver, refused
from antiphon.errors import ValidationError
from antiphon.sandbox._guest.budget import TooLarge
from antiphon.sandbox._guest.decode import Decoder
from antiphon.sandbox._host_calls import CallFailed
from antiphon.sandbox._host_functions import read_arguments, showable_arguments
from antiphon.sandbox._job import tag
from antiphon.sandbox._monty.session import Paused
from antiphon.sandbox._monty.snapshot import check_key, decode_snapshot, encode_snapshot
from antiphon.sandbox._outcome import result_of

if TYPE_CHECKING:
    from antiphon.sandbox._host_functions import HostFunctions
    from antiphon.sandbox._result import SandboxResult
    from antiphon.tools import Tool

__all__ = ["Pausing", "SandboxPause"]

_RESULT = 2**20


class Pausing:
    """What pauses runs of a sandbox and lets them go on.

    Args:
        key: the secret that marks what is written down.
        functions: the tools that the sandbox grants.
    """

    def __init__(self, key: bytes, functions: HostFunctions) -> None:
        self.key, self.functions = check_key(key), functions

    def begin(self, engine: Any, job: dict[str, Any]) -> SandboxResult | SandboxPause:
        """Runs a job to its end or its first call."""
        return self.told(engine, engine.begin(job, None))

    def load(self, engine: Any, data: bytes, limits: dict[str, Any]) -> SandboxPause:
        """A pause that was written down; the grants and limits of this sandbox hold."""
        paused = decode_snapshot(data, self.key)
        granted = [each["name"] for each in self.functions.declared]
        if paused.name not in granted:
            raise ValidationError(
                f"the snapshot of a sandbox waits for a tool that is not granted: {paused.name}",
                code="sandbox_snapshot_refused",
                hint="make the sandbox with the tools of the one that was paused",
            )
        progress = replace(paused.progress, functions=granted, limits=dict(limits))
        return SandboxPause(self, engine, replace(paused, progress=progress))

    def told(self, engine: Any, outcome: Any) -> SandboxResult | SandboxPause:
        """A pause or a result, from what the engine gave."""
        if isinstance(outcome, Paused):
            return SandboxPause(self, engine, outcome)
        return result_of(outcome)


class SandboxPause:
    """A run that waits for the answer to a call of a tool.

    Nothing of it runs while it waits. It may go on as often as wanted, from the same place
    each time: what the tool did until then is not undone.

    Attributes:
        name: the tool that the code called.
        args: its positional arguments.
        kwargs: its named arguments.
    """

    def __init__(self, pausing: Pausing, engine: Any, paused: Paused) -> None:
        self._pausing, self._engine, self._paused = pausing, engine, paused
        self.name = paused.name
        decoder = Decoder()
        self.args: tuple[Any, ...] = tuple(decoder.decode(each) for each in paused.args)
        self.kwargs = {name: decoder.decode(each) for name, each in paused.kwargs.items()}

    @property
    def stdout(self) -> str:
        """What the code has written until now."""
        return self._paused.progress.streams["stdout"]

    def dump(self) -> bytes:
        """The pause as bytes for `Sandbox.load`, in this process or another.

        They hold the code's variables in the clear; the mark on them keeps others from changing
        or making them, not from reading them. They fit one version of ``pydantic-monty``.
        """
        return encode_snapshot(self._paused, self._pausing.key)

    def resume(self, value: Any = None) -> SandboxResult | SandboxPause:
        """Goes on with this as the call's result.

        Args:
            value: a plain value, date, array or dataclass.

        Returns:
            The result, or the next pause.

        Raises:
            ValidationError: the value cannot go in (``sandbox_input_invalid``).
        """
        try:
            tagged = tag(value, _RESULT)
        except (TooLarge, TypeError) as problem:
            raise ValidationError(
                f"the answer to `{self.name}` cannot go into the sandbox: {problem}",
                code="sandbox_input_invalid",
                details={"name": self.name},
            ) from problem
        return self._answered({"value": tagged})

    def fail(self, message: str, *, type: str = "ToolError") -> SandboxResult | SandboxPause:  # noqa: A002 - as `SandboxError.type`
        """Goes on with the call failing; the code sees a ``RuntimeError``.

        Args:
            message: what the code may know of it.
            type: what kind of failure it was.
        """
        return self._answered({"error": {"type": type, "message": message}})

    @property
    def question(self) -> dict[str, Any] | None:
        """What a person is asked: ``tool``, ``arguments``, ``why``, ``parameters``.

        None if nobody has to approve of the call, or if it cannot be made in any case.
        """
        tool = self._pausing.functions.named(self.name)
        if tool.approval is not True:
            return None
        try:
            found: dict[str, Any] = self._proposal(tool, self._arguments(tool)).question
        except CallFailed:
            return None
        return found

    def call(self, answer: Any = None) -> SandboxResult | SandboxPause:
        """Calls the tool here, and goes on with what it gives.

        Args:
            answer: of the person who has to approve: ``True`` or ``"approve"``, ``False``,
                ``{"approve": False, "reason": "…"}``, or ``{"approve": True, "args": {…}}`` to
                call it with those. A call that is not approved fails in the code. Default: to
                call it, if nobody has to approve.

        Returns:
            The result, or the next pause.

        Raises:
            ValidationError: somebody has to approve, and the answer decides nothing; or there
                is an answer where a function decides (``approval_invalid``). The run still waits.
        """
        functions = self._pausing.functions
        tool = functions.named(self.name)
        if answer is not None and approver(tool) is not None:
            raise ValidationError(
                f"a function approves of the calls of `{tool.name}`, and nobody else: there is "
                f"no answer to take",
                code="approval_invalid",
                details={"tool": tool.name},
                hint="`pause.call()` asks the function, and makes the call or not",
            )
        run = functions.for_run(None, self._paused.progress.made)
        try:
            if answer is None and tool.approval is not True:
                tagged = run(self.name, self._paused.args, self._paused.kwargs)
            else:
                tagged = run.make(tool, self._approved(tool, answer))
        except CallFailed as failure:
            told = {"type": failure.type, "message": failure.message}
            return self._answered({"error": told}, run.made)
        return self._answered({"value": tagged}, run.made)

    def _approved(self, tool: Tool, answer: Any) -> dict[str, Any]:
        """The arguments of a call that a person has approved of."""
        arguments = self._arguments(tool)
        approved, changed, reason = self._proposal(tool, arguments).decide(answer)
        if not approved:
            raise CallFailed.of(refused(tool.name, reason))
        return arguments if changed is None else changed

    def _arguments(self, tool: Tool) -> dict[str, Any]:
        arguments = read_arguments(tool, self._paused.args, self._paused.kwargs)
        try:
            if tool.approval is not False:
                return showable_arguments(tool, arguments)
            tool.check(arguments)
        except ValidationError as error:
            raise CallFailed.of(error) from error
        return arguments

    def _proposal(self, tool: Tool, arguments: dict[str, Any]) -> Proposal:
        return Proposal(tool.name, arguments, tool.parameters)

    def _answered(
        self, reply: dict[str, Any], made: dict[str, int] | None = None
    ) -> SandboxResult | SandboxPause:
        # A copy: the next time goes on from the same place.
        progress = replace(
            self._paused.progress,
            streams=dict(self._paused.progress.streams),
            written=dict(self._paused.progress.written),
            made=dict(self._paused.progress.made) if made is None else made,
        )
        paused = replace(self._paused, progress=progress)
        return self._pausing.told(self._engine, self._engine.go_on(paused, reply, None))

    def __repr__(self) -> str:
        return f"SandboxPause(name={self.name!r})"
