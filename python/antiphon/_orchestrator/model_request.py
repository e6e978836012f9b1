"""One question to a model from within an agent, with the same loop that declared agents have."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from antiphon._antiphon import Builder, StreamOptions
from antiphon._model.adapters import as_model
from antiphon._node.calls import Call
from antiphon._orchestrator.messages import listed, wire
from antiphon._schema.contract import Output
from antiphon.errors import RunCancelled

if TYPE_CHECKING:
    from antiphon._antiphon import Event, Run


_MESSAGES, _CAME = "messages", "came"


class ModelRequest:
    """A question to a model.

    Args:
        prompt: a text, or messages.
        model: whatever stands for a model.
        output: what the answer has to be; none for text.
        agent: the name of the agent that asks.
        ctx: the agent's own; it is shown the pieces of the reply, if somebody watches.
        options: ``temperature`` and ``max_output_tokens``.
    """

    def __init__(
        self, prompt: Any, model: Any, *, output: Any, agent: str, ctx: Any, options: dict[str, Any]
    ) -> None:
        self._ctx = ctx
        where = f"agent `{agent}`"
        messages = [wire(message, agent) for message in listed(prompt)]
        given = {"messages": messages, "options": {**options}}
        self.call = Call("model", agent, given, repeatable=True)
        """The question as it is known when the agent begins again."""
        self._output = None if output is None else Output(output, f"the answer that {where} wants")
        builder = Builder(agent)
        builder.channel(_MESSAGES)
        builder.channel(_CAME)
        if self._output is not None:
            options = {**options, "output": self._output.schema}
        builder.agent(
            agent,
            model=as_model(model, where),
            open=lambda state, _ctx: state[_MESSAGES],
            close=lambda _state, came, _ctx: {_CAME: came},
            tags={"agent": agent},
            **{name: value for name, value in options.items() if value is not None},
        )
        builder.edge("__start__", agent)
        stream_options = StreamOptions(("events",)) if ctx.watched else None
        self.run: Run = builder.build().start({_MESSAGES: messages}, stream_options=stream_options)
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
    def said(self) -> Any:
        """What came of it as it can be stored, once the run is over.

        Raises:
            RunCancelled: nobody waits for it any more (``run_cancelled``).
        """
        if self.run.outcome == "cancelled":
            raise RunCancelled(
                f"the question to a model was cancelled: {self.run.detail}", code="run_cancelled"
            )
        came = self.run.values[_CAME]
        return came["text"] if self._output is None else came["value"]

    def read(self, said: Any) -> Any:
        """The answer, given what was `said`."""
        return said if self._output is None else self._output.construct(said)

    def _show(self, event: Event) -> None:
        if event.kind == "chunk":
            self._ctx.chunk(event.data["text"])
