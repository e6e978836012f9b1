"""PausedJob runs: they wait for the result of a call, perhaps in another process."""

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
from antiphon.sandbox._monty.progress import PausedJob
from antiphon.sandbox._monty.snapshot import check_key, decode_snapshot, encode_snapshot
from antiphon.sandbox._outcome import result_of

if TYPE_CHECKING:
    from antiphon.sandbox._host_functions import HostFunctions
    from antiphon.sandbox._result import SandboxResult
    from antiphon.tools import Tool

__all__ = ["PausableRuns", "SandboxPause"]

_RESULT = 2**20


class PausableRuns:
    """Starts and loads the runs of a sandbox that can pause; `key` authenticates saved pauses."""

    def __init__(self, key: bytes, functions: HostFunctions) -> None:
        self.key, self.functions = check_key(key), functions

    def begin(self, engine: Any, job: dict[str, Any]) -> SandboxResult | SandboxPause:
        """Run a job to its end or its first call."""
        return self.result(engine, engine.begin(job, None))

    def load(self, engine: Any, data: bytes, limits: dict[str, Any]) -> SandboxPause:
        """Load a saved pause; the tools and limits of this sandbox apply to it."""
        paused = decode_snapshot(data, self.key)
        granted = [each["name"] for each in self.functions.declared]
        if paused.name not in granted:
            raise ValidationError(
                f"the saved pause waits for a tool that this sandbox does not have: {paused.name}",
                code="sandbox_snapshot_refused",
                hint="create the sandbox with the tools of the one that saved it",
            )
        progress = replace(paused.progress, functions=granted, limits=dict(limits))
        return SandboxPause(self, engine, replace(paused, progress=progress))

    def result(self, engine: Any, outcome: Any) -> SandboxResult | SandboxPause:
        """Return the pause or the result that the engine's outcome stands for."""
        if isinstance(outcome, PausedJob):
            return SandboxPause(self, engine, outcome)
        return result_of(outcome)


class SandboxPause:
    """A run that waits for the result of a tool call.

    No code of it runs while it waits. It can be resumed any number of times, from the same point
    each time; side effects of tools are not undone.

    Attributes:
        name: the tool that the code called.
        args: its positional arguments.
        kwargs: its named arguments.
    """

    def __init__(self, pausing: PausableRuns, engine: Any, paused: PausedJob) -> None:
        self._pausing, self._engine, self._paused = pausing, engine, paused
        self.name = paused.name
        decoder = Decoder()
        self.args: tuple[Any, ...] = tuple(decoder.decode(each) for each in paused.args)
        self.kwargs = {name: decoder.decode(each) for name, each in paused.kwargs.items()}

    @property
    def stdout(self) -> str:
        """The output of the code so far."""
        return self._paused.progress.streams["stdout"]

    def dump(self) -> bytes:
        """Return the pause as bytes for `Sandbox.load`, in this or another process.

        The bytes are authenticated with the snapshot key, but not encrypted: they contain the
        variables of the code. They can be loaded with the same version of ``pydantic-monty``.
        """
        return encode_snapshot(self._paused, self._pausing.key)

    def resume(self, value: Any = None) -> SandboxResult | SandboxPause:
        """Resume with `value` as the result of the call.

        Args:
            value: a plain value, date, array or dataclass.

        Returns:
            The result, or the next pause.

        Raises:
            ValidationError: the value cannot be passed (``sandbox_input_invalid``).
        """
        try:
            tagged = tag(value, _RESULT)
        except (TooLarge, TypeError) as problem:
            raise ValidationError(
                f"the result of `{self.name}` cannot be passed to the sandbox: {problem}",
                code="sandbox_input_invalid",
                details={"name": self.name},
            ) from problem
        return self._resume({"value": tagged})

    def fail(self, message: str, *, type: str = "ToolError") -> SandboxResult | SandboxPause:  # noqa: A002 - as `SandboxError.type`
        """Resume with a failure of the call; the code sees a ``RuntimeError``.

        Args:
            message: the message that the code sees.
            type: the name of the exception class that the code sees.
        """
        return self._resume({"error": {"type": type, "message": message}})

    @property
    def question(self) -> dict[str, Any] | None:
        """The question for the person who approves: what to call, and how.

        Keys: ``tool``, ``arguments``, ``why``, ``parameters``. ``None`` if the call needs no
        approval by a person, or if its arguments are invalid.
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
        """Call the tool here, and resume with its result.

        Args:
            answer: the decision of the person who approves: ``True`` or ``"approve"``,
                ``False``, ``{"approve": False, "reason": "…"}``, or
                ``{"approve": True, "args": {…}}`` to change the arguments. A rejected call fails
                in the code. Default: call the tool, if it needs no approval by a person.

        Returns:
            The result, or the next pause.

        Raises:
            ValidationError: the call needs approval and `answer` is no decision; or a function
                decides and there is an answer (``approval_invalid``). The run still waits.
        """
        functions = self._pausing.functions
        tool = functions.named(self.name)
        if answer is not None and approver(tool) is not None:
            raise ValidationError(
                f"an `approval` function decides about calls of `{tool.name}`: "
                "`answer` must be omitted",
                code="approval_invalid",
                details={"tool": tool.name},
                hint="`pause.call()` asks the function",
            )
        run = functions.for_run(None, self._paused.progress.made)
        try:
            if answer is None and tool.approval is not True:
                tagged = run(self.name, self._paused.args, self._paused.kwargs)
            else:
                tagged = run.make(tool, self._approved_arguments(tool, answer))
        except CallFailed as failure:
            fault = {"type": failure.type, "message": failure.message}
            return self._resume({"error": fault}, run.made)
        return self._resume({"value": tagged}, run.made)

    def _approved_arguments(self, tool: Tool, answer: Any) -> dict[str, Any]:
        """Return the arguments of a call that a person has approved."""
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

    def _resume(
        self, reply: dict[str, Any], made: dict[str, int] | None = None
    ) -> SandboxResult | SandboxPause:
        # A copy: the pause can be resumed again.
        progress = replace(
            self._paused.progress,
            streams=dict(self._paused.progress.streams),
            written=dict(self._paused.progress.written),
            made=dict(self._paused.progress.made) if made is None else made,
        )
        paused = replace(self._paused, progress=progress)
        return self._pausing.result(self._engine, self._engine.resume(paused, reply, None))

    def __repr__(self) -> str:
        return f"SandboxPause(name={self.name!r})"
