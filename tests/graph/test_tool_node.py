"""`ToolNode` and `tools_condition`, with LangChain's messages and tools."""

from collections.abc import Callable
from typing import Annotated, Any

import pytest
from langchain_core.messages import AIMessage, ToolMessage
from langchain_core.tools import tool

import antiphon
from support.oracle import Impl, Run, annotated

ONE = {"configurable": {"thread_id": "1"}}


def call(name: str, key: str = "1", **arguments: Any) -> Any:
    return {"name": name, "args": arguments, "id": key, "type": "tool_call"}


@tool
def double(number: int) -> int:
    """Doubles a number."""
    return 2 * number


@tool
async def later(word: str) -> dict[str, str]:
    """Returns a word."""
    return {"word": word}


@tool
def broken(word: str) -> str:
    """Fails."""
    raise ValueError(f"no such word: {word}")


def loop(impl: Impl, node: Any, *calls: Any, **options: Any) -> Any:
    """A model that asks for tools once, and the node that calls them."""

    def model(state: Any) -> Any:
        asked = any(isinstance(message, AIMessage) for message in state["messages"])
        return {"messages": [AIMessage("done") if asked else AIMessage("", tool_calls=calls)]}

    builder = impl.StateGraph(impl.MessagesState).add_node("model", model).add_node("tools", node)
    builder.add_edge(impl.START, "model").add_edge("tools", "model")
    builder.add_conditional_edges("model", impl.tools_condition)
    return builder.compile(**options)


def replies(state: Any) -> list[Any]:
    return [message for message in state["messages"] if isinstance(message, ToolMessage)]


def test_tools_answer_in_the_order_of_their_calls(impl: Impl, run: Run) -> None:
    graph = loop(
        impl, impl.ToolNode([double]), call("double", "1", number=2), call("double", "2", number=3)
    )
    state = run(graph, {"messages": "go"})
    results = [(one.name, one.tool_call_id, one.content) for one in replies(state)]
    assert results == [("double", "1", "4"), ("double", "2", "6")]
    assert state["messages"][-1].content == "done"


@pytest.mark.only("antiphon")
def test_async_tools_run_in_sync_calls_too(impl: Impl, run: Run) -> None:
    graph = loop(impl, impl.ToolNode([later]), call("later", word="x"))
    assert replies(run(graph, {"messages": "go"}))[0].content == '{"word": "x"}'


def test_functions_are_tools(impl: Impl, run: Run) -> None:
    def half(number: int) -> float:
        """Halves a number."""
        return number / 2

    graph = loop(impl, impl.ToolNode([half]), call("half", number=3))
    assert replies(run(graph, {"messages": "go"}))[0].content == "1.5"


@pytest.mark.only("antiphon")
def test_tools_of_antiphon_are_tools(impl: Impl, run: Run) -> None:
    @antiphon.tool
    def half(number: int) -> float:
        """Halves a number."""
        return number / 2

    graph = loop(impl, impl.ToolNode([half]), call("half", number=3))
    assert replies(run(graph, {"messages": "go"}))[0].content == "1.5"


@pytest.mark.only("antiphon")
@pytest.mark.parametrize("arguments", [{"number": "many"}, {}, {"number": 1, "other": 2}])
def test_the_model_is_told_what_does_not_fit_a_tool_of_antiphon(
    impl: Impl, run: Run, arguments: dict[str, Any]
) -> None:
    @antiphon.tool(name="in_half")
    def half(number: int) -> float:
        """Halves a number."""
        return number / 2

    graph = loop(impl, impl.ToolNode([half]), call("in_half", **arguments))
    (told,) = replies(run(graph, {"messages": "go"}))
    assert told.status == "error"
    assert "the arguments of tool `in_half` do not fit" in told.content


@pytest.mark.parametrize(
    "asked", [call("triple", number=1), call("double", number="many")], ids=["tool", "argument"]
)
def test_the_model_reads_what_does_not_fit(impl: Impl, run: Run, asked: Any) -> None:
    (reply,) = replies(run(loop(impl, impl.ToolNode([double]), asked), {"messages": "go"}))
    assert reply.status == "error"
    assert "double" in reply.content


def test_a_failure_of_a_tool_ends_the_run_by_default(impl: Impl, run: Run) -> None:
    with pytest.raises(ValueError, match="no such word"):
        run(loop(impl, impl.ToolNode([broken]), call("broken", word="x")), {"messages": "go"})


def mine(error: ValueError) -> str:
    return f"mine: {error}"


@pytest.mark.parametrize(
    ("handler", "expected"),
    [
        (True, "no such word: x"),
        ("sorry", "sorry"),
        (mine, "mine: no such word: x"),
        (ValueError, "no such word: x"),
        ((KeyError, ValueError), "no such word: x"),
    ],
)
def test_a_failure_is_reported_as_the_handler_says(
    impl: Impl, run: Run, handler: Any, expected: str
) -> None:
    node = impl.ToolNode([broken], handle_tool_errors=handler)
    (reply,) = replies(run(loop(impl, node, call("broken", word="x")), {"messages": "go"}))
    assert (reply.status, expected in reply.content) == ("error", True)


@pytest.mark.parametrize("handler", [False, KeyError, (KeyError,)])
def test_other_failures_end_the_run(impl: Impl, run: Run, handler: Any) -> None:
    node = impl.ToolNode([broken], handle_tool_errors=handler)
    with pytest.raises(ValueError):
        run(loop(impl, node, call("broken", word="x")), {"messages": "go"})


def test_a_tool_sees_the_state_and_the_model_cannot_forge_it(impl: Impl, run: Run) -> None:
    def count(word: str, messages: Any, state: Any) -> str:
        """Counts messages."""
        return f"{word} {len(messages)} {sorted(state)}"

    hints = {"word": str, "return": str, "state": Annotated[dict[str, Any], impl.InjectedState]}
    hints["messages"] = Annotated[list[Any], impl.InjectedState("messages")]
    made = tool(annotated(count, **hints))
    assert list(made.tool_call_schema.model_json_schema()["properties"]) == ["word"]
    asked = call("count", word="x", state={"forged": 1}, messages=["forged"] * 9)
    (reply,) = replies(run(loop(impl, impl.ToolNode([made]), asked), {"messages": "go"}))
    assert reply.content == "x 2 ['messages']"


def test_a_tool_sees_its_runtime(impl: Impl) -> None:
    def look(word: str, runtime: Any) -> str:
        """Looks around."""
        runtime.stream_writer("seen")
        return f"{runtime.context} {runtime.tool_call_id} {len(runtime.state['messages'])}"

    made = tool(annotated(look, word=str, runtime=impl.ToolRuntime[Any, Any], **{"return": str}))
    assert list(made.tool_call_schema.model_json_schema()["properties"]) == ["word"]
    graph = loop(impl, impl.ToolNode([made]), call("look", "7", word="x"))
    options: dict[str, Any] = {"context": "ctx", "stream_mode": ["custom", "values"]}
    *_, last = chunks = list(graph.stream({"messages": "go"}, **options))
    assert ("custom", "seen") in chunks
    assert replies(last[1])[0].content == "ctx 7 2"


def test_a_tool_may_write_to_the_state(impl: Impl, run: Run) -> None:
    @tool
    def leave(word: str) -> Any:
        """Writes."""
        reply = ToolMessage(word, tool_call_id="1")
        return impl.Command(update={"messages": [reply]})

    graph = loop(
        impl,
        impl.ToolNode([leave, double]),
        call("leave", word="bye"),
        call("double", "2", number=1),
    )
    state = run(graph, {"messages": "go"})
    assert sorted(one.content for one in replies(state)) == ["2", "bye"]


def writing(make: Callable[[], Any]) -> Any:
    """A tool that returns what `make` makes."""

    @tool
    def leave(word: str) -> Any:
        """Leaves."""
        return make()

    return leave


def tool_message(key: str = "1") -> Any:
    return ToolMessage("ok", tool_call_id=key)


def leave_with(impl: Impl, run: Run, make: Callable[[], Any], **options: Any) -> Any:
    """The state after a node of tools whose one tool returns what `make` makes."""
    node = impl.ToolNode([writing(make)], **options)
    graph = impl.build(impl.MessagesState, {"tools": node}, [(impl.START, "tools")])
    asking = AIMessage("", tool_calls=[call("leave", word="bye")])
    return run(graph, {"messages": [asking]})


UNANSWERED = ["no message", "no key", "only a key", "another call", "a bare list"]
UNFIT_LISTS = ["none in a list", "two in a list", "two messages", "a message for another call"]


def unfit(impl: Impl, case: str) -> Any:
    command = impl.Command
    return {
        "no message": lambda: command(update={"messages": []}),
        "no key": lambda: command(update={}, goto=impl.END),
        "only a key": lambda: command(update={"other": 1}),
        "another call": lambda: command(update={"messages": [tool_message("2")]}),
        "a bare list": lambda: command(update=[tool_message()]),
        "none in a list": lambda: [command(goto=impl.END), command(update={"messages": []})],
        "two in a list": lambda: [tool_message(), command(update={"messages": [tool_message()]})],
        "two messages": lambda: [tool_message(), tool_message()],
        "a message for another call": lambda: [tool_message("2")],
    }[case]


@pytest.mark.parametrize("case", [*UNANSWERED, *UNFIT_LISTS])
def test_what_a_tool_writes_must_answer_its_call(impl: Impl, run: Run, case: str) -> None:
    with pytest.raises(ValueError, match="leave"):
        leave_with(impl, run, unfit(impl, case))


@pytest.mark.parametrize("case", [UNANSWERED[0], UNFIT_LISTS[0]])
def test_the_handler_may_tell_what_does_not_answer(impl: Impl, run: Run, case: str) -> None:
    state = leave_with(impl, run, unfit(impl, case), handle_tool_errors=True)
    (reply,) = replies(state)
    assert (reply.status, reply.tool_call_id) == ("error", "1")


@pytest.mark.only("antiphon")
def test_the_error_says_how_to_answer(impl: Impl, run: Run) -> None:
    with pytest.raises(ValueError, match='ToolMessage\\("done", tool_call_id=') as raised:
        leave_with(impl, run, unfit(impl, "no message"))
    assert "`leave`" in str(raised.value)
    with pytest.raises(ValueError, match="for the call `1`, found: 2"):
        leave_with(impl, run, unfit(impl, "two messages"))


@pytest.mark.parametrize("case", ["answer", "dict", "only goto", "removal", "list"])
def test_a_command_that_answers_is_taken(impl: Impl, run: Run, case: str) -> None:
    command = impl.Command
    raw = {"role": "tool", "content": "ok", "tool_call_id": "1"}
    everything = impl.RemoveMessage(id=impl.REMOVE_ALL_MESSAGES)
    made, expected = {
        "answer": (lambda: command(update={"messages": [tool_message()]}), ["ok"]),
        "dict": (lambda: command(update={"messages": [raw]}), ["ok"]),
        "only goto": (lambda: command(goto=impl.END), []),
        "removal": (lambda: command(update={"messages": [everything]}), []),
        "list": (lambda: [command(goto=impl.END), tool_message()], ["ok"]),
    }[case]
    state = leave_with(impl, run, made)
    assert [one.content for one in replies(state)] == expected
    assert not state["messages"] or case != "removal"


def test_an_answer_in_a_command_gets_the_name_of_its_tool(impl: Impl, run: Run) -> None:
    state = leave_with(impl, run, lambda: impl.Command(update={"messages": [tool_message()]}))
    assert [one.name for one in replies(state)] == ["leave"]


def test_a_command_for_the_enclosing_graph_needs_no_answer(impl: Impl, run: Run) -> None:
    command = impl.Command(update={"messages": ["left"]}, graph=impl.Command.PARENT)
    node = impl.ToolNode([writing(lambda: command)])
    inner = impl.build(impl.MessagesState, {"tools": node}, [(impl.START, "tools")])
    outer = impl.build(impl.MessagesState, {"inner": inner}, [(impl.START, "inner")])
    asking = AIMessage("", tool_calls=[call("leave", word="bye")])
    assert run(outer, {"messages": [asking]})["messages"][-1].content == "left"


def test_packets_for_the_enclosing_graph_leave_together(impl: Impl, run: Run) -> None:
    @tool
    def give(to: str) -> Any:
        """Gives."""
        return impl.Command(goto=[impl.Send("take", {"to": to})], graph=impl.Command.PARENT)

    asked = AIMessage("", tool_calls=[call("give", "1", to="a"), call("give", "2", to="b")])
    inner = impl.build(impl.MessagesState, {"t": impl.ToolNode([give])}, [(impl.START, "t")])
    nodes = {"inner": inner, "take": lambda packet: {"messages": [packet["to"]]}}
    outer = impl.build(impl.MessagesState, nodes, [(impl.START, "inner")])
    contents = [one.content for one in run(outer, {"messages": [asked]})["messages"]]
    assert sorted(contents[-2:]) == ["a", "b"]


@pytest.mark.only("antiphon")
def test_what_is_written_with_the_packets_is_kept(impl: Impl, run: Run) -> None:
    @tool
    def give(to: str) -> Any:
        """Gives."""
        sends = [impl.Send("take", {"to": to})]
        update = {"messages": [f"to {to}"]}
        return impl.Command(goto=sends, update=update, graph=impl.Command.PARENT)

    asked = AIMessage("", tool_calls=[call("give", "1", to="a"), call("give", "2", to="b")])
    inner = impl.build(impl.MessagesState, {"t": impl.ToolNode([give])}, [(impl.START, "t")])
    nodes = {"inner": inner, "take": lambda packet: {"messages": [packet["to"]]}}
    outer = impl.build(impl.MessagesState, nodes, [(impl.START, "inner")])
    contents = [one.content for one in run(outer, {"messages": [asked]})["messages"]]
    assert contents[-4:] == ["to a", "to b", "a", "b"]


@pytest.mark.parametrize("fits", [True, False])
def test_a_state_that_is_a_list_takes_a_list(impl: Impl, run: Run, fits: bool) -> None:
    update = (lambda: [tool_message()]) if fits else (lambda: {"messages": [tool_message()]})
    node = impl.ToolNode([writing(lambda: impl.Command(update=update()))])
    schema = Annotated[list[Any], impl.add_messages]
    graph = impl.build(schema, {"tools": node}, [(impl.START, "tools")])
    messages = [AIMessage("", tool_calls=[call("leave", word="bye")])]
    if fits:
        assert run(graph, messages)[-1].content == "ok"
    else:
        with pytest.raises(ValueError, match="leave"):
            run(graph, messages)


def test_a_tool_may_ask_a_person(impl: Impl, run: Run) -> None:
    asked: list[str] = []

    @tool
    def approve(word: str) -> str:
        """Asks."""
        asked.append(word)
        return f"{word}: {impl.interrupt('may I?')}"

    options = {"checkpointer": impl.MemorySaver()}
    graph = loop(impl, impl.ToolNode([approve]), call("approve", word="x"), **options)
    run(graph, {"messages": "go"}, ONE)
    assert [one.value for one in graph.get_state(ONE).interrupts] == ["may I?"]
    state = run(graph, impl.Command(resume="yes"), ONE)
    assert replies(state)[0].content == "x: yes"
    assert asked == ["x", "x"]


def test_calls_can_be_sent_one_by_one(impl: Impl, run: Run) -> None:
    asked = [call("double", "1", number=2), call("double", "2", number=3)]
    builder = impl.StateGraph(impl.MessagesState).add_node("tools", impl.ToolNode([double]))
    builder.add_conditional_edges(
        impl.START, lambda _: [impl.Send("tools", [one]) for one in asked]
    )
    assert [one.content for one in replies(run(builder.compile(), {"messages": "go"}))] == [
        "4",
        "6",
    ]


def state_of(*messages: Any) -> dict[str, Any]:
    return {"messages": list(messages)}


@pytest.mark.parametrize("shape", [list, state_of])
def test_the_condition_leads_to_tools_or_the_end(impl: Impl, shape: Callable[..., Any]) -> None:
    def state(message: Any) -> Any:
        return [message] if shape is list else shape(message)

    wants = AIMessage("", tool_calls=[call("double", number=1)])
    assert impl.tools_condition(state(wants)) == "tools"
    assert impl.tools_condition(state(AIMessage("hi"))) == impl.END
    with pytest.raises(ValueError):
        impl.tools_condition({"messages": []})


@pytest.mark.only("antiphon")
def test_tools_of_one_name_are_refused(impl: Impl) -> None:
    with pytest.raises(impl.GraphBuildError, match="the same name: double"):
        impl.ToolNode([double, double])


@pytest.mark.only("antiphon")
def test_a_node_of_tools_works_outside_of_graphs(impl: Impl) -> None:
    messages = [AIMessage("", tool_calls=[call("double", number=4)])]
    assert impl.ToolNode([double]).invoke(messages)[0].content == "8"
