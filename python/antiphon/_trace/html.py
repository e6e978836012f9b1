"""A trace as one static element of HTML: folded, escaped, readable in light and dark."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

from antiphon._html import BOX
from antiphon._trace.calls import AgentTrace, ModelTrace, ToolTrace
from antiphon._trace.text import arguments_text, duration, spoken, tokens, value_text

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

_FOLD = "margin:2px 0 2px 14px"
_PRE = (
    "white-space:pre-wrap;overflow-wrap:anywhere;margin:2px 0 6px 14px;max-height:24em;"
    "overflow:auto;font-family:ui-monospace,monospace;font-size:12px"
)
_SUMMARY = 80
"""Characters of arguments beside the name of a folded call."""
_LONGEST = 4_000
"""Characters of a text that are shown."""
_MOST = 300_000
"""Characters after which no further agent is shown."""
_DIM = "opacity:.7"
_BAD = "color:#d1242f"


def to_html(name: str, about: str, agents: Sequence[AgentTrace]) -> str:
    """The tree below a heading; everything in it is escaped."""
    parts = [f'<div style="{BOX}"><b>{escape(name)}</b> {_dim(about)}']
    for number, agent in enumerate(agents):
        if sum(map(len, parts)) > _MOST:
            left = f"and {len(agents) - number} more agents in `result.trace`"
            parts.append(f"<div>{_dim(left)}</div>")
            break
        parts.append("".join(_agent(agent, unfolded=len(agents) == 1)))
    return "".join([*parts, "</div>"])


def _fold(summary: str, inner: Iterator[str], *, unfolded: bool = False) -> Iterator[str]:
    mark = " open" if unfolded else ""
    yield f'<details style="{_FOLD}"{mark}><summary>{summary}</summary>'
    yield from inner
    yield "</details>"


def _agent(agent: AgentTrace, *, unfolded: bool = False) -> Iterator[str]:
    attempt = f", attempt {agent.attempt}" if agent.attempt > 1 else ""
    about = f"<b>{escape(agent.name)}</b> {_dim(duration(agent.seconds) + attempt)}"
    if agent.error is not None:
        about += f' <span style="{_BAD}">failed</span>'
    return _fold(about, _calls(agent), unfolded=unfolded)


def _calls(agent: AgentTrace) -> Iterator[str]:
    for call in agent.calls:
        if isinstance(call, ModelTrace):
            yield from _model(call)
        elif isinstance(call, AgentTrace):
            yield from _agent(call)
        else:
            yield from _tool(call)
    if agent.reply is not None:
        yield from _labelled("reply", value_text(agent.reply))
    if agent.error is not None:
        yield f'<pre style="{_PRE};{_BAD}">{escape(agent.error)}</pre>'


def _model(call: ModelTrace) -> Iterator[str]:
    again = ", recorded before" if call.replayed else ""
    about = f"model {escape(call.model)} "
    about += _dim(f"{duration(call.seconds)}{tokens(call.usage)}{again}")
    yield from _fold(about, _exchange(call))
    for tool in call.tools_called:
        yield from _tool(tool)


def _exchange(call: ModelTrace) -> Iterator[str]:
    if call.earlier:
        yield f"<div>{_dim(f'… {call.earlier} messages as before')}</div>"
    for message in call.messages:
        yield from _labelled(*spoken(message))
    if call.tools:
        yield from _labelled("tools", ", ".join(call.tools))
    if call.parameters:
        yield from _labelled("parameters", value_text(call.parameters))
    if call.schema is not None:
        yield from _labelled("schema", value_text(call.schema))
    calls = "\n".join(f"calls {one['name']}({one['arguments']})" for one in call.tool_calls)
    reply = "\n".join(part for part in (call.text, calls) if part)
    if reply:
        yield from _labelled("reply", reply)


def _tool(call: ToolTrace) -> Iterator[str]:
    kind = "step" if call.step else "tool"
    again = ", recorded before" if call.replayed else ""
    given = arguments_text(call)
    short = given if len(given) <= _SUMMARY else f"{given[:_SUMMARY]}…"
    about = f"{kind} <b>{escape(call.name)}</b>({escape(short)}) "
    about += _dim(f"{duration(call.seconds)}{again}")
    if call.ok is False:
        about += f' <span style="{_BAD}">failed</span>'
    return _fold(about, _used(call, given))


def _used(call: ToolTrace, given: str) -> Iterator[str]:
    yield from _labelled("arguments", given)
    if call.ok is False:
        yield from _labelled("error", call.error or value_text(call.result))
    elif call.ok:
        yield from _labelled("result", value_text(call.result))


def _labelled(label: str, text: str) -> Iterator[str]:
    yield f'<div style="margin-left:14px"><b>{escape(label)}</b></div>'
    if len(text) > _LONGEST:
        text = f"{text[:_LONGEST]} … ({len(text)} characters)"
    yield f'<pre style="{_PRE}">{escape(text)}</pre>'


def _dim(text: str) -> str:
    return f'<span style="{_DIM}">{escape(text)}</span>'
