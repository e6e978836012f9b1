"""The type parameters of public classes, and a base that takes them.

Python has defaults of type parameters from 3.13 on, so that at run time a class takes any number of
arguments: ``Agent[Deps]`` and ``Agent[Deps, str]``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from typing import Generic

    from typing_extensions import TypeVar

    ContextT = TypeVar("ContextT", default=Any)
    OutputT = TypeVar("OutputT", default=Any)
    StateT = TypeVar("StateT", default=Any)
    InputT = TypeVar("InputT", default=StateT)
else:
    from types import GenericAlias
    from typing import TypeVar

    class Generic:
        """A base that takes type arguments."""

        __slots__ = ()
        __class_getitem__ = classmethod(GenericAlias)

    ContextT = TypeVar("ContextT")
    OutputT = TypeVar("OutputT")
    StateT = TypeVar("StateT")
    InputT = TypeVar("InputT")

__all__ = ["ContextT", "Generic", "InputT", "OutputT", "StateT"]
