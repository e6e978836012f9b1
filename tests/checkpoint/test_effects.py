"""Calls of nodes within one process: asked again after an answer, a failure, on a branch."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import threading
import weakref
from typing import TYPE_CHECKING, Annotated, Any, TypedDict

import pytest

from antiphon import Agent, AgentContext, Budget, Orchestrator, ToolContext, tool
from antiphon.checkpoint import MemorySaver
from antiphon.errors import StateError, ToolError
from antiphon.graph import START, Command, RetryPolicy, Runtime, Send, StateGraph, interrupt
from antiphon.models import scripted
from antiphon.state import append
from support.waiting import take_time

if TYPE_CHECKING:
    from collections.abc import Callable


class State(TypedDict, total=False):
    """What nodes say."""

    came: Annotated[list[Any], append]


def slowly(old: list[int], new: list[int]) -> list[int]:
    """A merge rule that lets go of the interpreter."""
    take_time(0.001)
    return [*old, *new]


class Slow(TypedDict, total=False):
    """Numbers that are merged slowly."""

    came: Annotated[list[int], slowly]


class Number(TypedDict):
    """What a model is asked for."""

    n: int


class Actions:
    """What was done, and under which keys."""

    def __init__(self) -> None:
        self.done: list[str] = []
        self.keys: list[str] = []

    def do(self, action: str, idempotency_key: str) -> str:
        self.done.append(action)
        self.keys.append(idempotency_key)
        return f"{action} done"

    async def ado(self, action: str, idempotency_key: str) -> str:
        await asyncio.sleep(0)
        return self.do(action, idempotency_key)

    def fail(self, action: str, idempotency_key: str) -> str:
        self.do(action, idempotency_key)
        raise KeyError(action)


@pytest.fixture
def actions() -> Actions:
    return Actions()


def graph_of(action: Callable[..., Any], saver: MemorySaver | None = None, **options: Any) -> Any:
    builder = StateGraph(State)
    builder.add_node("acts", action, **options)
    builder.add_edge(START, "acts")
    return builder.compile(checkpointer=saver)


def thread(**configurable: Any) -> Any:
    return {"configurable": {"thread_id": "t", **configurable}}


def test_what_was_done_before_a_question_is_not_done_again_after_the_answer(
    actions: Actions,
) -> None:
    def acts(state: State, runtime: Runtime[None]) -> State:
        before = runtime.step("before", actions.do, "before")
        answer = interrupt("may I?")
        return {"came": [before, answer, runtime.step("after", actions.do, "after")]}

    graph = graph_of(acts, MemorySaver())
    graph.invoke({}, thread())
    came = graph.invoke(Command(resume="yes"), thread())
    assert came["came"] == [["before done", "yes", "after done"]]
    assert actions.done == ["before", "after"]


def test_the_same_without_a_checkpointer(actions: Actions) -> None:
    class Asks(Agent):
        """Asks between two actions."""

        def act(self, state: Any, ctx: AgentContext) -> str:
            first = ctx.step("before", actions.do, "before")
            return f"{first}, {ctx.ask('may I?')}, {ctx.step('after', actions.do, 'after')}"

    team = Orchestrator(agents=[Asks()])
    paused = team.run("go")
    assert team.resume(paused, "yes").answer == "before done, yes, after done"
    assert actions.done == ["before", "after"]


def test_a_model_is_not_asked_again_for_what_it_has_said() -> None:
    class Asks(Agent):
        """Asks a model, then a person."""

        model = scripted(["a text", {"json": {"n": 7}}, "never"])

        def act(self, state: Any, ctx: AgentContext) -> str:
            text = ctx.model("say something")
            number = ctx.model("give a number", output=Number)
            return f"{text}, {number}, {ctx.ask('well?')}"

    agent = Asks()
    team = Orchestrator(agents=[agent], checkpointer=MemorySaver())
    team.run("go", thread="t")
    done = team.resume("t", "yes")
    assert done.answer == "a text, {'n': 7}, yes"
    assert len(agent.model.requests) == 2
    assert done.usage.model_calls == 2


def test_async_calls_side_by_side_are_known_in_any_order(actions: Actions) -> None:
    async def acts(state: State, runtime: Runtime[None]) -> State:
        async def two(name: str) -> list[str]:
            first = await runtime.astep(f"{name} 1", actions.ado, f"{name} 1")
            return [first, await runtime.astep(f"{name} 2", actions.ado, f"{name} 2")]

        came = await asyncio.gather(two("a"), two("b"))
        return {"came": [*came, interrupt("well?")]}

    async def run() -> Any:
        graph = graph_of(acts, MemorySaver())
        await graph.ainvoke({}, thread())
        return await graph.ainvoke(Command(resume="yes"), thread())

    came = asyncio.run(run())["came"]
    assert came == [[["a 1 done", "a 2 done"], ["b 1 done", "b 2 done"], "yes"]]
    assert sorted(actions.done) == ["a 1", "a 2", "b 1", "b 2"]


def test_an_async_step_of_a_sync_node_and_a_sync_one_of_an_async_node(actions: Actions) -> None:
    def acts(state: State, runtime: Runtime[None]) -> State:
        return {"came": [runtime.step("a", actions.ado, "a")]}

    async def aacts(state: State, runtime: Runtime[None]) -> State:
        assert threading.current_thread() is threading.main_thread()

        def away(idempotency_key: str) -> bool:
            return threading.current_thread() is not threading.main_thread()

        return {"came": [await runtime.astep("b", away)]}

    assert graph_of(acts).invoke({})["came"] == [["a done"]]
    assert asyncio.run(graph_of(aacts).ainvoke({}))["came"] == [[True]]


def test_what_a_step_raised_is_raised_again_as_it_was(actions: Actions) -> None:
    def acts(state: State, runtime: Runtime[None]) -> State:
        try:
            runtime.step("breaks", actions.fail, "breaks")
        except KeyError as error:
            return {"came": [error.args[0], interrupt("well?")]}
        raise AssertionError

    graph = graph_of(acts, MemorySaver())
    graph.invoke({}, thread())
    assert graph.invoke(Command(resume="yes"), thread())["came"] == [["breaks", "yes"]]
    assert actions.done == ["breaks"]


def test_a_node_that_does_something_else_is_stopped(actions: Actions) -> None:
    names = iter(["one", "other"])

    def acts(state: State, runtime: Runtime[None]) -> State:
        name = next(names)
        runtime.step(name, actions.do, name)
        return {"came": [interrupt("well?")]}

    graph = graph_of(acts, MemorySaver(), retry_policy=RetryPolicy(initial_interval=0.001))
    graph.invoke({}, thread())
    with pytest.raises(StateError, match="step one") as caught:
        graph.invoke(Command(resume="yes"), thread())
    assert caught.value.code == "replay_diverged"
    assert caught.value.details == {"before": "step one", "now": "step other"}
    assert actions.done == ["one"]


def test_an_edit_lets_a_node_begin_from_nothing(actions: Actions) -> None:
    names = iter(["one", "other", "other"])

    def acts(state: State, runtime: Runtime[None]) -> State:
        name = next(names)
        runtime.step(name, actions.do, name)
        return {"came": [interrupt("well?")]}

    graph = graph_of(acts, MemorySaver())
    graph.invoke({}, thread())
    graph.update_state(thread(), {}, as_node="__start__")
    graph.invoke(None, thread())
    assert graph.invoke(Command(resume="yes"), thread())["came"] == [["yes"]]
    assert actions.done == ["one", "other"]


def test_arguments_tell_calls_apart(actions: Actions) -> None:
    given = iter([{"b": {3, 1}, "a": 1}, {"b": {1, 3}, "a": 1}, {"b": {1, 4}, "a": 1}])

    def acts(state: State, runtime: Runtime[None]) -> State:
        runtime.step("one", lambda _given, idempotency_key: 0, next(given))
        return {"came": [interrupt("well?"), interrupt("really?")]}

    graph = graph_of(acts, MemorySaver())
    graph.invoke({}, thread())
    graph.invoke(Command(resume="yes"), thread())
    with pytest.raises(StateError, match="with other arguments: step one"):
        graph.invoke(Command(resume="yes"), thread())


def test_what_cannot_be_stored_may_be_given_but_not_returned() -> None:
    lock = threading.Lock()

    def acts(state: State, runtime: Runtime[None]) -> State:
        runtime.step("takes", lambda _lock: 1, lock)
        return {"came": [runtime.step("gives", lambda: lock)]}

    with pytest.raises(StateError, match="a value of `gives` cannot be stored") as caught:
        graph_of(acts, MemorySaver()).invoke({}, thread())
    assert caught.value.code == "value_unstorable"
    assert graph_of(acts).invoke({})["came"] == [[lock]], "without a store it may be anything"


def test_after_a_failed_run_finished_steps_are_known_and_failed_ones_are_repeated(
    actions: Actions,
) -> None:
    broken = True

    def last(idempotency_key: str) -> str:
        return (
            actions.fail("last", idempotency_key) if broken else actions.do("last", idempotency_key)
        )

    def acts(state: State, runtime: Runtime[None]) -> State:
        first = runtime.step("first", actions.do, "first")
        return {"came": [first, runtime.step("last", last)]}

    graph = graph_of(acts, MemorySaver())
    with pytest.raises(KeyError):
        graph.invoke({}, thread())
    broken = False
    assert graph.invoke(None, thread())["came"] == [["first done", "last done"]]
    assert actions.done == ["first", "last", "last"]
    assert actions.keys[1] == actions.keys[2]


def test_a_retry_does_it_again_under_the_same_key(actions: Actions) -> None:
    def acts(state: State, runtime: Runtime[None]) -> State:
        came = runtime.step("one", actions.do, "one")
        if runtime.execution_info.node_attempt == 1:
            raise ConnectionError
        return {"came": [came]}

    policy = RetryPolicy(initial_interval=0.001, jitter=False)
    graph_of(acts, MemorySaver(), retry_policy=policy).invoke({}, thread())
    assert actions.done == ["one", "one"]
    assert actions.keys[0] == actions.keys[1]


def test_a_branch_has_its_own_keys(actions: Actions) -> None:
    def acts(state: State, runtime: Runtime[None]) -> State:
        return {"came": [runtime.step("one", actions.do, "one")]}

    saver = MemorySaver()
    graph = graph_of(acts, saver)
    graph.invoke({}, thread())
    history = list(graph.get_state_history(thread()))
    begin = history[-1].config["configurable"]["checkpoint_id"]
    graph.invoke(None, thread(checkpoint_id=begin))
    graph.invoke(None, thread(checkpoint_id=begin))
    graph.invoke({}, {"configurable": {"thread_id": "other"}})
    assert len(actions.keys) == 4
    assert len(set(actions.keys)) == 4


def test_concurrent_tasks_have_their_own_keys(actions: Actions) -> None:
    def acts(state: State, runtime: Runtime[None]) -> State:
        return {"came": [runtime.step("one", actions.do, "one")]}

    builder = StateGraph(State)
    builder.add_node("acts", acts)
    builder.add_conditional_edges(START, lambda _state: [Send("acts", {}) for _ in range(20)])
    builder.compile(checkpointer=MemorySaver()).invoke({}, thread())
    assert len(set(actions.keys)) == 20


def test_calls_from_many_threads_wait_for_each_other_and_for_the_run() -> None:
    """Merge rules that let go of the interpreter are in the way of calls of other nodes."""
    saver = MemorySaver()

    def inner(state: Slow, runtime: Runtime[None]) -> Slow:
        return {"came": [runtime.step("inner", lambda: 1)]}

    def outer(state: Slow, runtime: Runtime[None]) -> Slow:
        return {"came": [sum(runtime.step(f"{n}", lambda: 1) for n in range(50))]}

    below = StateGraph(Slow)
    names = [f"n{n}" for n in range(10)]
    for name, before in zip(names, [START, *names], strict=False):
        below.add_node(name, inner)
        below.add_edge(before, name)
    builder = StateGraph(Slow)
    builder.add_node("below", below.compile())
    for name in ("x", "y", "z"):
        builder.add_node(name, outer)
        builder.add_edge(START, name)
    builder.add_edge(START, "below")
    came = builder.compile(checkpointer=saver).invoke({}, thread())["came"]
    assert sum(came) == 3 * 50 + 10


def test_a_tool_gets_the_key_and_its_knobs_count() -> None:
    seen: list[ToolContext] = []

    @tool(idempotent=True)
    def note(text: str, call: ToolContext) -> str:
        """Notes."""
        seen.append(call)
        return text.upper()

    def acts(state: State, runtime: Runtime[None]) -> State:
        return {
            "came": [runtime.call(note, text="a"), interrupt("?"), runtime.call(note, text="b")]
        }

    graph = graph_of(acts, MemorySaver())
    graph.invoke({}, thread())
    assert graph.invoke(Command(resume="yes"), thread())["came"] == [["A", "yes", "B"]]
    assert [context.name for context in seen] == ["note", "note"]
    assert len({context.idempotency_key for context in seen}) == 2


def test_a_key_that_is_given_stays(actions: Actions) -> None:
    def acts(state: State, runtime: Runtime[None]) -> State:
        return {"came": [runtime.step("one", actions.do, "one", idempotency_key="mine")]}

    graph_of(acts).invoke({})
    assert actions.keys == ["mine"]


def test_what_is_known_is_not_counted_again() -> None:
    @tool
    def pay() -> str:
        """Pays."""
        return "paid"

    class Pays(Agent):
        """Pays once before it asks and once after."""

        tools = (pay,)

        def act(self, state: Any, ctx: AgentContext) -> str:
            return f"{ctx.call('pay')}, {ctx.ask('?')}, {ctx.call('pay')}"

    team = Orchestrator(agents=[Pays()], checkpointer=MemorySaver(), budget=Budget(tool_calls=2))
    team.run("go", thread="t")
    done = team.resume("t", "yes")
    assert done.answer == "paid, yes, paid"
    assert done.usage.tool_calls == 2


def test_a_call_beyond_the_budget_is_made_once_there_is_more() -> None:
    paid: list[int] = []

    @tool
    def pay() -> str:
        """Pays."""
        paid.append(1)
        return "paid"

    class Pays(Agent):
        """Pays twice."""

        tools = (pay,)

        def act(self, state: Any, ctx: AgentContext) -> str:
            return f"{ctx.call('pay')}, {ctx.call('pay')}"

    saver = MemorySaver()
    short = Orchestrator(agents=[Pays()], checkpointer=saver, budget=Budget(tool_calls=1))
    assert short.run("go", thread="t").outcome == "budget"
    team = Orchestrator(agents=[Pays()], checkpointer=saver, budget=Budget(tool_calls=5))
    assert team.resume("t").answer == "paid, paid"
    assert len(paid) == 2


def test_the_trace_shows_calls_and_which_of_them_were_known(actions: Actions) -> None:
    class Asks(Agent):
        """Asks between two actions."""

        def act(self, state: Any, ctx: AgentContext) -> str:
            ctx.step("before", actions.do, "before")
            ctx.ask("?")
            ctx.step("after", actions.do, "after")
            return "done"

    team = Orchestrator(agents=[Asks()], checkpointer=MemorySaver())
    first = team.run("go", thread="t")
    done = team.resume("t", "yes")

    def shown(events: Any) -> list[tuple[str, str, bool]]:
        calls = [event for event in events if event.kind in {"tool_call", "tool_result"}]
        assert all(event.data["step"] for event in calls)
        return [(event.kind, event.name, "replayed" in event.data) for event in calls]

    assert shown(first.events) == [("tool_call", "before", False), ("tool_result", "before", False)]
    assert shown(done.events) == [
        ("tool_result", "before", True),
        ("tool_call", "after", False),
        ("tool_result", "after", False),
    ]


def test_an_unknown_outcome_is_not_retried_by_default() -> None:
    attempts: list[int] = []

    def acts(state: State, runtime: Runtime[None]) -> State:
        attempts.append(runtime.execution_info.node_attempt)
        raise ToolError("nobody knows", code="unknown_outcome")

    policy = RetryPolicy(initial_interval=0.001)
    with pytest.raises(ToolError):
        graph_of(acts, retry_policy=policy).invoke({})
    assert attempts == [1]


def test_nothing_of_a_call_outlives_its_run(actions: Actions) -> None:
    class Thing:
        """Something that refers back to its node."""

        runtime: Any = None

    kept: list[weakref.ref[Any]] = []

    def give(runtime: Any) -> Thing:
        thing = Thing()
        thing.runtime = runtime
        kept.append(weakref.ref(thing))
        return thing

    def acts(state: State, runtime: Runtime[None]) -> State:
        runtime.step("gives", give, runtime)
        with contextlib.suppress(KeyError):
            runtime.step("breaks", actions.fail, "breaks")
        raise ValueError("it failed")

    with pytest.raises(ValueError, match="it failed"):
        graph_of(acts).invoke({})
    gc.collect()
    assert kept[0]() is None
