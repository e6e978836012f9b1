"""The questions of a node to people, and the calls that they approve."""

from __future__ import annotations

import threading
import time
from concurrent.futures import Future, wait
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, TypeAlias

from antiphon._node.calls import Call, perform
from antiphon._pause import scope_of
from antiphon._sync_async import Operation, Routine
from antiphon.errors import StateError

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Callable, Iterator

    from antiphon._antiphon import Context, Effect, Proposal

    _FindCall: TypeAlias = Callable[["Decided"], Effect | None]
    """Finds a call that was made, given the decision about it."""

Decided: TypeAlias = tuple[bool, Any | None, str | None]
"""Whether a call is approved, its arguments if they were changed, and the reason if it is not."""

_CURRENT: ContextVar[tuple[object, HumanInput] | None] = ContextVar("antiphon_input", default=None)
_WITHIN: ContextVar[tuple[Future[None], ...]] = ContextVar("antiphon_within", default=())
"""The enclosing calls."""
_NOWHERE = -1
"""The position of an answer that is not one of the node's."""
_MARGIN = 0.2
"""Seconds before its time-out in which a node that asks does not wait for other calls."""
_POLL = 0.05
"""Seconds between two looks at the time that is left."""


def ask(ctx: Context, question: Any) -> Any:
    """The next answer to a node's own questions; approvals have answers by call.

    Raises:
        Interrupted: there is none yet.
    """
    scope = scope_of(ctx)
    if scope is None:
        while _is_of_call(answer := ctx.ask(question)):
            pass
        return answer
    # Once the call is recorded, it does not ask again: its answers have separate ids.
    agent = scope.next_id()
    relayed = ctx.relayed(agent)
    if relayed is None:
        raise ctx.pause(question, agent)
    return relayed[0]


class HumanInput:
    """The questions and calls of a node, from its start to its end or pause."""

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
        """The one of the node that runs here; each node has its own context variables."""
        node = (ctx.run_id, ctx.path, ctx.step, ctx.attempt)
        present = _CURRENT.get()
        if present is not None and present[0] == node:
            return present[1]
        made = cls(ctx)
        _CURRENT.set((node, made))
        return made

    def decided(
        self, call: Call, proposal: Proposal, known: _FindCall
    ) -> Routine[tuple[Decided, Effect | None]]:
        """A person's decision about a call, and the call if it was made since.

        Args:
            call: the step that finds the decision; other calls may begin meanwhile.
            proposal: the proposed call.
            known: finds the call, given a decision.

        Raises:
            Interrupted: there is no decision yet.
            ToolError: it was approved, and its outcome is unknown (``unknown_outcome``).
        """
        made: list[Effect] = []

        def find(key: str) -> Routine[tuple[int, Decided]]:
            agent = self._asking_agent(key)
            if agent is None and self._since is None:
                self._begin((yield from perform(self._ctx, _SINCE, self._count_answers)))
            found = self._find(proposal, agent, known, made)
            if found is None:
                question = proposal.question
                # A task group would cancel the other calls; a thread settles as its node leaves.
                yield Operation(lambda: self._pause(question), lambda: self.settle_async(question))
                raise self._ctx.pause(question, agent)
            return found

        decided = self._known((yield from perform(self._ctx, call, find)))
        return decided, made[0] if made else None

    def settle(self, question: Any) -> None:
        """Waits for the calls under way, so that their results are recorded; then none begins.

        A node whose time is nearly over does not wait: its question would be lost.
        """
        while others := self._others_or_pause(question):
            wait(others, timeout=_POLL)

    async def settle_async(self, question: Any) -> None:
        """`settle`, awaited."""
        import asyncio

        # Calls beside the question may be about to begin.
        await asyncio.sleep(0)
        known: dict[Future[None], asyncio.Future[None]] = {}
        while others := self._others_or_pause(question):
            known |= {other: asyncio.wrap_future(other) for other in others.difference(known)}
            await asyncio.wait([known[other] for other in others], timeout=_POLL)

    @contextmanager
    def making(self) -> Iterator[None]:
        """A call, during which the node does not pause for a person.

        Raises:
            Interrupted: the node pauses already.
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

    def _count_answers(self, _key: str) -> Routine[int]:
        yield from ()
        return len(self._ctx.answers)

    def _pause(self, question: Any) -> None:
        self._paused = question

    def _begin(self, since: int) -> None:
        with self._lock:
            if self._since is None:
                self._since = since
                self._answers = self._ctx.answers

    def _asking_agent(self, key: str) -> str | None:
        """The id of a question about a call that is part of another one.

        Once that one is recorded, this call is not reached again, and its answer serves no other.
        """
        return None if scope_of(self._ctx) is None else key

    def _find(
        self, proposal: Proposal, agent: str | None, known: _FindCall, made: list[Effect]
    ) -> tuple[int, Decided] | None:
        if agent is None:
            return self._take(proposal) or self._take_made(proposal, known, made)
        relayed = self._ctx.relayed(agent)
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
        self, proposal: Proposal, known: _FindCall, made: list[Effect]
    ) -> tuple[int, Decided] | None:
        """The first answer before this attempt that led to this very call.

        A failed run forgets approvals, so that a person is asked again before a call
        is made again; but the result of a call that was made stays recorded.
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
        """The decision, whose answer is used up."""
        place, decided = found
        with self._lock:
            self._taken.add(place)
        return decided

    def _others_or_pause(self, question: Any) -> set[Future[None]]:
        """The calls under way that do not ask themselves; without any the node pauses."""
        deadline = self._ctx.deadline
        is_late = deadline is not None and time.time() > deadline - _MARGIN
        with self._lock:
            self._asking.update(_WITHIN.get())
            others = set() if is_late else self._open.difference(self._asking)
            if not others:
                self._paused = question
            return others


_SINCE = Call("step", "approvals", None, repeatable=True, is_inner=False, is_scope=False)
"""The number of answers when the attempt began; earlier approvals are used up."""


def _is_of_call(answer: Any) -> bool:
    """Whether an answer is a stored decision about a call."""
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
