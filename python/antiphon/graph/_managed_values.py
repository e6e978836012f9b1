"""Keys of a state that the graph computes for each node: the supersteps that are left."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, NotRequired

from antiphon._messages import MessagesState
from antiphon.graph._action import Action

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from antiphon._antiphon import Context


class RemainingStepsManager:
    """Marks a key that holds the supersteps that are left after this one."""


class IsLastStepManager:
    """Marks a key that says whether this is the last superstep before the limit."""


RemainingSteps = Annotated[int, RemainingStepsManager]
"""The type of a key that holds the supersteps that are left after this one.

They count against the ``recursion_limit``, together with those of graphs that are nodes.
"""

IsLastStep = Annotated[bool, IsLastStepManager]
"""The type of a key that says whether one superstep is left, in which the run must end."""


class AgentState(MessagesState):
    """The state of `create_react_agent`; inherit from it to add keys."""

    remaining_steps: NotRequired[RemainingSteps]


class _State(dict[str, Any]):
    """The state on its way to a node, which tells it from the payload of a `Send`."""

    __slots__ = ()


def steps_left(ctx: Context) -> int:
    """The supersteps of a run that are left after the current one."""
    limit: int = ctx.config["recursion_limit"]
    return limit - ctx.supersteps


_VALUES: Mapping[str, Callable[[int], int | bool]] = {
    "RemainingStepsManager": lambda left: left,
    "IsLastStepManager": lambda left: left == 1,
}


def with_managed(
    action: Action, managed: Mapping[str, str], view: Callable[[dict[str, Any]], Any] | None
) -> tuple[Action, Callable[[dict[str, Any]], Any]]:
    """An action that gets the managed keys too, and the view that the engine shall use.

    Args:
        action: a node or a router.
        managed: the keys, with the names of the classes that mark them.
        view: makes the input of the action from a state.
    """
    inner = action.call

    def call(given: Any, ctx: Context) -> Any:
        if isinstance(given, _State):
            left = steps_left(ctx)
            values = {key: _VALUES[mark](left) for key, mark in managed.items()}
            given = {**given, **values}
            given = given if view is None else view(given)
        return inner(given, ctx) if action.wants_ctx else inner(given)

    return Action(call, wants_ctx=True, asynchronous=action.asynchronous), _State
