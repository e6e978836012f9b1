"""What a node asks people while it runs, and which calls they approve."""

from __future__ import annotations

import threading
import time
from concurrent.futures import Future, wait
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, TypeAlias

from antiphon._node.calls import Call, perform, perform_async
from antiphon._pause import scope_of
from antiphon.errors import StateError

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Callable, Iterator

    from antiphon._antiphon import Context, Effect, Proposal

    _LookUp: TypeAlias = Callable[["Decided"], Effect | None]
    """Finds a call that is known, by what was decided about it."""

__all__ = ["Decided", "HumanInput", "ask"]


Decided: TypeAlias = tuple[bool, Any | None, str | None]
"""Whether a call is made, with which arguments if not its own, and why not."""

_PRESENT: ContextVar[tuple[object, HumanInput] | None] = ContextVar("antiphon_round", default=None)
_WITHIN: ContextVar[tuple[Future[None], ...]] = ContextVar("antiphon_within", default=())
"""The calls that whatever runs here is part of."""
_NOWHERE = -1
"""The place of an answer that is not among those of the node."""
_HASTE = 0.2
"""Seconds before its time-out in which a node that asks waits for nothing else."""
_BEAT = 0.05
"""Seconds after which a node that waits looks how much time is left."""


def ask(ctx: Context, question: Any) -> Any:
    """The next answer to a node's own questions; those to approvals go by their call.

    Raises:
        Interrupted: there is none yet.
    """
    scope = scope_of(ctx)
    if scope is None:
        while _is_of_call(answer := ctx.ask(question)):
            pass
        return answer
    # Once the call is known, nobody asks within it: its answers go by ids of their own.
    asker = scope.next_id()
    relayed = ctx.relayed(asker)
    if relayed is None:
        raise ctx.pause(question, asker)
    return relayed[0]


class HumanInput:
    """What a node asks and calls from where it begins to where it ends or pauses.

    Args:
        ctx: of the node.
    """

    __slots__ = ("_answers", "_asking", "_ctx", "_lock", "_open", "_paused", "_since", "_taken")

    def __init__(self, ctx: Context) -> None:
        self._ctx = ctx
        self._lock = threading.Lock()
        self._answers: list[Any] = []
        self._since: int | None = None
        self._taken: set[int] = set()
        self._open: set[Future[None]] = set()
        self._asking: set[Future[None]] = set()
        self._paused: Any = None

    @classmethod
    def of(cls, ctx: Context) -> HumanInput:
        """The one of the node that runs here; a node has variables of its own."""
        node = (ctx.run_id, ctx.path, ctx.step, ctx.attempt)
        present = _PRESENT.get()
        if present is not None and present[0] == node:
            return present[1]
        made = cls(ctx)
        _PRESENT.set((node, made))
        return made

    def decided(
        self, call: Call, proposal: Proposal, known: _LookUp
    ) -> tuple[Decided, Effect | None]:
        """What a person has decided about a call, and the call if it was made since.

        Args:
            call: the step that finds it out: other calls that begin meanwhile stand beside it.
            proposal: what is to be called.
            known: looks the call up as it was decided.

        Raises:
            Interrupted: nobody has decided yet.
            ToolError: it was decided, and nobody knows what came of the call
                (``unknown_outcome``).
        """
        made: list[Effect] = []

        def find(key: str) -> tuple[int, Decided]:
            asker = self._asker(key)
            if asker is None and self._since is None:
                self._begin(perform(self._ctx, _SINCE, lambda _key: len(self._ctx.answers)))
            found = self._find(proposal, asker, known, made)
            if found is None:
                self._paused = proposal.question
                raise self._ctx.pause(proposal.question, asker)
            return found

        decided = self._known(perform(self._ctx, call, find))
        return decided, made[0] if made else None

    async def decided_async(
        self, call: Call, proposal: Proposal, known: _LookUp
    ) -> tuple[Decided, Effect | None]:
        """`decided`; where it is to be asked, calls that are under way end before the pause."""
        made: list[Effect] = []

        async def count(_key: str) -> int:
            return len(self._ctx.answers)

        async def find(key: str) -> tuple[int, Decided]:
            asker = self._asker(key)
            if asker is None and self._since is None:
                self._begin(await perform_async(self._ctx, _SINCE, count))
            found = self._find(proposal, asker, known, made)
            if found is not None:
                return found
            await self.settle_async(proposal.question)
            raise self._ctx.pause(proposal.question, asker)

        decided = self._known(await perform_async(self._ctx, call, find))
        return decided, made[0] if made else None

    def settle(self, question: Any) -> None:
        """Waits for the calls under way, so that what came of them is known; none begins then.

        A node whose time is nearly over does not wait: its question would be lost.

        Args:
            question: what the node pauses for.
        """
        while others := self._others_or_pause(question):
            wait(others, timeout=_BEAT)

    async def settle_async(self, question: Any) -> None:
        """`settle`, awaited."""
        import asyncio

        # What stands beside the question may be about to begin.
        await asyncio.sleep(0)
        known: dict[Future[None], asyncio.Future[None]] = {}
        while others := self._others_or_pause(question):
            known |= {other: asyncio.wrap_future(other) for other in others.difference(known)}
            await asyncio.wait([known[other] for other in others], timeout=_BEAT)

    @contextmanager
    def making(self) -> Iterator[None]:
        """Around a call: the node does not pause for a person meanwhile.

        Raises:
            Interrupted: it pauses already.
        """
        done: Future[None] = Future()
        with self._lock:
            if self._paused is not None:
                raise self._ctx.pause(self._paused)
            self._open.add(done)
        within = _WITHIN.set((*_WITHIN.get(), done))
        try:
            yield
        finally:
            with self._lock:
                self._open.discard(done)
            done.set_result(None)
            # A node that is closed from outside ends among other variables.
            with suppress(ValueError):
                _WITHIN.reset(within)

    def _begin(self, since: int) -> None:
        with self._lock:
            if self._since is None:
                self._since = since
                self._answers = self._ctx.answers

    def _asker(self, key: str) -> str | None:
        """The id of a question about a call that is part of another one.

        Once that one is known, nobody comes to this call, and its answer is for no other.
        """
        return None if scope_of(self._ctx) is None else key

    def _find(
        self, proposal: Proposal, asker: str | None, known: _LookUp, made: list[Effect]
    ) -> tuple[int, Decided] | None:
        if asker is None:
            return self._take(proposal) or self._take_made(proposal, known, made)
        relayed = self._ctx.relayed(asker)
        decided = None if relayed is None else _recalled(proposal, relayed[0])
        return None if decided is None else (_NOWHERE, decided)

    def _take(self, proposal: Proposal) -> tuple[int, Decided] | None:
        """The first answer about this very call that this attempt got and has not used."""
        with self._lock:
            found = next(self._unused(proposal, self._since or 0, None), None)
            if found is not None:
                self._taken.add(found[0])
        return found

    def _take_made(
        self, proposal: Proposal, known: _LookUp, made: list[Effect]
    ) -> tuple[int, Decided] | None:
        """The first answer before this attempt upon which this very call was made.

        A failed run forgets who approved of what, so that a person is asked again before a call
        is made again; but what came of a call that was made stays known.
        """
        # An attempt after a failed one knows nothing of its calls; a failed run counts anew.
        if self._ctx.attempt > 1:
            return None
        with self._lock:
            past = list(self._unused(proposal, 0, self._since))
        for place, decided in past:
            found = known(decided)
            if found is not None:
                made.append(found)
                with self._lock:
                    self._taken.add(place)
                return place, decided
        return None

    def _unused(
        self, proposal: Proposal, first: int, end: int | None
    ) -> Iterator[tuple[int, Decided]]:
        """The answers about this very call that are not used, and their places."""
        for place, answer in enumerate(self._answers[first:end], first):
            if place not in self._taken and _is_of_call(answer):
                found = _recalled(proposal, answer)
                if found is not None:
                    yield place, found

    def _known(self, found: tuple[int, Decided]) -> Decided:
        """What was decided, now or before the node began again: that answer is used."""
        place, decided = found
        with self._lock:
            self._taken.add(place)
        return decided

    def _others_or_pause(self, question: Any) -> set[Future[None]]:
        """The calls under way that do not ask themselves; without any the node pauses."""
        deadline = self._ctx.deadline
        is_late = deadline is not None and time.time() > deadline - _HASTE
        with self._lock:
            self._asking.update(_WITHIN.get())
            others = set() if is_late else self._open.difference(self._asking)
            if not others:
                self._paused = question
            return others


_SINCE = Call("step", "approvals", None, repeatable=True, is_inner=False, is_scope=False)
"""How many answers there were when the attempt began: what was approved before is done with."""


def _is_of_call(answer: Any) -> bool:
    """Whether an answer is what was decided about a call, as a run keeps it."""
    if not isinstance(answer, dict) or not isinstance(answer.get("approve"), bool):
        return False
    call = answer.get("of")
    return isinstance(call, dict) and call.keys() == {"tool", "arguments"}


def _recalled(proposal: Proposal, answer: Any) -> Decided | None:
    try:
        return proposal.recall(answer)
    except StateError as error:
        if error.code != "replay_diverged":
            raise
        return None
