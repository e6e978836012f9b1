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
    from antiphon.graph._schema import Schema

__all__ = ["Forwarded", "Shape", "StreamMode", "Version", "check_version", "select"]

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

Version = Literal["v1", "v2"]
"""How chunks and results look. ``v1``: bare values, or tuples with the mode or the namespace in
front. ``v2``: chunks are dicts of ``type``, ``ns`` and ``data``, those of ``values`` with
``interrupts`` beside; ``invoke`` returns a `GraphOutput`.
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
        version: whether chunks are bare (``v1``) or dicts with type and namespace (``v2``).
        subgraphs: whether nested graphs show, and chunks have a namespace.
        keys: the keys to show; a name shows the bare value, nothing shows all.
        tokens: what has been shown of messages, if they are shown.
        schema: the class that states of ``v2`` are made into; none for dicts.
    """

    modes: tuple[str, ...]
    tagged: bool = False
    version: Version = "v1"
    subgraphs: bool = False
    keys: str | Sequence[str] | None = None
    tokens: Tokens | None = None
    schema: Schema | None = None

    @classmethod
    def read(
        cls,
        mode: StreamMode | Sequence[StreamMode],
        *,
        schema: Schema,
        **options: Any,
    ) -> Shape:
        """Reads the arguments of ``stream``.

        Args:
            mode: one mode or several.
            schema: the schema of the graph's output.
            **options: ``version``, ``subgraphs`` and ``keys``.

        Raises:
            GraphBuildError: a mode or the version is unknown.
        """
        check_version(options["version"])
        modes = (mode,) if isinstance(mode, str) else tuple(dict.fromkeys(mode))
        for name in modes:
            if name not in _MODES:
                raise GraphBuildError(
                    f"unknown stream mode: {name}",
                    code="call_invalid",
                    hint=f"use one or several of: {', '.join(_MODES)}",
                )
        tokens = Tokens() if "messages" in modes else None
        return cls(modes, not isinstance(mode, str), tokens=tokens, schema=schema, **options)

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
            yield self._paused(flight.state(), questions)
            preview = flight.preview()
            if preview is not None:
                yield self._chunk("values", (), self._payload("values", preview))

    def _paused(self, state: dict[str, Any], questions: tuple[Any, ...]) -> Any:
        """The state at a pause, with the questions beside it."""
        if self.version == "v2":
            part = self._chunk("values", (), self._payload("values", state))
            return {**part, "interrupts": questions}
        shown = select(state, self.keys)
        shown = shown if isinstance(shown, dict) else {}
        return self._chunk("values", (), {**shown, "__interrupt__": questions})

    def _chunk(self, mode: str, space: tuple[str, ...], payload: Any) -> Any:
        if self.version == "v2":
            return self._part(mode, space, payload)
        if self.tagged:
            return (space, mode, payload) if self.subgraphs else (mode, payload)
        return (space, payload) if self.subgraphs else payload

    def _part(self, mode: str, space: tuple[str, ...], payload: Any) -> dict[str, Any]:
        if mode != "values":
            return {"type": mode, "ns": space, "data": payload}
        if self.schema is not None and self.keys is None and not space:
            payload = self.schema.made(payload)
        return {"type": mode, "ns": space, "data": payload, "interrupts": ()}

    def _payload(self, mode: str, payload: Any) -> Any:
        if mode == "values":
            return select(payload, self.keys)
        if mode == "updates":
            return {name: _shown(update, self.keys) for name, update in payload.items()}
        return payload


def check_version(version: str) -> None:
    """Refuses a version that there is not.

    Raises:
        GraphBuildError: it is neither ``v1`` nor ``v2``.
    """
    if version not in ("v1", "v2"):
        raise GraphBuildError(f"`version` is v1 or v2, found: {version}", code="call_invalid")


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
