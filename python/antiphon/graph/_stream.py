"""The shapes of stream chunks: one mode or several, with or without the namespace."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from antiphon.graph._faults import GraphBuildError
from antiphon.graph._schema import ROOT

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from antiphon.graph._flight import Flight

__all__ = ["Forwarded", "Shape", "StreamMode", "select"]

StreamMode = Literal["values", "updates", "custom"]
"""What a stream carries.

``values``: the state after the input and after each superstep that wrote to it. ``updates``: what
each task returned, by the node's name. ``custom``: what nodes send by the stream writer.
"""

_MODES = ("values", "updates", "custom")
_Item = tuple[str, tuple[str, ...], Any]


@dataclass(frozen=True, slots=True)
class Forwarded:
    """An item of a graph that a node invoked, on its way through the node's own run."""

    item: _Item


@dataclass(frozen=True, slots=True)
class Shape:
    """What the caller of one stream asked for.

    Attributes:
        modes: the modes, without repetition.
        tagged: whether chunks name their mode.
        subgraphs: whether nested graphs show, and chunks have a namespace.
        keys: the keys to show; a name shows the bare value, nothing shows all.
    """

    modes: tuple[str, ...]
    tagged: bool = False
    subgraphs: bool = False
    keys: str | Sequence[str] | None = None

    @classmethod
    def read(
        cls,
        mode: StreamMode | Sequence[StreamMode],
        *,
        subgraphs: bool,
        keys: str | Sequence[str] | None,
    ) -> Shape:
        """Reads the arguments of ``stream``.

        Raises:
            GraphBuildError: a mode is unknown.
        """
        modes = (mode,) if isinstance(mode, str) else tuple(dict.fromkeys(mode))
        for name in modes:
            if name not in _MODES:
                raise GraphBuildError(
                    f"unknown stream mode: {name}",
                    code="call_invalid",
                    hint=f"use one or several of: {', '.join(_MODES)}",
                )
        return cls(modes, not isinstance(mode, str), subgraphs, keys)

    @property
    def native(self) -> tuple[str, ...]:
        """The engine's modes."""
        # What an invoked graph shows travels as custom items of the node that invoked it.
        if self.subgraphs and "custom" not in self.modes:
            return (*self.modes, "custom")
        return self.modes

    def chunks(self, item: _Item) -> Iterator[Any]:
        """What the caller gets to see of an item: one chunk, or nothing."""
        mode, space, payload = item
        if isinstance(payload, Forwarded):
            mode, space, payload = payload.item
        if mode in self.modes and (self.subgraphs or not space):
            yield self._chunk(mode, space, self._payload(mode, payload))

    def pauses(self, flight: Flight) -> Iterator[Any]:
        """The chunks that end the stream of a run that pauses."""
        questions = flight.questions()
        if not questions:
            return
        if "updates" in self.modes:
            for question in questions:
                yield self._chunk("updates", (), {"__interrupt__": (question,)})
        if "values" in self.modes:
            shown = select(flight.state(), self.keys)
            shown = shown if isinstance(shown, dict) else {}
            yield self._chunk("values", (), {**shown, "__interrupt__": questions})

    def _chunk(self, mode: str, space: tuple[str, ...], payload: Any) -> Any:
        if self.tagged:
            return (space, mode, payload) if self.subgraphs else (mode, payload)
        return (space, payload) if self.subgraphs else payload

    def _payload(self, mode: str, payload: Any) -> Any:
        if mode == "values":
            return select(payload, self.keys)
        if mode == "updates":
            return {name: _shown(update, self.keys) for name, update in payload.items()}
        return payload


def select(state: dict[str, Any], keys: str | Sequence[str] | None) -> Any:
    """Some keys of a state: a list of names gives a dict, one name its bare value."""
    if keys is None:
        return state.get(ROOT, state)
    if isinstance(keys, str):
        return state.get(keys)
    return {key: state[key] for key in keys if key in state}


def _shown(update: Any, keys: str | Sequence[str] | None) -> Any:
    if isinstance(update, list):
        shown = [_shown(one, keys) for one in update]
        return [one for one in shown if one is not None] or None
    if not isinstance(update, dict):
        return update
    if keys is None or isinstance(keys, str):
        return select(update, keys)
    return select(update, keys) or None
