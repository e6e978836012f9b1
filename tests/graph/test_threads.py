"""Threads: what is kept, read, resumed and edited (rules 63-67, 79-80, 86-96)."""

import asyncio
from contextlib import suppress
from typing import Any

import pytest

from antiphon.errors import AntiphonError
from support.oracle import Events, Impl, Run
from support.states import Log, Update, say

ONE = {"configurable": {"thread_id": "1"}}
TWO = {"configurable": {"thread_id": "2"}}


@pytest.fixture(params=["memory", "sqlite"])
def saver(impl: Impl, request: pytest.FixtureRequest, tmp_path: Any) -> Any:
    """Where the threads of a test are kept."""
    if request.param == "memory":
        return impl.MemorySaver()
    if impl.name == "langgraph":
        pytest.skip("the oracle is asked once")
    return impl.SqliteSaver.open(tmp_path / "runs.db")


def chain(impl: Impl, saver: Any) -> Any:
    return impl.sequence(Log, say("a"), say("b"), say("c"), checkpointer=saver)


def asking(impl: Impl, saver: Any, *, after: Any = None) -> Any:
    """`first` -> `ask` and `other` -> `last`."""

    def ask(state: Log) -> Update:
        return {"log": [f"ask: {impl.interrupt('sure?')}"]}

    nodes = {"first": say("first"), "ask": ask, "other": say("other"), "last": say("last")}
    edges: list[tuple[Any, str]] = [("__start__", "first"), ("first", "ask"), ("first", "other")]
    edges.append((["ask", "other"], "last"))
    return impl.build(Log, {**nodes, **(after or {})}, edges, checkpointer=saver)


class TestTurns:
    """A thread continues with more input."""

    def test_a_second_input_is_added_to_what_is_there(
        self, impl: Impl, run: Run, saver: Any
    ) -> None:
        graph = chain(impl, saver)
        assert run(graph, {"log": ["1"]}, ONE) == {"log": ["1", "a", "b", "c"]}
        assert run(graph, {"log": ["2"]}, ONE)["log"] == ["1", "a", "b", "c", "2", "a", "b", "c"]

    def test_threads_do_not_know_each_other(self, impl: Impl, run: Run, saver: Any) -> None:
        graph = chain(impl, saver)
        run(graph, {"log": ["1"]}, ONE)
        assert run(graph, {"log": ["2"]}, TWO) == {"log": ["2", "a", "b", "c"]}

    def test_another_graph_object_finds_the_thread(self, impl: Impl, run: Run, saver: Any) -> None:
        run(chain(impl, saver), {"log": ["1"]}, ONE)
        assert chain(impl, saver).get_state(ONE).values == {"log": ["1", "a", "b", "c"]}

    def test_a_thread_id_is_taken_as_text(self, impl: Impl, run: Run, saver: Any) -> None:
        graph = chain(impl, saver)
        run(graph, {"log": []}, {"configurable": {"thread_id": 1}})
        assert graph.get_state(ONE).values == {"log": ["a", "b", "c"]}

    def test_a_run_with_a_checkpointer_needs_a_thread(
        self, impl: Impl, run: Run, saver: Any
    ) -> None:
        with pytest.raises(ValueError, match="thread_id"):
            run(chain(impl, saver), {"log": []})

    def test_no_input_on_a_finished_thread_returns_its_state(
        self, impl: Impl, run: Run, saver: Any
    ) -> None:
        graph = chain(impl, saver)
        done = run(graph, {"log": ["1"]}, ONE)
        before = len(list(graph.get_state_history(ONE)))
        assert run(graph, None, ONE) == done
        assert len(list(graph.get_state_history(ONE))) == before

    def test_no_input_on_an_empty_thread_is_an_error(
        self, impl: Impl, run: Run, saver: Any
    ) -> None:
        with pytest.raises(impl.EmptyInputError):
            run(chain(impl, saver), None, ONE)

    @pytest.mark.parametrize("durability", ["sync", "async", "exit"])
    def test_each_durability_ends_the_same(
        self, impl: Impl, run: Run, saver: Any, durability: str
    ) -> None:
        graph = chain(impl, saver)
        run(graph, {"log": ["1"]}, ONE, durability=durability)
        assert graph.get_state(ONE).values == {"log": ["1", "a", "b", "c"]}
        assert graph.get_state(ONE).next == ()

    def test_durability_without_a_checkpointer_warns(self, impl: Impl, run: Run) -> None:
        with pytest.warns(match="checkpointer"):
            run(chain(impl, None), {"log": []}, durability="async")


class TestFailures:
    """What failed is run again; what was done is not."""

    def test_a_failed_node_runs_again_and_its_siblings_do_not(
        self, impl: Impl, run: Run, saver: Any
    ) -> None:
        ran: list[str] = []

        def good(state: Log) -> Update:
            ran.append("good")
            return {"log": ["good"]}

        def bad(state: Log) -> Update:
            ran.append("bad")
            if ran.count("bad") == 1:
                raise ValueError("mine")
            return {"log": ["bad"]}

        async def later(state: Log) -> Update:
            await asyncio.sleep(0)
            return bad(state)

        nodes = {"bad": bad, "good": good}
        graph = impl.build(
            Log, nodes, [("__start__", "good"), ("__start__", "bad")], checkpointer=saver
        )
        with pytest.raises(ValueError, match="mine"):
            run(graph, {"log": ["in"]}, {**ONE, "max_concurrency": 2})
        assert "bad" in graph.get_state(ONE).next
        assert run(graph, None, ONE)["log"][0] == "in"
        assert sorted(graph.get_state(ONE).values["log"]) == ["bad", "good", "in"]
        assert ran.count("bad") == 2

    @pytest.mark.only("antiphon")  # LangGraph's `ainvoke` does not wait for it.
    @pytest.mark.parametrize("names", [("bad", "good"), ("bad", "a_good")])
    def test_a_sync_node_that_ends_beside_a_failure_does_not_run_again(
        self, impl: Impl, run: Run, saver: Any, names: tuple[str, str]
    ) -> None:
        ran: list[str] = []

        def good(state: Log) -> Update:
            ran.append("good")
            return {"log": ["good"]}

        def bad(state: Log) -> Update:
            ran.append("bad")
            if ran.count("bad") == 1:
                raise ValueError("mine")
            return {"log": ["bad"]}

        nodes = dict(zip(names, (bad, good), strict=True))
        edges = [("__start__", name) for name in names]
        graph = impl.build(Log, nodes, edges, checkpointer=saver)
        with pytest.raises(ValueError, match="mine"):
            run(graph, {"log": ["in"]}, ONE)
        assert sorted(run(graph, None, ONE)["log"]) == ["bad", "good", "in"]
        assert sorted(ran) == ["bad", "bad", "good"]

    @pytest.mark.only("antiphon")  # LangGraph takes what it returns for done.
    def test_an_async_node_that_swallows_its_cancellation_runs_again(
        self, impl: Impl, saver: Any
    ) -> None:
        ran: list[str] = []

        async def swallows(state: Log) -> Update:
            ran.append("swallows")
            if ran.count("swallows") == 1:
                with suppress(asyncio.CancelledError):
                    await asyncio.Event().wait()
                return {}
            return {"log": ["worked"]}

        async def bad(state: Log) -> Update:
            await asyncio.sleep(0)
            if ran.count("swallows") == 1:
                raise ValueError("mine")
            return {"log": ["bad"]}

        edges = [("__start__", "swallows"), ("__start__", "bad")]
        nodes = {"swallows": swallows, "bad": bad}
        graph = impl.build(Log, nodes, edges, checkpointer=saver)
        with pytest.raises(ValueError, match="mine"):
            asyncio.run(graph.ainvoke({"log": ["in"]}, ONE))
        done = asyncio.run(graph.ainvoke(None, ONE))
        assert sorted(done["log"]) == ["bad", "in", "worked"]

    def test_the_state_tells_of_the_failure(self, impl: Impl, run: Run, saver: Any) -> None:
        def bad(state: Log) -> None:
            raise ValueError("mine")

        graph = impl.sequence(Log, say("a"), bad, checkpointer=saver)
        with pytest.raises(ValueError, match="mine"):
            run(graph, {}, ONE)
        state = graph.get_state(ONE)
        assert (state.values, state.next) == ({"log": ["a"]}, ("bad",))
        [task] = state.tasks
        assert "mine" in str(task.error)

    @pytest.mark.parametrize("depth", [1, 2])
    def test_the_state_tells_of_the_failure_of_a_nested_graph(
        self, impl: Impl, run: Run, saver: Any, depth: int
    ) -> None:
        def bad(state: Log) -> None:
            raise ValueError("mine")

        inner = impl.sequence(Log, ("bad", bad))
        for _ in range(depth - 1):
            inner = impl.sequence(Log, ("middle", inner))
        nodes = {"sub": inner, "bad": say("of the same name")}
        edges = [("__start__", name) for name in nodes]
        graph = impl.build(Log, nodes, edges, checkpointer=saver)
        with pytest.raises(ValueError, match="mine"):
            run(graph, {}, ONE)
        errors = {task.name: task.error for task in graph.get_state(ONE).tasks}
        assert "mine" in str(errors["sub"])
        assert errors["bad"] is None


class TestPauses:
    """An interrupt waits in the thread for its answer."""

    def test_an_answer_resumes_a_paused_run(self, impl: Impl, run: Run, saver: Any) -> None:
        graph = asking(impl, saver)
        paused = run(graph, {"log": ["in"]}, ONE)
        assert [question.value for question in paused["__interrupt__"]] == ["sure?"]
        done = run(graph, impl.Command(resume="yes"), ONE)
        assert done["log"] == ["in", "first", "ask: yes", "other", "last"]

    def test_another_graph_object_resumes(self, impl: Impl, run: Run, saver: Any) -> None:
        run(asking(impl, saver), {}, ONE)
        done = run(asking(impl, saver), impl.Command(resume="yes"), ONE)
        assert done["log"] == ["first", "ask: yes", "other", "last"]

    def test_an_answer_by_id_resumes(self, impl: Impl, run: Run, saver: Any) -> None:
        graph = asking(impl, saver)
        [question] = run(graph, {}, ONE)["__interrupt__"]
        done = run(graph, impl.Command(resume={question.id: "yes"}), ONE)
        assert done["log"] == ["first", "ask: yes", "other", "last"]

    def test_a_dict_of_other_keys_is_an_answer(self, impl: Impl, run: Run, saver: Any) -> None:
        graph = asking(impl, saver)
        run(graph, {}, ONE)
        done = run(graph, impl.Command(resume={"no": "id"}), ONE)
        assert done["log"][1] == "ask: {'no': 'id'}"

    def test_no_input_asks_again(self, impl: Impl, run: Run, saver: Any) -> None:
        graph = asking(impl, saver)
        [first] = run(graph, {}, ONE)["__interrupt__"]
        [second] = run(graph, None, ONE)["__interrupt__"]
        assert (first.id, first.value) == (second.id, second.value)

    def test_new_input_abandons_the_question(self, impl: Impl, run: Run, saver: Any) -> None:
        graph = asking(impl, saver)
        run(graph, {"log": ["1"]}, ONE)
        again = run(graph, {"log": ["2"]}, ONE)
        assert "__interrupt__" in again
        assert again["log"][:3] == ["1", "first", "2"]

    def test_an_answer_without_an_open_question_changes_nothing(
        self, impl: Impl, run: Run, saver: Any
    ) -> None:
        graph = chain(impl, saver)
        done = run(graph, {"log": ["1"]}, ONE)
        assert run(graph, impl.Command(resume="what?"), ONE) == done

    @pytest.mark.only("antiphon")
    def test_an_answer_to_what_was_not_asked_yet_is_refused(
        self, impl: Impl, run: Run, saver: Any
    ) -> None:
        graph = asking(impl, saver)
        run(graph, {"log": ["1"]}, ONE)
        run(graph, impl.Command(resume="yes"), ONE)
        history = list(graph.get_state_history(ONE))
        [before] = [one.config for one in history if "ask" in one.next]
        with pytest.raises(AntiphonError, match="no question is open") as raised:
            run(graph, impl.Command(resume="no"), before)
        assert raised.value.code == "answer_invalid"
        assert list(graph.get_state_history(ONE)) == history
        assert "__interrupt__" in run(graph, None, before)
        assert "ask: no" in run(graph, impl.Command(resume="no"), ONE)["log"]

    def test_finished_siblings_are_not_run_again(self, impl: Impl, run: Run, saver: Any) -> None:
        ran: list[str] = []
        nodes = {"ask": lambda s: {"log": [impl.interrupt("?")]}, "other": lambda s: ran.append("")}
        edges = [("__start__", "ask"), ("__start__", "other")]
        graph = impl.build(Log, nodes, edges, checkpointer=saver)
        run(graph, {}, ONE)
        run(graph, impl.Command(resume="yes"), ONE)
        assert ran == [""]

    def test_a_node_that_asks_twice_is_answered_twice(
        self, impl: Impl, run: Run, saver: Any
    ) -> None:
        def ask(state: Log) -> Update:
            return {"log": [impl.interrupt("one?"), impl.interrupt("two?")]}

        graph = impl.sequence(Log, ask, checkpointer=saver)
        [one] = run(graph, {}, ONE)["__interrupt__"]
        [two] = run(graph, impl.Command(resume=1), ONE)["__interrupt__"]
        assert (one.value, two.value) == ("one?", "two?")
        assert run(graph, impl.Command(resume=2), ONE) == {"log": [1, 2]}

    def test_of_two_questions_one_can_be_answered(self, impl: Impl, run: Run, saver: Any) -> None:
        nodes = {name: lambda s, name=name: {"log": [impl.interrupt(name)]} for name in "ab"}
        graph = impl.build(Log, nodes, [("__start__", "a"), ("__start__", "b")], checkpointer=saver)
        asked = {q.value: q.id for q in run(graph, {}, ONE)["__interrupt__"]}
        left = run(graph, impl.Command(resume={asked["b"]: "B"}), ONE)["__interrupt__"]
        assert [question.value for question in left] == ["a"]
        assert run(graph, impl.Command(resume={asked["a"]: "A"}), ONE) == {"log": ["A", "B"]}

    def test_of_two_questions_one_answer_is_not_enough(
        self, impl: Impl, run: Run, saver: Any
    ) -> None:
        nodes = {name: lambda s, name=name: {"log": [impl.interrupt(name)]} for name in "ab"}
        graph = impl.build(Log, nodes, [("__start__", "a"), ("__start__", "b")], checkpointer=saver)
        run(graph, {}, ONE)
        with pytest.raises((RuntimeError, ValueError)):
            run(graph, impl.Command(resume="whose?"), ONE)
        assert len(graph.get_state(ONE).interrupts) == 2

    def test_a_question_of_a_subgraph_is_answered(self, impl: Impl, run: Run, saver: Any) -> None:
        ran: list[str] = []
        inner = impl.sequence(
            Log,
            ("before", lambda s: ran.append("before")),
            ("ask", lambda s: {"log": [impl.interrupt("inner?")]}),
        )
        graph = impl.sequence(Log, ("inner", inner), say("last"), checkpointer=saver)
        [question] = run(graph, {"log": ["in"]}, ONE)["__interrupt__"]
        assert question.value == "inner?"
        assert graph.get_state(ONE).next == ("inner",)
        done = run(graph, impl.Command(resume="yes"), ONE)
        assert (done["log"][-2:], ran) == (["yes", "last"], ["before"])

    def test_a_resumed_run_streams_only_its_new_updates(
        self, impl: Impl, events: Events, saver: Any
    ) -> None:
        graph = asking(impl, saver)
        list(graph.stream({}, ONE))
        got = events(graph, impl.Command(resume="yes"), ONE, stream_mode="updates")
        assert {"ask": {"log": ["ask: yes"]}} in got
        assert got[-1] == {"last": {"log": ["last"]}}


class TestState:
    """`get_state` and `get_state_history`."""

    def test_the_state_of_a_finished_thread_has_no_next_task(
        self, impl: Impl, run: Run, saver: Any
    ) -> None:
        graph = chain(impl, saver)
        run(graph, {"log": ["in"]}, ONE)
        state = graph.get_state(ONE)
        assert state.values == {"log": ["in", "a", "b", "c"]}
        assert (state.next, state.tasks, state.interrupts) == ((), (), ())
        assert state.config["configurable"]["thread_id"] == "1"
        assert state.metadata["source"] == "loop"
        assert state.created_at > "2020"

    def test_the_fields_of_a_state_are_in_langgraphs_order(self, impl: Impl) -> None:
        assert impl.StateSnapshot._fields == (
            "values",
            "next",
            "config",
            "metadata",
            "created_at",
            "parent_config",
            "tasks",
            "interrupts",
        )

    def test_an_unknown_thread_is_empty(self, impl: Impl, saver: Any) -> None:
        state = chain(impl, saver).get_state(ONE)
        assert (state.values, state.next, state.metadata, state.tasks) == ({}, (), None, ())

    def test_reading_a_state_needs_a_checkpointer(self, impl: Impl) -> None:
        with pytest.raises(ValueError, match="checkpointer"):
            chain(impl, None).get_state(ONE)

    def test_a_pause_shows_what_is_done_and_what_is_asked(
        self, impl: Impl, run: Run, saver: Any
    ) -> None:
        graph = asking(impl, saver)
        run(graph, {"log": ["in"]}, ONE)
        state = graph.get_state(ONE)
        assert state.values == {"log": ["in", "first", "other"]}
        assert state.next == ("ask",)
        assert [question.value for question in state.interrupts] == ["sure?"]
        tasks = {task.name: task for task in state.tasks}
        assert set(tasks) == {"ask", "other"}
        assert [question.value for question in tasks["ask"].interrupts] == ["sure?"]
        assert tasks["other"].result == {"log": ["other"]}

    def test_aget_state_and_its_history_agree_with_the_sync_ones(
        self, impl: Impl, run: Run, saver: Any
    ) -> None:
        graph = asking(impl, saver)
        run(graph, {"log": ["in"]}, ONE)

        async def both() -> tuple[Any, list[Any]]:
            return await graph.aget_state(ONE), [s async for s in graph.aget_state_history(ONE)]

        state, history = asyncio.run(both())
        assert state == graph.get_state(ONE)
        assert history == list(graph.get_state_history(ONE))

    def test_the_history_is_newest_first(self, impl: Impl, run: Run, saver: Any) -> None:
        graph = chain(impl, saver)
        run(graph, {"log": ["in"]}, ONE)
        history = list(graph.get_state_history(ONE))
        assert [state.next for state in history[:4]] == [(), ("c",), ("b",), ("a",)]
        assert [state.values["log"] for state in history[:4]] == [
            ["in", "a", "b", "c"],
            ["in", "a", "b"],
            ["in", "a"],
            ["in"],
        ]

    def test_steps_and_ids_count_up(self, impl: Impl, run: Run, saver: Any) -> None:
        graph = chain(impl, saver)
        run(graph, {"log": ["in"]}, ONE)
        run(graph, {"log": ["in"]}, ONE)
        history = list(graph.get_state_history(ONE))
        steps = [state.metadata["step"] for state in history]
        assert steps == sorted(steps, reverse=True)
        assert len(set(steps)) == len(steps)
        ids = [state.config["configurable"]["checkpoint_id"] for state in history]
        assert ids == sorted(ids, reverse=True)

    def test_each_leads_to_the_one_before(self, impl: Impl, run: Run, saver: Any) -> None:
        graph = chain(impl, saver)
        run(graph, {"log": ["in"]}, ONE)
        history = list(graph.get_state_history(ONE))
        assert [state.parent_config for state in history[:-1]] == [
            state.config for state in history[1:]
        ]
        assert history[-1].parent_config is None

    def test_a_checkpoint_is_read_by_its_id(self, impl: Impl, run: Run, saver: Any) -> None:
        graph = chain(impl, saver)
        run(graph, {"log": ["in"]}, ONE)
        for state in list(graph.get_state_history(ONE))[:4]:
            found = graph.get_state(state.config)
            assert (found.values, found.next) == (state.values, state.next)

    def test_a_past_checkpoint_shows_what_was_asked_there(
        self, impl: Impl, run: Run, saver: Any
    ) -> None:
        def ask(state: Log) -> Update:
            return {"log": [impl.interrupt("first?"), impl.interrupt("second?")]}

        graph = impl.sequence(Log, say("a"), ask, say("c"), checkpointer=saver)
        run(graph, {"log": ["in"]}, ONE)
        asking = graph.get_state(ONE).config
        run(graph, impl.Command(resume="yes"), ONE)
        run(graph, impl.Command(resume="no"), ONE)
        found = graph.get_state(asking)
        assert (found.values, found.next) == ({"log": ["in", "a"]}, ("ask",))
        assert [question.value for question in found.interrupts] == ["second?"]
        assert found.interrupts == found.tasks[0].interrupts
        assert found in list(graph.get_state_history(ONE))
        assert next(iter(graph.get_state_history(asking))) == found

    def test_an_edit_leaves_the_questions_of_the_checkpoint_before_it(
        self, impl: Impl, run: Run, saver: Any
    ) -> None:
        def ask(state: Log) -> Update:
            return {"log": [impl.interrupt("sure?")]}

        graph = impl.sequence(Log, say("a"), ask, say("c"), checkpointer=saver)
        run(graph, {"log": ["in"]}, ONE)
        asking = graph.get_state(ONE)
        graph.update_state(asking.config, {"log": ["edit"]})
        assert graph.get_state(ONE).interrupts == ()
        assert graph.get_state(asking.config).interrupts == asking.interrupts
        assert asking.interrupts

    def test_a_history_is_limited_and_filtered(self, impl: Impl, run: Run, saver: Any) -> None:
        graph = chain(impl, saver)
        run(graph, {"log": ["in"]}, ONE)
        history = list(graph.get_state_history(ONE))
        assert list(graph.get_state_history(ONE, limit=2)) == history[:2]
        assert list(graph.get_state_history(ONE, before=history[1].config)) == history[2:]
        step = history[1].metadata["step"]
        assert list(graph.get_state_history(ONE, filter={"step": step})) == [history[1]]


class TestEdits:
    """`update_state`."""

    def test_a_write_counts_as_the_last_node(self, impl: Impl, run: Run, saver: Any) -> None:
        def ask(state: Log) -> Update:
            return {"log": [impl.interrupt("?")]}

        graph = impl.sequence(Log, say("a"), ask, say("c"), checkpointer=saver)
        run(graph, {}, ONE)
        graph.update_state(ONE, {"log": ["edit"]})
        state = graph.get_state(ONE)
        assert (state.values, state.next) == ({"log": ["a", "edit"]}, ("ask",))
        assert state.metadata["source"] == "update"

    @pytest.mark.parametrize("nested", [False, True])
    @pytest.mark.parametrize("turns", [1, 2])
    def test_a_write_before_the_only_node_has_answered_keeps_the_pause(
        self, impl: Impl, run: Run, saver: Any, turns: int, *, nested: bool
    ) -> None:
        def ask(state: Log) -> Update:
            return {"log": [impl.interrupt("?")]}

        node = impl.sequence(Log, ask) if nested else ask
        graph = impl.sequence(Log, ("ask", node), checkpointer=saver)
        run(graph, {"log": ["in"]}, ONE)
        for _ in range(turns - 1):
            run(graph, impl.Command(resume="yes"), ONE)
            run(graph, {"log": ["in"]}, ONE)
        values = graph.get_state(ONE).values
        graph.update_state(ONE, {"log": ["edit"]})
        state = graph.get_state(ONE)
        assert (state.values, state.next) == ({"log": [*values["log"], "edit"]}, ("ask",))
        assert [question.value for question in run(graph, None, ONE)["__interrupt__"]] == ["?"]

    def test_a_write_after_the_only_node_ends_there(self, impl: Impl, run: Run, saver: Any) -> None:
        graph = impl.sequence(Log, say("a"), checkpointer=saver)
        run(graph, {"log": ["in"]}, ONE)
        graph.update_state(ONE, {"log": ["edit"]})
        state = graph.get_state(ONE)
        assert (state.values, state.next) == ({"log": ["in", "a", "edit"]}, ())

    def test_a_write_as_a_node_goes_where_its_edges_lead(
        self, impl: Impl, run: Run, saver: Any
    ) -> None:
        graph = chain(impl, saver)
        run(graph, {"log": ["in"]}, ONE)
        graph.update_state(ONE, {"log": ["edit"]}, as_node="a")
        assert graph.get_state(ONE).next == ("b",)
        assert run(graph, None, ONE)["log"] == ["in", "a", "b", "c", "edit", "b", "c"]

    def test_aupdate_state_edits_as_update_state_does(
        self, impl: Impl, run: Run, saver: Any
    ) -> None:
        graph = chain(impl, saver)
        run(graph, {"log": ["in"]}, ONE)
        asyncio.run(graph.aupdate_state(ONE, {"log": ["edit"]}, as_node="b"))
        assert graph.get_state(ONE).next == ("c",)

    def test_an_update_counts_as_the_only_node_where_no_step_is_stored(
        self, impl: Impl, saver: Any
    ) -> None:
        graph = impl.sequence(Log, say("only"), checkpointer=saver)
        graph.invoke({"log": ["in"]}, ONE, durability="exit")
        graph.update_state(ONE, {"log": ["edit"]})
        assert graph.get_state(ONE).values["log"][-1] == "edit"
        assert graph.get_state(ONE).next == ()

    def test_update_state_returns_the_config_of_the_new_checkpoint(
        self, impl: Impl, run: Run, saver: Any
    ) -> None:
        graph = chain(impl, saver)
        run(graph, {"log": ["in"]}, ONE)
        config = graph.update_state(ONE, {"log": ["edit"]}, as_node="a")
        found = graph.get_state(ONE).config["configurable"]
        assert config["configurable"]["checkpoint_id"] == found["checkpoint_id"]

    def test_a_thread_can_begin_with_an_edit(self, impl: Impl, run: Run, saver: Any) -> None:
        graph = chain(impl, saver)
        graph.update_state(ONE, {"log": ["edit"]}, as_node="a")
        assert run(graph, None, ONE) == {"log": ["edit", "b", "c"]}

    def test_a_branch_is_asked_where_it_leads(self, impl: Impl, saver: Any) -> None:
        builder = impl.StateGraph(Log).add_node("a", say("a")).add_node("b", say("b"))
        builder.add_node("c", say("c")).add_edge("__start__", "a")
        builder.add_conditional_edges("a", lambda s: "c" if "to c" in s["log"] else "b")
        graph = builder.compile(checkpointer=saver)
        graph.update_state(ONE, {"log": ["to c"]}, as_node="a")
        assert graph.get_state(ONE).next == ("c",)

    @pytest.mark.parametrize("first", [None, "a", "c"])
    def test_a_write_after_a_write_counts_as_the_last_node_that_ran(
        self, impl: Impl, run: Run, saver: Any, first: str | None
    ) -> None:
        def ask(state: Log) -> Update:
            return {"log": [impl.interrupt("?")]}

        graph = impl.sequence(Log, say("a"), ask, say("c"), checkpointer=saver)
        run(graph, {}, ONE)
        graph.update_state(ONE, {"log": ["one"]}, **({} if first is None else {"as_node": first}))
        graph.update_state(ONE, {"log": ["two"]})
        branch = graph.update_state(graph.get_state(ONE).config, {"log": ["three"]})
        state = graph.get_state(ONE)
        assert (state.values["log"], state.next) == (["a", "one", "two", "three"], ("ask",))
        assert state.config == graph.get_state(branch).config

    @pytest.mark.parametrize("first", [None, "a"])
    def test_writes_before_any_run_count_as_the_input(
        self, impl: Impl, saver: Any, first: str | None
    ) -> None:
        graph = chain(impl, saver)
        graph.update_state(ONE, {"log": ["one"]}, **({} if first is None else {"as_node": first}))
        graph.update_state(ONE, {"log": ["two"]})
        state = graph.get_state(ONE)
        assert (state.values, state.next) == ({"log": ["one", "two"]}, ("a",))

    def test_many_writes_count_as_the_last_node_that_ran(
        self, impl: Impl, run: Run, saver: Any
    ) -> None:
        graph = chain(impl, saver)
        run(graph, {"log": ["in"]}, ONE)
        for _ in range(20):
            graph.update_state(ONE, {"log": ["edit"]}, as_node="a")
        asyncio.run(graph.aupdate_state(ONE, {"log": ["last"]}))
        assert graph.get_state(ONE).next == ()

    def test_an_unknown_node_is_refused(self, impl: Impl, run: Run, saver: Any) -> None:
        graph = chain(impl, saver)
        run(graph, {"log": ["in"]}, ONE)
        with pytest.raises(impl.InvalidUpdateError):
            graph.update_state(ONE, {"log": ["edit"]}, as_node="nobody")

    def test_after_two_nodes_one_has_to_be_named(self, impl: Impl, run: Run, saver: Any) -> None:
        nodes = {"a": say("a"), "b": say("b")}
        graph = impl.build(Log, nodes, [("__start__", "a"), ("__start__", "b")], checkpointer=saver)
        run(graph, {}, ONE)
        with pytest.raises(impl.InvalidUpdateError):
            graph.update_state(ONE, {"log": ["edit"]})
        graph.update_state(ONE, {"log": ["edit"]}, as_node="a")
        with pytest.raises(impl.InvalidUpdateError):
            graph.update_state(ONE, {"log": ["edit"]})


class TestTimeTravel:
    """A run from an earlier checkpoint."""

    def test_no_input_runs_on_from_there(self, impl: Impl, run: Run, saver: Any) -> None:
        ran: list[str] = []

        def count(state: Log) -> Update:
            ran.append("")
            return {"log": [f"count {len(ran)}"]}

        graph = impl.sequence(Log, say("a"), count, say("c"), checkpointer=saver)
        run(graph, {"log": ["in"]}, ONE)
        [earlier] = [s for s in graph.get_state_history(ONE) if s.next == ("count",)]
        assert run(graph, None, earlier.config)["log"] == ["in", "a", "count 2", "c"]
        assert graph.get_state(ONE).values["log"] == ["in", "a", "count 2", "c"]

    def test_an_edit_of_an_earlier_checkpoint_is_a_branch(
        self, impl: Impl, run: Run, saver: Any
    ) -> None:
        graph = chain(impl, saver)
        run(graph, {"log": ["in"]}, ONE)
        [earlier] = [s for s in graph.get_state_history(ONE) if s.next == ("b",)]
        branch = graph.update_state(earlier.config, {"log": ["edit"]})
        assert run(graph, None, branch)["log"] == ["in", "a", "edit", "b", "c"]

    def test_what_was_there_stays(self, impl: Impl, run: Run, saver: Any) -> None:
        graph = chain(impl, saver)
        run(graph, {"log": ["in"]}, ONE)
        head = graph.get_state(ONE).config
        [earlier] = [s for s in graph.get_state_history(ONE) if s.next == ("b",)]
        run(graph, None, earlier.config)
        assert graph.get_state(head).values["log"] == ["in", "a", "b", "c"]

    def test_new_input_is_a_turn_from_there(self, impl: Impl, run: Run, saver: Any) -> None:
        graph = chain(impl, saver)
        run(graph, {"log": ["1"]}, ONE)
        earlier = graph.get_state(ONE).config
        run(graph, {"log": ["2"]}, ONE)
        done = run(graph, {"log": ["3"]}, earlier)
        assert done["log"] == ["1", "a", "b", "c", "3", "a", "b", "c"]

    def test_a_run_from_an_earlier_checkpoint_asks_its_question_again(
        self, impl: Impl, run: Run, saver: Any
    ) -> None:
        graph = asking(impl, saver)
        run(graph, {}, ONE)
        run(graph, impl.Command(resume="yes"), ONE)
        [earlier] = [s for s in graph.get_state_history(ONE) if set(s.next) == {"ask", "other"}]
        [question] = run(graph, None, earlier.config)["__interrupt__"]
        assert question.value == "sure?"
        done = run(graph, impl.Command(resume="no"), ONE)
        assert "ask: no" in done["log"]
