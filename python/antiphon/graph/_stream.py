"""The shapes of stream chunks: one mode or several, with or without the namespace."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Literal

from antiphon.graph._faults import GraphBuildError
from antiphon.graph._schema import ROOT
from antiphon.graph._tokens import Tokens

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from antiphon.graph._flight import Flight

__all__ = ["Forwarded", "Shape", "StreamMode", "select"]

StreamMode = Literal["values", "updates", "custom", "messages", "tasks", "debug"]
"""What a stream carries.

``values``: the state after the input and after each superstep that wrote to it. ``updates``: what
each task returned, by the node's name. ``custom``: what nodes send by the stream writer.

``messages``: pairs of a message and metadata that say where it comes from (``langgraph_node``,
``langgraph_step`` and more): the tokens of LangChain chat models that nodes call, if LangChain was
imported before the stream began and the call is not tagged ``nostream``; and messages that nodes
return, if they have not been shown as tokens.

``tasks``: a dict when a task begins (``id``, ``name``, ``input``, ``triggers``) and one when it
ends (``id``, ``name``, ``error``, ``result``, ``interrupts``). ``debug``: the same as ``payload``
of a dict with ``step``, ``timestamp`` and ``type`` (``task`` or ``task_result``).
"""

_MODES = ("values", "updates", "custom", "messages", "tasks", "debug")
_TOLD = frozenset(("messages", "tasks", "debug"))
_Item = tuple[str, tuple[str, ...], Any]


@dataclass(frozen=True, slots=True)
class Forwarded:
    """An item on its way through the run of a node: of a graph that the node invoked, or a token.

    Attributes:
        item: the item.
        tokens: the only stream that a token is for; none for other items.
    """

    item: _Item
    tokens: Tokens | None = None


@dataclass(frozen=True, slots=True)
class Shape:
    """What the caller of one stream asked for.

    Attributes:
        modes: the modes, without repetition.
        tagged: whether chunks name their mode.
        subgraphs: whether nested graphs show, and chunks have a namespace.
        keys: the keys to show; a name shows the bare value, nothing shows all.
        tokens: what has been shown of messages, if they are shown.
    """

    modes: tuple[str, ...]
    tagged: bool = False
    subgraphs: bool = False
    keys: str | Sequence[str] | None = None
    tokens: Tokens | None = None

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
        tokens = Tokens() if "messages" in modes else None
        return cls(modes, not isinstance(mode, str), subgraphs, keys, tokens)

    @property
    def native(self) -> tuple[str, ...]:
        """The engine's modes."""
        modes = {mode for mode in self.modes if mode not in _TOLD}
        if len(modes) < len(self.modes):
            modes.add("tasks")
        # Tokens, and what an invoked graph shows, travel as custom items of the node.
        if self.subgraphs or self.tokens is not None:
            modes.add("custom")
        return tuple(modes)

    def chunks(self, item: _Item) -> Iterator[Any]:
        """What the caller gets to see of an item."""
        mode, space, payload = item
        if isinstance(payload, Forwarded):
            if payload.tokens not in (None, self.tokens):
                return
            mode, space, payload = payload.item
        if space and not self.subgraphs:
            return
        if mode == "tasks":
            yield from self._told(space, payload)
        elif mode in self.modes:
            yield self._chunk(mode, space, self._payload(mode, payload))

    def _told(self, space: tuple[str, ...], told: Any) -> Iterator[Any]:
        """What shows of the beginning or the end of a task."""
        if self.tokens is not None:
            for message in self.tokens.of_task(space, told):
                yield self._chunk("messages", space, message)
        step, _, payload = told
        if "tasks" in self.modes:
            yield self._chunk("tasks", space, payload)
        if "debug" in self.modes:
            yield self._chunk("debug", space, _stamped(step, payload))

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
            preview = flight.preview()
            if preview is not None:
                yield self._chunk("values", (), select(preview, self.keys))

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


def _stamped(step: int, payload: dict[str, Any]) -> dict[str, Any]:
    return {
        "step": step,
        "timestamp": datetime.now(UTC).isoformat(),
        "type": "task" if "input" in payload else "task_result",
        "payload": payload,
    }


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
