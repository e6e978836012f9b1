"""What an agent's class says about it."""

from __future__ import annotations

import functools
import inspect
from typing import Any

from antiphon._text import snake_case
from antiphon.agent import Agent


def name_of(agent: Agent) -> str:
    """What an agent is called in its team."""
    return agent.name or snake_case(type(agent).__name__)


def docstring_of(agent: Agent) -> tuple[str, str]:
    """The first line of the docstring of an agent's class, and the rest of it."""
    for kind in type(agent).__mro__:
        if kind is Agent:
            break
        if kind.__doc__:
            first, _, rest = inspect.cleandoc(kind.__doc__).partition("\n")
            return first.strip(), rest.strip()
    return "", ""


def option_of(agent: Agent, name: str) -> Any:
    """An option as it was given: a function that stands in the class is not bound to the agent.

    One that was written as a method of the class is.
    """
    if name in vars(agent):
        return vars(agent)[name]
    found = inspect.getattr_static(type(agent), name)
    if isinstance(found, staticmethod):
        return found.__func__
    if inspect.isfunction(found):
        kinds = {kind.__qualname__ for kind in type(agent).__mro__}
        is_method = found.__qualname__.rpartition(".")[0] in kinds
        return functools.partial(found, agent) if is_method else found
    return getattr(agent, name)
