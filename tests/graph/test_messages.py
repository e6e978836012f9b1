"""`add_messages` and `MessagesState` (rule 26), and the stream mode `messages` (rule 101)."""

import asyncio
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Annotated, Any, TypedDict

import pytest
from langchain_core.language_models.fake_chat_models import GenericFakeChatModel
from langchain_core.messages import AIMessage

from support.oracle import Events, Impl, Run, annotated
from support.states import Update


def contents(messages: list[Any]) -> list[Any]:
    """The text of each message."""
    return [message.content for message in messages]


def void(_: Any) -> None:
    """Nothing, for nodes that write nothing."""


class TestAddMessages:
    """The reducer itself."""

    @pytest.mark.parametrize(
        ("form", "kind"),
        [
            (("user", "hi"), "human"),
            (("human", "hi"), "human"),
            (("assistant", "hi"), "ai"),
            (("ai", "hi"), "ai"),
            (("system", "hi"), "system"),
            ({"role": "user", "content": "hi"}, "human"),
            ({"role": "assistant", "content": "hi"}, "ai"),
            ({"type": "human", "content": "hi"}, "human"),
            ("hi", "human"),
        ],
    )
    def test_add_messages_coerces_pairs_dicts_and_strings(
        self, impl: Impl, form: Any, kind: Any
    ) -> None:
        [message] = impl.add_messages([], [form])
        assert (message.type, message.content) == (kind, "hi")

    def test_a_single_message_stands_for_a_list(self, impl: Impl) -> None:
        assert contents(impl.add_messages(("user", "a"), ("user", "b"))) == ["a", "b"]

    def test_a_message_without_an_id_gets_one_and_keeps_it(self, impl: Impl) -> None:
        first = impl.add_messages([], ["a", "b"])
        ids = [message.id for message in first]
        assert all(ids)
        assert len(set(ids)) == 2
        assert [message.id for message in impl.add_messages(first, ["c"])][:2] == ids

    def test_a_known_id_replaces_in_place(self, impl: Impl) -> None:
        left = [{"role": "user", "content": c, "id": c} for c in "abc"]
        merged = impl.add_messages(left, {"role": "user", "content": "new", "id": "b"})
        assert contents(merged) == ["a", "new", "c"]

    def test_the_later_of_two_equal_ids_in_one_batch_wins(self, impl: Impl) -> None:
        batch = [{"role": "user", "content": c, "id": "same"} for c in ("old", "new")]
        assert contents(impl.add_messages([], batch)) == ["new"]

    def test_a_remove_message_deletes(self, impl: Impl) -> None:
        left = [{"role": "user", "content": c, "id": c} for c in "abc"]
        assert contents(impl.add_messages(left, [impl.RemoveMessage(id="b")])) == ["a", "c"]

    def test_removing_an_unknown_id_is_an_error(self, impl: Impl) -> None:
        with pytest.raises(ValueError, match="typo"):
            impl.add_messages([("user", "a")], [impl.RemoveMessage(id="typo")])

    def test_remove_all_discards_what_came_before(self, impl: Impl) -> None:
        everything = impl.RemoveMessage(id=impl.REMOVE_ALL_MESSAGES)
        assert impl.REMOVE_ALL_MESSAGES == "__remove_all__"
        merged = impl.add_messages(
            [("user", "old")], [("user", "lost"), everything, ("user", "new")]
        )
        assert contents(merged) == ["new"]
        assert impl.add_messages([("user", "old")], [everything]) == []

    def test_an_id_that_is_added_again_after_its_removal_stays(self, impl: Impl) -> None:
        left = [{"role": "user", "content": "old", "id": "x"}]
        batch = [impl.RemoveMessage(id="x"), {"role": "user", "content": "new", "id": "x"}]
        assert contents(impl.add_messages(left, batch)) == ["new"]

    def test_add_messages_changes_neither_list(self, impl: Impl) -> None:
        left = impl.add_messages([], ["a"])
        right = impl.add_messages([], ["b"])
        merged = impl.add_messages(left, right)
        assert (contents(left), contents(right), contents(merged)) == (["a"], ["b"], ["a", "b"])

    def test_with_a_format_only_it_is_a_partial(self, impl: Impl) -> None:
        assert callable(impl.add_messages(format="langchain-openai"))

    def test_a_format_lays_the_content_out(self, impl: Impl, run: Run) -> None:
        class State(TypedDict):
            messages: Annotated[list[Any], impl.add_messages(format="langchain-openai")]

        image = {"type": "base64", "media_type": "image/jpeg", "data": "1234"}
        content = [{"type": "text", "text": "hi"}, {"type": "image", "source": image}]
        message = {"role": "user", "content": content, "id": "1"}
        graph = impl.sequence(State, ("n", lambda s: {"messages": [message]}))
        [shown] = run(graph, {"messages": []})["messages"]
        assert [part["type"] for part in shown.content] == ["text", "image_url"]

    def test_an_unknown_format_is_an_error(self, impl: Impl) -> None:
        with pytest.raises(ValueError, match="typo"):
            impl.add_messages([], ["a"], format="typo")

    def test_one_list_alone_is_an_error(self, impl: Impl) -> None:
        with pytest.raises(ValueError, match="left"):
            impl.add_messages(["a"])


class TestInAGraph:
    """As a state's reducer."""

    def test_messages_state_collects_messages(self, impl: Impl, run: Run) -> None:
        graph = impl.sequence(impl.MessagesState, ("n", lambda s: {"messages": [("ai", "hello")]}))
        result = run(graph, {"messages": [("user", "hi")]})
        assert [(m.type, m.content) for m in result["messages"]] == [
            ("human", "hi"),
            ("ai", "hello"),
        ]

    def test_messages_state_can_be_extended(self, impl: Impl, run: Run) -> None:
        class State(impl.MessagesState):  # type: ignore[name-defined, misc]
            extra: int

        graph = impl.sequence(State, ("n", lambda s: {"extra": len(s["messages"])}))
        assert run(graph, {"messages": ["a", "b"]})["extra"] == 2

    def test_a_node_sees_messages_not_what_was_given(self, impl: Impl, run: Run) -> None:
        seen = []
        graph = impl.sequence(impl.MessagesState, ("n", lambda s: seen.extend(s["messages"])))
        run(graph, {"messages": "hi"})
        assert [(m.type, m.content) for m in seen] == [("human", "hi")]

    def test_a_node_may_edit_and_remove(self, impl: Impl, run: Run) -> None:
        def edit(state: Any) -> Update:
            first, second = state["messages"]
            return {
                "messages": [
                    impl.RemoveMessage(id=first.id),
                    {"role": "user", "content": "edited", "id": second.id},
                ]
            }

        result = run(impl.sequence(impl.MessagesState, edit), {"messages": ["one", "two"]})
        assert contents(result["messages"]) == ["edited"]

    def test_parallel_nodes_add_in_barrier_order(self, impl: Impl, run: Run) -> None:
        class State(TypedDict):
            messages: Annotated[list[Any], impl.add_messages]

        nodes = {n: lambda s, n=n: {"messages": [("ai", n)]} for n in "cab"}
        graph = impl.build(State, nodes, [("__start__", n) for n in nodes])
        assert contents(run(graph, {"messages": []})["messages"]) == ["a", "b", "c"]


class TestStreamMode:
    """`stream_mode="messages"`."""

    def graph(self, impl: Any, *messages: Any) -> Any:
        """A node `n` that returns `messages`, behind a message of the input."""
        return impl.sequence(impl.MessagesState, ("n", lambda s: {"messages": list(messages)}))

    def test_a_message_that_a_node_returns_is_an_event_with_metadata(
        self, impl: Impl, events: Events
    ) -> None:
        graph = self.graph(impl, impl.AIMessage(content="hello", id="1"))
        [(message, metadata)] = events(graph, {"messages": ["hi"]}, stream_mode="messages")
        assert (message.content, message.id) == ("hello", "1")
        assert metadata["langgraph_node"] == "n"
        assert metadata["langgraph_step"] == 1
        assert tuple(metadata["langgraph_triggers"]) == ("branch:to:n",)
        assert metadata["langgraph_checkpoint_ns"].startswith("n:")

    def test_messages_that_were_in_the_state_are_not_events(
        self, impl: Impl, events: Events
    ) -> None:
        old = impl.AIMessage(content="old", id="old")
        graph = impl.sequence(impl.MessagesState, ("n", lambda s: {"messages": s["messages"]}))
        assert events(graph, {"messages": [old]}, stream_mode="messages") == []

    def test_among_several_modes_it_is_tagged(self, impl: Impl, events: Events) -> None:
        graph = self.graph(impl, impl.AIMessage(content="hello", id="1"))
        got = events(graph, {"messages": ["hi"]}, stream_mode=["messages", "updates"])
        assert sorted(mode for mode, _ in got) == ["messages", "updates"]

    def test_a_subgraphs_messages_show_with_subgraphs_only(
        self, impl: Impl, events: Events
    ) -> None:
        inner = self.graph(impl, impl.AIMessage(content="deep", id="1"))
        graph = impl.sequence(impl.MessagesState, ("inner", inner))
        got = events(graph, {"messages": ["hi"]}, stream_mode="messages", subgraphs=True)
        assert [(len(space), message.content) for space, (message, _) in got] == [(1, "deep")]


class TestTokens:
    """Tokens of a LangChain chat model that a node calls."""

    @pytest.fixture
    def model(self) -> Any:
        return GenericFakeChatModel(messages=iter([AIMessage(content="one two", id="m")]))

    def test_tokens_of_a_sync_model_call_are_streamed(self, impl: Impl, model: Any) -> None:
        def n(state: Any) -> Update:
            return {"messages": [model.invoke(state["messages"])]}

        graph = impl.sequence(impl.MessagesState, n)
        got = list(graph.stream({"messages": ["hi"]}, stream_mode="messages"))
        assert [chunk.content for chunk, _ in got] == ["one", " ", "two"]
        assert {metadata["langgraph_node"] for _, metadata in got} == {"n"}

    def test_tokens_of_an_async_model_call_are_streamed(self, impl: Impl, model: Any) -> None:
        async def n(state: Any) -> Update:
            return {"messages": [await model.ainvoke(state["messages"])]}

        async def main() -> list[Any]:
            stream = impl.sequence(impl.MessagesState, n).astream(
                {"messages": ["hi"]}, stream_mode="messages"
            )
            return [chunk.content async for chunk, _ in stream]

        assert asyncio.run(main()) == ["one", " ", "two"]

    def test_a_reply_within_a_nested_graph_shows_once_the_graph_has_returned_it(
        self, impl: Impl, model: Any
    ) -> None:
        inner = impl.sequence(
            impl.MessagesState, ("n", lambda s: {"messages": [model.invoke("x")]})
        )
        graph = impl.sequence(impl.MessagesState, ("inner", inner))
        got = list(graph.stream({"messages": ["hi"]}, stream_mode="messages"))
        shown = [(message.content, metadata["langgraph_node"]) for message, metadata in got]
        assert shown == [("one two", "inner")]

    def test_the_tag_nostream_suppresses(self, impl: Impl, model: Any) -> None:
        quiet = model.with_config(tags=["nostream"])
        graph = impl.sequence(impl.MessagesState, ("n", lambda s: quiet.invoke("x") and None))
        assert list(graph.stream({"messages": ["hi"]}, stream_mode="messages")) == []

    def test_each_token_says_where_it_comes_from(self, impl: Impl, model: Any) -> None:
        graph = impl.sequence(impl.MessagesState, ("n", lambda s: void(model.invoke("x"))))
        config = {"metadata": {"mine": 1}, "tags": ["t"]}
        stream = graph.stream({"messages": ["hi"]}, config, stream_mode="messages")
        for _, metadata in stream:
            assert (metadata["langgraph_node"], metadata["langgraph_step"]) == ("n", 1)
            assert tuple(metadata["langgraph_triggers"]) == ("branch:to:n",)
            assert tuple(metadata["langgraph_path"]) == ("__pregel_pull", "n")
            assert metadata["langgraph_checkpoint_ns"].startswith("n:")
            assert (metadata["mine"], metadata["tags"]) == (1, ["t"])

    def test_a_config_that_is_handed_on_shows_them_once(self, impl: Impl, model: Any) -> None:
        def n(state: Any, config: Any) -> Update:
            with ThreadPoolExecutor(1) as pool:
                return {"messages": [pool.submit(model.invoke, "x", config).result()]}

        graph = impl.sequence(impl.MessagesState, ("n", annotated(n, config=impl.RunnableConfig)))
        got = list(graph.stream({"messages": ["hi"]}, stream_mode="messages"))
        assert [chunk.content for chunk, _ in got] == ["one", " ", "two"]

    def test_tokens_arrive_while_the_node_runs(self, impl: Impl, model: Any) -> None:
        seen = threading.Event()

        def n(state: Any) -> None:
            model.invoke("x")
            assert seen.wait(10)

        graph = impl.sequence(impl.MessagesState, n)
        for chunk, _ in graph.stream({"messages": ["hi"]}, stream_mode="messages"):
            if chunk.content == "one":
                seen.set()

    @pytest.mark.parametrize(("subgraphs", "expected"), [(False, ["one two"]), (True, None)])
    def test_tokens_of_a_graph_that_a_node_invokes_are_streamed(
        self, impl: Impl, model: Any, subgraphs: bool, expected: Any
    ) -> None:
        def call(state: Any) -> Update:
            return dict(inner.invoke(state))

        deep = ("deep", lambda s: {"messages": [model.invoke("x")]})
        inner = impl.sequence(impl.MessagesState, deep)
        graph = impl.sequence(impl.MessagesState, call)
        start = {"messages": [{"role": "user", "content": "hi", "id": "0"}]}
        got = list(graph.stream(start, stream_mode="messages", subgraphs=subgraphs))
        if expected is not None:
            assert [message.content for message, _ in got] == expected
            return
        assert [message.content for _, (message, _) in got] == ["one", " ", "two"]
        spaces = [[place.split(":")[0] for place in space] for space, _ in got]
        assert spaces == [["call"]] * 3

    def test_tokens_of_a_graph_that_gets_the_nodes_own_config_are_streamed(
        self, impl: Impl, model: Any
    ) -> None:
        deep = ("deep", lambda s: {"messages": [model.invoke("x")]})
        inner = impl.sequence(impl.MessagesState, deep)

        def call(state: Any, config: Any) -> Update:
            return dict(inner.invoke(state, config))

        node = ("call", annotated(call, config=impl.RunnableConfig))
        graph = impl.sequence(impl.MessagesState, node)
        start = {"messages": [{"role": "user", "content": "hi", "id": "0"}]}
        got = list(graph.stream(start, stream_mode="messages", subgraphs=True))
        assert [message.content for _, (message, _) in got] == ["one", " ", "two"]
        assert {len(space) for space, _ in got} == {1}

    def test_tokens_of_a_nested_graph_are_streamed(self, impl: Impl, model: Any) -> None:
        deep = ("deep", lambda s: {"messages": [model.invoke("x")]})
        graph = impl.sequence(impl.MessagesState, ("sub", impl.sequence(impl.MessagesState, deep)))
        start = {"messages": ["hi"]}
        got = list(graph.stream(start, stream_mode="messages", subgraphs=True))
        assert [message.content for _, (message, _) in got] == ["one", " ", "two"]
        for space, (_, metadata) in got:
            assert [place.split(":")[0] for place in space] == ["sub"]
            assert metadata["langgraph_checkpoint_ns"].startswith(f"{space[0]}|deep:")

    def test_a_stream_that_a_node_reads_itself_does_not_show_twice(
        self, impl: Impl, model: Any
    ) -> None:
        inner = impl.sequence(impl.MessagesState, ("deep", lambda s: void(model.invoke("x"))))
        inside = []

        def call(state: Any) -> None:
            inside.extend(inner.stream({"messages": ["hi"]}, stream_mode="messages"))

        graph = impl.sequence(impl.MessagesState, call)
        start = {"messages": ["hi"]}
        got = list(graph.stream(start, stream_mode="messages", subgraphs=True))
        assert [message.content for message, _ in inside] == ["one", " ", "two"]
        assert [message.content for _, (message, _) in got] == ["one", " ", "two"]
