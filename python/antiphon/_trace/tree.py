"""From the events of a run to the tree of its agents, model calls and tool calls."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from antiphon._trace.calls import AgentTrace, ModelTrace, ToolTrace
from antiphon._trace.text import content_text

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from antiphon.event import Event

    _Path = tuple[str, ...]


def build(events: Sequence[Event], *, calls_only: bool) -> tuple[AgentTrace, ...]:
    """The executions of agents, with their calls; if asked, without the other nodes of a graph."""
    tree = _Tree()
    for event in events:
        read = _READERS.get(event.kind)
        if read is not None:
            read(tree, event)
    made = (one.make() for one in tree.roots)
    return tuple(one for one in made if not calls_only or _is_told(one))


def _is_told(agent: AgentTrace) -> bool:
    """Whether something is known of an execution beside that it was."""
    return bool(agent.calls) or agent.error is not None or agent.reply is not None


class _Agent:
    """An execution of an agent under way."""

    def __init__(self, event: Event) -> None:
        self.path = tuple(event.path)
        self.attempt = event.data.get("attempt", 1)
        self.started = event.at
        self.seconds: float | None = None
        self.error: str | None = None
        self.calls: list[_Agent | _Model | _Tool] = []
        self.reply: Any = None
        self.open: dict[str, _Model | _Tool] = {}
        self.last: _Model | None = None

    def make(self) -> AgentTrace:
        return AgentTrace(
            name=self.path[-1].split("#")[0] if self.path else "",
            path=self.path,
            attempt=self.attempt,
            seconds=self.seconds,
            error=self.error,
            reply=self.reply,
            calls=tuple(call.make() for call in self.calls),
        )


class _Model:
    """A request to a model."""

    def __init__(self, event: Event, asked: dict[str, Any] | None = None) -> None:
        self.started = event.at
        self.data = event.data if asked is None else asked
        self.reply: dict[str, Any] = {}
        self.seconds: float | None = None
        self.tools: list[_Tool] = []

    def end(self, event: Event) -> None:
        self.reply = event.data
        self.seconds = (event.at - self.started).total_seconds()

    def make(self) -> ModelTrace:
        asked, reply = self.data, self.reply
        text = reply.get("text")
        if text is None and "value" in reply:
            text = json.dumps(reply["value"], ensure_ascii=False)
        if "media" in reply:
            text = "\n".join(part for part in (text, content_text(reply["media"])) if part)
        return ModelTrace(
            model=reply.get("model", ""),
            messages=(*asked.get("messages", ()), *reply.get("reasked", ())),
            earlier=asked.get("earlier", 0),
            tools=tuple(asked.get("tools", ())),
            tool_specs=tuple(asked.get("tool_specs", ())),
            schema=asked.get("schema"),
            parameters=asked.get("parameters", {}),
            text=text,
            tool_calls=tuple(reply.get("tool_calls", ())),
            finish=reply.get("finish"),
            usage=reply.get("usage", {}),
            seconds=self.seconds,
            replayed=bool(reply.get("replayed")),
            tools_called=tuple(call.make() for call in self.tools),
        )


class _Tool:
    """A call of a tool or a step."""

    def __init__(self, event: Event) -> None:
        self.started = event.at
        self.name = event.name
        self.data = event.data
        self.result: dict[str, Any] = {}
        self.seconds: float | None = None

    def end(self, event: Event) -> None:
        self.result = event.data
        self.seconds = (event.at - self.started).total_seconds()

    def make(self) -> ToolTrace:
        result = self.result
        ok = result.get("ok")
        return ToolTrace(
            name=self.name,
            arguments=_arguments(self.data.get("arguments")),
            result=result.get("result"),
            ok=ok,
            error=result.get("message") if ok is False else None,
            seconds=self.seconds,
            step=bool(self.data.get("step")),
            replayed=bool(result.get("replayed")),
        )


def _arguments(given: Any) -> Any:
    """Arguments as a value; a denied call has them as the model wrote them."""
    if not isinstance(given, str):
        return given
    try:
        return json.loads(given)
    except ValueError:
        return given


class _Tree:
    """The executions so far, and those under way by their paths."""

    def __init__(self) -> None:
        self.roots: list[_Agent] = []
        self.agents: dict[_Path, _Agent] = {}

    def enter(self, event: Event) -> _Agent:
        """Begins an execution, within the one around it."""
        found = _Agent(event)
        around = self.around(found.path)
        siblings = self.roots if around is None else around.calls
        siblings.append(found)
        self.agents[found.path] = found
        return found

    def around(self, path: _Path) -> _Agent | None:
        """The execution that contains a path."""
        for length in range(len(path) - 1, 0, -1):
            found = self.agents.get(path[:length])
            if found is not None:
                return found
        return None

    def at(self, event: Event) -> _Agent:
        """The execution that an event belongs to; one of a resumed run may lack its start."""
        return self.agents.get(tuple(event.path)) or self.enter(event)


def _node_started(tree: _Tree, event: Event) -> None:
    tree.enter(event)


def _node_finished(tree: _Tree, event: Event) -> None:
    agent = tree.at(event)
    agent.seconds = (event.at - agent.started).total_seconds()


def _custom(tree: _Tree, event: Event) -> None:
    if event.name == _ROLE_REPLIED:
        tree.at(event).reply = event.data["reply"]


_ROLE_REPLIED = "role_replied"
"""The event of a role of a ready system that is code."""


def _failed(tree: _Tree, event: Event) -> None:
    # A transport that is tried again fails nothing.
    if event.path and event.name != "transport":
        agent = tree.at(event)
        agent.seconds = (event.at - agent.started).total_seconds()
        agent.error = str(event.data.get("message") or event.data.get("code") or "")


def _model_call(tree: _Tree, event: Event) -> None:
    agent = tree.at(event)
    call = _Model(event)
    agent.calls.append(call)
    agent.open[_key(event)] = call
    # The tool calls of an agent's loop follow the reply that requested them.
    agent.last = call if "turn" in event.data else None


def _tool_call(tree: _Tree, event: Event) -> None:
    agent = tree.at(event)
    call = _Tool(event)
    agent.open[_key(event)] = call
    if agent.last is not None:
        agent.last.tools.append(call)
    else:
        agent.calls.append(call)


def _ended(tree: _Tree, event: Event) -> None:
    agent = tree.at(event)
    call = agent.open.pop(_key(event), None)
    if call is None:
        # The call started before the node was restarted; only its end is in the events.
        call = _Model(event, {}) if event.kind == "model_reply" else _Tool(event)
        agent.calls.append(call)
    call.end(event)


def _key(event: Event) -> str:
    """The same for the start and the end of a call, among those of its execution."""
    kind = "model" if event.kind.startswith("model") else "tool"
    call_id = event.data.get("call_id")
    # Code makes calls side by side under the span of its node; an agent's loop gives each its own.
    return f"{kind} {event.span_id} {call_id or ''}"


_READERS: dict[str, Callable[[_Tree, Event], None]] = {
    "node_started": _node_started,
    "node_finished": _node_finished,
    "custom": _custom,
    "error": _failed,
    "retry": _failed,
    "model_call": _model_call,
    "model_reply": _ended,
    "tool_call": _tool_call,
    "tool_result": _ended,
}
