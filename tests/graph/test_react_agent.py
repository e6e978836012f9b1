"""`create_react_agent`, with scripted models."""

import asyncio
from collections.abc import Callable, Sequence
from typing import Annotated, Any, TypedDict

import pytest
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, HumanMessage, SystemMessage, ToolMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.prompts import ChatPromptTemplate
from langchain_core.runnables import RunnableLambda
from langchain_core.tools import InjectedToolCallId, tool
from pydantic import BaseModel, PrivateAttr

import antiphon
from support.oracle import Impl, Run, annotated

pytestmark = pytest.mark.filterwarnings("ignore:.*has been moved to `langchain.agents`")

ONE = {"configurable": {"thread_id": "1"}}


def call(name: str, key: str = "1", **arguments: Any) -> Any:
    return {"name": name, "args": arguments, "id": key, "type": "tool_call"}


def asking(*calls: Any) -> AIMessage:
    return AIMessage("", tool_calls=list(calls))


class City(BaseModel):
    """A city."""

    name: str


class Script(BaseChatModel):
    """A model that replies by a list, and remembers what it saw."""

    replies: list[AIMessage]
    _seen: list[Any] = PrivateAttr(default_factory=list)
    _tools: list[str] = PrivateAttr(default_factory=list)
    _ways: list[str] = PrivateAttr(default_factory=list)

    @property
    def _llm_type(self) -> str:
        return "script"

    def _generate(self, messages: Any, *_: Any, **__: Any) -> ChatResult:
        self._ways.append("sync")
        return self._next(messages)

    async def _agenerate(self, messages: Any, *_: Any, **__: Any) -> ChatResult:
        self._ways.append("async")
        return self._next(messages)

    def _next(self, messages: Any) -> ChatResult:
        reply = self.replies[len(self._seen) % len(self.replies)]
        self._seen.append([message.content for message in messages])
        return ChatResult(generations=[ChatGeneration(message=reply.model_copy())])

    def bind_tools(self, tools: Sequence[Any], **_: Any) -> Any:
        named = [one["name"] if isinstance(one, dict) else one.name for one in tools]
        self._tools += named
        return self.bind(tools=[{"type": "function", "function": {"name": one}} for one in named])

    def with_structured_output(self, schema: Any, **_: Any) -> Any:
        def answer(messages: Any) -> Any:
            self._seen.append([message.content for message in messages])
            return schema(name=messages[-1].content)

        return RunnableLambda(answer)


@tool
def double(number: int) -> int:
    """Doubles a number."""
    return 2 * number


@tool(return_direct=True)
def final(word: str) -> str:
    """Ends."""
    return word


def contents(state: Any) -> list[Any]:
    return [message.content for message in state["messages"]]


def twice(**options: Any) -> Any:
    """A model that asks for two doubles, and then is done."""
    replies = [asking(call("double", "1", number=1), call("double", "2", number=2))]
    return Script(replies=[*replies, AIMessage("done")], **options)


VERSIONS = pytest.mark.parametrize("version", ["v1", "v2"])


@VERSIONS
def test_the_model_calls_tools_until_it_has_an_answer(impl: Impl, run: Run, version: str) -> None:
    model = twice()
    agent = impl.create_react_agent(model, [double], version=version)
    state = run(agent, {"messages": "go"})
    assert contents(state) == ["go", "", "2", "4", "done"]
    assert [one.tool_call_id for one in state["messages"][2:4]] == ["1", "2"]
    assert model._tools == ["double"]
    assert model._seen == [["go"], ["go", "", "2", "4"]]


@VERSIONS
def test_each_call_is_a_separate_task_in_v2(impl: Impl, version: str) -> None:
    agent = impl.create_react_agent(twice(), [double], version=version)
    chunks = list(agent.stream({"messages": "go"}, stream_mode="updates"))
    names = [name for chunk in chunks for name in chunk]
    assert names == ["agent", *["tools"] * (2 if version == "v2" else 1), "agent"]


def test_the_model_is_called_as_the_graph_is(impl: Impl) -> None:
    model = twice()
    agent = impl.create_react_agent(model, [double])
    agent.invoke({"messages": "go"})
    assert set(model._ways) == {"sync"}
    model._ways.clear()
    asyncio.run(agent.ainvoke({"messages": "go"}))
    assert set(model._ways) == {"async"}


def test_an_agent_without_tools_calls_its_model_once(impl: Impl, run: Run) -> None:
    agent = impl.create_react_agent(Script(replies=[AIMessage("hi")]), [])
    assert contents(run(agent, {"messages": "go"})) == ["go", "hi"]


def test_functions_and_a_node_of_tools_are_tools(impl: Impl, run: Run) -> None:
    def double(number: int) -> int:
        """Doubles a number."""
        return 2 * number

    for tools in ([double], impl.ToolNode([double])):
        agent = impl.create_react_agent(twice(), tools)
        assert contents(run(agent, {"messages": "go"}))[2:4] == ["2", "4"]


@pytest.mark.only("antiphon")
def test_tools_of_antiphon_are_tools(impl: Impl, run: Run) -> None:
    @antiphon.tool
    async def double(number: int) -> int:
        """Doubles a number."""
        return 2 * number

    agent = impl.create_react_agent(twice(), [double])
    assert contents(run(agent, {"messages": "go"}))[2:4] == ["2", "4"]


def test_a_dict_is_a_tool_of_the_provider(impl: Impl, run: Run) -> None:
    model = twice()
    agent = impl.create_react_agent(model, [double, {"type": "search", "name": "search"}])
    run(agent, {"messages": "go"})
    assert model._tools == ["double", "search"]


def of_state(state: Any) -> Any:
    return [SystemMessage(f"be brief: {len(state['messages'])}"), *state["messages"]]


async def later(state: Any) -> Any:
    return of_state(state)


PROMPTS: dict[str, tuple[Any, list[str]]] = {
    "text": ("be brief", ["be brief", "go"]),
    "message": (SystemMessage("be brief"), ["be brief", "go"]),
    "function": (of_state, ["be brief: 1", "go"]),
    "runnable": (
        ChatPromptTemplate.from_messages([("system", "be brief"), ("placeholder", "{messages}")]),
        ["be brief", "go"],
    ),
    "none": (None, ["go"]),
}


@pytest.mark.parametrize("kind", PROMPTS)
def test_a_prompt_makes_the_input_of_the_model(impl: Impl, run: Run, kind: str) -> None:
    prompt, expected = PROMPTS[kind]
    model = Script(replies=[AIMessage("hi")])
    run(impl.create_react_agent(model, [double], prompt=prompt), {"messages": "go"})
    assert model._seen == [expected]


def test_a_prompt_may_be_async(impl: Impl) -> None:
    model = Script(replies=[AIMessage("hi")])
    agent = impl.create_react_agent(model, [double], prompt=later)
    asyncio.run(agent.ainvoke({"messages": "go"}))
    assert model._seen == [["be brief: 1", "go"]]


def test_a_prompt_sees_the_config(impl: Impl, run: Run) -> None:
    def prompt(state: Any, config: Any) -> Any:
        return [SystemMessage(config["configurable"]["tone"]), *state["messages"]]

    model = Script(replies=[AIMessage("hi")])
    made = annotated(prompt, config=impl.RunnableConfig)
    agent = impl.create_react_agent(model, [double], prompt=made)
    run(agent, {"messages": "go"}, {"configurable": {"tone": "be kind"}})
    assert model._seen == [["be kind", "go"]]


@pytest.mark.only("antiphon")
def test_async_prompts_and_choices_run_in_sync_calls_too(impl: Impl, run: Run) -> None:
    model = Script(replies=[AIMessage("hi")])

    async def choose(state: Any, runtime: Any) -> Any:
        del state, runtime
        return model

    run(impl.create_react_agent(choose, [double], prompt=later), {"messages": "go"})
    assert model._seen == [["be brief: 1", "go"]]


def test_a_function_chooses_the_model_by_state_and_context(impl: Impl, run: Run) -> None:
    models = {"a": Script(replies=[AIMessage("by a")]), "b": Script(replies=[AIMessage("by b")])}

    def choose(state: Any, runtime: Any) -> Any:
        assert len(state["messages"]) == 1
        return models[runtime.context].bind_tools([double])

    agent = impl.create_react_agent(choose, [double], prompt="be brief")
    assert contents(run(agent, {"messages": "go"}, context="b")) == ["go", "by b"]
    assert models["b"]._seen == [["be brief", "go"]]


def test_an_async_function_chooses_the_model(impl: Impl) -> None:
    async def choose(state: Any, runtime: Any) -> Any:
        del state, runtime
        return Script(replies=[AIMessage("hi")])

    agent = impl.create_react_agent(choose, [double])
    assert contents(asyncio.run(agent.ainvoke({"messages": "go"}))) == ["go", "hi"]


def test_a_model_with_its_tools_bound_stays_as_it_is(impl: Impl, run: Run) -> None:
    model = twice()
    agent = impl.create_react_agent(model.bind_tools([double]), [double])
    assert contents(run(agent, {"messages": "go"}))[-1] == "done"
    assert model._tools == ["double"]


@pytest.mark.parametrize("tools", [[final], [double, final]])
def test_a_model_with_other_tools_is_refused(impl: Impl, tools: Any) -> None:
    with pytest.raises(ValueError, match=r"final|2 tools"):
        impl.create_react_agent(twice().bind_tools([double]), tools)


@pytest.mark.parametrize("pair", [True, False])
def test_a_structured_response_is_asked_for_at_the_end(impl: Impl, run: Run, pair: bool) -> None:
    model = twice()
    wanted: Any = ("name it", City) if pair else City
    agent = impl.create_react_agent(model, [double], response_format=wanted)
    state = run(agent, {"messages": "go"})
    assert state["structured_response"] == City(name="done")
    assert model._seen[-1] == [*(["name it"] if pair else []), "go", "", "2", "4", "done"]


@VERSIONS
@pytest.mark.parametrize("names", [["final"], ["final", "double"], ["double", "final"]])
def test_a_tool_may_end_the_agent(impl: Impl, run: Run, version: str, names: list[str]) -> None:
    arguments: dict[str, Any] = {"final": {"word": "bye"}, "double": {"number": 4}}
    calls = [call(name, name, **arguments[name]) for name in names]
    model = Script(replies=[asking(*calls), AIMessage("never")])
    agent = impl.create_react_agent(model, [double, final], version=version)
    last_text = {"final": "bye", "double": "8"}
    assert contents(run(agent, {"messages": "go"})) == [
        "go",
        "",
        *(last_text[name] for name in names),
    ]
    assert len(model._seen) == 1


def test_a_hook_before_the_model_shows_it_other_messages(impl: Impl, run: Run) -> None:
    def hook(state: Any) -> Any:
        return {"llm_input_messages": [HumanMessage(f"of {len(state['messages'])}")]}

    model = twice()
    agent = impl.create_react_agent(model, [double], pre_model_hook=hook)
    state = run(agent, {"messages": "go"})
    assert contents(state) == ["go", "", "2", "4", "done"]
    assert set(state) == {"messages"}
    assert model._seen == [["of 1"], ["of 4"]]


def test_a_hook_before_the_model_may_rewrite_the_messages(impl: Impl, run: Run) -> None:
    def hook(state: Any) -> Any:
        everything = impl.RemoveMessage(id=impl.REMOVE_ALL_MESSAGES)
        return {"messages": [everything, HumanMessage(state["messages"][-1].content.upper())]}

    model = Script(replies=[AIMessage("hi")])
    agent = impl.create_react_agent(model, [], pre_model_hook=hook)
    assert contents(run(agent, {"messages": "go"})) == ["GO", "hi"]
    assert model._seen == [["GO"]]


def test_a_hook_after_the_model_runs_before_the_tools(impl: Impl, run: Run) -> None:
    seen: list[Any] = []

    def hook(state: Any) -> Any:
        seen.append(state["messages"][-1].content)

    wanted = {"post_model_hook": hook, "response_format": City}
    agent = impl.create_react_agent(twice(), [double], **wanted)
    state = run(agent, {"messages": "go"})
    assert seen == ["", "done"]
    assert contents(state) == ["go", "", "2", "4", "done"]
    assert state["structured_response"].name == "done"


def test_a_hook_after_the_model_may_answer_a_call(impl: Impl, run: Run) -> None:
    def hook(state: Any) -> Any:
        last = state["messages"][-1]
        if last.tool_calls:
            return {"messages": [ToolMessage("no", tool_call_id="1")]}
        return None

    agent = impl.create_react_agent(twice(), [double], post_model_hook=hook)
    assert contents(run(agent, {"messages": "go"})) == ["go", "", "no", "4", "done"]
    model = Script(replies=[asking(call("double", "1", number=1)), AIMessage("done")])
    agent = impl.create_react_agent(model, [double], post_model_hook=hook)
    assert contents(run(agent, {"messages": "go"})) == ["go", "", "no", "done"]


@VERSIONS
def test_tools_see_the_state(impl: Impl, run: Run, version: str) -> None:
    def count(number: int, state: Any) -> str:
        """Counts."""
        return f"{number} {len(state['messages'])} {state['topic']}"

    class State(impl.MessagesState):  # type: ignore[name-defined,misc]
        remaining_steps: int
        topic: str

    hints = {"number": int, "return": str, "state": Annotated[dict[str, Any], impl.InjectedState]}
    made = tool("double")(annotated(count, **hints))
    agent = impl.create_react_agent(twice(), [made], state_schema=State, version=version)
    state = run(agent, {"messages": "go", "topic": "t"})
    assert contents(state)[2:4] == ["1 2 t", "2 2 t"]


def test_a_state_may_be_a_pydantic_model(impl: Impl, run: Run) -> None:
    class State(BaseModel):
        messages: Annotated[list[Any], impl.add_messages]
        remaining_steps: int = 25
        topic: str = "t"

    def prompt(state: Any) -> Any:
        return [SystemMessage(state.topic), *state.messages]

    def hook(state: Any) -> Any:
        return {"llm_input_messages": state.messages[-1:]}

    model = twice()
    options: dict[str, Any] = {"prompt": prompt, "pre_model_hook": hook}
    options["post_model_hook"] = lambda state: {"topic": f"{state.topic}t"}
    agent = impl.create_react_agent(Script(replies=[AIMessage("hi")]), [], state_schema=State)
    assert contents(run(agent, {"messages": "go"})) == ["go", "hi"]
    del options["pre_model_hook"]
    agent = impl.create_react_agent(model, [double], state_schema=State, **options)
    assert contents(run(agent, {"messages": "go"})) == ["go", "", "2", "4", "done"]
    assert [seen[0] for seen in model._seen] == ["t", "tt"]
    model = Script(replies=[AIMessage("hi")])
    agent = impl.create_react_agent(model, [], state_schema=State, pre_model_hook=hook)
    run(agent, {"messages": ["one", "two"]})
    assert model._seen == [["two"]]


def test_the_name_of_an_agent_is_that_of_its_graph_and_its_messages(impl: Impl, run: Run) -> None:
    agent = impl.create_react_agent(twice(), [double], name="helper")
    assert agent.name == "helper"
    state = run(agent, {"messages": "go"})
    named = [one.name for one in state["messages"] if isinstance(one, AIMessage)]
    assert named == ["helper", "helper"]


@VERSIONS
@pytest.mark.parametrize(("limit", "calls"), [(2, 1), (4, 2), (6, 3)])
def test_a_run_with_too_few_steps_reports_it(
    impl: Impl, run: Run, version: str, limit: int, calls: int
) -> None:
    model = Script(replies=[asking(call("double", "1", number=1))])
    agent = impl.create_react_agent(model, [double], version=version)
    state = run(agent, {"messages": "go"}, {"recursion_limit": limit})
    assert "more steps" in state["messages"][-1].content
    assert not state["messages"][-1].tool_calls
    assert len(model._seen) == calls


@pytest.mark.parametrize(("limit", "ends"), [(3, True), (2, False)])
def test_a_tool_that_ends_the_agent_needs_a_step_after_it(
    impl: Impl, run: Run, limit: int, ends: bool
) -> None:
    agent = impl.create_react_agent(Script(replies=[asking(call("final", word="bye"))]), [final])
    last = run(agent, {"messages": "go"}, {"recursion_limit": limit})["messages"][-1]
    assert (last.content == "bye") == ends


def test_an_agent_without_end_reaches_the_limit(impl: Impl, run: Run) -> None:
    agent = impl.create_react_agent(
        Script(replies=[asking(call("double", "1", number=1))]), [double]
    )
    with pytest.raises(impl.GraphRecursionError):
        run(agent, {"messages": "go"}, {"recursion_limit": 3})


def test_an_open_call_in_the_messages_is_refused(impl: Impl, run: Run) -> None:
    agent = impl.create_react_agent(twice(), [double])
    with pytest.raises(ValueError, match="double"):
        run(agent, {"messages": [asking(call("double", number=1)), HumanMessage("and?")]})


def test_an_agent_asks_and_remembers_on_a_thread(impl: Impl, run: Run) -> None:
    @tool("double")
    def approved(number: int) -> str:
        """Asks."""
        return f"{number}: {impl.interrupt('may I?')}"

    replies = [asking(call("double", number=1)), AIMessage("done"), AIMessage("again")]
    model = Script(replies=replies)
    agent = impl.create_react_agent(model, [approved], checkpointer=impl.MemorySaver())
    run(agent, {"messages": "go"}, ONE)
    assert [one.value for one in agent.get_state(ONE).interrupts] == ["may I?"]
    assert contents(run(agent, impl.Command(resume="yes"), ONE)) == ["go", "", "1: yes", "done"]
    assert contents(run(agent, {"messages": "more"}, ONE))[-2:] == ["more", "again"]


@pytest.mark.parametrize("moment", ["interrupt_before", "interrupt_after"])
@VERSIONS
def test_a_run_stops_at_breakpoints(impl: Impl, run: Run, moment: str, version: str) -> None:
    options: dict[str, Any] = {"checkpointer": impl.MemorySaver(), "version": version}
    agent = impl.create_react_agent(twice(), [double], **options, **{moment: ["tools"]})
    run(agent, {"messages": "go"}, ONE)
    expected = ("tools",) if moment == "interrupt_before" else ("agent",)
    assert set(agent.get_state(ONE).next) == set(expected)
    assert contents(run(agent, None, ONE)) == ["go", "", "2", "4", "done"]


def test_an_agent_is_a_node(impl: Impl, run: Run) -> None:
    agent = impl.create_react_agent(twice(), [double], name="helper")
    graph = impl.build(impl.MessagesState, {"helper": agent}, [(impl.START, "helper")])
    assert contents(run(graph, {"messages": "go"})) == ["go", "", "2", "4", "done"]


@VERSIONS
@pytest.mark.parametrize("kept", [True, False])
def test_an_agent_hands_over_to_another(impl: Impl, run: Run, version: str, kept: bool) -> None:
    def hand_over(reason: str, state: Any, tool_call_id: Any) -> Any:
        """Hands over."""
        reply = ToolMessage(reason, tool_call_id=tool_call_id)
        update = {"messages": [*state["messages"], reply]}
        return impl.Command(goto="bob", update=update, graph=impl.Command.PARENT)

    hints = {"reason": str, "state": Annotated[dict[str, Any], impl.InjectedState]}
    made = annotated(hand_over, **hints, tool_call_id=Annotated[str, InjectedToolCallId])
    script = Script(replies=[asking(call("hand_over", reason="bob knows"))])
    tools = [tool("hand_over")(made)]
    ann = impl.create_react_agent(script, tools, name="ann", version=version)
    bob = impl.create_react_agent(twice(), [double], name="bob", version=version)
    options = {"checkpointer": impl.MemorySaver()} if kept else {}
    graph = impl.build(
        impl.MessagesState, {"ann": ann, "bob": bob}, [(impl.START, "ann")], **options
    )
    state = run(graph, {"messages": "go"}, ONE)
    assert contents(state) == ["go", "", "bob knows", "", "2", "4", "done"]


def test_tokens_are_streamed(impl: Impl) -> None:
    agent = impl.create_react_agent(twice(), [double])
    chunks = list(agent.stream({"messages": "go"}, stream_mode="messages"))
    shown = [(about["langgraph_node"], one.content) for one, about in chunks if one.content]
    assert sorted(shown[:2]) == [("tools", "2"), ("tools", "4")]
    assert shown[2:] == [("agent", "done")]


def test_the_drawing_has_the_nodes(impl: Impl) -> None:
    hooks = {"pre_model_hook": lambda _: None, "post_model_hook": lambda _: None}
    agent = impl.create_react_agent(twice(), [double], response_format=City, **hooks)
    expected = {"__start__", "agent", "tools", "pre_model_hook", "post_model_hook", "__end__"}
    assert set(agent.get_graph().nodes) >= expected - {"__end__"}
    assert "generate_structured_response" in agent.get_graph().nodes


class Lacking(TypedDict):
    messages: list[Any]
    remaining_steps: int


WRONG: dict[str, tuple[dict[str, Any], str]] = {
    "version": ({"version": "v3"}, "v3"),
    "schema": ({"state_schema": Lacking, "response_format": City}, "structured_response"),
    "prompt": ({"prompt": 7}, "prompt"),
}


@pytest.mark.parametrize("case", WRONG)
def test_wrong_arguments_are_refused(impl: Impl, case: str) -> None:
    options, message = WRONG[case]
    with pytest.raises(ValueError, match=message):
        impl.create_react_agent(twice(), [double], **options)


UNAVAILABLE: dict[str, tuple[dict[str, Any], str]] = {
    "store": ({"store": object()}, "`store` is not available"),
    "debug": ({"debug": True}, "`debug` is not available"),
    "hook": ({"version": "v1", "post_model_hook": len}, "`post_model_hook` needs `version`"),
}


@pytest.mark.only("antiphon")
@pytest.mark.parametrize("case", UNAVAILABLE)
def test_what_is_not_available_is_refused(impl: Impl, case: str) -> None:
    options, message = UNAVAILABLE[case]
    with pytest.raises(impl.GraphBuildError, match=message):
        impl.create_react_agent(twice(), [double], **options)


@pytest.mark.only("antiphon")
@pytest.mark.parametrize("model", [7, {"model": "x"}])
def test_what_is_no_model_is_refused(impl: Impl, model: Any) -> None:
    with pytest.raises(impl.GraphBuildError, match="`model` is a LangChain chat model"):
        impl.create_react_agent(model, [double])


def test_a_model_by_name_needs_langchain(impl: Impl) -> None:
    with pytest.raises(ImportError, match="pip install langchain"):
        impl.create_react_agent("openai:gpt-x", [double])


@pytest.mark.only("antiphon")
def test_what_returns_no_model_or_no_message_is_refused(impl: Impl, run: Run) -> None:
    wrong: list[tuple[Callable[..., Any], str]] = [
        (lambda *_: 7, "must return one, found: int"),
        (lambda *_: RunnableLambda(lambda _: 7), "must return a message, found: int"),
    ]
    for choose, message in wrong:
        with pytest.raises(TypeError, match=message):
            run(impl.create_react_agent(choose, [double]), {"messages": "go"})
