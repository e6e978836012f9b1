"""Where a team keeps its threads."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, get_args

from antiphon._antiphon import Place
from antiphon._saver import saver_of
from antiphon.errors import AntiphonError, ValidationError

if TYPE_CHECKING:
    from antiphon._antiphon import Saver
    from antiphon.checkpoint._registry import Registry
    from antiphon.graph import Durability

_LARGEST = 2**63 - 1


@dataclass(frozen=True, slots=True)
class Home:
    """Where a team keeps its threads.

    Attributes:
        saver: the store.
        registry: which types it may hold.
        durability: when a step is durable.
    """

    saver: Saver
    registry: Registry
    durability: Durability

    @classmethod
    def of(cls, checkpointer: Any, durability: Any, schemas: tuple[Any, ...]) -> Home | None:
        """The home that a team was given; none if it has none.

        Raises:
            ValidationError: the checkpointer is neither a saver nor the URL of one, or the
                durability is unknown, or means nothing without a checkpointer
                (``team_invalid``).
        """
        from antiphon.graph._place import Durability as Known

        if durability not in get_args(Known):
            raise ValidationError(
                f"`durability` is sync, async or exit, found: {durability!r}", code="team_invalid"
            )
        try:
            saver = saver_of(checkpointer)
        except (TypeError, ValueError) as error:
            if isinstance(error, AntiphonError):
                raise
            raise ValidationError(str(error), code="team_invalid") from None
        if saver is None:
            if durability != "async":
                raise ValidationError(
                    f"`durability` means nothing without a `checkpointer`: {durability}",
                    code="team_invalid",
                    hint='add one: `checkpointer="sqlite:runs.db"`',
                )
            return None
        return cls(saver, registry_of(schemas), durability)

    def place(
        self, thread: str, checkpoint: int | None = None, *, as_node: str | None = None
    ) -> Place:
        """A thread, or one of its checkpoints; `as_node` for a write in somebody's name."""
        return Place(
            self.saver,
            thread,
            registry=self.registry,
            checkpoint=checkpoint,
            durability=self.durability if as_node is None else "sync",
            as_node=as_node,
        )


def registry_of(schemas: tuple[Any, ...]) -> Registry:
    """Which types the threads of a team may hold."""
    # Most teams have no threads.
    from antiphon.checkpoint._registry import registry_for

    return registry_for(*schemas)


def checkpoint_id(given: Any) -> int | None:
    """The id of a checkpoint, checked; none for the end of a thread.

    Raises:
        ValidationError: it is no id (``call_invalid``).
    """
    is_number = isinstance(given, int) and not isinstance(given, bool)
    if given is None or (is_number and 1 <= given <= _LARGEST):
        return given  # type: ignore[no-any-return]
    raise ValidationError(
        f"a checkpoint is named by its id, a whole number of at least 1: {given!r}",
        code="call_invalid",
        hint="take it from `team.history(thread)`",
    )
