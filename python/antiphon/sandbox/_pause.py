"""Runs that wait for the answer to a call, perhaps in another process."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from antiphon.errors import ValidationError
from antiphon.sandbox._calls import CallFailed
from antiphon.sandbox._guest.budget import TooLarge
from antiphon.sandbox._guest.decode import Decoder
from antiphon.sandbox._inputs import tag
from antiphon.sandbox._monty.feed import Paused
from antiphon.sandbox._monty.seal import check_key, opened, sealed
from antiphon.sandbox._outcome import result_of

if TYPE_CHECKING:
    from antiphon.sandbox._functions import HostFunctions
    from antiphon.sandbox._result import SandboxResult

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
        paused = opened(data, self.key)
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
        return sealed(self._paused, self._pausing.key)

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

    def call(self) -> SandboxResult | SandboxPause:
        """Calls the tool here, and goes on with what it gives."""
        answer = self._pausing.functions.for_run(None)
        try:
            tagged = answer(self.name, self._paused.args, self._paused.kwargs)
        except CallFailed as failure:
            return self.fail(failure.message, type=failure.type)
        return self._answered({"value": tagged})

    def _answered(self, reply: dict[str, Any]) -> SandboxResult | SandboxPause:
        # A copy: the next time goes on from the same place.
        progress = replace(
            self._paused.progress,
            streams=dict(self._paused.progress.streams),
            written=dict(self._paused.progress.written),
        )
        paused = replace(self._paused, progress=progress)
        return self._pausing.told(self._engine, self._engine.go_on(paused, reply, None))

    def __repr__(self) -> str:
        return f"SandboxPause(name={self.name!r})"
