"""Host functions, callable from the guest."""

from __future__ import annotations

import os
import threading
from json import dumps, loads
from typing import TYPE_CHECKING, Any

from .budget import Budget, TooLarge
from .decode import Decoder
from .encode import Encoder
from .frames import CALL, REPLY, ChannelClosed

if TYPE_CHECKING:
    from collections.abc import Callable

    from .frames import Channel
    from .warmup import WarmupChannel

_GONE = 1


class ToolError(RuntimeError):
    """A function of the host failed: the name of the exception's class, and its message."""

    __module__ = "builtins"

    def __init__(self, type: str, message: str) -> None:  # noqa: A002 - as users know it
        super().__init__(f"{type}: {message}")
        self.type = type
        self.message = message


class Caller:
    """Calls functions of the host, one at a time.

    Args:
        channel: carries calls and replies.
        limits: of the job: `argument_bytes` for all arguments of a call, `value_nodes`,
            `value_depth`.
    """

    def __init__(self, channel: Channel | WarmupChannel, limits: dict[str, int]) -> None:
        self._channel = channel
        self._limits = limits
        self._turn = threading.Lock()
        self._calls = 0

    def function(self, name: str, doc: str) -> Callable[..., Any]:
        """Return a function that calls the host's function of this name."""

        def stub(*args: Any, **kwargs: Any) -> Any:
            return self._call(name, args, kwargs)

        stub.__name__ = stub.__qualname__ = name
        stub.__doc__ = doc
        stub.__module__ = "__main__"
        return stub

    def _call(self, name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        arguments = self._arguments(name, args, kwargs)
        with self._turn:
            self._calls += 1
            number = self._calls
            head = dumps({"id": number, "name": name})
            try:
                self._channel.send(CALL, f"{head[:-1]},{arguments}}}".encode())
                reply = loads(self._channel.receive(REPLY)[1])
            except ChannelClosed:
                # The host is gone.
                os._exit(_GONE)
        if reply["id"] != number:
            raise RuntimeError("the host answered another call")
        if "error" in reply:
            raise ToolError(reply["error"]["type"], reply["error"]["message"])
        return Decoder(nodes=2**62, depth=900, opaque=False).decode(reply["value"])

    def _arguments(self, name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> str:
        limits = self._limits
        if "$" in kwargs:
            raise TypeError(f"`{name}` has no such argument: $")
        budget = Budget(
            bytes=limits["argument_bytes"],
            nodes=limits["value_nodes"],
            depth=limits["value_depth"],
        )
        encoder = Encoder(budget, strict=True)
        try:
            texts = [budget.text_of(encoder.encode(part)) for part in (list(args), kwargs)]
        except TooLarge as problem:
            raise ValueError(f"the arguments of `{name}` are too large: {problem}") from None
        except TypeError as problem:
            raise TypeError(f"an argument of `{name}` cannot be sent: {problem}") from None
        return f'"args":{texts[0]},"kwargs":{texts[1]}'
