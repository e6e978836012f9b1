"""The settings of a call: the graph's own, the enclosing run's and the caller's, merged."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, cast

from antiphon._graph_errors import GraphBuildError

if TYPE_CHECKING:
    from antiphon.graph._runtime import RunnableConfig

__all__ = ["RECURSION_LIMIT", "merge"]

RECURSION_LIMIT = 10_007
"""Supersteps, unless the config says otherwise."""


def merge(*configs: Mapping[str, Any] | None) -> RunnableConfig:
    """Merges configs: tags add up, metadata and configurable merge, of the rest the last wins.

    Raises:
        GraphBuildError: a config or a part of it is not what it has to be (``call_invalid``).

    Returns:
        A new dict in which ``tags``, ``metadata`` and ``configurable`` are there, and new too.
    """
    tags: list[Any] = []
    metadata: dict[str, Any] = {}
    configurable: dict[str, Any] = {}
    merged: dict[str, Any] = {
        "tags": tags,
        "metadata": metadata,
        "configurable": configurable,
        "callbacks": None,
        "recursion_limit": RECURSION_LIMIT,
    }
    for config in configs:
        if config is None:
            continue
        for key, value in _checked(config, "config").items():
            if key == "tags":
                tags += [tag for tag in value or () if tag not in tags]
            elif key == "metadata":
                metadata.update(_checked(value, key))
            elif key == "configurable":
                configurable.update(_checked(value, key))
            elif value is not None:
                merged[key] = value
    return cast("RunnableConfig", merged)


def _checked(given: Any, name: str) -> Mapping[str, Any]:
    # To ask an abstract class takes longer than all the rest of it.
    if type(given) is dict or given is None or isinstance(given, Mapping):
        return given or {}
    kind = type(given).__name__
    raise GraphBuildError(f"`{name}` has to be a dict, found: {kind}", code="call_invalid")
