"""The threads that configs name."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast
from uuid import UUID

from antiphon._graph_errors import GraphBuildError
from antiphon._thread_store import ThreadStore, check_durability, thread_name
from antiphon._validation import LARGEST_ID
from antiphon.errors import ValidationError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from antiphon._antiphon import Context, Saver, ThreadRef
    from antiphon._thread_store import Durability
    from antiphon.graph._plan import GraphPlan
    from antiphon.graph._runtime import RunnableConfig


@dataclass(frozen=True, slots=True)
class GraphThread:
    """A thread of a graph.

    Attributes:
        store: the store.
        name: the thread's name.
        checkpoint: one of its checkpoints; ``None`` for the last.
    """

    store: ThreadStore
    name: str
    checkpoint: int | None = None

    @classmethod
    def of(
        cls,
        store: tuple[Saver | None, GraphPlan],
        settings: Mapping[str, Any],
        durability: Any = None,
    ) -> GraphThread:
        """The thread that a config names.

        Raises:
            GraphBuildError: there is no store, the config names no thread, or the name of the
                thread or checkpoint is invalid.
        """
        saver, plan = store
        if saver is None:
            raise GraphBuildError(
                "the graph has no checkpointer",
                code="call_invalid",
                hint="compile it with `checkpointer=`",
            )
        configurable = settings["configurable"]
        thread = configurable.get("thread_id")
        if thread is None:
            raise GraphBuildError(
                "the config of a graph with a checkpointer needs a `thread_id`",
                code="call_invalid",
                hint='pass {"configurable": {"thread_id": ...}}',
            )
        checkpoint = _checkpoint(configurable.get("checkpoint_id"))
        kept = ThreadStore(saver, durability, plan.registry())
        return cls(kept, _thread(thread), checkpoint)

    def ref(self, as_node: str | None = None) -> ThreadRef:
        """The thread for the engine; `as_node` for an update in the name of a node."""
        return self.store.ref(self.name, self.checkpoint, as_node=as_node)


def without_checkpoint(settings: Mapping[str, Any]) -> RunnableConfig:
    """A config for the end of its thread."""
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
    if given is None or (is_id and 1 <= int(digits[:20]) <= LARGEST_ID):
        return None if given is None else int(digits)
    raise GraphBuildError(
        f"`checkpoint_id` is not one of antiphon's: {given!r}",
        code="call_invalid",
        hint="take it from the config of a snapshot",
    )


def thread_of(
    store: tuple[Saver | None, GraphPlan],
    settings: Mapping[str, Any],
    outer: Context | None,
    durability: Durability | None,
) -> GraphThread | None:
    """The thread of a run, if it has one.

    A graph that a node invokes is a part of that node: it has a separate thread only if its
    config names one.

    Raises:
        GraphBuildError: as `GraphThread.of`; or the durability is unknown.
    """
    if durability is not None:
        try:
            check_durability(durability, "call_invalid")
        except ValidationError as error:
            raise GraphBuildError(error.message, code="call_invalid") from None
    if store[0] is None:
        if durability is not None:
            warnings.warn(
                "`durability` has no effect in a graph without a checkpointer", stacklevel=4
            )
        return None
    around = None if outer is None else outer.run.kept_in
    if around is not None and str(settings["configurable"].get("thread_id", around)) == around:
        return None
    return GraphThread.of(store, settings, durability)
