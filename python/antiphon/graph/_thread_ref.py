"""Which thread of which store a call is about."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, cast
from uuid import UUID

from antiphon import _antiphon
from antiphon._graph_errors import GraphBuildError
from antiphon._thread_store import thread_name
from antiphon.errors import ValidationError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from antiphon._antiphon import Context, Saver
    from antiphon._serialization.registry import Registry
    from antiphon.graph._plan import Plan
    from antiphon.graph._runtime import RunnableConfig

__all__ = ["Durability", "ThreadRef", "thread_ref_of"]


_LARGEST = 2**63 - 1

Durability = Literal["sync", "async", "exit"]
"""When a superstep is durable. ``sync``: before the next begins. ``async``: while the next runs, in
order, and before the run ends or pauses; a process that is killed loses what is on its way then,
which is no more than about 1,024 commits or 16 MiB. ``exit``: only when the run ends, fails or
pauses.
"""


@dataclass(frozen=True, slots=True)
class ThreadRef:
    """A thread of a store.

    Attributes:
        saver: the store.
        thread: the thread's name.
        registry: which types it may hold.
        checkpoint: one of its checkpoints; none for the last.
    """

    saver: Saver
    thread: str
    registry: Registry
    checkpoint: int | None = None

    @classmethod
    def of(cls, kept: tuple[Saver | None, Plan], settings: Mapping[str, Any]) -> ThreadRef:
        """The thread that a config names.

        Args:
            kept: the store of the graph, and its plan.
            settings: the config.

        Raises:
            GraphBuildError: there is no store, the config names no thread, or no thread or
                checkpoint can be called so.
        """
        saver, plan = kept
        if saver is None:
            raise GraphBuildError(
                "the graph has no checkpointer", hint="compile it with one", code="call_invalid"
            )
        configurable = settings["configurable"]
        thread = configurable.get("thread_id")
        if thread is None:
            raise GraphBuildError(
                "the config of a graph with a checkpointer needs a thread_id: "
                f"{sorted(configurable)}",
                code="call_invalid",
                hint='pass {"configurable": {"thread_id": ...}}',
            )
        checkpoint = _checkpoint(configurable.get("checkpoint_id"))
        return cls(saver, _thread(thread), plan.registry(), checkpoint)

    def native(
        self, durability: Durability | None = None, as_node: str | None = None
    ) -> _antiphon.ThreadRef:
        """The same for the engine; `as_node` for a write in the name of a node."""
        return _antiphon.ThreadRef(
            self.saver,
            self.thread,
            registry=self.registry,
            checkpoint=self.checkpoint,
            durability=durability,
            as_node=as_node,
        )

    def at_its_end(self, settings: Mapping[str, Any]) -> RunnableConfig:
        """A config that leads to the end of the thread."""
        configurable = {**settings["configurable"]}
        configurable.pop("checkpoint_id", None)
        return cast("RunnableConfig", {**settings, "configurable": configurable})


def _thread(given: Any) -> str:
    """The name of a thread: a text, or a number or UUID in its usual form."""
    is_number = isinstance(given, int) and not isinstance(given, bool)
    try:
        return thread_name(str(given) if is_number or isinstance(given, UUID) else given)
    except ValidationError as error:
        raise GraphBuildError(error.message, code="thread_invalid", hint=error.hint) from None


def _checkpoint(given: Any) -> int | None:
    """The id of a checkpoint: a number, or its digits."""
    digits = str(given) if isinstance(given, int) and not isinstance(given, bool) else given
    is_id = isinstance(digits, str) and digits.isascii() and digits.isdigit()
    if given is None or (is_id and 1 <= int(digits[:20]) <= _LARGEST):
        return None if given is None else int(digits)
    raise GraphBuildError(
        f"`checkpoint_id` is not one of antiphon's: {given!r}",
        code="call_invalid",
        hint="take it from the config of a snapshot",
    )


def thread_ref_of(
    kept: tuple[Saver | None, Plan],
    settings: Mapping[str, Any],
    outer: Context | None,
    durability: Durability | None,
) -> ThreadRef | None:
    """Where a run is kept; none if it is not.

    A graph that a node invokes is a part of that node: it is only kept by itself if its config
    names another thread.

    Raises:
        GraphBuildError: as `ThreadRef.of`; or the durability is none.
    """
    if durability not in (None, "sync", "async", "exit"):
        raise GraphBuildError(
            f"`durability` is sync, async or exit, found: {durability}", code="call_invalid"
        )
    if kept[0] is None:
        if durability is not None:
            warnings.warn(
                "`durability` has no effect in a graph without a checkpointer", stacklevel=4
            )
        return None
    around = None if outer is None else outer.run.kept_in
    if around is not None and str(settings["configurable"].get("thread_id", around)) == around:
        return None
    return ThreadRef.of(kept, settings)
