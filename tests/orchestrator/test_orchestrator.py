"""Teams: the ways through them, their state, their limits, and what goes wrong."""

from __future__ import annotations

import asyncio
import pickle
import threading
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, Literal, TypedDict

import pydantic
import pytest
from langchain_core.messages import HumanMessage

from antiphon import END, Agent, AgentContext, Budget, Orchestrator, Result, RetryPolicy, Send, tool
from antiphon.errors import (
    BudgetError,
    ModelOutputError,
    RunTimeout,
    StateError,
    ToolTransportError,
    ValidationError,
)
from antiphon.models import scripted
from antiphon.state import append, extend, merge, once, upsert
from support.waiting import atake_time, forever, until


class Note(Agent):
    """Writes down that it was here."""

    async def act(self, state: dict[str, Any], ctx: AgentContext) -> dict[str, Any]:
        return {f"at_{ctx.agent}": len([key for key in state if key.startswith("at_")])}


def notes(*names: str) -> list[Note]:
    return [Note(name=name) for name in names]


def order(state: dict[str, Any]) -> dict[str, int]:
    """How many others had been there before each."""
    return {key[3:]: value for key, value in state.items() if key.startswith("at_")}


# The ways through a team


def test_a_list_runs_in_its_order() -> None:
    assert order(Orchestrator(notes("a", "b", "c")).run("q").state) == {"a": 0, "b": 1, "c": 2}


def test_a_list_within_runs_in_parallel_and_the_next_waits_for_all() -> None:
    a, b, c, d = notes("a", "b", "c", "d")
    assert order(Orchestrator([a, [b, c], d]).run("q").state) == {"a": 0, "b": 1, "c": 1, "d": 3}


def test_lists_nest_and_the_next_waits_for_the_longest() -> None:
    a, b, c, d, e = notes("a", "b", "c", "d", "e")
    result = Orchestrator([a, [b, [c, d]], e]).run("q")
    assert order(result.state) == {"a": 0, "b": 1, "c": 1, "d": 3, "e": 4}
    assert result.usage.steps == 4


def test_a_class_in_the_list_stands_for_a_new_agent() -> None:
    assert order(Orchestrator([Note]).run("q").state) == {"note": 0}


def test_a_flow_names_what_comes_next() -> None:
    team = Orchestrator(notes("a", "b", "c"), flow={"a": "c", "c": ["b"], "b": END})
    assert order(team.run("q").state) == {"a": 0, "c": 1, "b": 2}


def test_a_flow_may_begin_anywhere_and_fork() -> None:
    team = Orchestrator(notes("a", "b", "c"), flow={"__start__": "b", "b": ["a", "c"]})
    assert order(team.run("q").state) == {"b": 0, "a": 1, "c": 1}


def test_a_route_sees_the_state_and_names_the_next() -> None:
    def route(state: dict[str, Any]) -> str:
        return "b" if state["question"] == "go to b" else END

    team = Orchestrator(notes("a", "b"), flow={"a": route})
    assert order(team.run("go to b").state) == {"a": 0, "b": 1}
    assert order(team.run("stay").state) == {"a": 0}


def test_a_route_may_name_several_and_send() -> None:
    class Echo(Agent):
        def act(self, state: Any, ctx: AgentContext) -> dict[str, Any]:
            return {"messages": [f"got {state}"]}

    def route(state: dict[str, Any]) -> list[str | Send]:
        return ["b", Send("echo", 7), Send("echo", 8)]

    result = Orchestrator([*notes("a", "b"), Echo()], flow={"a": route}).run("q")
    assert order(result.state) == {"a": 0, "b": 1}
    assert [message["content"] for message in result.messages[1:]] == ["got 7", "got 8"]


def test_goto_replaces_the_static_successor() -> None:
    class Jumper(Agent):
        def act(self, state: Any, ctx: AgentContext) -> Any:
            return ctx.goto("c", update={"jumped": True})

    result = Orchestrator([Jumper(name="a"), *notes("b", "c")]).run("q")
    assert order(result.state) == {"c": 0}
    assert result.state["jumped"]


def test_send_fans_out_and_goto_may_hold_sends() -> None:
    class Spread(Agent):
        def act(self, state: Any, ctx: AgentContext) -> Any:
            return [ctx.send("double", number) for number in (3, 1, 2)]

    ended: list[int] = []

    class Double(Agent):
        async def act(self, state: int, ctx: AgentContext) -> dict[str, Any]:
            await until(lambda: len(ended) == state - 1)
            ended.append(state)
            return {"messages": [str(2 * state)]}

    result = Orchestrator([Spread(), Double()], flow={}).run("q")
    assert [message["content"] for message in result.messages[1:]] == ["6", "2", "4"]


def test_end_skips_the_remaining_agents_and_may_answer() -> None:
    class Last(Agent):
        def act(self, state: Any, ctx: AgentContext) -> Any:
            return ctx.end("enough", update={"why": "short"})

    result = Orchestrator([Last(), *notes("b")]).run("q")
    assert (result.answer, result.state["why"], order(result.state)) == ("enough", "short", {})
    assert result.messages[-1] == {"role": "assistant", "content": "enough", "name": "last"}


def test_a_model_chooses_among_the_agents_by_their_descriptions() -> None:
    model = scripted([{"json": {"next": name}} for name in ("b", "a", "finish")])
    team = Orchestrator([Note(name="a", description="adds"), *notes("b")], router=model)
    result = team.run("q")
    assert order(result.state) == {"b": 0, "a": 1}
    assert result.outcome == "answered"
    orders = model.requests[0]["messages"][0]["content"]
    assert "- a: adds" in orders
    assert "- b: Writes down that it was here." in orders


def test_a_router_stays_within_max_steps() -> None:
    model = scripted([{"json": {"next": "a"}}] * 10)
    result = Orchestrator(notes("a"), router=model, max_steps=7).run("q")
    assert (result.outcome, result.reason) == ("step_limit", "max_steps")
    assert len([event for event in result.events if event.kind == "node_started"]) == 7
    with pytest.raises(BudgetError, match=r"`router` ran 4 times, `a` ran 3 times"):
        result.raise_for_outcome()


def test_a_router_that_answers_nonsense_is_asked_again_and_then_fails() -> None:
    model = scripted(["who knows", {"json": {"next": "nobody"}}])
    with pytest.raises(ModelOutputError) as caught:
        Orchestrator(notes("a"), router=model).run("q")
    assert caught.value.code == "model_output_invalid"
    assert any("raised by the node `router`" in note for note in caught.value.__notes__)


def test_an_agent_of_ones_own_may_be_the_router() -> None:
    class Boss(Agent):
        def act(self, state: Any, ctx: AgentContext) -> Any:
            return ctx.end() if "at_b" in state else ctx.goto("b")

    result = Orchestrator(notes("a", "b"), router=Boss()).run("q")
    assert order(result.state) == {"b": 0}


def test_a_loop_has_a_bound() -> None:
    result = Orchestrator(notes("a", "b"), flow={"a": "b", "b": "a"}, max_steps=5).run("q")
    assert (result.outcome, result.reason, result.usage.steps) == ("step_limit", "max_steps", 5)


def test_a_long_list_is_no_loop() -> None:
    assert Orchestrator(notes(*(f"a{n}" for n in range(40)))).run("q").outcome == "answered"


# The state


def test_a_text_becomes_the_question_and_a_message() -> None:
    state = Orchestrator(notes("a")).run("who?").state
    assert state["question"] == "who?"
    assert state["messages"] == [{"role": "user", "content": "who?"}]


def test_a_dict_is_the_initial_state() -> None:
    result = Orchestrator(notes("a")).run({"question": "q", "table": [1]})
    assert result.state["table"] == [1]


def test_a_returned_text_is_the_answer_and_a_message() -> None:
    class Says(Agent):
        def act(self, state: Any, ctx: AgentContext) -> str:
            return "this"

    result = Orchestrator([Says()]).run("q")
    assert result.answer == "this"
    assert result.messages[-1] == {"role": "assistant", "content": "this", "name": "says"}


def test_values_are_passed_by_reference() -> None:
    thing = object()

    class Give(Agent):
        def act(self, state: Any, ctx: AgentContext) -> dict[str, Any]:
            return {"thing": thing}

    assert Orchestrator([Give(), *notes("a")]).run("q").state["thing"] is thing


def test_parallel_agents_must_not_write_different_values_to_an_undeclared_key() -> None:
    class Writes(Agent):
        def __init__(self, value: Any, **options: Any) -> None:
            super().__init__(**options)
            self.value = value

        def act(self, state: Any, ctx: AgentContext) -> dict[str, Any]:
            return {"seen": self.value}

    with pytest.raises(StateError, match=r"`a` and `b` wrote .*: seen") as caught:
        Orchestrator([[Writes(1, name="a"), Writes(2, name="b")]]).run("q")
    assert caught.value.code == "write_conflict"
    assert Orchestrator([[Writes(1, name="a"), Writes(1, name="b")]]).run("q").state["seen"] == 1
    assert Orchestrator([Writes(1, name="a"), Writes(2, name="b")]).run("q").state["seen"] == 2


def test_parallel_agents_do_not_share_containers() -> None:
    class Appends(Agent):
        def act(self, state: Any, ctx: AgentContext) -> dict[str, Any]:
            state["numbers"].append(1)
            return {f"{ctx.agent}_saw": len(state["numbers"])}

    team = Orchestrator([[Appends(name="a"), Appends(name="b")]])
    with pytest.warns(RuntimeWarning, match="changed its copy of `numbers`"):
        result = team.run({"numbers": [0]})
    assert (result.state["a_saw"], result.state["b_saw"]) == (2, 2)


class Typed(TypedDict, total=False):
    log: Annotated[list[str], append]
    more: Annotated[list[int], extend]
    found: Annotated[dict[str, int], merge]
    rows: Annotated[list[dict[str, int]], upsert("id")]
    best: Annotated[int, max]
    kind: Annotated[str, once]
    joined: Annotated[str, lambda old, new: f"{old}{new}"]
    count: int


class Put(Agent):
    update: Any = None

    def __init__(self, update: Any, **options: Any) -> None:
        super().__init__(**options)
        self.update = update

    def act(self, state: Any, ctx: AgentContext) -> Any:
        return self.update


def test_a_schema_says_how_writes_are_merged() -> None:
    one = Put(
        {"log": "x", "more": [1], "found": {"a": 1}, "best": 3, "rows": {"id": 1, "n": 1}},
        name="one",
    )
    two = Put(
        {"log": "y", "more": [2], "found": {"b": 2}, "best": 2, "rows": {"id": 1, "n": 2}},
        name="two",
    )
    state = (
        Orchestrator([[one, two], Put({"joined": "z", "kind": "k"})], state=Typed).run("q").state
    )
    assert state["log"] == ["x", "y"]
    assert state["more"] == [1, 2]
    assert state["found"] == {"a": 1, "b": 2}
    assert state["best"] == 3
    assert state["rows"] == [{"id": 1, "n": 2}]
    assert (state["joined"], state["kind"]) == ("z", "k")
    assert dict(state)["question"] == "q"


@pytest.mark.parametrize(
    ("update", "code"),
    [
        ({"nothing": 1}, "state_key_unknown"),
        ({"count": "many"}, "write_mistyped"),
        (7, "node_return_invalid"),
        ({"messages": [3]}, "message_invalid"),
    ],
)
def test_a_wrong_update_is_a_typed_error_that_names_it(update: Any, code: str) -> None:
    with pytest.raises(StateError) as caught:
        Orchestrator([Put(update)], state=Typed).run("q")
    assert caught.value.code == code
    assert any("raised by the node `put`" in note for note in caught.value.__notes__)


def test_a_wrong_type_is_described_in_words_and_makers_keys_are_not_shown() -> None:
    with pytest.raises(StateError, match="the key `count` must be int: 'many'") as caught:
        Orchestrator([Put({"count": "many"})], state=Typed).run("q")
    assert caught.value.details["key"] == "count"
    with pytest.raises(StateError, match="unknown key of the state: nothing") as caught:
        Orchestrator([Put({"nothing": 1})], state=Typed).run("q")
    assert "__" not in str(caught.value)


def test_half_a_character_is_refused_in_a_question_and_replaced_in_what_a_model_reads() -> None:
    model = scripted(["fine"])
    team = Orchestrator(
        [Put({"found": "caf\udcc3"}), Agent(name="a", model=model, reads=["found"])]
    )
    with pytest.raises(ValidationError, match="unpaired surrogate"):
        team.run("caf\udcc3")
    assert team.run("q").answer == "fine"
    assert "caf\ufffd" in model.requests[0]["messages"][-1]["content"]


def test_an_input_of_the_wrong_type_is_refused_before_anything_runs() -> None:
    with pytest.raises(ValidationError, match="`count` must be int: 'many'") as caught:
        Orchestrator([Put({})], state=Typed).run({"question": "q", "count": "many"})
    assert caught.value.code == "input_invalid"
    assert Result.of(caught.value) is None


def test_a_second_write_to_a_key_for_one_is_an_error() -> None:
    with pytest.raises(StateError, match="kind"):
        Orchestrator([Put({"kind": "a"}, name="a"), Put({"kind": "b"}, name="b")], state=Typed).run(
            "q"
        )


@dataclass
class Record:
    topic: str
    tries: int = 0
    log: Annotated[list[str], append] = field(default_factory=list)


def test_a_dataclass_state_is_an_instance_for_every_agent() -> None:
    class Looks(Agent):
        def act(self, state: Record, ctx: AgentContext) -> dict[str, Any]:
            assert isinstance(state, Record)
            return {"log": f"{state.topic} {state.question}", "tries": state.tries + 1}  # type: ignore[attr-defined]

    team = Orchestrator([Looks(name="a"), Looks(name="b")], state=Record)
    result = team.run({"topic": "t", "question": "q"})
    assert isinstance(result.state, Record)
    assert (result.state.log, result.state.tries, result.answer) == (["t q", "t q"], 2, None)
    assert team.run(Record("u")).state.topic == "u"
    assert team.run(Record("u")).state.log == ["u ", "u "]


class Checked(pydantic.BaseModel):
    count: int = 0
    tags: list[str] = []


def test_pydantic_checks_and_coerces_what_is_written() -> None:
    result = Orchestrator([Put({"count": "3"})], state=Checked).run("q")
    assert isinstance(result.state, Checked)
    assert result.state.count == 3
    with pytest.raises(StateError, match="invalid value for the key `count`") as caught:
        Orchestrator([Put({"count": "x"})], state=Checked).run("q")
    assert caught.value.code == "write_mistyped"
    with pytest.raises(ValidationError, match="invalid value for the key `count`"):
        Orchestrator([Put({})], state=Checked).run({"count": "x"})


def test_a_missing_required_key_fails_before_anything_runs() -> None:
    with pytest.raises(ValidationError, match="topic") as caught:
        Orchestrator([Put({})], state=Record).run("q")
    assert caught.value.code == "input_invalid"


# Bad input


@pytest.mark.parametrize("question", ["", "  \n", {"question": " "}, {}])
def test_a_blank_question_costs_nothing(question: Any) -> None:
    model = scripted(["never"])
    with pytest.raises(ValidationError) as caught:
        Orchestrator([Agent(name="a", model=model)]).run(question)
    assert caught.value.code == "question_blank"
    assert model.requests == []


@pytest.mark.parametrize("question", [None, 3, ["q"], {"question": 3}])
def test_a_question_that_is_no_text_is_refused(question: Any) -> None:
    with pytest.raises(ValidationError) as caught:
        Orchestrator(notes("a")).run(question)
    assert caught.value.code == "input_invalid"


@pytest.mark.parametrize(
    "message", [{"role": "user", "content": "q"}, ("user", "q"), HumanMessage("q")]
)
def test_messages_are_no_parts_of_a_question(message: Any) -> None:
    model = scripted(["hello"])
    agent = Agent(name="a", model=model)
    with pytest.raises(ValidationError, match="has no messages among them") as caught:
        agent.run([message])
    assert (caught.value.code, model.requests) == ("input_invalid", [])
    assert agent.run({"messages": [message]}).answer == "hello"


def wrong_type(state: Any) -> Literal["a", "ghost"]:
    return "a"


async def waiting(state: Any) -> str:
    return "a"


@pytest.mark.parametrize(
    ("arguments", "code", "naming"),
    [
        ({"agents": []}, "team_invalid", "agents"),
        ({"agents": Note(name="a")}, "team_invalid", "must be a list"),
        ({"agents": [print]}, "team_invalid", "builtin_function_or_method"),
        ({"agents": notes("a", "a")}, "team_invalid", "a"),
        ({"agents": notes("a"), "flow": {"a": "ghost"}}, "agent_unknown", "ghost"),
        ({"agents": notes("a"), "flow": {"ghost": "a"}}, "agent_unknown", "ghost"),
        ({"agents": notes("a"), "flow": {"a": wrong_type}}, "agent_unknown", "ghost"),
        ({"agents": notes("a"), "flow": {"a": waiting}}, "team_invalid", "waiting"),
        ({"agents": notes("a"), "flow": {"a": 3}}, "team_invalid", "3"),
        ({"agents": notes("a"), "flow": {}, "router": scripted([])}, "team_invalid", "both"),
        ({"agents": [notes("a")], "flow": {}}, "team_invalid", "lists"),
        ({"agents": notes("finish"), "router": scripted([])}, "team_invalid", "finish"),
        ({"agents": notes("router"), "router": scripted([])}, "team_invalid", "router"),
        ({"agents": notes("a"), "on_error": "b"}, "agent_invalid", "on_error"),
        ({"agents": [type("Rash", (Note,), {"on_error": "b"})()]}, "agent_invalid", "on_error"),
        ({"agents": notes("a"), "fallback": "ghost"}, "agent_unknown", "ghost"),
        ({"agents": [Note(fallback="ghost")]}, "agent_unknown", "ghost"),
        ({"agents": [Note(name="a", fallback="a")]}, "agent_invalid", "own fallback"),
        ({"agents": [Note(fallback="a", on_error="raise")]}, "agent_invalid", "exclude"),
        ({"agents": notes("a"), "fallback": Note(name="a")}, "team_invalid", "same name"),
        ({"agents": notes("a"), "max_steps": 0}, "agent_invalid", "max_steps"),
        ({"agents": notes("a"), "retry": 0}, "agent_invalid", "retry"),
        ({"agents": notes("a"), "timeout": -1}, "agent_invalid", "timeout"),
        ({"agents": notes("a"), "budget": 3}, "agent_invalid", "budget"),
        ({"agents": notes("a"), "state": dict}, "state_invalid", "dict"),
        ({"agents": notes("a"), "name": ""}, "team_invalid", "name"),
        (
            {"agents": [Agent(name="a", model=scripted([]), reads=["ghost"])], "state": Typed},
            "state_invalid",
            "ghost",
        ),
    ],
)
def test_a_wrong_team_is_refused_when_it_is_built(arguments: Any, code: str, naming: str) -> None:
    with pytest.raises(ValidationError, match=naming) as caught:
        Orchestrator(**arguments)
    assert caught.value.code == code


def test_an_agent_that_nothing_leads_to_is_reported() -> None:
    agents = [Agent(name=name, model=scripted([])) for name in "abc"]
    with pytest.raises(ValidationError, match="leads to the agent: c"):
        Orchestrator(agents, flow={"a": "b"})


def test_a_near_name_is_offered() -> None:
    with pytest.raises(ValidationError, match="did you mean `critic`"):
        Orchestrator(notes("critic"), flow={"critic": "critik"})


@pytest.mark.parametrize("verb", ["goto", "send", "route"])
def test_a_name_that_is_not_in_the_team_fails_where_it_is_said(verb: str) -> None:
    class Lost(Agent):
        def act(self, state: Any, ctx: AgentContext) -> Any:
            if verb == "route":
                return None
            return ctx.goto("ghost") if verb == "goto" else ctx.send("ghost", 1)

    def nowhere(state: Any) -> str:
        return "ghost"

    flow = {"lost": nowhere} if verb == "route" else None
    with pytest.raises(StateError, match=f"{verb}.*ghost") as caught:
        Orchestrator([Lost()], flow=flow).run("q")
    assert caught.value.code == "target_unknown"


def test_a_route_that_returns_nothing_is_named() -> None:
    def forgetful(state: Any) -> Any:
        return None

    with pytest.raises(StateError, match="route `forgetful` of agent `a`"):
        Orchestrator(notes("a"), flow={"a": forgetful}).run("q")


# Failures and limits


class Fails(Agent):
    def act(self, state: Any, ctx: AgentContext) -> Any:
        raise LookupError("no such city")


def test_what_an_agent_raises_is_raised_as_it_is() -> None:
    with pytest.raises(LookupError, match="no such city") as caught:
        Orchestrator([Fails()]).run("q")
    assert any("raised by the node `fails`" in note for note in caught.value.__notes__)
    assert caught.traceback[-1].name == "act"
    assert Path(caught.traceback[-1].path).name == "test_orchestrator.py"


def test_on_error_record_continues_and_lists_the_error() -> None:
    result = Orchestrator([Fails(), *notes("b")], on_error="record").run("q")
    assert result.outcome == "error"
    assert order(result.state) == {"b": 0}
    (error,) = result.errors
    assert (error["agent"], error["code"]) == ("fails", "node_failed")
    assert error["attempt"] == 1
    assert "no such city" in error["message"]
    with pytest.raises(StateError, match="no such city"):
        result.raise_for_outcome()


@pytest.mark.parametrize("policy", [{"on_error": "record"}, {"fallback": "looks"}])
def test_an_error_that_was_recorded_says_where_and_which_attempt(policy: Any) -> None:
    seen: list[dict[str, Any]] = []

    class Torn(Agent):
        retry = RetryPolicy(max_attempts=2, initial_interval=0, jitter=False)

        def act(self, state: Any, ctx: AgentContext) -> None:
            raise ToolTransportError("the atlas is out: Lyon", code="atlas_out")

    class Looks(Agent):
        def act(self, state: Any, ctx: AgentContext) -> str:
            seen.extend(ctx.errors)
            return "done"

    Orchestrator([Torn(name="torn", **policy), Looks()]).run("q")
    (error,) = seen
    assert (error["node"], error["attempt"], error["recoverable"]) == ("torn", 2, True)
    assert (error["category"], error["code"]) == ("tool_transport", "atlas_out")


def test_another_agent_may_take_over() -> None:
    class Excuses(Agent):
        def act(self, state: Any, ctx: AgentContext) -> str:
            return f"sorry: {ctx.errors[0]['message']}"

    result = Orchestrator(
        [Fails(fallback="excuses"), *notes("b"), Excuses()], flow={"fails": "b"}
    ).run("q")
    assert result.outcome == "answered"
    assert "no such city" in result.answer
    assert order(result.state) == {}


def test_a_declarative_agent_that_takes_over_sees_the_error() -> None:
    model = scripted(["it went wrong"])
    team = Orchestrator([Fails(fallback="helper"), Agent(name="helper", model=model)])
    assert team.run("q").answer == "it went wrong"
    assert "no such city" in model.requests[0]["messages"][-1]["content"]


def test_an_agent_is_retried_and_keeps_its_attempt() -> None:
    class Flaky(Agent):
        def act(self, state: Any, ctx: AgentContext) -> str:
            if ctx.attempt < 3:
                raise ConnectionError("not yet")
            return f"attempt {ctx.attempt}"

    from antiphon import RetryPolicy

    policy = RetryPolicy(initial_interval=0.001, max_attempts=3)
    result = Orchestrator([Flaky(retry=policy)]).run("q")
    assert (result.answer, result.usage.retries) == ("attempt 3", 2)
    assert Orchestrator([Flaky()], retry=policy).run("q").answer == "attempt 3"


@pytest.mark.parametrize("asynchronous", [False, True])
def test_a_time_out_frees_the_caller(asynchronous: bool) -> None:
    release = threading.Event()

    class Slow(Agent):
        timeout = 0.05

        def act(self, state: Any, ctx: AgentContext) -> None:
            assert ctx.deadline is not None
            release.wait(30)

    class AsyncSlow(Agent):
        timeout = 0.05

        async def act(self, state: Any, ctx: AgentContext) -> None:
            await forever()

    try:
        with pytest.raises(RunTimeout):
            Orchestrator([AsyncSlow() if asynchronous else Slow()]).run("q")
    finally:
        release.set()


def test_a_spent_budget_is_an_outcome() -> None:
    model = scripted(["a", "b", "c"])
    agents = [Agent(name=name, model=model) for name in "abc"]
    result = Orchestrator(agents, budget=Budget(model_calls=2)).run("q")
    assert (result.outcome, result.reason) == ("budget", "model_calls")
    assert (result.answer, result.usage.model_calls) == ("b", 2)
    with pytest.raises(BudgetError, match="model_calls"):
        result.raise_for_outcome()


def test_the_wall_time_is_a_budget() -> None:
    class Sleeps(Agent):
        async def act(self, state: Any, ctx: AgentContext) -> None:
            await forever()

    result = Orchestrator([Sleeps()], budget=Budget(wall_time=0.05)).run("q")
    assert (result.outcome, result.reason) == ("budget", "wall_time")


# Pausing and resuming


class Asks(Agent):
    def act(self, state: Any, ctx: AgentContext) -> str:
        first = ctx.ask("your name?")
        return f"hello {first} {ctx.ask({'and': 'then'})}"


def test_a_question_pauses_the_run_and_an_answer_resumes_it() -> None:
    team = Orchestrator([Asks(), *notes("b")])
    paused = team.run("q")
    assert paused.outcome == "paused"
    assert (paused.questions[0].agent, paused.questions[0].value) == ("asks", "your name?")
    again = team.resume(paused, "Ada")
    assert again.questions[0].value == {"and": "then"}
    done = team.resume(again, {again.questions[0].id: "Lovelace"})
    assert (done.outcome, done.answer) == ("answered", "hello Ada Lovelace")
    with pytest.raises(ValidationError, match="already resumed"):
        team.resume(paused, "Eve")
    with pytest.raises(ValidationError, match="answered"):
        team.resume(done, "Eve")


def test_several_questions_are_answered_by_id() -> None:
    team = Orchestrator([[Asks(name="one"), Asks(name="two")]])
    paused = team.run("q")
    assert [question.agent for question in paused.questions] == ["one", "two"]
    with pytest.raises(ValidationError, match="the answer names none: 2"):
        team.resume(paused, "Ada")
    half = team.resume(paused, {paused.questions[0].id: "Ada"})
    assert {
        question.value if isinstance(question.value, str) else "then" for question in half.questions
    } == {
        "then",
        "your name?",
    }


# The two call styles, streams and batches


class Mixed(Agent):
    async def act(self, state: Any, ctx: AgentContext) -> str:
        await asyncio.sleep(0)
        ctx.emit({"share": 0.5}, "progress")
        return str(state["question"]).upper()


def test_the_same_team_runs_both_ways_and_inside_a_loop() -> None:
    team = Orchestrator([Mixed(), *notes("b")])
    assert team.run("a").answer == "A"

    async def main() -> list[Any]:
        inside = team.run("b")  # a plain call while this loop is running
        return [inside.answer, (await team.arun("c")).answer]

    assert asyncio.run(main()) == ["B", "C"]


def test_a_stream_gives_events_with_the_tokens_of_agents_and_the_result() -> None:
    model = scripted(["two words"])
    team = Orchestrator([Mixed(), Agent(name="writer", model=model)])
    stream = team.stream("q")
    events = list(stream)
    assert [event.seq for event in events] == list(range(1, len(events) + 1))
    assert events[0].kind == "run_started"
    assert events[-1].kind == "run_finished"
    assert "".join(event.text for event in events if event.agent == "writer") == "two words"
    (custom,) = [event for event in events if event.kind == "custom"]
    assert (custom.name, custom.data, custom.agent) == ("progress", {"share": 0.5}, "mixed")
    assert stream.result.answer == "two words"


def test_an_async_stream_gives_the_same() -> None:
    team = Orchestrator([Mixed()])

    async def kinds() -> list[str]:
        stream = team.astream("q")
        found = [event.kind async for event in stream]
        assert stream.result.answer == "Q"
        return found

    assert asyncio.run(kinds()) == [event.kind for event in team.stream("q")]


def test_a_stream_raises_what_the_run_raises() -> None:
    stream = Orchestrator([Fails()]).stream("q")
    with pytest.raises(LookupError, match="no such city"):
        list(stream)


def test_what_is_raised_leads_to_the_trace_state_and_usage_of_its_run() -> None:
    team = Orchestrator([*notes("a"), Fails()])

    async def arun() -> None:
        await team.arun("q")

    stream = team.stream("q")
    ways: dict[str, Any] = {
        "run": lambda: team.run("q"),
        "arun": lambda: asyncio.run(arun()),
        "stream": lambda: list(stream),
        "batch": lambda: team.batch(["q"], raise_errors=True),
    }
    for way, call in ways.items():
        with pytest.raises(LookupError) as caught:
            call()
        result = Result.of(caught.value)
        assert result is not None, way
        assert (result.outcome, result.usage.steps) == ("error", 2), way
        assert result.state["at_a"] == 0, way
        assert [event.kind for event in result.events][-2:] == ["error", "run_finished"], way
        assert result.error is caught.value, way
    assert stream.result.outcome == "error"


def test_a_pickled_exception_leaves_its_result_behind() -> None:
    with pytest.raises(LookupError) as caught:
        Orchestrator([Fails()]).run({"question": "q", "live": threading.Lock()})
    assert Result.of(caught.value) is not None
    again = pickle.loads(pickle.dumps(caught.value))
    assert (again.args, Result.of(again)) == (caught.value.args, None)
    assert Result.of(ValueError()) is None


def test_a_stream_that_is_closed_cancels_the_run() -> None:
    stopped = threading.Event()

    class Endless(Agent):
        async def act(self, state: Any, ctx: AgentContext) -> None:
            try:
                ctx.emit("started")
                await forever()
            finally:
                stopped.set()

    with Orchestrator([Endless()]).stream("q") as stream:
        with pytest.raises(StateError, match="has not ended"):
            _ = stream.result
        for event in stream:
            if event.kind == "custom":
                break
    assert stopped.wait(10)
    assert stream.result.outcome == "cancelled"


class Parked(Agent):
    stopped: threading.Event

    async def act(self, state: Any, ctx: AgentContext) -> None:
        try:
            ctx.emit("started")
            await forever()
        finally:
            self.stopped.set()


def parked() -> tuple[Orchestrator, list[Parked]]:
    agents = [Parked(name="a"), Parked(name="b")]
    for agent in agents:
        agent.stopped = threading.Event()
    return Orchestrator([agents]), agents


def test_a_stream_that_is_thrown_away_cancels_the_run() -> None:
    team, agents = parked()
    started = 0
    for event in team.stream("q"):
        started += event.kind == "custom"
        if started == len(agents):
            break
    assert all(agent.stopped.wait(10) for agent in agents)


def test_an_async_stream_that_is_thrown_away_cancels_the_run() -> None:
    team, agents = parked()

    async def leave() -> None:
        started = 0
        async for event in team.astream("q"):
            started += event.kind == "custom"
            if started == len(agents):
                break
        others = asyncio.all_tasks() - {asyncio.current_task()}
        await asyncio.wait(others, timeout=10)

    asyncio.run(leave())
    assert all(agent.stopped.is_set() for agent in agents)


class Heard(Agent):
    """Ends only once a watcher has received its event."""

    heard: threading.Event

    async def act(self, state: Any, ctx: AgentContext) -> str:
        ctx.emit("are you there?")
        return "heard" if await asyncio.to_thread(self.heard.wait, 10) else "nobody listens"


@pytest.mark.parametrize("style", ["stream", "astream"])
def test_an_event_is_given_while_its_agent_still_runs(style: str) -> None:
    agent = Heard()
    agent.heard = threading.Event()
    team = Orchestrator([agent])

    def watch(kind: str) -> None:
        if kind == "custom":
            agent.heard.set()

    async def main() -> str:
        stream = team.astream("q")
        async for event in stream:
            watch(event.kind)
        return str(stream.result.answer)

    if style == "astream":
        assert asyncio.run(main()) == "heard"
        return
    stream = team.stream("q")
    for event in stream:
        watch(event.kind)
    assert stream.result.answer == "heard"


def test_a_batch_keeps_the_order_and_the_failures() -> None:
    failed: list[str] = []

    class Picky(Agent):
        async def act(self, state: Any, ctx: AgentContext) -> str:
            if state["question"] == "a":
                await until(lambda: failed != [])
                failed.clear()
            if state["question"] == "bad":
                failed.append("bad")
                raise LookupError("bad one")
            return str(state["question"]) * 2

    team = Orchestrator([Picky()])
    questions = ["a", "bad", "cc", "d"]
    results = team.batch(questions, concurrency=2)
    assert [result.answer for result in results] == ["aa", None, "cccc", "dd"]
    assert [result.outcome for result in results] == ["answered", "error", "answered", "answered"]
    assert isinstance(results[1].error, LookupError)
    with pytest.raises(LookupError, match="bad one"):
        results[1].raise_for_outcome()
    awaited = asyncio.run(team.abatch(questions))
    assert [result.answer for result in awaited] == ["aa", None, "cccc", "dd"]
    with pytest.raises(LookupError, match="bad one"):
        team.batch(questions, raise_errors=True)
    with pytest.raises(LookupError, match="bad one"):
        asyncio.run(team.abatch(questions, raise_errors=True))


def test_a_batch_never_runs_more_than_it_may() -> None:
    lock, now, most = threading.Lock(), [0], [0]

    class Counts(Agent):
        async def act(self, state: Any, ctx: AgentContext) -> None:
            with lock:
                now[0] += 1
                most[0] = max(most[0], now[0])
            await until(lambda: most[0] >= 3)
            # A fourth one would come in while these three are here.
            await atake_time(0.002)
            with lock:
                now[0] -= 1

    team = Orchestrator([Counts()])
    team.batch(["q"] * 12, concurrency=3)
    assert most == [3]
    most[0] = 0
    asyncio.run(team.abatch(["q"] * 12, concurrency=3))
    assert most == [3]


@pytest.mark.parametrize(
    ("questions", "code"), [("one text", "input_invalid"), (["a", " "], "question_blank")]
)
def test_a_wrong_batch_runs_nothing(questions: Any, code: str) -> None:
    with pytest.raises(ValidationError) as caught:
        Orchestrator([Fails()]).batch(questions)
    assert caught.value.code == code


def test_an_empty_batch_is_empty() -> None:
    assert Orchestrator(notes("a")).batch([]) == []


def test_one_team_serves_many_threads() -> None:
    team = Orchestrator([Mixed(), *notes("b")])
    answers: dict[int, Any] = {}

    def ask(number: int) -> None:
        answers[number] = team.run(f"q{number}").answer

    threads = [threading.Thread(target=ask, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert answers == {number: f"Q{number}" for number in range(8)}


def test_cancelling_the_task_cancels_the_run() -> None:
    async def main() -> bool:
        started, stopped = asyncio.Event(), asyncio.Event()

        class Endless(Agent):
            async def act(self, state: Any, ctx: AgentContext) -> None:
                started.set()
                try:
                    await forever()
                finally:
                    stopped.set()

        task = asyncio.ensure_future(Orchestrator([Endless()]).arun("q"))
        await started.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        return stopped.is_set()

    assert asyncio.run(main())


# Diagram


def test_the_graph_draws_itself() -> None:
    def route(state: Any) -> Literal["a", "__end__"]:
        return "a"

    drawn = Orchestrator(
        [*notes("a", "b"), Fails(fallback="a")], flow={"a": ["b", "fails"], "b": route}
    ).graph
    text = drawn.draw_mermaid(with_styles=False)
    for line in ("__start__ --> a;", "a --> b;", "a --> fails;"):
        assert line in text
    for name, label in (("b", "route"), ("fails", "on error")):
        assert f"{name} -. &nbsp;{label}&nbsp; .-> a;" in text
    bundle = Orchestrator(notes("a"))._repr_mimebundle_()
    assert bundle["image/svg+xml"].startswith("<svg")
    assert "script" not in bundle["image/svg+xml"]


@pytest.mark.parametrize("act", [lambda self: None, lambda self, state: None, "x"])
def test_an_act_that_cannot_be_called_is_refused_when_the_team_is_built(act: Any) -> None:
    with pytest.raises(ValidationError, match="`act` of agent `wrong` must take") as caught:
        Orchestrator([type("Wrong", (Agent,), {"act": act})()])
    assert caught.value.code == "agent_invalid"


def test_an_agent_class_that_defines_run_is_asked_to_name_it_act() -> None:
    with pytest.raises(ValidationError, match="`Wrong` replaces a verb") as caught:
        type("Wrong", (Agent,), {"run": lambda self, state, ctx: "x"})
    assert caught.value.code == "agent_invalid"
    assert "name it act" in str(caught.value.hint)


def test_only_a_result_is_resumed() -> None:
    with pytest.raises(ValidationError, match="the result of a run, or a thread: int"):
        Orchestrator(notes("a")).resume(3, "x")  # type: ignore[arg-type]


@pytest.mark.parametrize("questions", ["one", None, 3])
def test_a_batch_is_of_several_questions(questions: Any) -> None:
    with pytest.raises(ValidationError, match="a batch takes a list") as caught:
        Orchestrator(notes("a")).batch(questions)
    assert caught.value.code == "input_invalid"


class Misspells(Agent):
    def act(self, state: Any, ctx: AgentContext) -> Any:
        return ctx.goto("misspells", updates={})  # type: ignore[call-arg]


def test_a_misspelt_option_is_refused_with_the_one_that_was_meant() -> None:
    team = Orchestrator(notes("a"))
    calls: dict[str, Any] = {
        "checkpointer": lambda: Orchestrator(notes("a"), checkpoint="memory:"),  # type: ignore[call-arg]
        "thread": lambda: team.run("q", thred="t"),  # type: ignore[call-arg]
        "answers": lambda: asyncio.run(team.aresume("t", answer=1)),  # type: ignore[call-arg]
        "tool_calls": lambda: Budget(toolcalls=5),  # type: ignore[call-arg]
        "side_effect": lambda: tool(sideeffect="read"),  # type: ignore[call-overload]
        "update": lambda: Orchestrator([Misspells()]).run("q"),
    }
    for meant, call in calls.items():
        with pytest.raises(ValidationError) as caught:
            call()
        assert (caught.value.code, caught.value.hint) == (
            "call_invalid",
            f"did you mean `{meant}`?",
        )
