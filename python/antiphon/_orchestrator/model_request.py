"""A request to a model from an agent's ``act``, with the loop of declared agents."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from antiphon._antiphon import Builder, StreamOptions
from antiphon._content import text_of
from antiphon._model.adapters import as_model
from antiphon._node.calls import Call
from antiphon._orchestrator.messages import conversation, listed
from antiphon._pause import pause_in
from antiphon._schema.contract import Output
from antiphon.errors import BudgetError, RunCancelled

if TYPE_CHECKING:
    from antiphon._antiphon import Event, Run


_MESSAGES, _REPLY = "messages", "reply"

CUT_REPLY = "max_output_tokens"
"""The limit that cuts off a reply, as a dimension of a budget."""


def cut_text(error: BaseException) -> str | None:
    """The text of a reply that was cut off, if that is the error or all of its group."""
    limit = pause_in(error, BudgetError)
    if limit is None or limit.details.get("dimension") != CUT_REPLY:
        return None
    text = limit.details.get("text")
    return text if isinstance(text, str) else None


class ModelRequest:
    """A request to a model; `ctx` emits the chunks of its reply."""

    def __init__(
        self, prompt: Any, model: Any, *, output: Any, agent: str, ctx: Any, options: dict[str, Any]
    ) -> None:
        self._ctx = ctx
        self._agent = agent
        where = f"agent `{agent}`"
        messages = conversation(listed(prompt), agent)
        given = {"messages": messages, "options": {**options}}
        self.call = Call("model", agent, given, repeatable=True, details=self._details)
        """The request as the run records it."""
        self._output = None if output is None else Output(output, f"the answer that {where} wants")
        builder = Builder(agent)
        builder.channel(_MESSAGES)
        builder.channel(_REPLY)
        if self._output is not None:
            options = {**options, "output": self._output.schema}
        builder.agent(
            agent,
            model=as_model(model, where),
            open=lambda state, _ctx: state[_MESSAGES],
            close=lambda _state, reply, _ctx: {_REPLY: reply},
            tags={"agent": agent},
            **{name: value for name, value in options.items() if value is not None},
        )
        builder.edge("__start__", agent)
        stream_options = StreamOptions(("events",)) if ctx.watched else None
        self.run: Run = builder.build().start(
            {_MESSAGES: messages},
            context=ctx.context,
            events=True,
            stream_options=stream_options,
        )
        """The run that asks."""

    def drain(self) -> None:
        """Waits for the reply."""
        for event in self.run:
            self._show(event)

    async def arrive(self) -> None:
        """`drain`, awaited."""
        async for event in self.run:
            self._show(event)

    @property
    def reply(self) -> Any:
        """The reply as it is stored, once the run is over.

        Raises:
            RunCancelled: it was cancelled (``run_cancelled``).
            BudgetError: the limit of tokens cut off a text (``budget_exhausted``).
        """
        if self.run.outcome == "cancelled":
            raise RunCancelled(
                f"the question to a model was cancelled: {self.run.reason}", code="run_cancelled"
            )
        reply = self.run.values[_REPLY]
        if self._output is not None:
            return reply["value"]
        text = text_of(reply["messages"][-1]["content"])
        if reply["finish"] == "length":
            raise BudgetError(
                f"the limit of tokens cut off the reply of the model to agent `{self._agent}`",
                code="budget_exhausted",
                details={"dimension": CUT_REPLY, "text": text},
                hint="raise `max_output_tokens`, or ask for a shorter answer",
            )
        return text

    def read(self, reply: Any) -> Any:
        """The answer, given the `reply`."""
        return reply if self._output is None else self._output.construct(reply)

    def _details(self) -> dict[str, Any]:
        """What the trace shows of the reply: who answered, at what cost, and what was re-asked."""
        calls = [event.data for event in self.run.events if event.kind == "model_call"]
        replies = [event.data for event in self.run.events if event.kind == "model_reply"]
        if not replies:
            return {}
        fields = {key: replies[-1][key] for key in ("model", "finish", "attempts")}
        fields["usage"] = {
            key: sum(reply["usage"][key] for reply in replies) for key in replies[-1]["usage"]
        }
        reasked = [message for call in calls[1:] for message in call["messages"]]
        return {**fields, "reasked": reasked} if reasked else fields

    def _show(self, event: Event) -> None:
        if event.kind == "chunk":
            self._ctx.chunk(event.data["text"])
