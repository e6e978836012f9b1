"""The threads of a team or system: reading and updating them from outside of runs."""

from __future__ import annotations

from abc import ABC, abstractmethod
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from antiphon._keywords import CheckedKeywords
from antiphon._sync_async import Operation, Routine, async_method, sync_method, twin
from antiphon._thread_store import ThreadStore, fresh_name, thread_name
from antiphon._validation import LARGEST_ID, is_count
from antiphon.errors import ValidationError
from antiphon.result import Question

if TYPE_CHECKING:
    from antiphon._antiphon import Engine, NativeSystem, Saver, ThreadRef
    from antiphon._serialization.registry import Registry
    from antiphon.checkpoint import Checkpoint, Difference
    from antiphon.result import Outcome

START = "__start__"
"""The node before the first."""
_SOURCES: dict[str, Literal["input", "step", "update"]] = {"loop": "step"}
_PAGE = 16
"""Checkpoints that a history reads at once."""


class Threads(CheckedKeywords, ABC):
    """The threads of a team or system with a checkpointer.

    Each method has an async twin. All of them raise a `ValidationError` if there is no
    checkpointer (``thread_unkept``), or the name of the thread is invalid (``thread_invalid``): it
    is a text of up to 512 characters that is not blank.
    """

    _kind: ClassVar[str] = "team"
    """What messages call it."""
    _store: ThreadStore | None

    @property
    def checkpointer(self) -> Saver | None:
        """The store of the threads; ``None`` without one."""
        return None if self._store is None else self._store.saver

    @sync_method
    def state(self, thread: str, checkpoint: int | None = None) -> Routine[Checkpoint]:
        """The state of a thread, now or at a checkpoint.

        Args:
            thread: the thread's name.
            checkpoint: the id of a checkpoint; its later questions and outcome are in the
                `history`. Default: the current state, including writes of an open step.

        Returns:
            The checkpoint, with the state and the next agents.

        Raises:
            ValidationError: the thread is empty (``thread_empty``).
            StateError: it has no such checkpoint (``checkpoint_unknown``), or its contents are
                those of another team or system (``checkpoint_misfit``).

        Example:
            >>> from antiphon import Agent, Orchestrator
            >>> class Greeter(Agent):
            ...     def act(self, state, ctx):
            ...         return f"hello {ctx.ask('your name?')}"
            >>> team = Orchestrator([Greeter()], checkpointer="memory:")
            >>> paused = team.run("greet me", thread="t")
            >>> team.state("t").questions[0].value
            'your name?'
            >>> team.resume("t", "Ada").answer
            'hello Ada'
        """
        return (yield from self._load(thread, checkpoint))

    astate = async_method(state)

    @sync_method
    def history(self, thread: str, limit: int | None = None) -> Routine[list[Checkpoint]]:
        """The checkpoints that led to the current state of a thread, newest first.

        Args:
            thread: the thread's name.
            limit: no more than these. Default: all.

        Returns:
            The checkpoints; an empty list for an empty thread. The first equals `state`.

        Raises:
            StateError: its contents are those of another team or system
                (``checkpoint_misfit``).
        """
        store, thread = self._thread_store(), thread_name(thread)
        if limit is not None and not is_count(limit, LARGEST_ID):
            raise ValidationError(
                f"`limit` must be an integer of at least 1: {limit!r}", code="call_invalid"
            )
        history = self._engine.history(store.ref(thread), live=True)
        seen: list[Checkpoint] = []
        while limit is None or len(seen) < limit:
            most = _PAGE if limit is None else min(_PAGE, limit - len(seen))
            found = yield twin(history, "page", most)
            if not found:
                break
            seen += [self._view(shown, thread) for shown in found]
        return seen

    ahistory = async_method(history)

    @sync_method
    def update(
        self,
        thread: str,
        values: Any,
        as_agent: str | None = None,
        checkpoint: int | None = None,
    ) -> Routine[Checkpoint]:
        """Writes to a thread in the name of an agent. No agent runs; `resume` continues from there.

        Args:
            thread: the thread's name; a team's new thread starts with this update.
            values: the update, merged by the reducers of the keys: a dict; for a team also
                another record, or a text, which becomes the answer and a message.
            as_agent: the agent, or the node of a system; its successor runs next. Default: the
                one that wrote last; in a team's new thread the person, before the first agent.
            checkpoint: the id of a checkpoint to write after, in a new branch.
                Default: where the thread is now.

        Returns:
            The new checkpoint. Open questions are dropped.

        Raises:
            ValidationError: it is not clear who wrote last, or there is no such agent
                (``agent_unknown``); or the values do not fit (``input_invalid``).
            StateError: as `state`; or a run writes to the thread (``thread_busy``).
        """
        store, thread = self._thread_store(), thread_name(thread)
        seq = checkpoint_id(checkpoint)
        if as_agent is None:
            found = yield from self._newest(store, thread, seq)
            writer = self._writer(found)
        else:
            writer = self._known(as_agent)
        written = yield from self._write(store.ref(thread, seq, as_node=writer), values, writer)
        found = yield from self._newest(store, thread, written)
        return self._view(found[0], thread)

    aupdate = async_method(update)

    @sync_method
    def fork(
        self, thread: str, checkpoint: int | None = None, to: str | None = None
    ) -> Routine[str]:
        """Copies a thread with its history into a new, independent thread.

        A run that continues in the new thread has another id, so that tools do not mistake its
        calls for repeated ones.

        Args:
            thread: the thread's name.
            checkpoint: the id of the last checkpoint to copy. Default: all of it, including
                open questions.
            to: the new thread's name. Default: a random one.

        Returns:
            The new thread's name. Its checkpoints keep their ids.

        Raises:
            ValidationError: the thread is empty (``thread_empty``), or the new one exists
                (``thread_taken``).
            StateError: as `state`.
        """
        store, thread = self._thread_store(), thread_name(thread)
        target = fresh_name() if to is None else thread_name(to)
        ref = store.ref(thread, checkpoint_id(checkpoint))
        yield twin(ref, "fork", target, fresh_name())
        return target

    afork = async_method(fork)

    @sync_method
    def diff(self, thread: str, before: int, after: int | None = None) -> Routine[Difference]:
        """What changed in a thread from one checkpoint to another, key by key.

        Args:
            thread: the thread's name.
            before: the id of a checkpoint.
            after: the id of another. Default: the current state.

        Returns:
            The difference; it is false if nothing changed.

        Raises:
            ValidationError: as `state`.
            StateError: as `state`.
        """
        from antiphon.checkpoint import Difference

        one = yield from self._load(thread, before)
        two = yield from self._load(thread, after)
        return Difference.between(one, two, self._registry())

    adiff = async_method(diff)

    @sync_method
    def orphans(self) -> Routine[list[str]]:
        """The threads whose last run was lost: it neither ended nor paused, and has no driver.

        A dead process of the same machine is detected at once (on Linux), one of another machine
        after 30 seconds.

        Returns:
            Their names, sorted; only threads whose last run belongs to a team with this name and
            these agents. `recover` resumes them.

        Raises:
            StateError: the store cannot be read.
        """
        found: list[str] = yield twin(self._engine, "orphans", self._thread_store().ref(""))
        return found

    aorphans = async_method(orphans)

    def _check_idle(self, thread: str) -> Operation:
        """Raises `StateError` (``thread_busy``) while a run writes to the thread."""
        return twin(self._thread_store().ref(thread), "check_idle")

    def _load(self, thread: str, checkpoint: int | None) -> Routine[Checkpoint]:
        store, thread = self._thread_store(), thread_name(thread)
        found = yield from self._newest(store, thread, checkpoint_id(checkpoint))
        if not found:
            raise ValidationError(
                f"the thread is empty: {thread}",
                code="thread_empty",
                details={"thread": thread},
                hint=f"begin with a question: `{self._kind}.run(question, thread=...)`",
            )
        return self._view(found[0], thread)

    def _newest(
        self, store: ThreadStore, thread: str, checkpoint: int | None
    ) -> Routine[list[dict[str, Any]]]:
        """The newest checkpoint, or the named one, as the engine shows it."""
        ref = store.ref(thread, checkpoint)
        history = self._engine.history(ref, live=checkpoint is None)
        found: list[dict[str, Any]] = yield twin(history, "page", 1)
        return found

    def _view(self, shown: dict[str, Any], thread: str) -> Checkpoint:
        """A checkpoint as the engine shows it."""
        # Most teams have no threads.
        from antiphon.checkpoint import Checkpoint

        outcome: Outcome | None
        outcome, reason = "paused", ""
        if not shown["paused"]:
            outcome, reason = (None, "") if shown["outcome"] is None else self._outcome_of(shown)
        asked = (question for task in shown["tasks"] for question in task["interrupts"])
        return Checkpoint(
            id=shown["checkpoint"],
            thread=thread,
            parent=shown["parent"],
            step=shown["step"],
            at=datetime.fromtimestamp(shown["at"], UTC),
            source=_SOURCES.get(shown["source"], shown["source"]),
            wrote=tuple(name for name in shown["wrote"] if name != START),
            next=shown["next"],
            state=self._state(shown["values"]),
            questions=tuple(Question(key, path[-1], value) for key, path, value in asked),
            outcome=outcome,
            reason=reason,
            run_id=shown["run_id"] or "",
        )

    @property
    def _maker(self) -> str:
        """The class whose option is the checkpointer."""
        return type(self).__name__

    def _thread_store(self) -> ThreadStore:
        if self._store is None:
            raise ValidationError(
                f"the {self._kind} has no checkpointer, so it has no threads: {self!r}",
                code="thread_unkept",
                hint=f'give it one: `{self._maker}(..., checkpointer="sqlite:runs.db")`',
            )
        return self._store

    @property
    @abstractmethod
    def _engine(self) -> Engine | NativeSystem:
        """What reads the threads."""

    @abstractmethod
    def _registry(self) -> Registry:
        """The types of stored values."""

    @abstractmethod
    def _state(self, values: dict[str, Any]) -> Any:
        """The values of a checkpoint, as users see the state."""

    @abstractmethod
    def _outcome_of(self, shown: dict[str, Any]) -> tuple[Outcome, str]:
        """The outcome and reason of a run that ended at a checkpoint."""

    @abstractmethod
    def _write(self, ref: ThreadRef, values: Any, writer: str) -> Routine[int]:
        """Merges values in the name of a writer; the new checkpoint."""

    def _known(self, agent: Any) -> str:
        known = self._engine.nodes
        if agent in known:
            return str(agent)
        raise ValidationError(
            f"`as_agent` names an agent that is not in the {self._kind}: {agent}",
            code="agent_unknown",
            details={"name": str(agent), "known": known},
            hint=f"its agents are {', '.join(known)}",
        )

    def _writer(self, found: list[dict[str, Any]]) -> str:
        """The agent that wrote last."""
        known = self._engine.nodes
        wrote = {*found[0]["wrote"]} if found else {START}
        if len(wrote) == 1:
            return str(wrote.pop())
        if len(known) == 1:
            return known[0]
        raise ValidationError(
            f"an update needs `as_agent`, because several agents or none wrote last: "
            f"{', '.join(sorted(wrote)) or 'the caller'}",
            code="agent_unknown",
            details={"known": known},
            hint=f"name one of {', '.join(known)}",
        )


def checkpoint_id(given: Any) -> int | None:
    """The id of a checkpoint, validated; ``None`` for the end of the thread.

    Raises:
        ValidationError: it is no id (``call_invalid``).
    """
    if given is None or is_count(given, LARGEST_ID):
        return given
    raise ValidationError(
        f"a checkpoint id must be an integer of at least 1: {given!r}",
        code="call_invalid",
        hint="take it from `history(thread)`",
    )
