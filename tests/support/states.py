"""States and nodes that several of these tests use."""

import operator
from collections.abc import Callable
from typing import Annotated, Any, TypedDict

Update = dict[str, Any]


class Log(TypedDict, total=False):
    """A state whose one key collects names in barrier order."""

    log: Annotated[list[Any], operator.add]


class Plain(TypedDict, total=False):
    """Two keys without a reducer."""

    a: Any
    b: Any


def typed(**keys: Any) -> Any:
    """A state with these keys, none of them required."""
    make: Any = TypedDict
    return make("State", keys, total=False)


def say(*words: str) -> Callable[[Any], Update]:
    """A node that adds `words` to the log."""

    def node(state: Any) -> Update:
        return {"log": list(words)}

    node.__name__ = words[0] if words else "silent"
    return node
