"""The context of a run: it reaches agents and tools, and is neither stored nor shown."""

from __future__ import annotations

import asyncio
import json
import threading
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, TypedDict

import pytest

from antiphon import Agent, AgentContext, Orchestrator, ToolContext, tool
from antiphon.errors import ToolError, ValidationError
from antiphon.graph import END, START, Runtime, StateGraph
from antiphon.models import scripted

SECRET = "sesame-4711"


@dataclass
class Session:
    user: str
    password: str = SECRET


@tool(side_effect="read")
def whoami(call: ToolContext[Session]) -> str:
    """The user's name."""
    return call.context.user


class Greeter(Agent[Session, str]):
    def act(self, state: Any, ctx: AgentContext[Session]) -> str:
        return f"hello {ctx.context.user}"


class Asks(Agent[Session, str]):
    tools = (whoami,)

    def act(self, state: Any, ctx: AgentContext[Session]) -> str:
        sure = ctx.ask("Are you sure?")
        return f"{sure}: {ctx.call('whoami')}"


def clerk(*, times: int = 1) -> Agent[Session, str]:
    call = {"tool_calls": [{"name": "whoami", "arguments": {}}]}
    return Agent(model=scripted([call, "Done."] * times), name="clerk", tools=[whoami])


ADA = Session("ada")


def test_the_context_reaches_agents_in_every_way_to_run_them() -> None:
    team = Orchestrator([Greeter()])
    assert team.run("q", context=ADA).answer == "hello ada"
    assert asyncio.run(team.arun("q", context=ADA)).answer == "hello ada"
    assert [one.answer for one in team.batch(["q", "r"], context=ADA)] == ["hello ada"] * 2
    with team.stream("q", context=ADA) as stream:
        list(stream)
    assert stream.result.answer == "hello ada"
    assert Greeter().run("q", context=ADA).answer == "hello ada"

    async def streamed() -> Any:
        async with team.astream("q", context=ADA) as events:
            async for _ in events:
                pass
        return events.result.answer

    assert asyncio.run(streamed()) == "hello ada"


def test_the_context_reaches_tools_that_a_model_calls() -> None:
    result = Orchestrator([clerk()]).run("Who am I?", context=ADA)
    assert result.answer == "Done."
    assert result.usage.tool_calls == 1


def test_instructions_see_the_context() -> None:
    model = scripted(["Hello."])
    agent = Agent(model=model, name="a", instructions=lambda ctx: f"The user is {ctx.context.user}")
    agent.run("Hello", context=ADA)
    assert model.requests[0]["messages"][0]["content"] == "The user is ada"


def signed(old: list[str], new: list[str], *, context: Session | None) -> list[str]:
    return [*old, *(f"{one} by {context.user if context else 'nobody'}" for one in new)]


class Signs(TypedDict, total=False):
    log: Annotated[list[str], signed]


def test_functions_as_models_and_reducers_see_the_context_if_they_ask_for_it() -> None:
    def replies(request: dict[str, Any], context: Session) -> str:
        return f"hello {context.user}"

    class Writes(Agent[Session, str]):
        def act(self, state: Any, ctx: AgentContext[Session]) -> Any:
            return {"log": ["x"], "answer": ctx.model("hi")}

    team = Orchestrator([Writes(replies)], state=Signs, checkpointer="memory:")
    result = team.run("q", thread="t", context=ADA)
    assert (result.answer, result.state["log"]) == ("hello ada", ["x by ada"])
    team.update("t", {"log": ["y"]})
    assert team.state("t").state["log"] == ["x by ada", "y by nobody"]
    assert Agent(replies, name="a").run("q", context=ADA).answer == "hello ada"


def test_reducers_of_a_graph_see_the_context() -> None:
    graph = StateGraph(Signs, context_schema=Session)
    graph.add_node("a", lambda state: {"log": ["z"]})
    graph.add_edge(START, "a").add_edge("a", END)
    found = graph.compile().invoke({"log": ["in"]}, context=ADA)
    assert found == {"log": ["in by ada", "z by ada"]}


def test_without_the_context_that_a_tool_requires_nothing_runs() -> None:
    agent = clerk()
    with pytest.raises(ValidationError, match="`whoami` of agent `clerk` requires") as caught:
        Orchestrator([agent]).run("Who am I?")
    assert caught.value.code == "context_missing"
    assert agent.model.requests == []
    with pytest.raises(ValidationError, match="whoami"):
        Orchestrator([agent]).batch(["Who am I?"], raise_errors=True)


def test_a_tool_that_only_takes_a_context_runs_without_one() -> None:
    @tool
    def perhaps(call: ToolContext[Session | None]) -> str:
        return "nobody" if call.context is None else call.context.user

    class Asks(Agent):
        def act(self, state: Any, ctx: AgentContext) -> Any:
            return ctx.call(perhaps)

    assert Asks().run("q").answer == "nobody"
    assert Asks().run("q", context=ADA).answer == "ada"


def test_a_tool_of_code_says_what_it_lacks() -> None:
    class Asks(Agent):
        def act(self, state: Any, ctx: AgentContext) -> Any:
            return ctx.call(whoami)

    with pytest.raises(ToolError, match="requires a run with a context: Session") as caught:
        Asks().run("q")
    assert caught.value.code == "context_missing"


def test_a_resumed_run_gets_its_context_again(tmp_path: Path) -> None:
    store = f"sqlite:{tmp_path / 'runs.db'}"
    paused = Orchestrator([Asks()], checkpointer=store).run("q", thread="t", context=ADA)
    assert paused.outcome == "paused"
    team = Orchestrator([Asks()], checkpointer=store)
    with pytest.raises(ValidationError, match="whoami") as caught:
        team.resume("t", "yes")
    assert caught.value.code == "context_missing"
    assert team.resume("t", "yes", context=Session("eve")).answer == "yes: eve"


def test_a_run_in_this_process_keeps_its_context_or_takes_another() -> None:
    team = Orchestrator([Asks()])
    assert team.resume(team.run("q", context=ADA), "yes").answer == "yes: ada"
    paused = team.run("q", context=ADA)
    assert team.resume(paused, "yes", context=Session("eve")).answer == "yes: eve"


def test_tasks_threads_and_inner_teams_see_the_context() -> None:
    class Outer(Agent):
        async def act(self, state: Any, ctx: AgentContext) -> Any:
            inner = await Orchestrator([Greeter()]).arun("q")
            async with asyncio.TaskGroup() as group:
                task = group.create_task(ctx.acall(whoami))
            return f"{inner.answer}, {await task}, {await asyncio.to_thread(ctx.call, whoami)}"

    assert Outer().run("q", context=ADA).answer == "hello ada, ada, ada"
    other = Orchestrator([Greeter()])

    class Replaces(Agent):
        def act(self, state: Any, ctx: AgentContext) -> Any:
            return other.run("q", context=Session("eve")).answer

    assert Replaces().run("q", context=ADA).answer == "hello eve"


def test_a_team_in_a_graph_sees_the_context_of_the_graph() -> None:
    def ask(state: dict[str, Any], runtime: Runtime[Session]) -> dict[str, Any]:
        return {"answer": Orchestrator([Greeter()]).run("q").answer}

    builder = StateGraph(dict)
    builder.add_node("ask", ask)
    builder.add_edge(START, "ask")
    builder.add_edge("ask", END)
    assert builder.compile().invoke({}, context=ADA) == {"answer": "hello ada"}


def test_the_context_is_neither_stored_nor_shown(tmp_path: Path) -> None:
    file = tmp_path / "runs.db"
    team = Orchestrator([Asks()], checkpointer=f"sqlite:{file}", name="shown")
    paused = team.run("q", thread="t", context=ADA)
    result = team.resume(paused, "yes", context=ADA)
    shown = [repr(result), str(result.events), json.dumps(result.to_dict()), result.to_json()]
    shown += [str(part) for part in result._repr_mimebundle_().values()]
    shown += [str(list(team.history("t"))), str(team.state("t"))]
    assert result.answer == "yes: ada"
    assert not any(SECRET in text for text in shown)
    stored = b"".join(path.read_bytes() for path in tmp_path.iterdir())
    assert SECRET.encode() not in stored


def test_a_context_need_not_be_copied_or_pickled() -> None:
    lock = threading.Lock()

    class Same(Agent):
        def act(self, state: Any, ctx: AgentContext) -> str:
            return str(ctx.context is lock)

    assert Same().run("q", context=lock).answer == "True"
