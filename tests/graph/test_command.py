"""`Command`: update and goto (rules 41, 42, 44, 45). `Command.PARENT` is in test_subgraph."""

import copy
import pickle
from dataclasses import FrozenInstanceError, dataclass, replace
from typing import Any

import pytest

from support.oracle import Impl, Run
from support.states import Log, Plain, say


def commanding(impl: Any, command: Any, *edges: tuple[str, str], **options: Any) -> Any:
    """START -> `n`, which returns `command`; nodes `x` and `y` to go to."""
    nodes = {"n": lambda s: command, "x": say("x"), "y": say("y")}
    return impl.build(Log, nodes, [(impl.START, "n"), *edges], **options)


def test_fields_and_their_defaults(impl: Impl) -> None:
    command = impl.Command()
    assert (command.graph, command.update, command.resume, command.goto) == (None, None, None, ())
    assert impl.Command.PARENT == "__parent__"


def test_a_command_is_frozen_and_takes_keywords_only(impl: Impl) -> None:
    with pytest.raises(TypeError):
        impl.Command({"log": []})
    with pytest.raises(FrozenInstanceError):
        impl.Command().goto = "x"


def test_commands_are_compared_and_copied_by_value(impl: Impl) -> None:
    command = impl.Command(update={"log": [1]}, goto="x")
    assert command == impl.Command(update={"log": [1]}, goto="x")
    assert command != impl.Command(update={"log": [2]}, goto="x")
    assert command != "x"
    assert hash(impl.Command(goto="x")) == hash(impl.Command(goto="x"))
    copied = copy.deepcopy(command)
    assert copied == command
    assert copied.update is not command.update
    assert pickle.loads(pickle.dumps(command)) == command
    assert replace(command, goto="y") == impl.Command(update={"log": [1]}, goto="y")


def test_overwrites_are_compared_and_copied_by_value(impl: Impl) -> None:
    assert impl.Overwrite([1]) == impl.Overwrite([1])
    assert impl.Overwrite([1]) != impl.Overwrite([2])
    assert pickle.loads(pickle.dumps(impl.Overwrite([1]))) == impl.Overwrite([1])
    with pytest.raises(TypeError):
        hash(impl.Overwrite(1))


def test_a_command_updates_the_state_and_names_the_next_node(impl: Impl, run: Run) -> None:
    graph = commanding(impl, impl.Command(update={"log": ["n"]}, goto="x"))
    assert run(graph, {}) == {"log": ["n", "x"]}


@dataclass
class Fields:
    """An update as an annotated object."""

    log: list[str]


@pytest.mark.parametrize(
    "update",
    [{"log": ["n"]}, [("log", ["n"])], (("log", ["n"]),), Fields(["n"])],
    ids=["dict", "pairs", "tuple of pairs", "object"],
)
def test_the_update_takes_several_forms(impl: Impl, run: Run, update: Any) -> None:
    assert run(commanding(impl, impl.Command(update=update)), {}) == {"log": ["n"]}


def test_a_list_of_pairs_may_write_a_key_twice(impl: Impl, run: Run) -> None:
    command = impl.Command(update=[("log", ["1"]), ("log", ["2"])])
    assert run(commanding(impl, command), {}) == {"log": ["1", "2"]}


def test_an_empty_command_writes_nothing(impl: Impl, run: Run) -> None:
    assert run(commanding(impl, impl.Command()), {"log": ["in"]}) == {"log": ["in"]}


def test_unknown_keys_are_ignored(impl: Impl, run: Run) -> None:
    assert run(commanding(impl, impl.Command(update={"typo": 1})), {"log": ["in"]}) == {
        "log": ["in"]
    }


@pytest.mark.parametrize("goto", [["y", "x"], ("x", "y")])
def test_goto_takes_several_names(impl: Impl, run: Run, goto: Any) -> None:
    assert run(commanding(impl, impl.Command(goto=goto)), {}) == {"log": ["x", "y"]}


def test_goto_adds_to_the_edges(impl: Impl, run: Run) -> None:
    graph = commanding(impl, impl.Command(goto="x"), ("n", "y"))
    assert run(graph, {}) == {"log": ["x", "y"]}


def test_goto_adds_to_a_branch(impl: Impl, run: Run) -> None:
    builder = impl.StateGraph(Log).add_node("n", lambda s: impl.Command(goto="x"))
    builder.add_node("x", say("x")).add_node("y", say("y")).add_edge(impl.START, "n")
    assert run(builder.add_conditional_edges("n", lambda s: "y").compile(), {}) == {
        "log": ["x", "y"]
    }


def test_goto_the_target_of_an_edge_runs_it_once(impl: Impl, run: Run) -> None:
    assert run(commanding(impl, impl.Command(goto="x"), ("n", "x")), {}) == {"log": ["x"]}


def test_goto_end_does_not_cancel_an_edge(impl: Impl, run: Run) -> None:
    assert run(commanding(impl, impl.Command(goto=impl.END), ("n", "x")), {}) == {"log": ["x"]}


def test_goto_end_alone_ends_the_run(impl: Impl, run: Run) -> None:
    command = impl.Command(update={"log": ["n"]}, goto=impl.END)
    assert run(commanding(impl, command), {}) == {"log": ["n"]}


def test_goto_takes_packets(impl: Impl, run: Run) -> None:
    command = impl.Command(goto=[impl.Send("x", {}), "y", impl.Send("x", {})])
    assert run(commanding(impl, command), {}) == {"log": ["y", "x", "x"]}
    assert run(commanding(impl, impl.Command(goto=impl.Send("x", {}))), {}) == {"log": ["x"]}


@pytest.mark.parametrize("goto", ["typo", ["typo", "x"]])
def test_an_unknown_target_is_ignored(impl: Impl, run: Run, goto: Any) -> None:
    expected = ["n", "x"] if "x" in goto else ["n"]
    assert run(commanding(impl, impl.Command(update={"log": ["n"]}, goto=goto)), {}) == {
        "log": expected
    }


@pytest.mark.only("antiphon")
def test_strict_raises_for_an_unknown_target(impl: Impl, run: Run) -> None:
    with pytest.raises(ValueError, match="typo"):
        run(commanding(impl, impl.Command(goto="typo"), strict=True), {})


def test_goto_items_of_another_type_are_ignored(impl: Impl, run: Run) -> None:
    assert run(commanding(impl, impl.Command(goto=[3, "x"])), {}) == {"log": ["x"]}


def test_a_router_sees_the_update_of_a_command(impl: Impl, run: Run) -> None:
    seen = []

    def route(state: Log) -> list[str]:
        seen.extend(state["log"])
        return []

    builder = impl.StateGraph(Log).add_node("n", lambda s: impl.Command(update={"log": ["n"]}))
    builder.add_edge(impl.START, "n").add_conditional_edges("n", route)
    run(builder.compile(), {"log": ["in"]})
    assert seen == ["in", "n"]


def test_a_node_can_loop_to_itself(impl: Impl, run: Run) -> None:
    def n(state: Log) -> Any:
        return impl.Command(update={"log": ["n"]}, goto="n" if len(state["log"]) < 3 else ())

    assert run(impl.sequence(Log, n), {}) == {"log": ["n"] * 4}


def test_two_commands_in_one_step_go_to_one_node_once(impl: Impl, run: Run) -> None:
    def jump(state: Log) -> Any:
        return impl.Command(goto="z")

    graph = impl.build(
        Log, {"a": jump, "b": jump, "z": say("z")}, [("__start__", "a"), ("__start__", "b")]
    )
    assert run(graph, {}) == {"log": ["z"]}


def test_the_annotation_of_the_targets_checks_nothing_at_run_time(impl: Impl, run: Run) -> None:
    def n(state: Log) -> Any:
        return impl.Command(goto="x")

    builder = impl.StateGraph(Log).add_node("n", n, destinations=("y",))
    builder.add_node("x", say("x")).add_node("y", say("y")).add_edge(impl.START, "n")
    assert run(builder.compile(), {}) == {"log": ["x"]}


class TestAsInput:
    """A command as the input of a graph without a checkpointer."""

    def test_resume_needs_a_checkpointer(self, impl: Impl, run: Run) -> None:
        with pytest.raises(RuntimeError):
            run(commanding(impl, None), impl.Command(resume="answer"))

    @pytest.mark.only("antiphon")
    def test_an_empty_command_is_an_empty_input(self, impl: Impl, run: Run) -> None:
        with pytest.raises(impl.EmptyInputError):
            run(commanding(impl, None), impl.Command())

    @pytest.mark.only("langgraph")
    def test_an_empty_command_is_an_unbound_local_error(self, impl: Impl, run: Run) -> None:
        with pytest.raises(UnboundLocalError):
            run(commanding(impl, None), impl.Command())

    def test_goto_adds_a_node_to_the_entry_of_a_fresh_run(self, impl: Impl, run: Run) -> None:
        ran = []
        nodes = {"n": lambda s: ran.append("n"), "x": lambda s: {"b": s["a"]}}
        graph = impl.build(Plain, nodes, [(impl.START, "n")])
        assert run(graph, impl.Command(update={"a": 1}, goto="x")) == {"a": 1, "b": 1}
        assert ran == ["n"]

    @pytest.mark.only("antiphon")
    def test_the_update_is_reduced_once(self, impl: Impl, run: Run) -> None:
        command = impl.Command(update={"log": ["in"]}, goto="x")
        assert run(commanding(impl, None), command) == {"log": ["in", "x"]}

    @pytest.mark.only("langgraph")
    def test_the_update_is_reduced_twice(self, impl: Impl, run: Run) -> None:
        command = impl.Command(update={"log": ["in"]}, goto="x")
        assert run(commanding(impl, None), command) == {"log": ["in", "in", "x"]}

    def test_goto_items_of_another_type_are_a_type_error(self, impl: Impl, run: Run) -> None:
        with pytest.raises(TypeError):
            run(commanding(impl, None), impl.Command(goto=[3]))
