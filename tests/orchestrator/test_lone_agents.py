"""An agent alone: a team of one, with the verbs of a team."""

from __future__ import annotations

import asyncio
import copy
import inspect
import pickle
import subprocess
import sys
import types
from typing import Any, cast

import pytest

from antiphon import Agent, AgentContext, Orchestrator, RetryPolicy
from antiphon.errors import StateError, ValidationError
from antiphon.models import scripted
from antiphon.sandbox import Sandbox

VERBS = ("run", "stream", "batch", "resume", "recover")
ON_THREADS = ("state", "history", "update", "fork", "diff", "orphans")


class Clerk(Agent):
    """Orders what it is asked for."""

    def act(self, state: Any, ctx: AgentContext) -> str:
        return f"{state['question']} for {ctx.ask('whom?')}"


class Echo(Agent):
    """Repeats the question."""

    async def act(self, state: Any, ctx: AgentContext) -> str:
        return f"{state['question']}!"


def test_an_agent_answers_alone() -> None:
    agent = Agent(scripted(["Lima."]), name="geographer", instructions="Be brief.")
    result = agent.run("The capital of Peru?")
    assert (result.answer, result.outcome, result.team) == ("Lima.", "answered", "geographer")


def test_a_model_is_the_first_argument_of_a_subclass_too() -> None:
    model = scripted(["x"])
    assert Agent(model).run("q").answer == "x"
    assert Echo().run("q").answer == "q!"


def test_it_has_the_async_verbs() -> None:
    agent = Echo()

    async def main() -> None:
        assert (await agent.arun("a")).answer == "a!"
        assert [result.answer for result in await agent.abatch(["a", "b"])] == ["a!", "b!"]
        stream = agent.astream("a")
        kinds = [event.kind async for event in stream]
        assert (kinds[-1], stream.result.answer) == ("run_finished", "a!")

    asyncio.run(main())


def test_it_streams_and_runs_batches() -> None:
    stream = Agent(scripted(["two words"]), name="writer").stream("go")
    assert "".join(event.text for event in stream) == "two words"
    assert [result.answer for result in Echo().batch(["a", "b"])] == ["a!", "b!"]


@pytest.mark.parametrize("verb", [*VERBS, *ON_THREADS])
def test_its_verbs_are_those_of_a_team(verb: str) -> None:
    for name in (verb, f"a{verb}"):
        own, of_team = getattr(Agent, name), getattr(Orchestrator, name)
        assert inspect.signature(own) == inspect.signature(of_team)
        assert own.__doc__ == of_team.__doc__


def test_its_threads_are_those_of_a_team() -> None:
    agent = Clerk(checkpointer="memory:")
    paused = agent.run("a chair", thread="t")
    assert paused.outcome == "paused"
    assert agent.state("t").questions[0].value == "whom?"
    assert agent.resume("t", "Ada").answer == "a chair for Ada"
    assert len(agent.history("t")) > 1
    fork = agent.fork("t", to="u")
    assert not agent.diff(fork, agent.history("u")[0].id)
    assert agent.update("u", "none").state["answer"] == "none"
    assert (agent.orphans(), agent.recover()) == ([], [])


def test_without_a_checkpointer_it_has_no_threads_and_says_how_to_get_them() -> None:
    with pytest.raises(ValidationError, match="the agent has no checkpointer") as caught:
        Clerk().run("q", thread="t")
    assert caught.value.code == "thread_unkept"
    assert 'Clerk(..., checkpointer="sqlite:runs.db")' in str(caught.value.hint)


def test_a_changed_option_counts_from_the_next_run_and_the_store_stays_open() -> None:
    agent = Agent(scripted(["one"]), name="writer", checkpointer="memory:")
    assert agent.run("q", thread="t").answer == "one"
    agent.model = scripted(["two"])
    assert agent.run("q", thread="t").answer == "two"
    assert len(agent.state("t").state["messages"]) == 4


def test_it_draws_itself() -> None:
    assert "geographer" in Agent(scripted([]), name="geographer").graph.draw_mermaid()


def test_its_model_is_not_opened_for_a_drawing(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: Any) -> Any:
        raise AssertionError("a model was opened")

    monkeypatch.setattr("antiphon._orchestrator.assemble.as_model", refuse)
    expert = Agent("local:0.5b", name="expert")
    team = Agent("local:0.5b", name="triage", fallback=expert)
    assert team.graph.edges == Agent(scripted([]), name="triage", fallback=expert).graph.edges
    assert "expert" in team.graph.draw_mermaid()


def test_an_agent_that_has_run_can_be_copied_and_pickled() -> None:
    agent = Echo(name="echo")
    agent.run("q")
    for twin in (copy.copy(agent), pickle.loads(pickle.dumps(agent))):
        assert twin.run("q").answer == "q!"


@pytest.mark.parametrize("spread", [pickle.dumps, copy.deepcopy])
def test_what_cannot_be_pickled_says_what_to_do_instead(spread: Any) -> None:
    agent = Agent(scripted(["x"]), name="a")
    with pytest.raises(TypeError, match=r"a model cannot be pickled .*; make it and its agents in"):
        spread(agent)
    box = Sandbox(engine="monty")
    with pytest.raises(TypeError, match=r"a sandbox cannot be pickled .*; make it in each process"):
        spread(box)


@pytest.mark.parametrize("spread", [lambda one: pickle.loads(pickle.dumps(one)), copy.deepcopy])
def test_a_retry_policy_can_be_pickled_and_copied(spread: Any) -> None:
    for policy in (RetryPolicy(), RetryPolicy(0.1, 3, 4, 5, jitter=False, retry_on=[OSError])):
        again = spread(policy)
        for name in ("initial_interval", "backoff_factor", "max_interval", "max_attempts"):
            assert getattr(again, name) == getattr(policy, name)
        assert (again.jitter, again.retry_on) == (policy.jitter, policy.retry_on)


def test_a_team_says_that_it_cannot_be_pickled() -> None:
    with pytest.raises(TypeError, match=r"a team cannot be pickled: Orchestrator\(echo\); build"):
        pickle.dumps(Orchestrator([Echo()]))


# Attributes of a class


@pytest.mark.parametrize(
    ("name", "value", "meant"),
    [
        ("instruction", "Be brief.", "instructions"),
        ("instruction", lambda self, ctx: "Be brief.", "instructions"),
        ("tool", [], "tools"),
        ("temprature", 0, "temperature"),
        ("max_model_call", 3, "max_model_calls"),
        ("handoff", [], "handoffs"),
    ],
)
def test_a_misspelt_attribute_is_an_error_when_the_class_is_made(
    name: str, value: Any, meant: str
) -> None:
    with pytest.raises(ValidationError, match=f"`Odd` that is nearly an option: {name}") as caught:
        type("Odd", (Agent,), {name: value})
    assert caught.value.code == "agent_invalid"
    assert f"did you mean `{meant}`" in str(caught.value.hint)


def test_other_attributes_are_free() -> None:
    class Free(Agent):
        table = types.MappingProxyType({"Lyon": 1})
        topic = "places"
        _tool = "private"

        def read(self, key: str) -> int:
            return self.table[key]

        class Output:
            """A name that only resembles the option."""

        def act(self, state: Any, ctx: AgentContext) -> str:
            return f"{self.topic} {self.read('Lyon')}"

    assert Free().run("q").answer == "places 1"


# Instructions


def test_instructions_may_be_a_function_of_the_context() -> None:
    model = scripted(["x"])
    Agent(model, name="geo", instructions=lambda ctx: f"You are {ctx.agent}.").run("q")
    assert model.requests[0]["messages"][0] == {"role": "system", "content": "You are geo."}


@pytest.mark.parametrize("asynchronous", [False, True])
def test_instructions_may_be_a_method_of_state_and_context(asynchronous: bool) -> None:
    class Polite(Agent):
        tone = "kind"

        def instructions(self, state: Any, ctx: Any) -> str:
            return f"Be {self.tone} about {state['question']} ({ctx.attempt})."

    class Waits(Agent):
        async def instructions(self, state: Any, ctx: Any) -> str:
            return f"Be kind about {state['question']} ({ctx.attempt})."

    model = scripted(["x"])
    (Waits if asynchronous else Polite)(model).run("tea")
    assert model.requests[0]["messages"][0]["content"] == "Be kind about tea (1)."


def test_an_async_function_of_instructions_runs_on_the_loop_of_the_caller() -> None:
    loops: list[Any] = []

    async def orders(ctx: Any) -> str:
        loops.append(asyncio.get_running_loop())
        return "Be brief."

    async def main() -> None:
        await Agent(scripted(["x"]), name="a", instructions=orders).arun("q")
        assert loops == [asyncio.get_running_loop()]

    asyncio.run(main())


def test_instructions_that_are_no_text_are_an_error() -> None:
    agent = Agent(scripted(["x"]), name="a", instructions=lambda ctx: cast("str", 3))
    with pytest.raises(StateError, match="`instructions` of agent `a` returned no text: int"):
        agent.run("q")


SCRIPT = """
from antiphon import Agent
from antiphon.models import scripted
from antiphon.sandbox import Sandbox

class Documented(Agent):
    '''Describes itself.'''
    instructions = "Be brief."

model = scripted(["x"])
Documented(model).run("q")
print(model.requests[0]["messages"][0]["content"])
"""


def test_instructions_do_not_depend_on_docstrings() -> None:
    command = [sys.executable, "-OO", "-c", SCRIPT]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout == "Be brief.\n"
