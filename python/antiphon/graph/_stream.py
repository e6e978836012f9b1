"""The modes of streams, and their chunks for tasks and pauses."""

from __future__ import annotations

from datetime import UTC, datetime
from functools import partial
from typing import TYPE_CHECKING, Any, Literal

from antiphon._antiphon import StreamOptions, select
from antiphon._graph_errors import GraphBuildError
from antiphon.graph._tokens import Tokens

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from antiphon._state_schema import Schema
    from antiphon.graph._run_handle import RunHandle

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

_NATIVE = frozenset(("values", "updates", "custom"))
_MODES = ("values", "updates", "custom", "messages", "tasks", "debug")


def read_stream_options(
    mode: StreamMode | Sequence[StreamMode],
    *,
    subgraphs: bool,
    keys: str | Sequence[str] | None,
    version: Version,
    schema: Schema,
) -> StreamOptions:
    """The options of a stream.

    Raises:
        GraphBuildError: a mode or the version is unknown.
    """
    check_version(version)
    modes = (mode,) if isinstance(mode, str) else tuple(mode)
    for name in modes:
        if name not in _MODES:
            raise GraphBuildError(
                f"unknown stream mode: {name}",
                code="call_invalid",
                hint=f"use one or several of: {', '.join(_MODES)}",
            )
    task_chunks = None if _NATIVE.issuperset(modes) else _TaskChunks(modes, subgraphs=subgraphs)
    return StreamOptions(
        [name for name in modes if name in _NATIVE],
        tagged=not isinstance(mode, str),
        subgraphs=subgraphs,
        keys=keys,
        make_chunk=partial(_part, schema if keys is None else None) if version == "v2" else None,
        task_chunks=task_chunks,
        tokens=None if task_chunks is None else task_chunks.tokens,
    )


def check_version(version: str) -> None:
    """Refuses an unknown version.

    Raises:
        GraphBuildError: it is neither ``v1`` nor ``v2``.
    """
    if version not in ("v1", "v2"):
        raise GraphBuildError(f"`version` must be v1 or v2: {version}", code="call_invalid")


def _part(schema: Schema | None, mode: str, space: tuple[str, ...], payload: Any) -> dict[str, Any]:
    if mode != "values":
        return {"type": mode, "ns": space, "data": payload}
    if schema is not None and not space:
        payload = schema.made(payload)
    return {"type": mode, "ns": space, "data": payload, "interrupts": ()}


class _TaskChunks:
    """The chunks of the start or end of a task."""

    __slots__ = ("_modes", "tokens")

    def __init__(self, modes: Sequence[str], *, subgraphs: bool) -> None:
        self._modes = modes
        self.tokens = Tokens(subgraphs=subgraphs) if "messages" in modes else None

    def __call__(self, space: tuple[str, ...], task_event: Any) -> Iterator[tuple[str, Any]]:
        if self.tokens is not None:
            for message in self.tokens.of_task(space, task_event):
                yield "messages", message
        step, _, payload = task_event
        if "tasks" in self._modes:
            yield "tasks", payload
        if "debug" in self._modes:
            yield "debug", _stamped(step, payload)


def _stamped(step: int, payload: dict[str, Any]) -> dict[str, Any]:
    return {
        "step": step,
        "timestamp": datetime.now(UTC).isoformat(),
        "type": "task" if "input" in payload else "task_result",
        "payload": payload,
    }


def pauses(
    handle: RunHandle,
    stream_options: StreamOptions,
    keys: str | Sequence[str] | None,
    version: Version,
) -> Iterator[Any]:
    """The chunks that end the stream of a run that pauses."""
    questions = handle.questions()
    if not questions:
        if handle.is_stopped() and stream_options.has("updates"):
            yield stream_options.wrap("updates", {"__interrupt__": ()})
        return
    if stream_options.has("updates"):
        for question in questions:
            yield stream_options.wrap("updates", {"__interrupt__": (question,)})
    if stream_options.has("values"):
        shown = select(handle.state(), keys)
        if version == "v2":
            yield {**stream_options.wrap("values", shown), "interrupts": questions}
        else:
            shown = shown if isinstance(shown, dict) else {}
            yield stream_options.wrap("values", {**shown, "__interrupt__": questions})
        preview = handle.preview()
        if preview is not None:
            yield stream_options.wrap("values", select(preview, keys))
