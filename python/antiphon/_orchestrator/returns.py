"""What an agent's ``run`` returned, as the engine takes it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from antiphon._antiphon import Command, Send
from antiphon._orchestrator.messages import said
from antiphon._orchestrator.state import is_record
from antiphon.errors import StateError

if TYPE_CHECKING:
    from antiphon._orchestrator.state import State


def spoken(text: str, agent: str) -> dict[str, Any]:
    """The update that a text is: the answer, and a message of the agent's."""
    return {"answer": text, "messages": [said("assistant", text, agent)]}


def returned(value: Any, state: State, agent: str) -> Any:
    """What ``run`` returned, as the engine takes it.

    Args:
        value: a dict or other record, a text, nothing, a command, or one or more sends.
        state: the team's state.
        agent: the agent's name.

    Raises:
        StateError: it is none of these (``node_return_invalid``), or writes what the state
            does not take.
    """
    if value is None:
        return None
    if isinstance(value, str):
        return state.write(spoken(value, agent), agent)
    if isinstance(value, Command):
        return _command(value, state, agent)
    if isinstance(value, Send):
        return Command(goto=[value], only=True)
    if is_record(value):
        return state.write(value, agent)
    if isinstance(value, list | tuple) and value and all(isinstance(one, Send) for one in value):
        return Command(goto=list(value), only=True)
    raise StateError(
        f"agent `{agent}` returned something that is no update: {type(value).__name__}",
        code="node_return_invalid",
        hint="return a dict, a text, nothing, or a verb such as `ctx.goto(...)`",
    )


def _command(value: Command, state: State, agent: str) -> Command:
    update = None if value.update is None else state.write(value.update, agent)
    # In a team, going somewhere always replaces the way that was laid out.
    only = value.only or bool(value.goto)
    return Command(graph=value.graph, update=update, goto=value.goto, only=only, end=value.end)
