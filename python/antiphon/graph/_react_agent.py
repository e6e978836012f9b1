"""`create_react_agent`: a graph in which a model calls tools until it has an answer."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, TypedDict, get_type_hints

from langchain_core.messages import AIMessage, ToolMessage
from langchain_core.runnables import Runnable

from antiphon._antiphon import Send
from antiphon._graph_errors import GraphBuildError
from antiphon._state_schema import is_model
from antiphon.graph._builder import StateGraph
from antiphon.graph._declaration import END
from antiphon.graph._managed_values import AgentState
from antiphon.graph._react_model import ReactModel, bound
from antiphon.graph._runnable import coerce_to_node
from antiphon.graph._tool_node import CALL_WITH_STATE, ToolNode, value_in

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from langchain_core.messages import SystemMessage
    from langchain_core.tools import BaseTool

    from antiphon._antiphon import Saver
    from antiphon.graph._breakpoints import Stops
    from antiphon.graph._compiled import CompiledGraph
    from antiphon.tools import Tool

_FORMAT = "generate_structured_response"


class _StructuredState(AgentState):
    """The state of an agent with a structured response."""

    structured_response: Any


def create_react_agent(
    model: str | Runnable[Any, Any] | Callable[..., Any],
    tools: Sequence[BaseTool | Tool | Callable[..., Any] | dict[str, Any]] | ToolNode,
    *,
    prompt: str | SystemMessage | Callable[..., Any] | Runnable[Any, Any] | None = None,
    response_format: Any = None,
    pre_model_hook: Any = None,
    post_model_hook: Any = None,
    state_schema: type | None = None,
    context_schema: type | None = None,
    checkpointer: Saver | str | None = None,
    store: None = None,
    interrupt_before: Stops = None,
    interrupt_after: Stops = None,
    debug: bool = False,
    version: Literal["v1", "v2"] = "v2",
    name: str | None = None,
) -> CompiledGraph[Any]:
    """Makes a graph in which a model calls tools until it replies without a call.

    Its nodes are ``agent``, ``tools``, and as far as they are asked for ``pre_model_hook``,
    ``post_model_hook`` and ``generate_structured_response``. It needs LangChain. If the run has
    too few supersteps left for tools, a message that reports it replaces the model's calls.

    Args:
        model: a LangChain chat model; its name for LangChain's ``init_chat_model``; or a function
            of state and runtime, sync or async, that returns a model with its tools bound.
        tools: as those of a `ToolNode`, or a `ToolNode`. A dict describes a tool that the provider
            of the model runs.
        prompt: a text or message before the others; or a function of the state or a Runnable,
            which makes the model's input. Default: none.
        response_format: the schema of ``structured_response``, as ``with_structured_output`` takes
            it, or a pair of a prompt and a schema: one more call of the model when the agent has
            its answer. Default: none.
        pre_model_hook: a node before each call of the model. What it writes to
            ``llm_input_messages`` is shown to the model in place of the messages. Default: none.
        post_model_hook: a node after each call of the model; with version ``v2``. Default: none.
        state_schema: a schema with ``messages``, and with a ``response_format`` also
            ``structured_response``. Default: one with these keys.
        context_schema: the class of ``runtime.context``. Default: none.
        checkpointer: as in `StateGraph.compile`. Default: none.
        store: not available.
        interrupt_before: the nodes before which runs stop. Default: none.
        interrupt_after: the nodes after which runs stop. Default: none.
        debug: not available.
        version: ``v2`` to run each call of a tool as a separate task, ``v1`` to run those of a
            message in one. Default: ``v2``.
        name: the graph's name, which the model's messages carry too. Default: none.

    Raises:
        GraphBuildError: an argument is wrong or not available, or a key is missing in the schema.
    """
    _check(store, version, post_model_hook, debug=debug)
    node, builtin = _read_tools(tools)
    made = list(node.tools_by_name.values())
    direct = frozenset(tool.name for tool in made if tool.return_direct)
    schema = _read_schema(state_schema, structured=response_format is not None)
    asked = ReactModel(_read_model(model, made, builtin), prompt, response_format, name=name)
    hooks = (pre_model_hook, post_model_hook)
    routes = _Routes(
        entry="agent" if pre_model_hook is None else "pre_model_hook",
        end=END if response_format is None else _FORMAT,
        tools=node,
        direct=direct,
        each=version == "v2",
    )
    builder = StateGraph(schema, context_schema)
    _add_model(builder, schema, asked, hooks, routes)
    if made:
        _add_tools(builder, routes, "agent" if post_model_hook is None else "post_model_hook")
    else:
        builder.add_edge("agent" if post_model_hook is None else "post_model_hook", routes.end)
    return builder.compile(
        checkpointer, interrupt_before=interrupt_before, interrupt_after=interrupt_after, name=name
    )


@dataclass(frozen=True, slots=True)
class _Routes:
    """Where the nodes of an agent lead.

    Attributes:
        entry: the node where a round begins.
        end: the node, or the end, that follows an answer.
        tools: the node of the tools.
        direct: the tools whose results end the agent.
        each: whether each call of a tool is a separate task.
    """

    entry: str
    end: str
    tools: ToolNode
    direct: frozenset[str]
    each: bool

    def after_model(self, state: Any) -> str | list[Send]:
        """To the tools that the last message asks for."""
        last = value_in(state, "messages")[-1]
        calls = last.tool_calls if isinstance(last, AIMessage) else []
        if not calls:
            return self.end
        return self._sent(calls, state) if self.each else "tools"

    def after_hook(self, state: Any) -> str | list[Send]:
        """To the tools that have not answered yet, or on."""
        messages = value_in(state, "messages")
        answered = {one.tool_call_id for one in messages if isinstance(one, ToolMessage)}
        asking = [one for one in messages if isinstance(one, AIMessage)]
        calls = asking[-1].tool_calls if asking else []
        left = [call for call in calls if call["id"] not in answered]
        if left:
            return self._sent(left, state)
        return self.entry if isinstance(messages[-1], ToolMessage) else self.end

    def after_tools(self, state: Any) -> str:
        """To the next round, unless the result of a tool is the answer."""
        for message in reversed(value_in(state, "messages")):
            if not isinstance(message, ToolMessage):
                calls = message.tool_calls if isinstance(message, AIMessage) else []
                named = {call["name"] for call in calls}  # other tasks answer the others
                return END if named & self.direct else self.entry
            if message.name in self.direct:
                return END
        return self.entry

    def _sent(self, calls: Sequence[Any], state: Any) -> list[Send]:
        # What nobody reads would be stored with each call.
        seen = state if self.tools.reads_state else {}
        sent = {"__type": CALL_WITH_STATE, "state": seen}
        return [Send("tools", {**sent, "tool_call": call}) for call in calls]


def _check(store: Any, version: str, post_model_hook: Any, *, debug: bool) -> None:
    if version not in ("v1", "v2"):
        raise GraphBuildError(f"`version` of an agent is `v1` or `v2`, found: {version}")
    if version == "v1" and post_model_hook is not None:
        raise GraphBuildError("`post_model_hook` needs `version` to be `v2`, found: v1")
    if store is not None:
        raise GraphBuildError(
            f"`store` is not available: {type(store).__name__}",
            hint="pass your store as `context` of the run; tools reach it by a `ToolRuntime`",
        )
    if debug:
        raise GraphBuildError(
            "`debug` is not available: True", hint='call `stream(..., stream_mode="debug")`'
        )


def _read_tools(tools: Any) -> tuple[ToolNode, list[dict[str, Any]]]:
    """The node of the tools, and the tools that the provider of the model runs."""
    coerce_to_node(tools)  # refuses LangGraph's own
    if isinstance(tools, ToolNode):
        return tools, []
    builtin = [tool for tool in tools if isinstance(tool, dict)]
    return ToolNode([tool for tool in tools if not isinstance(tool, dict)]), builtin


def _read_model(model: Any, tools: Sequence[BaseTool], builtin: Sequence[Mapping[str, Any]]) -> Any:
    """The model with its tools, or the function that returns it."""
    if isinstance(model, str):
        try:
            from langchain.chat_models import init_chat_model  # type: ignore[import-not-found]
        except ModuleNotFoundError as error:
            message = f"a model that is given by its name needs LangChain's models ({model})"
            raise ImportError(f"{message}: pip install langchain", name=error.name) from error
        model = init_chat_model(model)
    if isinstance(model, Runnable):
        return bound(model, tools, builtin)
    if callable(model):
        return model
    raise GraphBuildError(
        f"`model` is a LangChain chat model, its name, or a function, found: {model!r}"
    )


def _read_schema(given: type | None, *, structured: bool) -> Any:
    """The schema of the agent's state."""
    if given is None:
        return _StructuredState if structured else AgentState
    wanted = ["messages", *(["structured_response"] if structured else [])]
    known = get_type_hints(given)
    missing = [key for key in wanted if key not in known]
    if missing:
        raise GraphBuildError(
            f"`state_schema` of an agent lacks keys ({given.__name__}): {', '.join(missing)}",
            hint="inherit from `AgentState`",
        )
    return given


def _add_model(
    builder: StateGraph[Any],
    schema: Any,
    model: ReactModel,
    hooks: tuple[Any, Any],
    routes: _Routes,
) -> None:
    """Adds the node of the model, the hooks around it, and that of the structured response."""
    before, after = hooks
    if before is None:
        builder.add_node("agent", model.reply)
    else:
        builder.add_node("agent", model.reply, input_schema=_with_input(schema))
        builder.add_node("pre_model_hook", before).add_edge("pre_model_hook", "agent")
    builder.set_entry_point(routes.entry)
    if after is not None:
        builder.add_node("post_model_hook", after).add_edge("agent", "post_model_hook")
    if routes.end == _FORMAT:
        builder.add_node(_FORMAT, model.structured)


def _add_tools(builder: StateGraph[Any], routes: _Routes, asking: str) -> None:
    """Adds the node of the tools, and the edges to it and from it."""
    builder.add_node("tools", routes.tools)
    if asking == "agent":
        builder.add_conditional_edges(asking, routes.after_model, ["tools", routes.end])
    else:
        targets = [routes.entry, "tools", routes.end]
        builder.add_conditional_edges(asking, routes.after_hook, targets)
    if routes.direct:
        builder.add_conditional_edges("tools", routes.after_tools, [routes.entry, END])
    else:
        builder.add_edge("tools", routes.entry)


def _with_input(schema: Any) -> Any:
    """The schema of the model's input after a hook: the state, and what the hook shows."""
    if is_model(schema):
        from pydantic import create_model

        return create_model("ModelInput", __base__=schema, llm_input_messages=(list[Any], []))
    hints = get_type_hints(schema, include_extras=True)
    return TypedDict("ModelInput", {**hints, "llm_input_messages": list[Any]})  # type: ignore[operator]
