"""Many questions at a time, with a progress bar for whoever watches."""

from __future__ import annotations

import asyncio
import sys
import time
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextvars import copy_context
from typing import TYPE_CHECKING, Any, Protocol, Self, TypeVar

from antiphon._pause import asks

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence


_WIDTH = 30
_PAUSE = 0.1
"""Seconds between two drawings."""


class Progress:
    """Counts what is done of a known number; shows it if somebody watches.

    Args:
        total: how much there is.
        label: what is counted.
    """

    def __init__(self, total: int, label: str) -> None:
        self._total = total
        self._label = label
        self._done = self._failed = 0
        self._begun = time.monotonic()
        self._drawn = 0.0
        self._show = _notebook() or _terminal()

    def __enter__(self) -> Self:
        self._draw(force=True)
        return self

    def __exit__(self, *exc: object) -> None:
        self._draw(force=True, last=True)

    def advance(self, *, failed: bool) -> None:
        """One more is done."""
        self._done += 1
        self._failed += failed
        self._draw()

    def line(self) -> str:
        """The bar as text."""
        share = self._done / self._total if self._total else 1.0
        filled = round(share * _WIDTH)
        seconds = int(time.monotonic() - self._begun)
        bar = "█" * filled + "░" * (_WIDTH - filled)
        failed = f", {self._failed} failed" if self._failed else ""
        clock = f"{seconds // 60:02d}:{seconds % 60:02d}"
        return f"{self._label} {bar} {self._done}/{self._total}{failed} {clock}"

    def _draw(self, *, force: bool = False, last: bool = False) -> None:
        now = time.monotonic()
        if self._show is None or (not force and now - self._drawn < _PAUSE):
            return
        self._drawn = now
        self._show(self.line(), last)


def _terminal() -> Callable[[str, bool], None] | None:
    stream: Any = sys.stderr
    if stream is None or not stream.isatty():
        return None

    def show(line: str, last: bool) -> None:  # noqa: FBT001 - called by position
        stream.write(f"\r\x1b[K{line}" + ("\n" if last else ""))
        stream.flush()

    return show


def _notebook() -> Callable[[str, bool], None] | None:
    """Shows in the cell's output; none outside of a notebook's kernel."""
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython is not None else None
    if shell is None or not hasattr(shell, "kernel"):
        return None
    from IPython import display as output  # type: ignore[import-not-found, unused-ignore]

    display: Any = output.display

    handle: Any = None

    def show(line: str, last: bool) -> None:  # noqa: FBT001 - called by position
        nonlocal handle
        del last
        bundle = {"text/plain": line}
        if handle is None:
            handle = display(bundle, raw=True, display_id=True)
        else:
            handle.update(bundle, raw=True)

    return show


class Ended(Protocol):
    """Whatever says how it ended."""

    @property
    def outcome(self) -> str:
        """How."""


class Begun(Protocol):
    """What is under way."""

    @property
    def outcome(self) -> str:
        """``running`` as long as it is."""

    def cancel(self, reason: str) -> object:
        """Stops it."""


_R = TypeVar("_R", bound=Ended)


def batch(
    inputs: Sequence[Any],
    one: Callable[[Any, Callable[[Begun], None]], _R],
    *,
    concurrency: int,
    label: str,
) -> list[_R]:
    """Runs `one` for each input, in threads; an exception of any ends them all.

    Args:
        inputs: the inputs.
        one: runs an input; it passes what is under way on as soon as it has begun.
        concurrency: how many run at a time.
        label: what the progress bar says.

    Returns:
        The results, in the order of the inputs.
    """
    begun: list[Begun] = []
    with Progress(len(inputs), label) as progress:
        pool = ThreadPoolExecutor(max(1, min(concurrency, len(inputs))), "antiphon-batch")
        try:
            futures = [
                pool.submit(copy_context().run, one, given, begun.append) for given in inputs
            ]
            for future in as_completed(futures):
                progress.advance(failed=future.result().outcome == "error")
        except BaseException as error:
            # What runs beside a question ends first; beside a failure it is cancelled.
            asked = asks(error)
            pool.shutdown(wait=asked, cancel_futures=True)
            for run in () if asked else begun:
                if run.outcome == "running":
                    run.cancel("the batch was given up")
            raise
        pool.shutdown()
        return [future.result() for future in futures]


async def abatch(
    inputs: Sequence[Any],
    one: Callable[[Any], Awaitable[_R]],
    *,
    concurrency: int,
    label: str,
) -> list[_R]:
    """`batch` on the caller's event loop."""
    gate = asyncio.Semaphore(concurrency)
    with Progress(len(inputs), label) as progress:

        async def gated(given: Any) -> _R:
            async with gate:
                result = await one(given)
            progress.advance(failed=result.outcome == "error")
            return result

        tasks = [asyncio.ensure_future(gated(given)) for given in inputs]
        try:
            return list(await asyncio.gather(*tasks))
        except BaseException as error:
            for task in () if asks(error) else tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            raise
