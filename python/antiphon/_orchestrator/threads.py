"""A team's threads: reading and updating them from outside of runs, and finding lost runs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from antiphon._orchestrator.flow import START
from antiphon._orchestrator.steps import Call, Steps, awalk, walk
from antiphon._orchestrator.updates import edit
from antiphon._thread_store import ThreadStore, fresh_name, thread_name
from antiphon._validation import LARGEST_ID, is_count
from antiphon.errors import StateError, ValidationError

if TYPE_CHECKING:
    from antiphon._antiphon import Saver
    from antiphon._orchestrator.assemble import Assembled
    from antiphon.checkpoint import Checkpoint, Difference

_PAGE = 16
"""Checkpoints that a history reads at once."""


class Threads:
    """The threads of a team with a checkpointer.

    Each method has an async twin. All of them raise a `ValidationError` if the team has no
    checkpointer (``thread_unkept``), or the name of the thread is invalid (``thread_invalid``): it
    is a text of up to 512 characters that is not blank.
    """

    _built: Assembled
    _store: ThreadStore | None

    @property
    def checkpointer(self) -> Saver | None:
        """The store of the team's threads; ``None`` without one."""
        return None if self._store is None else self._store.saver

    def state(self, thread: str, checkpoint: int | None = None) -> Checkpoint:
        """The state of a thread, now or at a checkpoint.

        Args:
            thread: the thread's name.
            checkpoint: the id of a checkpoint; its later questions and outcome are in the
                `history`. Default: the current state, including writes of an open step.

        Returns:
            The checkpoint, with the state and the next agents.

        Raises:
            ValidationError: the thread is empty (``thread_empty``).
            StateError: it has no such checkpoint (``checkpoint_unknown``), or its contents do
                not fit the team (``checkpoint_misfit``).

        Example:
            >>> from antiphon import Agent, Orchestrator
            >>> class Greeter(Agent):
            ...     def run(self, state, ctx):
            ...         return f"hello {ctx.ask('your name?')}"
            >>> team = Orchestrator([Greeter()], checkpointer="memory:")
            >>> paused = team.run("greet me", thread="t")
            >>> team.state("t").questions[0].value
            'your name?'
            >>> team.resume("t", "Ada").answer
            'hello Ada'
        """
        return walk(self._built.engine, self._reading(thread, checkpoint))

    async def astate(self, thread: str, checkpoint: int | None = None) -> Checkpoint:
        """`state` on the caller's event loop."""
        return await awalk(self._built.engine, self._reading(thread, checkpoint))

    def history(self, thread: str, limit: int | None = None) -> list[Checkpoint]:
        """The checkpoints that led to the current state of a thread, newest first.

        Args:
            thread: the thread's name.
            limit: no more than these. Default: all.

        Returns:
            The checkpoints; an empty list for an empty thread. The first equals `state`.

        Raises:
            StateError: its contents do not fit the team (``checkpoint_misfit``).
        """
        return walk(self._built.engine, self._looking_back(thread, limit))

    async def ahistory(self, thread: str, limit: int | None = None) -> list[Checkpoint]:
        """`history` on the caller's event loop."""
        return await awalk(self._built.engine, self._looking_back(thread, limit))

    def update(
        self,
        thread: str,
        values: Any,
        as_agent: str | None = None,
        checkpoint: int | None = None,
    ) -> Checkpoint:
        """Writes to a thread in the name of an agent. No agent runs; `resume` continues from there.

        Args:
            thread: the thread's name; a new thread starts with this update.
            values: the update, merged by the reducers of the keys: a dict or another record; or
                a text, which becomes the answer and a message.
            as_agent: the agent; its successor runs next. Default: the one that wrote last; in a
                new thread the person, before the first agent.
            checkpoint: the id of a checkpoint to write after, in a branch of its own.
                Default: where the thread is now.

        Returns:
            The new checkpoint. Open questions are dropped.

        Raises:
            ValidationError: it is not clear who wrote last, or there is no such agent
                (``agent_unknown``); or the values do not fit (``input_invalid``).
            StateError: as `state`; or a run writes to the thread (``thread_busy``).
        """
        steps = self._writing(thread, values, as_agent, checkpoint)
        return walk(self._built.engine, steps)

    async def aupdate(
        self,
        thread: str,
        values: Any,
        as_agent: str | None = None,
        checkpoint: int | None = None,
    ) -> Checkpoint:
        """`update` on the caller's event loop."""
        steps = self._writing(thread, values, as_agent, checkpoint)
        return await awalk(self._built.engine, steps)

    def fork(self, thread: str, checkpoint: int | None = None, to: str | None = None) -> str:
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
        return walk(self._built.engine, self._forking(thread, checkpoint, to))

    async def afork(self, thread: str, checkpoint: int | None = None, to: str | None = None) -> str:
        """`fork` on the caller's event loop."""
        return await awalk(self._built.engine, self._forking(thread, checkpoint, to))

    def diff(self, thread: str, before: int, after: int | None = None) -> Difference:
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
        return walk(self._built.engine, self._comparing(thread, before, after))

    async def adiff(self, thread: str, before: int, after: int | None = None) -> Difference:
        """`diff` on the caller's event loop."""
        return await awalk(self._built.engine, self._comparing(thread, before, after))

    def orphans(self) -> list[str]:
        """The threads whose last run was lost: it neither ended nor paused, and has no driver.

        A dead process of the same machine is detected at once (on Linux), one of another machine
        after 30 seconds.

        Returns:
            Their names, sorted; only threads whose last run belongs to a team with this name and
            these agents. `recover` resumes them.

        Raises:
            StateError: the store cannot be read.
        """
        store = self._thread_store()
        return walk(self._built.engine, self._seeking(store))

    async def aorphans(self) -> list[str]:
        """`orphans` on the caller's event loop."""
        store = self._thread_store()
        return await awalk(self._built.engine, self._seeking(store))

    def _reading(self, thread: str, checkpoint: int | None) -> Steps[Checkpoint]:
        store, thread = self._thread_store(), thread_name(thread)
        found = yield from self._look(store, thread, checkpoint_id(checkpoint))
        if not found:
            raise empty(thread)
        return self._pictured(found[0], thread)

    def _looking_back(self, thread: str, limit: Any) -> Steps[list[Checkpoint]]:
        store, thread = self._thread_store(), thread_name(thread)
        if limit is not None and not is_count(limit, LARGEST_ID):
            raise ValidationError(
                f"`limit` must be a whole number of at least 1: {limit!r}", code="call_invalid"
            )
        history = self._built.engine.history(store.ref(thread), live=True)
        seen: list[Checkpoint] = []
        while limit is None or len(seen) < limit:
            most = _PAGE if limit is None else min(_PAGE, limit - len(seen))
            found = yield Call("page", (most,), of=history)
            if not found:
                break
            seen += [self._pictured(shown, thread) for shown in found]
        return seen

    def _writing(
        self, thread: str, values: Any, as_agent: str | None, checkpoint: int | None
    ) -> Steps[Checkpoint]:
        store, thread = self._thread_store(), thread_name(thread)
        seq = checkpoint_id(checkpoint)
        if as_agent is None:
            found = yield from self._look(store, thread, seq)
            writer = self._writer(found)
        else:
            writer = self._known(as_agent)
        place = store.ref(thread, seq, as_node=writer)
        written = edit(values, self._built.state, None if writer == START else writer)
        try:
            run = self._built.engine.start(written, place=place)
        except StateError as error:
            raise ValidationError(error.message, code="input_invalid", hint=error.hint) from error
        yield run
        found = yield from self._look(store, thread, run.checkpoint)
        return self._pictured(found[0], thread)

    def _forking(self, thread: str, checkpoint: int | None, to: str | None) -> Steps[str]:
        store, thread = self._thread_store(), thread_name(thread)
        target = fresh_name() if to is None else thread_name(to)
        place = store.ref(thread, checkpoint_id(checkpoint))
        yield Call("fork", (target, fresh_name()), of=place)
        return target

    def _comparing(self, thread: str, before: int, after: int | None) -> Steps[Difference]:
        from antiphon._orchestrator.checkpoint_view import difference

        one = yield from self._reading(thread, before)
        two = yield from self._reading(thread, after)
        return difference(one, two, self._built.registry())

    def _seeking(self, store: ThreadStore) -> Steps[list[str]]:
        found: list[str] = yield Call("orphans", (store.ref(""),))
        return found

    def _look(
        self, store: ThreadStore, thread: str, checkpoint: int | None
    ) -> Steps[list[dict[str, Any]]]:
        """The newest checkpoint, or the one that is named, as the engine shows it."""
        place = store.ref(thread, checkpoint)
        history = self._built.engine.history(place, live=checkpoint is None)
        found: list[dict[str, Any]] = yield Call("page", (1,), of=history)
        return found

    def _thread_store(self) -> ThreadStore:
        if self._store is None:
            raise ValidationError(
                f"the team keeps no threads, it has no checkpointer: {self!r}",
                code="thread_unkept",
                hint='give it one: `Orchestrator(..., checkpointer="sqlite:runs.db")`',
            )
        return self._store

    def _pictured(self, shown: dict[str, Any], thread: str) -> Checkpoint:
        # Most teams have no threads.
        from antiphon._orchestrator.checkpoint_view import as_checkpoint

        return as_checkpoint(shown, thread, self._built.state)

    def _agents(self) -> list[str]:
        """Everyone who can write, a router included."""
        return self._built.engine.nodes

    def _known(self, agent: Any) -> str:
        known = self._agents()
        if agent in known:
            return str(agent)
        raise ValidationError(
            f"`as_agent` names an agent that is not in the team: {agent}",
            code="agent_unknown",
            details={"name": str(agent), "known": known},
            hint=f"its agents are {', '.join(known)}",
        )

    def _writer(self, found: list[dict[str, Any]]) -> str:
        """Who wrote last."""
        known = self._agents()
        wrote = {*found[0]["wrote"]} if found else {START}
        if len(wrote) == 1:
            return str(wrote.pop())
        if len(known) == 1:
            return known[0]
        raise ValidationError(
            f"an update needs `as_agent`, because it is not clear who wrote last: "
            f"{', '.join(sorted(wrote)) or 'somebody outside'}",
            code="agent_unknown",
            details={"known": known},
            hint=f"name one of {', '.join(known)}",
        )


def checkpoint_id(given: Any) -> int | None:
    """The id of a checkpoint, checked; none for the end of a thread.

    Raises:
        ValidationError: it is no id (``call_invalid``).
    """
    if given is None or is_count(given, LARGEST_ID):
        return given
    raise ValidationError(
        f"a checkpoint is named by its id, a whole number of at least 1: {given!r}",
        code="call_invalid",
        hint="take it from `team.history(thread)`",
    )


def empty(thread: str) -> ValidationError:
    """The failure of whoever wants something of a thread that holds nothing."""
    return ValidationError(
        f"the thread holds nothing to go on from: {thread}",
        code="thread_empty",
        details={"thread": thread},
        hint="begin with a question: `team.run(question, thread=...)`",
    )
