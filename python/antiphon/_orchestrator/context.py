"""The context of an agent's ``act``: tools, models, steps, questions and routing."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar, overload

from antiphon._antiphon import Command, Send
from antiphon._keywords import CheckedKeywords
from antiphon._node.calls import perform, perform_step
from antiphon._node.human_input import ask
from antiphon._node.tool_calls import find_tool, perform_tool_call
from antiphon._orchestrator.model_request import ModelRequest
from antiphon._orchestrator.run_context import RunContext
from antiphon._schema.typed_answer import ask_for
from antiphon._sync_async import (
    Operation,
    Routine,
    async_method,
    run_async,
    run_sync,
    sync_method,
)
from antiphon._tool.context import ReadOnlyState
from antiphon._tool.lifespan import resource_of
from antiphon._type_params import ContextT
from antiphon.errors import BudgetError, ValidationError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from antiphon._antiphon import Context
    from antiphon._node.human_input import HumanInput
    from antiphon._orchestrator.agent_spec import Spec
    from antiphon._orchestrator.flow import AgentNames
    from antiphon.tools import Tool


_T = TypeVar("_T")


class AgentContext(CheckedKeywords, RunContext[ContextT]):
    """The second argument of an agent's ``act``; the engine creates it.

    `goto`, `send` and `end` replace the declared flow: return their result from ``act``. `ask`
    pauses the run for a person. `call` and `model` count against the budgets. Results of `call`,
    `model` and `step` are recorded: if ``act`` starts again, after an answer or after a crash on a
    thread, they return the recorded result. `acall`, `amodel` and `astep` are the async versions.
    """

    __slots__ = ("_agent_names", "_calls", "_human_input", "_made", "_state")

    def __init__(
        self,
        ctx: Context,
        spec: Spec,
        agent_names: AgentNames,
        *,
        errors: Sequence[Mapping[str, Any]],
        human_input: HumanInput,
        load_state: Callable[[], Mapping[str, Any]] = dict,
    ) -> None:
        super().__init__(ctx, spec, errors)
        self._agent_names = agent_names
        self._calls: dict[str, int] = {}
        self._made: dict[str, int] = {}
        self._human_input = human_input
        self._state = ReadOnlyState(load_state)

    def goto(self, target: str | Send | Sequence[str | Send], *, update: Any = None) -> Command:
        """Routes to another agent, or to several that then run in parallel.

        Args:
            target: an agent's name, what `send` returns, or a list of those.
            update: a further update of the state.

        Raises:
            StateError: an agent is not in the team (``target_unknown``).
        """
        targets = [target] if isinstance(target, str | Send) else list(target)
        where = f"`goto` of agent `{self.agent}`"
        for one in targets:
            self._agent_names.chosen(one.node if isinstance(one, Send) else one, where)
        return Command(goto=targets, update=update, only=True)

    def send(self, target: str, arg: Any) -> Send:
        """Creates an input for another agent, which receives it instead of the state.

        Return it alone, in a list to run several agents in parallel, or within `goto`. A
        declared agent reads a text as the question and the entries of a dict as data.

        Args:
            target: the agent's name.
            arg: any value.

        Raises:
            StateError: the agent is not in the team (``target_unknown``).
        """
        self._agent_names.chosen(target, f"`send` of agent `{self.agent}`")
        return Send(target, arg)

    def end(self, answer: Any = None, *, update: Mapping[str, Any] | None = None) -> Command:
        """Ends the run after this step.

        Args:
            answer: the answer. Default: the current one.
            update: a further update of the state.
        """
        fields: dict[str, Any] = dict(update or {})
        if answer is not None:
            fields["answer"] = answer
            if isinstance(answer, str):
                fields.setdefault("messages", answer)
        return Command(update=fields, end=True)

    @overload
    def ask(self, question: Any) -> Any: ...

    @overload
    def ask(self, question: Any, *, returns: type[_T]) -> _T: ...

    @overload
    def ask(self, question: Any, *, returns: Any) -> Any: ...

    def ask(self, question: Any, *, returns: Any = None) -> Any:
        """Asks a person, and pauses the run until the answer arrives.

        After the answer ``act`` starts again from its first line, and `ask` returns the answers
        given so far. The run pauses once calls in other tasks or threads have ended, unless the
        node's time-out is near; an `asyncio.TaskGroup` cancels them.

        Args:
            question: any value, for `Result.questions`.
            returns: the type of the answer: any type that a tool may take. An answer that does not
                fit is asked for again, with what is wrong: in another line of a question that is a
                text, else as ``{"question": ..., "problem": ...}``. A text may be the value's JSON.
                Default: any value.

        Returns:
            The answer; with `returns`, a value of that type.

        Raises:
            ValidationError: `returns` has no JSON schema (``unsupported_type``).
        """
        if returns is None:
            return ask(self._ctx, question)
        where = f"the answer that agent `{self.agent}` asks for"
        return ask_for(partial(ask, self._ctx), question, returns, where)

    @sync_method
    def call(self, tool: Any, /, **arguments: Any) -> Routine[Any]:
        """Calls a tool, with the same validation and conversion as a model's call.

        If its ``approval`` requires a person, the run pauses as for `ask`.

        Args:
            tool: the name of one of the agent's tools, or a tool.
            **arguments: by name.

        Returns:
            The tool's result, or the recorded one if ``act`` starts again after an `ask`, or on a
            thread after a crash.

        Raises:
            ValidationError: there is no such tool (``tool_unknown``), or an argument does not
                fit (``invalid_value``).
            BudgetError: the tool, or the run, has no call left (``budget_exhausted``).
            RunTimeout: the call took longer than the tool may take (``tool_timeout``).
            ToolError: it is not approved (``tool_refused``); or it had started when the process
                died, and its outcome is unknown (``unknown_outcome``); not raised for tools that
                are ``idempotent``.
            StateError: ``act`` started again and made other calls than before
                (``replay_diverged``); or the run is stored in a thread, and the result cannot be
                stored (``value_unstorable``).
        """
        found = find_tool(tool, self._spec.tools, self.agent)
        number = self._calls[found.name] = self._calls.get(found.name, 0) + 1
        # Before anybody is asked about the call.
        self._check_left(found)
        options: Any = {"call_id": f"call_{number}", "count": lambda: self._count(found)}
        options["caller"] = {
            "context": self.context,
            "state": self._state,
            "agent": self.agent,
            "thread": self.thread,
            "resource": resource_of(found, self._owner()),
        }
        about = self._ctx, self._human_input, found, arguments
        return (yield from perform_tool_call(*about, **options))

    acall = async_method(call)

    def _owner(self) -> object:
        """What the toolsets are open for."""
        return self._ctx.run

    @sync_method
    def step(
        self,
        name: str,
        function: Callable[..., Any],
        /,
        *args: Any,
        idempotent: bool = False,
        **kwargs: Any,
    ) -> Routine[Any]:
        """Calls a function once: if ``act`` starts again, it gets the recorded result.

        Use it for side effects and for non-deterministic values such as time or random
        numbers. On a thread, the result is stored.

        Args:
            name: what the step is called in the trace and in errors.
            function: sync or async. If it accepts ``idempotency_key``, it receives a string
                that is unique to this step and stable across retries.
            *args: for the function.
            idempotent: whether it may be called twice. Default: no.
            **kwargs: for the function.

        Returns:
            The result of the function, or the recorded one.

        Raises:
            ToolError: it had started when the process died, and its outcome is unknown
                (``unknown_outcome``); not raised if it is ``idempotent``.
            StateError: as `call`.
        """
        step = perform_step(self._ctx, name, function, (args, kwargs), idempotent=idempotent)
        with self._human_input.making():
            return (yield from step)

    astep = async_method(step)

    @overload
    def model(
        self,
        prompt: Any,
        *,
        model: Any = None,
        output: None = None,
        temperature: float | None = None,
        max_output_tokens: int | None = None,
    ) -> str: ...

    @overload
    def model(
        self,
        prompt: Any,
        *,
        model: Any = None,
        output: type[_T],
        temperature: float | None = None,
        max_output_tokens: int | None = None,
    ) -> _T: ...

    @overload
    def model(
        self,
        prompt: Any,
        *,
        model: Any = None,
        output: Any,
        temperature: float | None = None,
        max_output_tokens: int | None = None,
    ) -> Any: ...

    def model(
        self,
        prompt: Any,
        *,
        model: Any = None,
        output: Any = None,
        temperature: float | None = None,
        max_output_tokens: int | None = None,
    ) -> Any:
        """Asks a model.

        Args:
            prompt: a text, or a list of messages.
            model: a model, as `Agent.model`. Default: the agent's.
            output: the type of the answer, as `Agent.output`. Default: text.
            temperature: 0 is the least random. Default: the agent's.
            max_output_tokens: the limit of the reply. Default: the agent's.

        Returns:
            The text, or the value.

        Raises:
            ValidationError: there is no model to ask (``model_invalid``).
            BudgetError: the budget for model calls is spent, or the limit of tokens cut off a text
                (``budget_exhausted``). The text so far is in ``details["text"]``; an agent that
                does not catch the error ends its run with that text as the answer and the
                outcome ``budget``.
            ModelOutputError: the reply does not fit the output, and neither does the repaired
                one (``model_output_invalid``).
        """
        options = {"temperature": temperature, "max_output_tokens": max_output_tokens}
        return run_sync(self._ask_model(prompt, model, output, options))

    @overload
    async def amodel(
        self,
        prompt: Any,
        *,
        model: Any = None,
        output: None = None,
        temperature: float | None = None,
        max_output_tokens: int | None = None,
    ) -> str: ...

    @overload
    async def amodel(
        self,
        prompt: Any,
        *,
        model: Any = None,
        output: type[_T],
        temperature: float | None = None,
        max_output_tokens: int | None = None,
    ) -> _T: ...

    @overload
    async def amodel(
        self,
        prompt: Any,
        *,
        model: Any = None,
        output: Any,
        temperature: float | None = None,
        max_output_tokens: int | None = None,
    ) -> Any: ...

    async def amodel(
        self,
        prompt: Any,
        *,
        model: Any = None,
        output: Any = None,
        temperature: float | None = None,
        max_output_tokens: int | None = None,
    ) -> Any:
        """`model` on the caller's event loop."""
        options = {"temperature": temperature, "max_output_tokens": max_output_tokens}
        return await run_async(self._ask_model(prompt, model, output, options))

    def _ask_model(
        self, prompt: Any, model: Any, output: Any, options: dict[str, Any]
    ) -> Routine[Any]:
        request = self._request(prompt, model, output, options)

        def ask(_key: str) -> Routine[Any]:
            try:
                yield Operation(request.drain, request.arrive)
            finally:
                self._charge(request)
            return request.reply

        with self._human_input.making():
            return request.read((yield from perform(self._ctx, request.call, ask)))

    def _check_left(self, tool: Tool) -> None:
        if tool.max_calls is not None and self._made.get(tool.name, 0) >= tool.max_calls:
            raise BudgetError(
                f"tool `{tool.name}` has reached its limit of calls: {tool.max_calls}",
                code="budget_exhausted",
                details={"dimension": "tool_calls", "tool": tool.name},
                hint="raise its `max_calls`",
            )

    def _count(self, tool: Tool) -> None:
        """Counts a call, also one that was made before ``act`` started again."""
        self._check_left(tool)
        self._made[tool.name] = self._made.get(tool.name, 0) + 1

    def _request(
        self, prompt: Any, model: Any, output: Any, options: dict[str, Any]
    ) -> ModelRequest:
        asked = self._spec.model if model is None else model
        if asked is None:
            raise ValidationError(
                f"no model for the agent: {self.agent}",
                code="model_invalid",
                hint="pass `model=`, or set one on the agent",
            )
        own = {key: self._spec.limits.get(key) for key in options}
        given = {key: value for key, value in options.items() if value is not None}
        options = {**own, **given}
        return ModelRequest(
            prompt, asked, output=output, agent=self.agent, ctx=self._ctx, options=options
        )

    def _charge(self, request: ModelRequest) -> None:
        """Counts the cost of a request, also of a failed one."""
        spent = request.run.spent
        self._ctx.charge(spent["input_tokens"], spent["output_tokens"])
        for _ in range(spent["model_calls"] - 1):
            self._ctx.request("model")
