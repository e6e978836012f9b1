"""Rare uses of LangGraph in existing programs, and the errors that they get."""

import asyncio
import operator
from collections.abc import AsyncIterator, Iterator
from typing import Annotated, Any, TypedDict

import pytest
from langchain_core.messages import AIMessage

from support.oracle import Events, Impl, Run
from support.states import Log, Plain, say

ONE = {"configurable": {"thread_id": "1"}}


def test_a_key_with_any_reducer_is_there_before_it_is_written(impl: Impl, run: Run) -> None:
    Messages: Any = impl.MessagesState  # noqa: N806 - a class

    class Chat(Messages):  # type: ignore[misc]
        q: str

    def count(state: Any) -> Any:
        return {"q": f"{state['q']} {len(state['messages'])}"}

    graph = impl.build(Chat, {"count": count}, [(impl.START, "count")])
    assert run(graph, {"q": "x"}) == {"q": "x 0", "messages": []}


def test_a_text_of_a_subclass_is_stored_as_text(impl: Impl, run: Run) -> None:
    def answer(_: Any) -> Any:
        return {"log": [AIMessage("hi").text]}

    graph = impl.build(
        Log, {"answer": answer}, [(impl.START, "answer")], checkpointer=impl.MemorySaver()
    )
    assert run(graph, {}, ONE) == {"log": ["hi"]}
    assert graph.get_state(ONE).values == {"log": ["hi"]}


def test_a_retry_policy_may_name_the_time_out_of_nodes(impl: Impl) -> None:
    attempts: list[int] = []

    async def slow_once(_: Any) -> Any:
        attempts.append(1)
        if len(attempts) == 1:
            await asyncio.Event().wait()
        return {"log": ["done"]}

    policy = impl.RetryPolicy(initial_interval=0.001, jitter=False, retry_on=impl.NodeTimeoutError)
    builder = impl.StateGraph(Log).add_node(slow_once, timeout=0.05, retry_policy=policy)
    graph = builder.add_edge(impl.START, "slow_once").compile()
    assert asyncio.run(graph.ainvoke({})) == {"log": ["done"]}


def test_the_config_of_a_state_leads_to_its_questions(impl: Impl, run: Run) -> None:
    nodes = {"ask": lambda _: {"log": [impl.interrupt("q")]}, "b": say("b")}
    edges = [(impl.START, "ask"), (impl.START, "b")]
    graph = impl.build(Log, nodes, edges, checkpointer=impl.MemorySaver())
    run(graph, {}, ONE)
    state = graph.get_state(graph.get_state(ONE).config)
    assert [asked.value for asked in state.interrupts] == ["q"]
    assert [(task.name, task.result) for task in state.tasks] == [
        ("ask", None),
        ("b", {"log": ["b"]}),
    ]
    assert (state.next, state.values) == (("ask", "b"), {"log": []})


def test_a_dict_is_a_node(impl: Impl, run: Run) -> None:
    builder = impl.StateGraph(Plain).add_node("both", {"a": lambda _: "from the dict"})
    graph = builder.add_edge(impl.START, "both").compile()
    assert run(graph, {"a": "in"})["a"] == "from the dict"


def test_a_generator_function_is_a_node(impl: Impl) -> None:
    def parts(_: Any) -> Iterator[Any]:
        yield {"a": "made"}

    graph = impl.build(Plain, {"parts": parts}, [(impl.START, "parts")])
    assert graph.invoke({"a": "in"})["a"] == "made"


def test_of_dicts_that_a_generator_yields_the_last_one_counts(impl: Impl) -> None:
    def parts(state: Any) -> Iterator[Any]:
        yield {"log": [state["log"][-1]]}
        yield {"log": ["last"]}

    graph = impl.build(Log, {"parts": parts}, [(impl.START, "parts")])
    assert graph.invoke({"log": ["in"]})["log"] == ["in", "last"]


def test_of_dicts_that_an_async_generator_yields_the_last_one_counts(impl: Impl) -> None:
    async def parts(state: Any) -> AsyncIterator[Any]:
        yield {"log": ["first"]}
        yield {"log": [state["log"][-1], "last"]}

    graph = impl.build(Log, {"parts": parts}, [(impl.START, "parts")])
    result = asyncio.run(graph.ainvoke({"log": ["in"]}))
    assert result["log"] == ["in", "in", "last"]


def test_a_generator_that_yields_nothing_writes_nothing(impl: Impl) -> None:
    def parts(_: Any) -> Iterator[Any]:
        yield from ()

    graph = impl.build(Log, {"parts": parts}, [(impl.START, "parts")])
    assert graph.invoke({"log": ["in"]})["log"] == ["in"]


def test_one_answer_to_several_questions_is_a_runtime_error(impl: Impl, run: Run) -> None:
    nodes = {name: lambda _: {"log": [impl.interrupt("q")]} for name in "ab"}
    edges = [(impl.START, "a"), (impl.START, "b")]
    graph = impl.build(Log, nodes, edges, checkpointer=impl.MemorySaver())
    run(graph, {}, ONE)
    with pytest.raises(RuntimeError):
        run(graph, impl.Command(resume="yes"), ONE)


def test_the_name_takes_a_suffix(impl: Impl) -> None:
    graph = impl.build(Log, {"a": say("a")}, [(impl.START, "a")], name="chat")
    assert graph.get_name("input") == "chat_input"
    assert graph.get_name("input", name="Chat") == "ChatInput"
    assert graph.get_name() == "chat"


class Keys(TypedDict, total=False):
    """Keys that are written in another order, one of them with a reducer."""

    first: str
    log: Annotated[list[str], operator.add]
    last: str


def test_the_keys_of_a_state_are_in_the_order_of_its_schema(impl: Impl, run: Run) -> None:
    seen: list[list[str]] = []

    def late(state: Any) -> Any:
        seen.append(list(state))
        return {"first": "1", "log": ["late"]}

    nodes = {"early": lambda _: {"last": "2"}, "late": late}
    edges = [(impl.START, "early"), ("early", "late")]
    graph = impl.build(Keys, nodes, edges)
    assert list(run(graph, {"last": "0"})) == ["first", "log", "last"]
    assert seen == [["log", "last"]]
    values = [list(state) for state in graph.stream({"last": "0"}, stream_mode="values")]
    assert values == [["log", "last"], ["log", "last"], ["first", "log", "last"]]


def test_an_update_comes_before_the_end_of_its_task(impl: Impl, events: Events) -> None:
    graph = impl.build(Log, {"a": say("a")}, [(impl.START, "a")])
    chunks = events(graph, {}, stream_mode=["tasks", "updates"])
    assert [(mode, sorted(chunk)) for mode, chunk in chunks] == [
        ("tasks", ["id", "input", "name", "triggers"]),
        ("updates", ["a"]),
        ("tasks", ["error", "id", "interrupts", "name", "result"]),
    ]


@pytest.mark.parametrize("way", ["router", "send", "command"])
def test_a_route_to_no_node_is_logged(
    impl: Impl, run: Run, caplog: pytest.LogCaptureFixture, way: str
) -> None:
    targets = {"router": "tpyo", "send": [impl.Send("tpyo", 1)], "command": impl.END}
    goto = "tpyo" if way == "command" else ()
    builder = impl.StateGraph(Log)
    builder.add_node("a", lambda _: impl.Command(update={"log": ["a"]}, goto=goto))
    builder.add_edge(impl.START, "a").add_conditional_edges("a", lambda _: targets[way])
    assert run(builder.compile(), {}) == {"log": ["a"]}
    assert "tpyo" in caplog.text


@pytest.mark.only("antiphon")
class TestErrors:
    """What a mistake is answered with."""

    def test_a_text_as_path_map(self, impl: Impl) -> None:
        builder = impl.StateGraph(Log).add_node("a", say("a"))
        with pytest.raises(impl.GraphBuildError, match=r"(?s)a list of names: 'b'.*\['b'\]"):
            builder.add_conditional_edges("a", lambda _: "b", "b")

    def test_a_config_without_a_thread(self, impl: Impl) -> None:
        graph = impl.build(
            Log, {"a": say("a")}, [(impl.START, "a")], checkpointer=impl.MemorySaver()
        )
        with pytest.raises(impl.GraphBuildError, match="needs a `thread_id`\n"):
            graph.invoke({})

    def test_the_error_of_an_endless_loop_names_its_nodes_and_the_next_one(
        self, impl: Impl, run: Run
    ) -> None:
        nodes = {"ask": say("ask"), "think": say("think")}
        edges = [(impl.START, "ask"), ("ask", "think"), ("think", "ask")]
        graph = impl.build(Log, nodes, edges)
        message = "; `ask`, `think` form a loop; next would be `think`: 3"
        with pytest.raises(impl.GraphRecursionError, match=message):
            run(graph, {}, {"recursion_limit": 3})
        alone = impl.build(Log, {"a": say("a")}, [(impl.START, "a"), ("a", "a")])
        with pytest.raises(impl.GraphRecursionError, match="; `a` leads to itself; next"):
            run(alone, {}, {"recursion_limit": 3})

    def test_the_error_of_a_long_way_names_no_loop(self, impl: Impl, run: Run) -> None:
        ways = [(impl.START, "a"), ("a", "b"), ("b", "c"), ("b", "a")]
        graph = impl.build(Log, {name: say(name) for name in "abc"}, ways)
        with pytest.raises(impl.GraphRecursionError, match="; `a`, `b` form a loop; next"):
            run(graph, {}, {"recursion_limit": 3})
        straight = impl.build(Log, {name: say(name) for name in "abc"}, ways[:-1])
        with pytest.raises(impl.GraphRecursionError, match="supersteps; next would be `c`: 2"):
            run(straight, {}, {"recursion_limit": 2})

    def test_the_tool_node_of_langgraph(self, impl: Impl) -> None:
        prebuilt = pytest.importorskip("langgraph.prebuilt")
        with pytest.raises(impl.GraphBuildError, match=r"from `antiphon\.graph`"):
            impl.StateGraph(Log).add_node("tools", prebuilt.ToolNode([]))
