"""Toolsets: tools that belong together, and what they open for a run."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager, contextmanager
from typing import TYPE_CHECKING, Any

import pytest

from antiphon import Agent, AgentContext, Orchestrator, ToolContext, Toolset, tool
from antiphon.errors import ToolError, ValidationError
from antiphon.models import scripted
from antiphon.systems import ReviewLoop

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Iterator

CALL = {"tool_calls": [{"name": "db_query", "arguments": {"key": "Lyon"}}]}


class Database:
    """A connection, and what happened to it."""

    def __init__(self) -> None:
        self.log: list[str] = []

    @contextmanager
    def sync(self) -> Iterator[dict[str, int]]:
        self.log.append("opened")
        try:
            yield {"Lyon": 520_774}
        except BaseException as error:
            self.log.append(f"failed: {type(error).__name__}")
            raise
        finally:
            self.log.append("closed")

    @asynccontextmanager
    async def asynchronous(self) -> AsyncIterator[dict[str, int]]:
        task = asyncio.current_task()
        with self.sync() as opened:
            yield opened
        self.log.append("in the same task" if asyncio.current_task() is task else "in another")


@tool(side_effect="read")
def query(key: str, call: ToolContext) -> str:
    """Looks a city up."""
    return str(call.resource[key])


def agent(lifespan: Callable[[], Any], replies: list[Any] | None = None) -> Agent[Any, Any]:
    model = scripted([CALL, "Done."] if replies is None else replies)
    return Agent(model, tools=[Toolset([query], prefix="db_", lifespan=lifespan)])


def tool_results(result: Any) -> list[Any]:
    return [event.data["result"] for event in result.events if event.kind == "tool_result"]


@pytest.mark.parametrize("kind", ["sync", "asynchronous"])
@pytest.mark.parametrize("way", ["run", "arun", "stream", "astream", "batch"])
def test_a_lifespan_surrounds_the_run_in_each_way(kind: str, way: str) -> None:
    database = Database()
    clerk = agent(getattr(database, kind))

    async def streamed() -> Any:
        async with clerk.astream("How many?") as events:
            async for _ in events:
                pass
        return events.result

    def result() -> Any:
        if way == "arun":
            return asyncio.run(clerk.arun("How many?"))
        if way == "astream":
            return asyncio.run(streamed())
        if way == "stream":
            with clerk.stream("How many?") as stream:
                list(stream)
            return stream.result
        return clerk.batch(["How many?"])[0] if way == "batch" else clerk.run("How many?")

    assert tool_results(result()) == ["520774"]
    assert database.log == ["opened", "closed", *["in the same task"] * (kind != "sync")]


def test_each_run_opens_its_own() -> None:
    database = Database()
    clerk = agent(database.sync, [CALL, "Done.", CALL, "Done."])
    assert [tool_results(clerk.run("?")), tool_results(clerk.run("?"))] == [["520774"], ["520774"]]
    assert database.log == ["opened", "closed"] * 2


def test_the_tools_of_an_agent_in_python_have_it_too() -> None:
    class Clerk(Agent):
        tools = (Toolset([query], lifespan=Database().sync),)

        def act(self, state: Any, ctx: AgentContext) -> str:
            return str(ctx.call("query", key="Lyon"))

    assert Clerk().run("?").answer == "520774"


def test_a_paused_run_is_closed_and_a_resumed_one_opens_it_again() -> None:
    database = Database()

    class Asks(Agent):
        tools = (Toolset([query], lifespan=database.sync),)

        def act(self, state: Any, ctx: AgentContext) -> str:
            return str(ctx.call("query", key=ctx.ask("Which city?")))

    team = Orchestrator([Asks()])
    paused = team.run("?")
    assert database.log == ["opened", "closed"]
    assert team.resume(paused, "Lyon").answer == "520774"
    assert database.log == ["opened", "closed"] * 2


@pytest.mark.parametrize("kind", ["sync", "asynchronous"])
def test_a_lifespan_sees_the_exception_of_its_run(kind: str) -> None:
    database = Database()

    class Fails(Agent):
        tools = (Toolset([query], lifespan=getattr(database, kind)),)

        def act(self, state: Any, ctx: AgentContext) -> str:
            raise LookupError("nothing there")

    with pytest.raises(LookupError, match="nothing there"):
        Fails().run("?")
    assert database.log == ["opened", "failed: LookupError", "closed"]


def test_a_stream_that_is_closed_early_closes_it() -> None:
    database = Database()
    with agent(database.sync).stream("?") as stream:
        next(stream)
        assert database.log == ["opened"]
    assert database.log == ["opened", "closed"]
    assert stream.result.outcome == "cancelled"


@pytest.mark.parametrize("asynchronous", [False, True])
def test_a_lifespan_that_cannot_open_ends_the_run_before_a_model_is_called(
    asynchronous: bool,
) -> None:
    database = Database()

    @contextmanager
    def broken() -> Iterator[None]:
        database.log.append("broken")
        if database.log:
            raise ConnectionError("no database")
        yield

    model = scripted(["never"])

    def other() -> None: ...

    sets = [Toolset([query], lifespan=database.sync), Toolset([other], lifespan=broken)]
    clerk = Agent(model, tools=sets, checkpointer="memory:")
    with pytest.raises(ConnectionError, match="no database"):
        asyncio.run(clerk.arun("?", thread="t")) if asynchronous else clerk.run("?", thread="t")
    assert model.requests == []
    assert database.log == ["opened", "broken", "failed: ConnectionError", "closed"]
    plain = Agent(scripted(["fine"]), name="agent", checkpointer=clerk.checkpointer)
    assert plain.run("?", thread="t").answer == "fine", "the thread is free"


def test_a_lifespan_that_cannot_close_raises_that() -> None:
    @contextmanager
    def stuck() -> Iterator[dict[str, int]]:
        yield {"Lyon": 1}
        raise ConnectionError("cannot close")

    with pytest.raises(ConnectionError, match="cannot close"):
        agent(stuck).run("?")


def test_roles_of_systems_take_toolsets() -> None:
    database = Database()
    roles: dict[str, Any] = {
        "planner": lambda _: {"research_steps": ["look"], "expert_steps": ["say"]},
        "critic": lambda _: {"decision": "approve", "feedback": ""},
        "expert": lambda _: {"expert_answer": "it", "reasoning_trace": "so"},
    }
    found = {"json": {"result": "found"}}
    tools = [Toolset([query], prefix="db_", lifespan=database.asynchronous)]
    system = ReviewLoop(scripted([]), **roles, researcher=scripted([CALL, found] * 2), tools=tools)
    assert tool_results(system.run("?")) == ["520774"]
    assert tool_results(asyncio.run(system.arun("?"))) == ["520774"]
    assert database.log == ["opened", "closed", "in the same task"] * 2


def test_a_prefix_renames_and_leaves_the_tool_itself_alone() -> None:
    assert [one.name for one in Toolset([query], prefix="db_").tools] == ["db_query"]
    assert query.name == "query"
    assert repr(Toolset([query])) == "Toolset(query)"


def test_two_toolsets_with_the_same_names_need_a_prefix() -> None:
    with pytest.raises(ValidationError, match="two tools have the same name: query") as caught:
        Agent(scripted([]), tools=[Toolset([query]), Toolset([query])]).run("?")
    assert caught.value.code == "tool_duplicate"
    assert "prefix" in (caught.value.hint or "")
    both = [Toolset([query], prefix="a_"), Toolset([query], prefix="b_")]
    assert Agent(scripted(["fine"]), tools=both).run("?").answer == "fine"


@pytest.mark.parametrize(
    ("options", "code", "message"),
    [
        ({"tools": query}, "tool_function", "tools must be given as a list: FunctionTool"),
        ({"tools": {"query": query}}, "tool_function", "tools must be given as a list: dict"),
        ({"tools": [query], "prefix": 3}, "tool_option", "`prefix` of a toolset must be a string"),
        ({"tools": [query], "prefix": "a b "}, "tool_name", "a b query"),
        ({"tools": [query], "lifespan": "db"}, "tool_option", "`lifespan` of a toolset must be"),
        ({"tools": [Toolset([query])]}, "tool_function", "a tool must be callable: Toolset"),
    ],
)
def test_what_is_no_toolset_is_refused(options: dict[str, Any], code: str, message: str) -> None:
    with pytest.raises(ValidationError, match=message) as caught:
        Toolset(**options)
    assert caught.value.code == code


def test_a_lifespan_that_returns_no_context_manager_is_an_error_that_says_how() -> None:
    with pytest.raises(ValidationError, match="must return a context manager: dict") as caught:
        agent(dict).run("?")
    assert "contextlib.contextmanager" in (caught.value.hint or "")


def test_a_toolset_is_closed_outside_of_agents_and_systems() -> None:
    pytest.importorskip("langchain_core")
    (own,) = Toolset([query], lifespan=Database().sync).tools
    with pytest.raises(ToolError, match="the toolset of the tool is not open: query") as caught:
        own.as_langchain().invoke({"key": "Lyon"})
    assert caught.value.code == "tool_context"
