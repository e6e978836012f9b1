"""Retry, timeouts and error handlers (rules 12, 56-61)."""

import asyncio
import threading
import time
from datetime import timedelta
from typing import Any

import pytest
from langchain_core.runnables import RunnableLambda

from support.oracle import Impl, Run, annotated
from support.states import Log, Update, say
from support.waiting import ENOUGH, atake_time, forever


class Flaky:
    """A node that fails `times` times with `error`, then logs its name."""

    def __init__(self, times: int, error: Any = ConnectionError) -> None:
        self.left, self.error, self.calls = times, error, 0

    def __call__(self, state: Any) -> Update:
        self.calls += 1
        if self.calls <= self.left:
            raise self.error() if isinstance(self.error, type) else self.error
        return {"log": [f"call {self.calls}"]}


def fast(impl: Any, **options: Any) -> Any:
    """A policy without noticeable pauses."""
    return impl.RetryPolicy(**{"initial_interval": 0.001, "jitter": False, **options})


def flaky(impl: Any, node: Any, policy: Any) -> Any:
    """A graph of one node with a retry policy."""
    builder = impl.StateGraph(Log).add_node("n", node, retry_policy=policy)
    return builder.add_edge(impl.START, "n").compile()


class TestPolicy:
    """How often, and for which errors."""

    def test_a_retry_policy_has_langgraphs_defaults(self, impl: Impl) -> None:
        policy = impl.RetryPolicy()
        assert policy._fields[:5] == (
            "initial_interval",
            "backoff_factor",
            "max_interval",
            "max_attempts",
            "jitter",
        )
        assert tuple(policy[:5]) == (0.5, 2.0, 128.0, 3, True)

    def test_a_node_runs_again_until_it_succeeds(self, impl: Impl, run: Run) -> None:
        assert run(flaky(impl, Flaky(2), fast(impl)), {}) == {"log": ["call 3"]}

    def test_max_attempts_includes_the_first(self, impl: Impl, run: Run) -> None:
        node = Flaky(9)
        with pytest.raises(ConnectionError):
            run(flaky(impl, node, fast(impl, max_attempts=4)), {})
        assert node.calls == 4

    def test_without_a_policy_nothing_is_retried(self, impl: Impl, run: Run) -> None:
        node = Flaky(1)
        with pytest.raises(ConnectionError):
            run(impl.sequence(Log, ("n", node)), {})
        assert node.calls == 1

    @pytest.mark.parametrize("error", [ConnectionError, ConnectionResetError, Exception, EOFError])
    def test_connection_errors_and_plain_exceptions_are_retried_by_default(
        self, impl: Impl, run: Run, error: Any
    ) -> None:
        assert run(flaky(impl, Flaky(1, error), fast(impl)), {}) == {"log": ["call 2"]}

    @pytest.mark.parametrize(
        "error",
        [
            ValueError,
            TypeError,
            ZeroDivisionError,
            ImportError,
            KeyError,
            NameError,
            SyntaxError,
            RuntimeError,
            ReferenceError,
            OSError,
            TimeoutError,
        ],
    )
    def test_programming_errors_and_time_outs_are_not_retried_by_default(
        self, impl: Impl, run: Run, error: Any
    ) -> None:
        node = Flaky(1, error)
        with pytest.raises(error):
            run(flaky(impl, node, fast(impl)), {})
        assert node.calls == 1

    @pytest.mark.parametrize(
        ("retry_on", "calls"),
        [
            (ValueError, 2),
            (KeyError, 1),
            ((KeyError, ValueError), 2),
            ([ValueError], 2),
            (lambda error: "retry me" in str(error), 2),
            (lambda error: False, 1),
        ],
    )
    def test_retry_on_takes_classes_and_predicates(
        self, impl: Impl, run: Run, retry_on: Any, calls: Any
    ) -> None:
        node = Flaky(1, ValueError("retry me"))
        try:
            run(flaky(impl, node, fast(impl, retry_on=retry_on)), {})
        except ValueError:
            assert calls == 1
        assert node.calls == calls

    def test_retry_on_of_another_type_is_a_type_error(self, impl: Impl, run: Run) -> None:
        with pytest.raises(TypeError):
            run(flaky(impl, Flaky(1), fast(impl, retry_on=3)), {})

    def test_of_several_policies_the_first_that_matches_counts(self, impl: Impl, run: Run) -> None:
        policies = [
            fast(impl, retry_on=KeyError, max_attempts=9),
            fast(impl, retry_on=ValueError, max_attempts=2),
            fast(impl, retry_on=Exception, max_attempts=5),
        ]
        node = Flaky(9, ValueError)
        with pytest.raises(ValueError):
            run(flaky(impl, node, policies), {})
        assert node.calls == 2

    def test_only_the_failing_task_of_a_step_runs_again(self, impl: Impl, run: Run) -> None:
        good, bad = Flaky(0), Flaky(1)
        builder = impl.StateGraph(Log).add_node("good", good)
        builder.add_node("bad", bad, retry_policy=fast(impl))
        graph = builder.add_edge(impl.START, "good").add_edge(impl.START, "bad").compile()
        assert run(graph, {}) == {"log": ["call 2", "call 1"]}
        assert (good.calls, bad.calls) == (1, 2)

    def test_a_failing_router_runs_its_node_again(self, impl: Impl, run: Run) -> None:
        node, route = Flaky(0), Flaky(1)
        builder = impl.StateGraph(Log).add_node("n", node, retry_policy=fast(impl))
        builder.add_edge(impl.START, "n")
        graph = builder.add_conditional_edges("n", lambda s: route(s) and []).compile()
        assert run(graph, {}) == {"log": ["call 2"]}

    def test_an_interrupt_is_never_retried(self, impl: Impl, run: Run) -> None:
        calls = []

        def ask(state: Log) -> None:
            calls.append(1)
            impl.interrupt("?")

        policy = fast(impl, retry_on=lambda error: True)
        assert "__interrupt__" in run(flaky(impl, ask, policy), {})
        assert calls == [1]


class TestPauses:
    """How long between attempts; lower bounds only, a loaded machine is slow."""

    def test_pauses_grow_by_the_backoff_factor(self, impl: Impl, run: Run) -> None:
        policy = fast(impl, initial_interval=0.03, backoff_factor=2.0)
        began = time.monotonic()
        run(flaky(impl, Flaky(2), policy), {})
        assert time.monotonic() - began >= 0.09

    def test_the_maximum_interval_caps_pauses(self, impl: Impl, run: Run) -> None:
        # Uncapped it would take longer than any test may.
        policy = fast(impl, initial_interval=3600.0, max_interval=0.001)
        attempts = Flaky(2)
        run(flaky(impl, attempts, policy), {})
        assert attempts.calls == 3


class TestDefaults:
    """`set_node_defaults`."""

    def test_a_default_policy_applies_to_nodes_added_before_and_after(
        self, impl: Impl, run: Run
    ) -> None:
        first, second = Flaky(1), Flaky(1)
        builder = impl.StateGraph(Log).add_node("a", first)
        builder.set_node_defaults(retry_policy=fast(impl))
        graph = builder.add_node("b", second).add_edge(impl.START, "a").add_edge("a", "b").compile()
        assert run(graph, {}) == {"log": ["call 2", "call 2"]}

    def test_the_nodes_own_policy_wins(self, impl: Impl, run: Run) -> None:
        node = Flaky(9)
        builder = impl.StateGraph(Log).set_node_defaults(retry_policy=fast(impl, max_attempts=5))
        builder.add_node("n", node, retry_policy=fast(impl, max_attempts=2))
        with pytest.raises(ConnectionError):
            run(builder.add_edge(impl.START, "n").compile(), {})
        assert node.calls == 2

    def test_a_subgraph_does_not_inherit_them(self, impl: Impl, run: Run) -> None:
        node = Flaky(1, ValueError)
        inner = impl.sequence(Log, ("n", node))
        builder = impl.StateGraph(Log).set_node_defaults(retry_policy=fast(impl))
        with pytest.raises(ValueError):
            run(builder.add_node("inner", inner).add_edge(impl.START, "inner").compile(), {})
        assert node.calls == 1


async def hang(state: Any) -> None:
    """Wait for ever."""
    await forever()


def timed(impl: Any, node: Any, timeout: Any, **options: Any) -> Any:
    """A graph of one node with a timeout."""
    builder = impl.StateGraph(Log).add_node("n", node, timeout=timeout, **options)
    return builder.add_edge(impl.START, "n").compile()


class TestTimeout:
    """`timeout=` of async nodes."""

    @pytest.mark.parametrize("timeout", [0.02, timedelta(milliseconds=20)])
    def test_a_node_that_takes_too_long_fails(self, impl: Impl, timeout: Any) -> None:
        with pytest.raises(impl.NodeTimeoutError) as caught:
            asyncio.run(timed(impl, hang, timeout).ainvoke({}))
        error = caught.value
        assert (error.node, error.kind, error.timeout) == ("n", "run", 0.02)
        assert error.elapsed >= 0.02
        assert not isinstance(error, OSError)

    def test_a_node_that_times_out_is_cancelled(self, impl: Impl) -> None:
        seen = []

        async def node(state: Log) -> None:
            try:
                await forever()
            except asyncio.CancelledError:
                seen.append("cancelled")
                raise

        with pytest.raises(impl.NodeTimeoutError):
            asyncio.run(timed(impl, node, 0.02).ainvoke({}))
        assert seen == ["cancelled"]

    def test_a_timeout_counts_per_attempt_and_is_retried(self, impl: Impl) -> None:
        calls = []

        async def node(state: Log) -> Update:
            calls.append(1)
            if len(calls) < 3:
                await forever()
            return {"log": ["done"]}

        graph = timed(impl, node, 0.03, retry_policy=fast(impl))
        assert asyncio.run(graph.ainvoke({})) == {"log": ["done"]}
        assert len(calls) == 3

    @pytest.mark.parametrize("timeout", [0, -1, timedelta(0)])
    def test_a_timeout_must_be_positive(self, impl: Impl, timeout: Any) -> None:
        with pytest.raises(ValueError):
            timed(impl, hang, timeout)

    def test_a_policy_sets_the_run_timeout(self, impl: Impl) -> None:
        policy = impl.TimeoutPolicy(run_timeout=0.02)
        with pytest.raises(impl.NodeTimeoutError) as caught:
            asyncio.run(timed(impl, hang, policy).ainvoke({}))
        assert (caught.value.kind, caught.value.run_timeout) == ("run", 0.02)

    def test_an_idle_timeout_fires_without_progress(self, impl: Impl) -> None:
        policy = impl.TimeoutPolicy(idle_timeout=0.02)
        with pytest.raises(impl.NodeTimeoutError) as caught:
            asyncio.run(timed(impl, hang, policy).ainvoke({}))
        assert (caught.value.kind, caught.value.idle_timeout) == ("idle", 0.02)

    def test_writing_to_the_stream_is_progress(self, impl: Impl) -> None:
        async def node(state: Log) -> Update:
            for _ in range(6):
                await atake_time(0.1)
                impl.get_stream_writer()("alive")
            return {"log": ["done"]}

        policy = impl.TimeoutPolicy(idle_timeout=0.4)
        assert asyncio.run(timed(impl, node, policy).ainvoke({})) == {"log": ["done"]}

    def test_a_heartbeat_is_progress(self, impl: Impl) -> None:
        async def node(state: Log, runtime: Any) -> Update:
            for _ in range(6):
                await atake_time(0.1)
                runtime.heartbeat()
            return {"log": ["done"]}

        policy = impl.TimeoutPolicy(idle_timeout=0.4, refresh_on="heartbeat")
        graph = timed(impl, annotated(node, runtime=impl.Runtime), policy)
        assert asyncio.run(graph.ainvoke({})) == {"log": ["done"]}

    def test_where_heartbeats_count_other_progress_does_not(self, impl: Impl) -> None:
        async def node(state: Log) -> None:
            while True:
                await atake_time(0.02)
                impl.get_stream_writer()("alive")

        policy = impl.TimeoutPolicy(idle_timeout=0.2, refresh_on="heartbeat")
        with pytest.raises(impl.NodeTimeoutError) as caught:
            asyncio.run(timed(impl, node, policy).ainvoke({}))
        assert (caught.value.kind, caught.value.run_timeout) == ("idle", None)
        # LangGraph measures from a little later than the event loop.
        assert round(caught.value.elapsed, 1) >= 0.2

    def test_what_a_runnable_does_is_progress(self, impl: Impl) -> None:
        async def node(state: Log) -> Update:
            for _ in range(6):
                await atake_time(0.1)
                await RunnableLambda(lambda x: x).ainvoke(1)
            return {"log": ["done"]}

        policy = impl.TimeoutPolicy(idle_timeout=0.4)
        assert asyncio.run(timed(impl, node, policy).ainvoke({})) == {"log": ["done"]}

    def test_an_unknown_sign_of_life_is_an_error(self, impl: Impl) -> None:
        with pytest.raises(ValueError, match="refresh_on"):
            timed(impl, hang, impl.TimeoutPolicy(idle_timeout=1, refresh_on="typo"))

    def test_a_packet_has_its_own_timeout(self, impl: Impl) -> None:
        builder = impl.StateGraph(Log).add_node("n", hang, timeout=60)
        builder.add_conditional_edges(impl.START, lambda s: [impl.Send("n", 1, timeout=0.02)])
        with pytest.raises(impl.NodeTimeoutError) as caught:
            asyncio.run(builder.compile().ainvoke({}))
        assert caught.value.timeout == 0.02

    @pytest.mark.only("langgraph")
    def test_a_sync_node_cannot_have_one(self, impl: Impl) -> None:
        with pytest.raises(ValueError):
            timed(impl, say("n"), 1)

    @pytest.mark.only("antiphon")
    def test_a_sync_node_can_have_one_and_the_caller_is_freed(self, impl: Impl, run: Run) -> None:
        never = threading.Event()
        with pytest.raises(impl.NodeTimeoutError):
            run(timed(impl, lambda s: never.wait(20) and None, 0.05), {})
        assert not never.is_set()
        never.set()


def handled(impl: Any, node: Any, handler: Any, **options: Any) -> Any:
    """START -> `n` (with a handler) -> `next`; `rescue` is there to go to."""
    builder = impl.StateGraph(Log).add_node("n", node, error_handler=handler, **options)
    builder.add_node("next", say("next")).add_node("rescue", say("rescue"))
    return builder.add_edge(impl.START, "n").add_edge("n", "next").compile()


class TestErrorHandler:
    """`error_handler=`."""

    def test_an_error_handlers_update_replaces_the_failed_nodes(self, impl: Impl, run: Run) -> None:
        graph = handled(impl, Flaky(1, ValueError), lambda s: {"log": ["handled"]})
        assert run(graph, {"log": ["in"]}) == {"log": ["in", "handled"]}

    def test_an_error_handler_gets_the_failed_nodes_input_and_error(
        self, impl: Impl, run: Run
    ) -> None:
        seen = []
        mine = ValueError("mine")

        def note(state: Any, error: Any) -> None:
            seen.append((dict(state), error.node, error.error))

        handler = annotated(note, error=impl.NodeError)
        run(handled(impl, Flaky(1, mine), handler), {"log": ["in"]})
        assert seen == [({"log": ["in"]}, "n", mine)]

    def test_an_error_handler_may_choose_the_next_node(self, impl: Impl, run: Run) -> None:
        command = impl.Command(update={"log": ["handled"]}, goto="rescue")
        graph = handled(impl, Flaky(1, ValueError), lambda s: command)
        assert run(graph, {}) == {"log": ["handled", "rescue"]}

    def test_an_error_handler_does_not_run_when_nothing_fails(self, impl: Impl, run: Run) -> None:
        graph = handled(impl, Flaky(0), lambda s: {"log": ["handled"]})
        assert run(graph, {}) == {"log": ["call 1", "next"]}

    def test_an_error_handler_runs_after_the_last_attempt_only(self, impl: Impl, run: Run) -> None:
        node = Flaky(9)
        graph = handled(impl, node, lambda s: {"log": ["handled"]}, retry_policy=fast(impl))
        assert run(graph, {}) == {"log": ["handled"]}
        assert node.calls == 3

    def test_a_retry_that_succeeds_needs_no_handler(self, impl: Impl, run: Run) -> None:
        graph = handled(impl, Flaky(1), lambda s: {"log": ["handled"]}, retry_policy=fast(impl))
        assert run(graph, {}) == {"log": ["call 2", "next"]}

    def test_a_failing_handler_fails_the_run(self, impl: Impl, run: Run) -> None:
        with pytest.raises(KeyError):
            run(handled(impl, Flaky(1, ValueError), Flaky(1, KeyError)), {})

    def test_siblings_of_a_handled_failure_finish(self, impl: Impl, run: Run) -> None:
        builder = impl.StateGraph(Log).add_node("good", say("good"))
        builder.add_node("n", Flaky(1, ValueError), error_handler=lambda s: {"log": ["handled"]})
        graph = builder.add_edge(impl.START, "good").add_edge(impl.START, "n").compile()
        assert sorted(run(graph, {})["log"]) == ["good", "handled"]

    def test_a_handler_does_not_wait_for_siblings(self, impl: Impl, run: Run) -> None:
        handled = threading.Event()
        builder = impl.StateGraph(Log)
        builder.add_node("slow", lambda s: {"log": [str(handled.wait(ENOUGH))]})
        builder.add_node("n", Flaky(1, ValueError), error_handler=lambda s: handled.set())
        graph = builder.add_edge(impl.START, "slow").add_edge(impl.START, "n").compile()
        assert run(graph, {}) == {"log": ["True"]}

    def test_an_interrupt_is_not_handled(self, impl: Impl, run: Run) -> None:
        handled_errors = []
        graph = handled(impl, lambda s: impl.interrupt("?"), lambda s: handled_errors.append(1))
        assert "__interrupt__" in run(graph, {})
        assert handled_errors == []

    def test_a_default_handler_serves_nodes_without_their_own(self, impl: Impl, run: Run) -> None:
        builder = impl.StateGraph(Log).add_node("n", Flaky(1, ValueError))
        builder.set_node_defaults(error_handler=lambda s: {"log": ["default"]})
        assert run(builder.add_edge(impl.START, "n").compile(), {}) == {"log": ["default"]}
