"""A proxy in front of PostgreSQL that cuts connections at chosen protocol messages."""

from __future__ import annotations

import asyncio
import struct
import threading
from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

if TYPE_CHECKING:
    from types import TracebackType

Point = tuple[str, str, str]
"""The statement under way, who sends the message, and the message's type."""

_BEGINNING = "(opening)"


@dataclass
class Cut:
    """Where to cut.

    Attributes:
        message: the number of the message, counted from 1 over all connections and directions.
        forwarded: whether that message still arrives at the other side.
        times: cuts in all. After the first, each connection that comes to the same message of
            the same statement is cut there.
    """

    message: int
    forwarded: bool
    times: int = 1


class CuttingProxy:
    """Stands between clients without TLS and a server on loopback.

    Attributes:
        points: the messages that passed since `arm` was last called.
        cuts: the connections that were cut since then.
        again: where the first of them was cut.
    """

    def __init__(self, port: int) -> None:
        self._server_port = port
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._listener: asyncio.Server | None = None
        self._cut: Cut | None = None
        self.again: Point | None = None
        self.port = 0
        self.points: list[Point] = []
        self.cuts = 0

    def __enter__(self) -> Self:
        self._thread.start()
        asyncio.run_coroutine_threadsafe(self._listen(), self._loop).result(10)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        asyncio.run_coroutine_threadsafe(self._stop(), self._loop).result(10)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(10)
        self._loop.close()

    def url(self, url: str) -> str:
        """Give the URL of a database of the server as clients reach it through the proxy."""
        return url.replace(f":{self._server_port}/", f":{self.port}/") + "?sslmode=disable"

    def arm(self, cut: Cut | None) -> None:
        """Begin to count anew; `cut` is where to cut, or nothing."""

        async def begin() -> None:
            self._cut, self.again = cut, None
            self.points, self.cuts = [], 0

        asyncio.run_coroutine_threadsafe(begin(), self._loop).result(10)

    async def _listen(self) -> None:
        self._listener = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        self.port = self._listener.sockets[0].getsockname()[1]

    async def _stop(self) -> None:
        assert self._listener is not None
        self._listener.close()
        tasks = asyncio.all_tasks(self._loop) - {asyncio.current_task()}
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        server = await asyncio.open_connection("127.0.0.1", self._server_port)
        link = _Link()
        ways = [
            asyncio.create_task(self._carry(link, "client", reader, server[1])),
            asyncio.create_task(self._carry(link, "server", server[0], writer)),
        ]
        try:
            await asyncio.wait(ways, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for way in ways:
                way.cancel()
            # What was forwarded still arrives; nothing else does.
            server[1].close()
            writer.close()

    async def _carry(
        self, link: _Link, side: str, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        is_first = side == "client"
        while True:
            try:
                kind = b"" if is_first else await reader.readexactly(1)
                length = await reader.readexactly(4)
                body = await reader.readexactly(struct.unpack("!I", length)[0] - 4)
            except (asyncio.IncompleteReadError, ConnectionError):
                return
            is_first = False
            if side == "client":
                link.follow(kind, body)
            is_cut, arrives = self._decide((link.statement, side, kind.decode() or "startup"))
            if arrives:
                writer.write(kind + length + body)
            if is_cut:
                return

    def _decide(self, point: Point) -> tuple[bool, bool]:
        """Whether the connection is cut here, and whether the message arrives."""
        self.points.append(point)
        cut = self._cut
        if cut is None or self.cuts >= cut.times:
            return False, True
        if len(self.points) != cut.message and point != self.again:
            return False, True
        self.again = point
        self.cuts += 1
        return True, cut.forwarded


class _Link:
    """One connection: which statement is under way."""

    def __init__(self) -> None:
        self.statement = _BEGINNING
        self._prepared: dict[bytes, str] = {}

    def follow(self, kind: bytes, body: bytes) -> None:
        if kind == b"Q":
            self.statement = _text(body)
        elif kind == b"P":
            name, _, rest = body.partition(b"\0")
            self.statement = self._prepared[name] = _text(rest)
        elif kind == b"B":
            _, _, rest = body.partition(b"\0")
            self.statement = self._prepared.get(rest.partition(b"\0")[0], self.statement)


def _text(body: bytes) -> str:
    return " ".join(body.partition(b"\0")[0].decode().split())
