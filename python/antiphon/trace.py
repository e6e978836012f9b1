"""The trace of a run: what models were asked, what they replied, and what tools returned."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from antiphon._trace.calls import AgentTrace, ModelTrace, ToolTrace, as_dict, walk
from antiphon._trace.html import to_html
from antiphon._trace.text import duration, to_text
from antiphon._trace.tree import build

if TYPE_CHECKING:
    from collections.abc import Sequence

    from antiphon.event import Event

__all__ = ["AgentTrace", "ModelTrace", "ToolTrace", "Trace"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Trace:
    """The trace of a run, as a tree: agents, their model calls, and the tool calls of those.

    ``print(trace)`` shows it as text; a notebook shows it as folded HTML. Each text is cut at
    20,000 characters, and all texts of a run together at 4 MiB; what is left out is marked.

    Attributes:
        run_id: the run's id.
        name: the name of the team or system.
        seconds: from the first to the last event.
        agents: the executions of agents, in order of their start.
    """

    run_id: str = ""
    name: str = ""
    seconds: float = 0.0
    agents: tuple[AgentTrace, ...] = ()

    @classmethod
    def of(cls, events: Sequence[Event], name: str = "", *, calls_only: bool = False) -> Trace:
        """The trace in a run's events.

        Args:
            events: the events, in order.
            name: the name of the team or system.
            calls_only: leave out agents that made no call, did not fail, and of whose reply
                nothing is known.

        Example:
            >>> from antiphon import Agent, Orchestrator
            >>> from antiphon.models import scripted
            >>> team = Orchestrator([Agent(name="greeter", model=scripted(["hello"]))])
            >>> trace = team.run("Say hello.").trace
            >>> trace.model_calls[0].text
            'hello'
        """
        agents = build(events, calls_only=calls_only)
        if not events:
            return cls(name=name, agents=agents)
        seconds = (events[-1].at - events[0].at).total_seconds()
        return cls(run_id=events[0].run_id, name=name, seconds=seconds, agents=agents)

    @property
    def model_calls(self) -> tuple[ModelTrace, ...]:
        """All model calls, in order of the agents."""
        return tuple(call for call in walk(self.agents) if isinstance(call, ModelTrace))

    @property
    def tool_calls(self) -> tuple[ToolTrace, ...]:
        """All tool calls and steps, in order of the agents."""
        return tuple(call for call in walk(self.agents) if isinstance(call, ToolTrace))

    def to_text(self, *, longest: int = 400) -> str:
        """The trace as an indented tree.

        Args:
            longest: characters of each text that are shown. Default: 400.
        """
        head = " ".join(part for part in (self.name or "run", self.run_id) if part)
        return to_text(f"{head} ({duration(self.seconds)})", self.agents, longest)

    def to_html(self) -> str:
        """The trace as one static element of HTML: folded, escaped, without scripts or network."""
        spent = f"{duration(self.seconds)}, {len(self.model_calls)} model calls, "
        spent += f"{len(self.tool_calls)} tool calls"
        return to_html(self.name or "run", spent, self.agents)

    def to_dict(self) -> dict[str, Any]:
        """The trace as JSON values; each call has a ``kind``: ``agent``, ``model`` or ``tool``."""
        return {
            "run_id": self.run_id,
            "name": self.name,
            "seconds": self.seconds,
            "agents": [as_dict(agent) for agent in self.agents],
        }

    def to_json(self, *, indent: int | None = None) -> str:
        """`to_dict` as JSON text.

        Args:
            indent: spaces per level. Default: one line.
        """
        return json.dumps(self.to_dict(), ensure_ascii=False, indent=indent)

    def __str__(self) -> str:
        return self.to_text()

    def __repr__(self) -> str:
        models, tools = len(self.model_calls), len(self.tool_calls)
        return f"Trace(agents={len(self.agents)}, model_calls={models}, tool_calls={tools})"

    def _repr_mimebundle_(self, **_: Any) -> dict[str, str]:
        return {"text/plain": self.to_text(), "text/html": self.to_html()}
