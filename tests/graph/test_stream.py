"""Streaming: values, updates, custom, subgraphs, many modes (rules 11, 97, 98, 102, 105)."""

import asyncio
import operator
import threading
from typing import Annotated, Any, TypedDict

import pytest

from support.oracle import Events, Impl, Run, annotated
from support.states import Log, Plain, Update, say


@pytest.fixture
def two(impl: Impl) -> Any:
    """`a` -> `b`."""
    return impl.sequence(Log, say("a"), say("b"))


class TestShapes:
    """What a chunk looks like."""

    def test_updates_are_the_default(self, two: Any, events: Events) -> None:
        assert events(two, {}) == [{"a": {"log": ["a"]}}, {"b": {"log": ["b"]}}]
        assert events(two, {}) == events(two, {}, stream_mode="updates")

    def test_a_list_of_modes_tags_each_chunk(self, two: Any, events: Events) -> None:
        assert events(two, {"log": ["in"]}, stream_mode=["updates", "values"]) == [
            ("values", {"log": ["in"]}),
            ("updates", {"a": {"log": ["a"]}}),
            ("values", {"log": ["in", "a"]}),
            ("updates", {"b": {"log": ["b"]}}),
            ("values", {"log": ["in", "a", "b"]}),
        ]

    def test_a_list_of_one_mode_tags_too(self, two: Any, events: Events) -> None:
        assert events(two, {}, stream_mode=["updates"])[0] == ("updates", {"a": {"log": ["a"]}})

    @pytest.mark.only("langgraph")
    def test_a_tuple_of_modes_loses_the_tag(self, two: Any, events: Events) -> None:
        assert events(two, {}, stream_mode=("updates",))[0] == {"a": {"log": ["a"]}}

    @pytest.mark.only("antiphon")
    def test_a_tuple_of_modes_is_as_good_as_a_list(self, two: Any, events: Events) -> None:
        assert events(two, {}, stream_mode=("updates",))[0] == ("updates", {"a": {"log": ["a"]}})

    @pytest.mark.only("antiphon")
    def test_an_unknown_mode_is_an_error(self, two: Any, events: Events) -> None:
        with pytest.raises(ValueError, match="typo"):
            events(two, {}, stream_mode="typo")

    def test_a_mode_set_on_the_graph_is_its_default(self, two: Any, events: Events) -> None:
        two.stream_mode = "values"
        assert events(two, {}) == [{"log": ["a"]}, {"log": ["a", "b"]}]


class TestUpdates:
    """`updates`: one event per finished task."""

    def test_two_writes_of_one_task_to_one_key_are_a_list(self, impl: Impl, events: Events) -> None:
        commands = [impl.Command(update={"log": ["1"]}), impl.Command(update={"log": ["2"]})]
        assert events(impl.sequence(Log, ("n", lambda s: commands)), {}) == [
            {"n": [{"log": ["1"]}, {"log": ["2"]}]}
        ]

    def test_the_event_shows_the_update_not_the_state(self, impl: Impl, events: Events) -> None:
        graph = impl.sequence(Plain, ("n", lambda s: {"a": 1, "typo": 2}))
        assert events(graph, {"b": 0}) == [{"n": {"a": 1}}]

    def test_each_packet_has_its_event(self, impl: Impl, events: Events) -> None:
        builder = impl.StateGraph(Log).add_node("n", lambda i: {"log": [i]})
        builder.add_conditional_edges(impl.START, lambda s: [impl.Send("n", i) for i in range(3)])
        got = events(builder.compile(), {})
        assert sorted(event["n"]["log"] for event in got) == [[0], [1], [2]]

    def test_events_of_a_step_come_in_completion_order(self, impl: Impl) -> None:
        async def main() -> list[Any]:
            released = asyncio.Event()

            async def a(state: Log) -> Update:
                await asyncio.wait_for(released.wait(), 10)
                return {"log": ["a"]}

            async def b(state: Log) -> Update:
                return {"log": ["b"]}

            graph = impl.build(Log, {"a": a, "b": b}, [("__start__", "a"), ("__start__", "b")])
            names = []
            async for event in graph.astream({}):
                names += event
                released.set()
            return names

        assert asyncio.run(main()) == ["b", "a"]

    def test_output_keys_select(self, impl: Impl, events: Events) -> None:
        graph = impl.sequence(Plain, ("n", lambda s: {"a": 1, "b": 2}))
        assert events(graph, {}, output_keys=["a"]) == [{"n": {"a": 1}}]


class TestValues:
    """`values`: the state after each step that changed it."""

    def test_a_step_without_writes_has_no_event(self, impl: Impl, events: Events) -> None:
        graph = impl.sequence(Log, ("quiet", lambda s: None), say("b"))
        assert events(graph, {"log": ["in"]}, stream_mode="values") == [
            {"log": ["in"]},
            {"log": ["in", "b"]},
        ]

    def test_a_write_of_the_same_value_has_an_event(self, impl: Impl, events: Events) -> None:
        graph = impl.sequence(Plain, ("n", lambda s: {"a": 1}))
        assert events(graph, {"a": 1}, stream_mode="values") == [{"a": 1}, {"a": 1}]

    def test_a_parallel_step_has_one_event(self, impl: Impl, events: Events) -> None:
        graph = impl.build(Log, {n: say(n) for n in "ab"}, [("__start__", "a"), ("__start__", "b")])
        assert events(graph, {}, stream_mode="values") == [{"log": ["a", "b"]}]

    def test_output_keys_select(self, impl: Impl, events: Events) -> None:
        graph = impl.sequence(Plain, ("n", lambda s: {"a": 1, "b": 2}))
        assert events(graph, {"a": 0}, stream_mode="values", output_keys=["a"]) == [
            {"a": 0},
            {"a": 1},
        ]
        assert events(graph, {"a": 0}, stream_mode="values", output_keys="a") == [0, 1]

    def test_an_event_that_was_kept_does_not_change(self, two: Any, events: Events) -> None:
        got = events(two, {"log": ["in"]}, stream_mode="values")
        assert [len(event["log"]) for event in got] == [1, 2, 3]


class TestCustom:
    """`custom`: what a node writes itself."""

    def test_an_injected_writer_emits_custom_events(self, impl: Impl, events: Events) -> None:
        def write(state: Log, writer: Any) -> Update:
            writer("one")
            writer({"two": 2})
            return {"log": ["n"]}

        graph = impl.sequence(Log, ("n", annotated(write, writer=impl.StreamWriter)))
        assert events(graph, {}, stream_mode="custom") == ["one", {"two": 2}]
        assert events(graph, {}, stream_mode=["custom", "updates"]) == [
            ("custom", "one"),
            ("custom", {"two": 2}),
            ("updates", {"n": {"log": ["n"]}}),
        ]

    def test_get_stream_writer_and_the_runtimes_writer(self, impl: Impl, events: Events) -> None:
        def write(state: Log, runtime: Any) -> None:
            impl.get_stream_writer()("by function")
            runtime.stream_writer("by runtime")

        graph = impl.sequence(Log, ("n", annotated(write, runtime=impl.Runtime)))
        assert events(graph, {}, stream_mode="custom") == [
            "by function",
            "by runtime",
        ]

    def test_without_the_mode_a_writer_is_silent(
        self, impl: Impl, events: Events, run: Run
    ) -> None:
        graph = impl.sequence(Log, ("n", lambda s: impl.get_stream_writer()("quiet")), say("z"))
        assert events(graph, {}) == [{"n": None}, {"z": {"log": ["z"]}}]
        assert run(graph, {}) == {"log": ["z"]}

    def test_an_event_arrives_while_its_node_runs_async(self, impl: Impl) -> None:
        async def main() -> None:
            seen = asyncio.Event()

            async def n(state: Log) -> Update:
                impl.get_stream_writer()("hello")
                await asyncio.wait_for(seen.wait(), 10)
                return {"log": ["n"]}

            async for mode, _ in impl.sequence(Log, n).astream(
                {}, stream_mode=["custom", "values"]
            ):
                if mode == "custom":
                    seen.set()
            assert seen.is_set()

        asyncio.run(main())

    def test_an_event_arrives_while_its_node_runs_sync(self, impl: Impl) -> None:
        seen = threading.Event()

        def n(state: Log) -> None:
            impl.get_stream_writer()("hello")
            assert seen.wait(10)

        for chunk in impl.sequence(Log, n).stream({}, stream_mode="custom"):
            assert chunk == "hello"
            seen.set()
        assert seen.is_set()


class TestSubgraphs:
    """`subgraphs=True` puts a namespace in front."""

    @pytest.fixture
    def outer(self, impl: Impl) -> Any:
        inner = impl.sequence(Plain, ("deep", lambda s: {"a": 1}))
        return impl.sequence(Plain, ("inner", inner), ("last", lambda s: {"b": 2}))

    def test_without_it_only_the_roots_events_show(self, outer: Any, events: Events) -> None:
        assert events(outer, {"a": 0}) == [{"inner": {"a": 1}}, {"last": {"b": 2}}]

    def test_with_it_each_event_has_a_namespace(self, outer: Any, events: Events) -> None:
        (space, deep), *root = events(outer, {"a": 0}, subgraphs=True)
        assert [part.partition(":")[:2] for part in space] == [("inner", ":")]
        assert deep == {"deep": {"a": 1}}
        assert root == [((), {"inner": {"a": 1}}), ((), {"last": {"b": 2}})]

    def test_with_a_list_of_modes_too(self, outer: Any, events: Events) -> None:
        got = events(outer, {"a": 0}, subgraphs=True, stream_mode=["values"])
        assert [(len(space), mode, state) for space, mode, state in got] == [
            (0, "values", {"a": 0}),
            (1, "values", {"a": 0}),
            (1, "values", {"a": 1}),
            (0, "values", {"a": 1}),
            (0, "values", {"a": 1, "b": 2}),
        ]

    def test_the_namespace_of_a_nested_subgraph_names_each_level(
        self, impl: Impl, outer: Any, events: Events
    ) -> None:
        got = events(impl.sequence(Plain, ("top", outer)), {"a": 0}, subgraphs=True)
        assert [[part.split(":")[0] for part in space] for space, _ in got] == [
            ["top", "inner"],
            ["top"],
            ["top"],
            [],
        ]

    def test_a_graph_invoked_by_a_node_shows_too(self, impl: Impl, events: Events) -> None:
        inner = impl.sequence(Plain, ("deep", lambda s: {"a": 1}))
        graph = impl.sequence(Plain, ("call", lambda s: inner.invoke({"a": 0})))
        got = events(graph, {"a": 0}, subgraphs=True)
        assert [chunk for _, chunk in got] == [{"deep": {"a": 1}}, {"call": {"a": 1}}]

    def test_a_graph_invoked_by_a_nested_node_has_the_whole_namespace(
        self, impl: Impl, events: Events
    ) -> None:
        low = impl.sequence(Plain, ("deep", lambda s: {"a": 1}))
        inner = impl.sequence(Plain, ("call", lambda s: low.invoke({"a": 0})))
        (space, chunk), *_ = events(impl.sequence(Plain, ("inner", inner)), {}, subgraphs=True)
        assert [part.split(":")[0] for part in space] == ["inner", "call"]
        assert chunk == {"deep": {"a": 1}}

    def test_custom_events_of_a_subgraph_carry_its_namespace(
        self, impl: Impl, events: Events
    ) -> None:
        inner = impl.sequence(Plain, ("deep", lambda s: impl.get_stream_writer()("hi")))
        graph = impl.sequence(Plain, ("inner", inner))
        [(space, chunk)] = events(graph, {"a": 0}, stream_mode="custom", subgraphs=True)
        assert (len(space), chunk) == (1, "hi")


class TestInvoke:
    """`invoke` reads the stream to its end."""

    def test_another_mode_returns_the_list_of_chunks(self, two: Any, run: Run) -> None:
        assert run(two, {}, stream_mode="updates") == [{"a": {"log": ["a"]}}, {"b": {"log": ["b"]}}]
        assert run(two, {}, stream_mode=["updates"])[0] == ("updates", {"a": {"log": ["a"]}})

    def test_output_keys_select(self, impl: Impl, run: Run) -> None:
        graph = impl.sequence(Plain, ("n", lambda s: {"a": 1, "b": 2}))
        assert run(graph, {}, output_keys=["b"]) == {"b": 2}
        assert run(graph, {}, output_keys="b") == 2

    def test_a_run_without_any_write_returns_nothing(self, impl: Impl, run: Run) -> None:
        assert run(impl.sequence(Plain, ("n", lambda s: None)), {}) is None

    def test_a_reducer_key_that_nobody_wrote_shows_its_empty_value(
        self, impl: Impl, run: Run
    ) -> None:
        class State(TypedDict, total=False):
            a: int
            log: Annotated[list[Any], operator.add]

        assert run(impl.sequence(State, ("n", lambda s: {"a": 1})), {}) == {"a": 1, "log": []}


class TestLeaving:
    """A consumer that stops early."""

    def test_nodes_after_the_last_event_taken_do_not_run(self, impl: Impl) -> None:
        ran = []
        graph = impl.sequence(
            Log, say("a"), ("b", lambda s: ran.append("b")), ("c", lambda s: ran.append("c"))
        )
        stream = graph.stream({})
        assert next(stream) == {"a": {"log": ["a"]}}
        stream.close()
        assert "c" not in ran

    def test_nodes_after_the_last_event_taken_do_not_run_async(self, impl: Impl) -> None:
        ran = []

        async def main() -> None:
            graph = impl.sequence(
                Log, say("a"), ("b", lambda s: ran.append("b")), ("c", lambda s: ran.append("c"))
            )
            stream = graph.astream({})
            assert await anext(stream) == {"a": {"log": ["a"]}}
            await stream.aclose()

        asyncio.run(main())
        assert "c" not in ran

    def test_a_stream_that_is_never_read_runs_nothing(self, impl: Impl) -> None:
        ran = []
        graph = impl.sequence(Log, ("n", lambda s: ran.append(1)))
        graph.stream({})
        graph.astream({})
        assert ran == []


@pytest.mark.only("antiphon")
def test_what_a_node_returns_after_its_time_was_up_is_not_shown(impl: Impl, events: Events) -> None:
    late = threading.Event()

    def slow(state: Log) -> Update:
        assert late.wait(10)
        return {"log": ["late"]}

    def rescue(state: Log) -> Update:
        late.set()
        impl.get_stream_writer()("rescued")
        return {"log": ["rescued"]}

    builder = impl.StateGraph(Log).add_node("n", slow, timeout=0.05, error_handler=rescue)
    graph = builder.add_edge(impl.START, "n").compile()
    got = events(graph, {}, stream_mode="updates")
    assert [chunk["__error_handler__n"]["log"] for chunk in got] == [["rescued"]]
