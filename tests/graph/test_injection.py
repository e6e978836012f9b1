"""What a node may ask for besides the state: config, writer, runtime (rules 31, 106, 107)."""

import asyncio
import functools
from dataclasses import dataclass
from typing import Any

import pytest

from support.oracle import Impl, Run, annotated
from support.states import Log, Plain


class TestConfig:
    """The parameter `config`."""

    def test_the_config_carries_configurable_tags_and_metadata(self, impl: Impl, run: Run) -> None:
        seen = []

        n = annotated(lambda state, config: seen.append(config), config=impl.RunnableConfig)
        given = {"configurable": {"user": "u"}, "tags": ["t"], "metadata": {"m": 1}}
        run(impl.sequence(Plain, ("n", n)), {"a": 1}, given)
        [config] = seen
        assert config["configurable"]["user"] == "u"
        assert "t" in config["tags"]
        assert config["metadata"]["m"] == 1
        assert config["metadata"]["langgraph_node"] == "n"
        assert config["metadata"]["langgraph_step"] == 1

    def test_a_config_is_injected_without_an_annotation(self, impl: Impl, run: Run) -> None:
        graph = impl.sequence(Plain, ("n", lambda s, config: {"a": config["configurable"]["user"]}))
        assert run(graph, {"b": 0}, {"configurable": {"user": "u"}})["a"] == "u"

    def test_another_parameter_with_a_default_is_left_alone(self, impl: Impl, run: Run) -> None:
        graph = impl.sequence(Plain, ("n", lambda s, other="default": {"a": other}))
        assert run(graph, {"b": 0})["a"] == "default"

    def test_with_config_and_the_call_are_merged(self, impl: Impl, run: Run) -> None:
        graph = impl.sequence(
            Plain,
            (
                "n",
                lambda s, config: {"a": config["configurable"], "b": sorted(config["tags"])},
            ),
        )
        graph = graph.with_config(configurable={"x": 1, "y": 1}, tags=["one"])
        result = run(graph, {}, {"configurable": {"y": 2}, "tags": ["two"]})
        assert (result["a"]["x"], result["a"]["y"]) == (1, 2)
        assert result["b"] == ["one", "two"]

    def test_a_router_gets_it_too(self, impl: Impl, run: Run) -> None:
        builder = impl.StateGraph(Log)
        builder.add_node("a", lambda s: {"log": ["a"]}).add_node("b", lambda s: {"log": ["b"]})
        builder.add_conditional_edges(impl.START, lambda s, config: config["configurable"]["to"])
        assert run(builder.compile(), {}, {"configurable": {"to": "b"}}) == {"log": ["b"]}

    def test_the_config_of_a_router_names_the_node_that_it_routes(
        self, impl: Impl, run: Run
    ) -> None:
        seen = []

        def noting(result: Any) -> Any:
            def call(_: Any, config: Any) -> Any:
                metadata = config["metadata"]
                seen.append((metadata["langgraph_node"], metadata["langgraph_step"]))
                return result

            return annotated(call, config=impl.RunnableConfig)

        builder = impl.StateGraph(Log)
        builder.add_node("a", noting({"log": ["a"]})).add_node("b", noting({"log": ["b"]}))
        builder.add_conditional_edges(impl.START, noting("a"), ["a"])
        builder.add_conditional_edges("a", noting("b"), ["b"])
        builder.add_conditional_edges("b", noting(impl.END), [impl.END])
        graph = builder.compile(checkpointer=impl.InMemorySaver())
        thread = {"configurable": {"thread_id": "t"}}
        run(graph, {}, thread)
        assert seen == [("__start__", 0), ("a", 1), ("a", 1), ("b", 2), ("b", 2)]
        seen.clear()
        run(graph, {}, thread)
        (start, first), *later = seen
        steps = [("a", first + 1), ("a", first + 1), ("b", first + 2), ("b", first + 2)]
        assert (start, later) == ("__start__", steps)


class Worker:
    """Callables of several kinds, all wanting `config`."""

    def __call__(self, state, config):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN204
        return {"a": config["configurable"]["user"]}

    def method(self, state, config):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN201
        return {"a": config["configurable"]["user"]}


def function(state, extra, config):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN201
    """A function to make a partial of."""
    return {"a": (extra, config["configurable"]["user"])}


@pytest.mark.parametrize(
    ("node", "expected"),
    [
        (Worker(), "u"),
        (Worker().method, "u"),
        (functools.partial(function, extra="e"), ("e", "u")),
        (lambda state, config: {"a": config["configurable"]["user"]}, "u"),
    ],
    ids=["object", "method", "partial", "lambda"],
)
def test_any_callable_is_injected(impl: Impl, run: Run, node: Any, expected: Any) -> None:
    graph = impl.sequence(Plain, ("n", node))
    assert run(graph, {"b": 0}, {"configurable": {"user": "u"}})["a"] == expected


def test_an_async_callable_object_is_a_node(impl: Impl) -> None:
    class Async:
        async def __call__(self, state: Any) -> Any:
            await asyncio.sleep(0)
            return {"a": 1}

    assert asyncio.run(impl.sequence(Plain, ("n", Async())).ainvoke({})) == {"a": 1}


def test_a_partial_of_an_async_function_is_a_node(impl: Impl) -> None:
    async def n(state: Any, value: Any) -> Any:
        return {"a": value}

    graph = impl.sequence(Plain, ("n", functools.partial(n, value=3)))
    assert asyncio.run(graph.ainvoke({})) == {"a": 3}


@dataclass
class Context:
    """A context schema."""

    user: str = "nobody"


class TestRuntime:
    """`context=` and the parameter `runtime`."""

    def graph(self, impl: Any, schema: Any, seen: list[Any]) -> Any:
        """A node that notes the runtime's context."""

        n = annotated(lambda state, runtime: seen.append(runtime.context), runtime=impl.Runtime)
        builder = impl.StateGraph(Plain, context_schema=schema).add_node("n", n)
        return builder.add_edge(impl.START, "n").compile()

    @pytest.mark.parametrize("given", [Context("u"), {"user": "u"}])
    def test_a_dict_is_coerced_to_the_schema(self, impl: Impl, run: Run, given: Any) -> None:
        seen: list[Any] = []
        run(self.graph(impl, Context, seen), {"a": 1}, context=given)
        assert seen == [Context("u")]

    def test_without_a_schema_it_is_passed_through(self, impl: Impl, run: Run) -> None:
        given = {"user": "u"}
        seen: list[Any] = []
        run(self.graph(impl, None, seen), {"a": 1}, context=given)
        assert seen[0] is given

    def test_without_context_it_is_none(self, impl: Impl, run: Run) -> None:
        seen: list[Any] = []
        run(self.graph(impl, Context, seen), {"a": 1})
        assert seen == [None]

    def test_a_bad_context_fails_before_any_node(self, impl: Impl, run: Run) -> None:
        seen: list[Any] = []
        with pytest.raises(TypeError):
            run(self.graph(impl, Context, seen), {"a": 1}, context={"typo": "u"})
        assert seen == []

    def test_get_runtime_and_get_config(self, impl: Impl, run: Run) -> None:
        def n(state: Any) -> Any:
            return {
                "a": impl.get_runtime().context,
                "b": impl.get_config()["configurable"]["user"],
            }

        builder = impl.StateGraph(Plain, context_schema=Context).add_node("n", n)
        graph = builder.add_edge(impl.START, "n").compile()
        result = run(graph, {}, {"configurable": {"user": "u"}}, context=Context("c"))
        assert result == {"a": Context("c"), "b": "u"}

    def test_get_config_tells_where_a_node_stands_that_takes_none(
        self, impl: Impl, run: Run
    ) -> None:
        seen = []

        def n(state: Any) -> None:
            told = impl.get_config()["metadata"]
            seen.append((told["langgraph_node"], told["langgraph_step"]))

        run(impl.sequence(Plain, ("first", n), ("second", n)), {"a": 1})
        assert seen == [("first", 1), ("second", 2)]

    def test_a_subgraph_inherits_the_context(self, impl: Impl, run: Run) -> None:
        seen: list[Any] = []
        outer = impl.StateGraph(Plain, context_schema=Context)
        outer.add_node("inner", self.graph(impl, Context, seen)).add_edge(impl.START, "inner")
        run(outer.compile(), {"a": 1}, context=Context("u"))
        assert seen == [Context("u")]

    def test_a_router_gets_the_runtime(self, impl: Impl, run: Run) -> None:
        route = annotated(lambda state, runtime: runtime.context.user, runtime=impl.Runtime)
        builder = impl.StateGraph(Log, context_schema=Context)
        builder.add_node("a", lambda s: {"log": ["a"]}).add_node("b", lambda s: {"log": ["b"]})
        graph = builder.add_conditional_edges(impl.START, route).compile()
        assert run(graph, {}, context=Context("b")) == {"log": ["b"]}

    def test_outside_of_a_run_there_is_no_config(self, impl: Impl) -> None:
        with pytest.raises(RuntimeError):
            impl.get_config()
