"""What the callbacks of a config receive of a run: LangChain's tracers read it from them."""

import asyncio
import uuid
from typing import Any

import pytest
from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.language_models.fake_chat_models import GenericFakeChatModel
from langchain_core.messages import AIMessage

from support.oracle import Impl, Run
from support.states import Log, say


class Heard(BaseCallbackHandler):
    """Notes what begins within what, and how it ends."""

    def __init__(self) -> None:
        self.names: dict[Any, Any] = {}
        self.started: list[Any] = []
        self.ended: list[Any] = []
        self.inputs: dict[Any, Any] = {}

    def on_chain_start(self, serialized: Any, inputs: Any, **kwargs: Any) -> None:
        self._begin(kwargs["name"], kwargs)
        self.inputs[kwargs["name"]] = inputs

    def on_chat_model_start(self, *args: Any, **kwargs: Any) -> None:
        self._begin("model", kwargs)

    def on_chain_end(self, outputs: Any, **kwargs: Any) -> None:
        self.ended.append((self.names[kwargs["run_id"]], outputs))

    def on_chain_error(self, error: Any, **kwargs: Any) -> None:
        self.ended.append((self.names[kwargs["run_id"]], type(error)))

    def _begin(self, name: Any, about: Any) -> None:
        self.names[about["run_id"]] = name
        self.started.append((name, self.names.get(about["parent_run_id"])))


@pytest.fixture
def heard() -> Heard:
    return Heard()


@pytest.fixture
def model() -> Any:
    return GenericFakeChatModel(messages=iter([AIMessage(content="one two", id="m")] * 9))


def void(_: Any) -> None:
    """Nothing, for nodes that write nothing."""


def test_a_run_and_its_nodes(impl: Impl, run: Run, heard: Heard) -> None:
    graph = impl.sequence(Log, say("a"), say("b"), name="g")
    run(graph, {"log": ["in"]}, {"callbacks": [heard]})
    assert heard.started == [("g", None), ("a", "g"), ("b", "g")]
    assert heard.inputs == {"g": {"log": ["in"]}, "a": {"log": ["in"]}, "b": {"log": ["in", "a"]}}
    assert heard.ended == [
        ("a", {"log": ["a"]}),
        ("b", {"log": ["b"]}),
        ("g", {"log": ["in", "a", "b"]}),
    ]


def test_a_model_belongs_to_the_node_that_calls_it(
    impl: Impl, run: Run, heard: Heard, model: Any
) -> None:
    graph = impl.sequence(Log, ("n", lambda s: void(model.invoke("x"))), name="g")
    run(graph, {}, {"callbacks": [heard]})
    assert heard.started == [("g", None), ("n", "g"), ("model", "n")]


def test_a_graph_that_a_node_invokes_belongs_to_it(
    impl: Impl, run: Run, heard: Heard, model: Any
) -> None:
    inner = impl.sequence(Log, ("deep", lambda s: void(model.invoke("x"))), name="inner")
    graph = impl.sequence(Log, ("call", lambda s: void(inner.invoke(s))), name="g")
    run(graph, {"log": []}, {"callbacks": [heard]})
    expected = [("g", None), ("call", "g"), ("inner", "call"), ("deep", "inner"), ("model", "deep")]
    assert heard.started == expected


@pytest.mark.only("antiphon")
def test_a_nested_graph_is_the_node_that_it_is(impl: Impl, run: Run, heard: Heard) -> None:
    inner = impl.sequence(Log, say("deep"), name="inner")
    run(impl.sequence(Log, ("sub", inner), name="g"), {}, {"callbacks": [heard]})
    assert heard.started == [("g", None), ("sub", "g"), ("deep", "sub")]
    assert [name for name, _ in heard.ended] == ["deep", "sub", "g"]


def test_a_failure_ends_the_node_and_the_run(impl: Impl, run: Run, heard: Heard) -> None:
    def fail(state: Any) -> None:
        raise ValueError("mine")

    with pytest.raises(ValueError):
        run(impl.sequence(Log, fail, name="g"), {}, {"callbacks": [heard]})
    assert heard.ended == [("fail", ValueError), ("g", ValueError)]


def test_a_question_ends_the_node_but_not_the_run(impl: Impl, run: Run, heard: Heard) -> None:
    graph = impl.sequence(Log, ("ask", lambda s: impl.interrupt("?")), name="g")
    run(graph, {"log": ["in"]}, {"callbacks": [heard]})
    assert heard.ended == [("ask", impl.GraphInterrupt), ("g", {"log": ["in"]})]


@pytest.mark.only("antiphon")
def test_what_is_resumed_is_a_separate_run(impl: Impl, run: Run, heard: Heard) -> None:
    graph = impl.sequence(Log, ("ask", lambda s: {"log": [impl.interrupt("?")]}), name="g")
    graph.resume(run(graph, {"log": ["in"]}, {"callbacks": [heard]}), "yes")
    assert heard.started == [("g", None), ("ask", "g")] * 2
    assert heard.ended[2:] == [("ask", {"log": ["yes"]}), ("g", {"log": ["in", "yes"]})]


def test_the_configs_id_and_name_are_the_runs(impl: Impl, run: Run, heard: Heard) -> None:
    mine = uuid.uuid4()
    config = {"callbacks": [heard], "run_id": mine, "run_name": "mine"}
    run(impl.sequence(Log, say("a")), {}, config)
    assert heard.names[mine] == "mine"


def test_a_stream_that_is_closed_ends_the_run_with_an_error(impl: Impl, heard: Heard) -> None:
    graph = impl.sequence(Log, say("a"), say("b"), name="g")
    stream = graph.stream({}, {"callbacks": [heard]})
    next(stream)
    stream.close()
    assert heard.ended[-1] == ("g", GeneratorExit)


def test_astream_events_names_the_graph_its_nodes_and_the_model(impl: Impl, model: Any) -> None:
    graph = impl.sequence(Log, ("n", lambda s: void(model.invoke("x"))), say("z"), name="g")

    async def main() -> list[Any]:
        events = graph.astream_events({"log": []}, version="v2")
        return [(event["event"], event["name"]) async for event in events]

    fake = "GenericFakeChatModel"
    got = [event for event in asyncio.run(main()) if event[0] != "on_chain_stream"]
    assert got == [
        ("on_chain_start", "g"),
        ("on_chain_start", "n"),
        ("on_chat_model_start", fake),
        *[("on_chat_model_stream", fake)] * 3,
        ("on_chat_model_end", fake),
        ("on_chain_end", "n"),
        ("on_chain_start", "z"),
        ("on_chain_end", "z"),
        ("on_chain_end", "g"),
    ]
