"""`retry=` of declared agents, by the kind of their model."""

import asyncio
from typing import Any

import pytest
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.outputs import ChatGeneration, ChatResult

from antiphon import Agent, Budget, Orchestrator, RetryPolicy
from antiphon.errors import AuthError, ModelOutputError, ModelTransportError, ToolError
from antiphon.models import scripted

httpx = pytest.importorskip("httpx")
openai = pytest.importorskip("openai")
anthropic = pytest.importorskip("anthropic")

REQUEST = httpx.Request("POST", "http://localhost/")


def fast(**options: Any) -> RetryPolicy:
    """A policy without noticeable pauses."""
    return RetryPolicy(initial_interval=0.001, jitter=False, **options)


def reply(status: int) -> Any:
    """What a server has answered."""
    return httpx.Response(status, request=REQUEST)


class Chat(BaseChatModel):
    """A chat model of LangChain that says or raises what it is given, in turn."""

    replies: Any

    @property
    def _llm_type(self) -> str:
        return "chat"

    def _generate(
        self, messages: list[BaseMessage], stop: Any = None, run_manager: Any = None, **_: Any
    ) -> ChatResult:
        said = take(self.replies)
        return ChatResult(generations=[ChatGeneration(message=AIMessage(said))])


def take(replies: list[Any]) -> str:
    """The next reply, or its exception."""
    found = replies.pop(0)
    if isinstance(found, Exception):
        raise found
    return str(found)


def chat(replies: list[Any]) -> Any:
    """A chat model of LangChain."""
    return Chat(replies=replies)


def function(replies: list[Any]) -> Any:
    """A function as a model."""
    return lambda _: take(replies)


def coroutine(replies: list[Any]) -> Any:
    """An async function as a model."""

    async def model(_: Any) -> str:
        return take(replies)

    return model


KINDS = (chat, function, coroutine)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    "error",
    [
        ConnectionError("lost"),
        TimeoutError("late"),
        httpx.ReadTimeout("late"),
        httpx.HTTPStatusError("busy", request=REQUEST, response=reply(503)),
        openai.RateLimitError("busy", response=reply(429), body=None),
        openai.InternalServerError("broken", response=reply(500), body=None),
        openai.APIConnectionError(request=REQUEST),
        anthropic.InternalServerError("overloaded", response=reply(529), body=None),
        ModelTransportError("unreachable", code="model_unreachable"),
    ],
    ids=repr,
)
def test_the_default_policy_asks_again_after_transient_exceptions(kind: Any, error: Any) -> None:
    agent = Agent(kind([error, "ok"]), name="a", retry=fast())
    assert agent.run("q").answer == "ok"


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    "error",
    [
        KeyError("k"),
        ValueError("v"),
        openai.AuthenticationError("no", response=reply(401), body=None),
        httpx.HTTPStatusError("no", request=REQUEST, response=reply(404)),
        AuthError("no", code="model_auth"),
        ModelOutputError("no", code="output_invalid"),
    ],
    ids=repr,
)
def test_the_default_policy_asks_once_after_others(kind: Any, error: Any) -> None:
    replies = [error, "ok"]
    with pytest.raises(type(error)):
        Agent(kind(replies), name="a", retry=fast()).run("q")
    assert replies == ["ok"]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    ("retry_on", "is_retried"),
    [
        (KeyError, True),
        ((ModelTransportError, KeyError), True),
        (lambda error: error.args == ("k",), True),
        (ConnectionError, False),
        (lambda error: False, False),
    ],
)
def test_retry_on_judges_what_the_model_has_raised(
    kind: Any, retry_on: Any, is_retried: bool
) -> None:
    replies = [KeyError("k"), KeyError("k"), "ok"]
    agent = Agent(kind(replies), name="a", retry=fast(retry_on=retry_on))
    if is_retried:
        assert agent.run("q").answer == "ok"
    else:
        with pytest.raises(KeyError):
            agent.run("q")
        assert len(replies) == 2


@pytest.mark.parametrize(
    ("retry_on", "is_retried"),
    [
        (None, True),
        (ModelTransportError, True),
        ((KeyError, ModelTransportError), True),
        (lambda error: error.code == "model_unreachable", True),
        (ConnectionError, False),
        (TimeoutError, False),
    ],
)
def test_retry_on_judges_failures_of_native_models_by_their_classes(
    retry_on: Any, is_retried: bool
) -> None:
    model = scripted([ModelTransportError("lost", code="model_unreachable"), "ok"])
    agent = Agent(model, name="a", retry=fast(retry_on=retry_on))
    if is_retried:
        assert agent.run("q").answer == "ok"
    else:
        with pytest.raises(ModelTransportError):
            agent.run("q")
        assert len(model.requests) == 1


def test_an_agent_on_an_event_loop_asks_again() -> None:
    agent = Agent(coroutine([ConnectionError("lost"), "ok"]), name="a", retry=fast())
    assert asyncio.run(agent.arun("q")).answer == "ok"


def test_an_agent_that_is_stored_asks_again() -> None:
    model = function([ConnectionError("lost"), "ok"])
    team = Orchestrator([Agent(model, name="a", retry=fast())], checkpointer="memory:")
    assert team.run("q", thread="t").answer == "ok"
    assert team.state("t").answer == "ok"


def test_a_spent_budget_is_not_tried_again() -> None:
    model = scripted([ModelTransportError("lost", code="model_unreachable")] * 5)
    policy = fast(max_attempts=5, retry_on=lambda error: True)
    result = Agent(model, name="a", retry=policy, budget=Budget(model_calls=2)).run("q")
    assert (result.outcome, len(model.requests)) == ("budget", 2)


def test_code_is_asked_once_after_an_error_of_a_tool() -> None:
    calls = []

    class Clerk(Agent):
        """Fails."""

        def act(self, state: Any, ctx: Any) -> str:
            calls.append(1)
            raise ToolError("no", code="tool_failed")

    with pytest.raises(ToolError):
        Clerk(retry=fast()).run("q")
    assert calls == [1]
