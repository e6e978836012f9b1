"""What a call of a tool costs in an agent's loop: the model's turn, validation, call and result."""

from collections.abc import Callable
from importlib.util import find_spec
from time import perf_counter
from typing import Any

from antiphon import Agent, Orchestrator, tool
from antiphon._builtin_tools.opening import open_tool
from antiphon.models import scripted
from bench.engine import RUNNER, Engine
from bench.row import Row, Sample, awaited, sync

CALLS = 50
ARGUMENTS = {"expression": "1 + 1"}
LANGCHAIN = "langchain"


def calculate(expression: str) -> str:
    """Calculates."""
    return expression


async def acalculate(expression: str) -> str:
    """Calculates."""
    return expression


def native() -> Any:
    """A native tool with the same argument."""
    return open_tool("calculator")


def in_loop(
    make: Callable[[], Any], *, is_async: bool = False
) -> Callable[[Engine], Sample | None]:
    """An agent whose scripted model calls the tool again and again, one call a turn."""

    def row(engine: Engine) -> Sample | None:
        if not engine.ours:
            return react(make(), is_async=is_async)
        return agent(make(), is_async=is_async)

    return row


def agent(made: Any, *, is_async: bool) -> Sample:
    """Runs of antiphon's agent; the scripts are written before the clock starts."""

    def team() -> Any:
        call = {"tool_calls": [{"name": made.name, "arguments": ARGUMENTS}]}
        model = scripted([*[call] * CALLS, "Done."])
        limits: Any = {"max_tool_calls": CALLS + 1, "max_model_calls": CALLS + 2}
        return Orchestrator([Agent(name="clerk", model=model, tools=[made], **limits)])

    def sample(times: int) -> float:
        teams = [team() for _ in range(times)]
        began = perf_counter()
        if is_async:
            RUNNER.run(all_of(teams))
        else:
            for one in teams:
                one.run("?")
        return perf_counter() - began

    async def all_of(teams: list[Any]) -> None:
        for one in teams:
            await one.arun("?")

    return sample


def react(made: Any, *, is_async: bool) -> Sample | None:
    """The same loop as LangGraph's prebuilt agent, around a model that follows a script."""
    if not find_spec("langgraph.prebuilt"):
        return None
    from langchain_core.language_models.fake_chat_models import FakeMessagesListChatModel
    from langchain_core.messages import AIMessage, ToolMessage
    from langchain_core.outputs import ChatGeneration, ChatResult
    from langgraph.prebuilt import create_react_agent

    class Script(FakeMessagesListChatModel):
        def bind_tools(self, *_: Any, **__: Any) -> Any:
            return self

        def _generate(self, messages: Any, *_: Any, **__: Any) -> ChatResult:
            made_calls = sum(isinstance(one, ToolMessage) for one in messages)
            call = {"name": made.name, "args": ARGUMENTS, "id": f"c{made_calls}"}
            calls = [call] if made_calls < CALLS else []
            reply = AIMessage("" if calls else "Done.", tool_calls=calls)
            return ChatResult(generations=[ChatGeneration(message=reply)])

    graph = create_react_agent(Script(responses=[]), [made.as_langchain()])
    config: Any = {"recursion_limit": 3 * CALLS}
    asked = {"messages": [("user", "?")]}
    if is_async:
        return awaited(lambda: graph.ainvoke(asked, config))
    return sync(lambda: graph.invoke(asked, config))


def many(call: Callable[[], Any]) -> Sample:
    """As many calls of a function as a run makes."""

    def work() -> None:
        for _ in range(CALLS):
            call()

    return sync(work)


def amany(call: Callable[[], Any]) -> Sample:
    """The same, awaited."""

    async def work() -> None:
        for _ in range(CALLS):
            await call()

    return awaited(work)


def invoked(*, is_async: bool = False) -> Sample | None:
    """The calls alone, by LangChain's tool, without model or loop."""
    if not find_spec("langchain_core"):
        return None
    from langchain_core.tools import StructuredTool

    if is_async:
        atool = StructuredTool.from_function(coroutine=acalculate)
        return amany(lambda: atool.ainvoke(ARGUMENTS))
    made = StructuredTool.from_function(calculate)
    return many(lambda: made.invoke(ARGUMENTS))


def called() -> Sample:
    """The function alone."""
    return many(lambda: calculate(**ARGUMENTS))


ROWS = (
    Row(
        "tool-native",
        f"call of a native tool, {CALLS} in an agent's loop",
        "µs",
        CALLS,
        floor=lambda _: called(),
        engine=in_loop(native),
        beside={LANGCHAIN: invoked},
    ),
    Row(
        "tool-sync",
        "call of a sync function",
        "µs",
        CALLS,
        floor=lambda _: called(),
        engine=in_loop(lambda: tool(side_effect="none")(calculate)),
        beside={LANGCHAIN: invoked},
    ),
    Row(
        "tool-async",
        "call of an async function",
        "µs",
        CALLS,
        floor=lambda _: amany(lambda: acalculate(**ARGUMENTS)),
        engine=in_loop(lambda: tool(side_effect="none")(acalculate), is_async=True),
        beside={LANGCHAIN: lambda: invoked(is_async=True)},
    ),
)
