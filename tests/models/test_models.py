"""Models: opened by name, scripted, functions, LangChain's, and budgets."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from langchain_core.language_models import BaseChatModel, GenericFakeChatModel
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from pydantic import Field

from antiphon import Agent, AgentContext, Budget, Orchestrator, models, tool
from antiphon.errors import (
    AuthError,
    ModelOutputError,
    ModelTransportError,
    ValidationError,
)
from antiphon.models import Model, scripted
from antiphon.systems import Computation
from models.conftest import KEY


@tool
def population(city: str) -> int:
    """Number of inhabitants."""
    return len(city)


def alone(given: Any, question: Any = "q", **options: Any) -> Any:
    return Orchestrator([Agent(name="a", model=given, **options)]).run(question)


# By name


def test_a_key_is_in_no_repr() -> None:
    opened = models.get("openai:gpt-5-mini", api_key=KEY, headers={"x-key": KEY})
    assert isinstance(opened, Model)
    assert opened.name == "openai:gpt-5-mini"
    agent = Agent(name="a", model=opened)
    for shown in (repr(opened), repr(agent), repr(Orchestrator([agent]))):
        assert KEY not in shown


def test_the_environment_is_read_when_the_model_is_opened(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    with pytest.raises(AuthError, match="OPENAI_API_KEY") as caught:
        models.get("openai:gpt-5-mini")
    assert caught.value.code == "model_key_missing"
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    assert models.get("openai/gpt-5-mini").name == "openai:gpt-5-mini"


def test_a_missing_key_is_reported_when_the_team_is_built(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    with pytest.raises(AuthError, match="OPENAI_API_KEY"):
        Orchestrator([Agent(name="a", model="openai:gpt-5-mini")])


@pytest.mark.parametrize(
    ("name", "settings", "code", "naming"),
    [
        ("gpt-5-mini", {}, "model_name_malformed", "gpt-5-mini"),
        ("nobody:gpt", {}, "model_provider_unknown", "nobody"),
        (
            "openai:x",
            {"api_key": "k", "base_url": "not a url"},
            "model_base_url_invalid",
            "base URL",
        ),
        ("openai:x", {"base_ulr": "u"}, "model_setting_invalid", "did you mean `base_url`"),
        (
            "openai:x",
            {"timeout": "long"},
            "model_setting_invalid",
            "`timeout` .*:x` .*'long'",
        ),
        ("openai:x", {"max_attempts": 1.5}, "model_setting_invalid", "`max_attempts` .*: 1.5"),
        ("openai:x", {"headers": [1]}, "model_setting_invalid", "`headers` .*: list"),
        ("openai:x", {"headers": {"a": 1}}, "model_setting_invalid", "`headers` .*: dict"),
        ("openai:x", {"api_key": 12345}, "model_setting_invalid", "`api_key` .* a text: int"),
        ("local:0.5b", {"timeout": "long"}, "model_setting_invalid", "`timeout` "),
        ("openai:x", {"api_key": "k", "timeout": -1}, "model_setting_invalid", "timeout"),
        ("openai:x", {"api_key": "k", "timeout": 0}, "model_setting_invalid", "`timeout`.*: 0"),
        ("openai:x", {"api_key": "k", "idle_timeout": 0}, "model_setting_invalid", "idle_timeout"),
        ("openai:x", {"api_key": "k", "max_attempts": 0}, "model_setting_invalid", "max_attempts"),
        ("openai:x", {"max_reply_bytes": 0}, "model_setting_invalid", "`max_reply_bytes` .*: 0"),
        ("openai:x", {"api_key": "k\ny"}, "model_setting_invalid", "authorization"),
        ("openai:x", {"capabilities": {"tmp": 1}}, "model_setting_invalid", "tmp"),
        ("openai:x", {"capabilities": {"temperature": 1}}, "model_setting_invalid", "boolean"),
        ("local:900b", {}, "local_model_unknown", "900b"),
        ("/nowhere/at-all.gguf", {}, "local_model_missing", "at-all.gguf"),
        ("local:0.5b", {"base_url": "http://127.0.0.1:1"}, "model_setting_invalid", "base_url"),
        ("local:0.5b", {"tiemout": 1}, "model_setting_invalid", "did you mean `timeout`"),
    ],
)
def test_what_cannot_be_opened_is_named(name: str, settings: Any, code: str, naming: str) -> None:
    with pytest.raises(ValidationError, match=naming) as caught:
        models.get(name, **settings)
    assert caught.value.code == code


# Scripted


def test_the_model_of_a_list_that_answers_is_named() -> None:
    down = ModelTransportError("down", code="model_unreachable")
    away = scripted([down] * 9, name="openai:gpt-5-mini")
    reply = {"json": {"python": "result = 1", "answer": "1", "highlights": []}}
    present = scripted([reply] * 9, name="local:qwen2.5-coder:1.5b")
    either = models.get([away, present])
    alone_result = alone(either)
    assert present.name in str(alone_result.trace)
    replied = [event.name for event in alone_result.events if event.kind == "model_reply"]
    assert replied == [present.name]
    computed = Computation(either, summarise=False).run("?")
    assert computed.models == (away.name, present.name)
    assert present.name in (computed.caveat or "")


def test_a_script_answers_in_order_and_says_when_it_is_out() -> None:
    script = scripted(["one", {"text": "two", "usage": {"input_tokens": 3, "output_tokens": 4}}])
    team = Orchestrator([Agent(name="a", model=script)])
    assert team.run("q").answer == "one"
    second = team.run("r")
    assert (second.answer, second.usage.input_tokens, second.usage.output_tokens) == ("two", 3, 4)
    with pytest.raises(Exception, match="script") as caught:
        team.run("s")
    assert getattr(caught.value, "code", None) == "script_exhausted"
    assert [request["messages"][-1]["content"] for request in script.requests[:2]] == ["q", "r"]


def test_a_branch_is_for_one_agent() -> None:
    script = scripted([], replies_by_agent={"a": ["for a"], "b": ["for b"]})
    agents = [Agent(name=name, model=script, writes=f"said_{name}") for name in "ba"]
    result = Orchestrator([agents]).run("q")
    assert (result.state["said_a"], result.state["said_b"]) == ("for a", "for b")


@pytest.mark.parametrize(
    "fault",
    [
        ModelTransportError("down", code="model_unreachable"),
        {"fault": {"category": "model_transport", "code": "model_unreachable", "message": "down"}},
    ],
)
def test_a_fault_of_a_scripted_model_is_raised(fault: Any) -> None:
    with pytest.raises(ModelTransportError, match="down"):
        alone(scripted([fault]))


def test_a_single_reply_is_a_script_of_one() -> None:
    assert alone(scripted("hello")).answer == "hello"
    assert alone(scripted({"text": "hello"})).answer == "hello"
    by_agent = scripted([], replies_by_agent={"a": "for a"})
    assert alone(by_agent).answer == "for a"
    with pytest.raises(ModelTransportError, match="down"):
        alone(scripted(ModelTransportError("down", code="model_unreachable")))
    with pytest.raises(ValidationError, match="list of replies: int") as caught:
        scripted(3)
    assert caught.value.code == "script_invalid"


@pytest.mark.parametrize(
    "reply", [3, {"txt": "x"}, {}, {"tool_calls": 3}, {"fault": {"code": "x"}}]
)
def test_a_wrong_reply_is_refused(reply: Any) -> None:
    with pytest.raises(ValidationError) as caught:
        scripted([reply])
    assert caught.value.code == "script_invalid"


def test_the_model_class_takes_texts_and_refuses_other_replies_as_the_function_does() -> None:
    assert alone(Model.scripted(["hello"])).answer == "hello"
    assert alone(Model.scripted("hello")).answer == "hello"
    assert alone(Model.scripted([], branches=[("agent", "a", "for a")])).answer == "for a"
    wrong: list[Any] = [3, [3], [{"txt": "x"}], [{"text": 5}]]
    for replies in wrong:
        with pytest.raises(ValidationError) as caught:
            Model.scripted(replies)
        assert caught.value.code == "script_invalid"
    assert "{'text': 5}" in caught.value.message
    assert '`{"text": "hello"}`' in (caught.value.hint or "")


def test_a_wrong_reply_is_explained_once() -> None:
    with pytest.raises(ValidationError, match=r"dict of known fields: \['txt'\]") as caught:
        scripted([{"txt": "x"}])
    assert caught.value.message.startswith("a scripted reply must be")
    assert caught.value.hint is not None


# Functions


def test_a_function_is_a_model() -> None:
    def shout(request: dict[str, Any]) -> str:
        return str(request["messages"][-1]["content"]).upper()

    assert alone(shout, "hello").answer == "HELLO"


def test_an_async_function_is_a_model_and_may_call_tools() -> None:
    seen: list[dict[str, Any]] = []

    async def think(request: dict[str, Any]) -> dict[str, Any]:
        await asyncio.sleep(0)
        seen.append(request)
        if len(seen) == 1:
            return {"tool_calls": [{"name": "population", "arguments": {"city": "Lyon"}}]}
        return {"text": "four", "usage": {"input_tokens": 1, "output_tokens": 2}, "model": "mine"}

    result = alone(think, tools=[population])
    assert (result.answer, result.usage.input_tokens) == ("four", 1)
    assert seen[0]["tools"][0]["name"] == "population"
    assert seen[1]["messages"][-1]["role"] == "tool"


def test_a_function_in_the_class_and_a_method_are_models() -> None:
    def echo(request: dict[str, Any]) -> str:
        return "plain"

    class Plain(Agent):
        model = echo

    class Own(Agent):
        word = "method"

        def model(self, request: dict[str, Any]) -> str:
            return self.word

    assert Orchestrator([Plain()]).run("q").answer == "plain"
    assert Orchestrator([Own()]).run("q").answer == "method"


def test_what_a_function_raises_is_raised_as_it_is() -> None:
    def broken(request: dict[str, Any]) -> str:
        raise ZeroDivisionError("in the model")

    with pytest.raises(ZeroDivisionError, match="in the model"):
        alone(broken)


@pytest.mark.parametrize("reply", [3, None, {"txt": "x"}])
def test_a_function_that_returns_no_reply_is_a_typed_error(reply: Any) -> None:
    with pytest.raises(ModelOutputError) as caught:
        alone(lambda request: reply)
    assert caught.value.code == "model_reply_malformed"


def test_further_fields_of_a_tool_call_do_no_harm() -> None:
    def calls(request: dict[str, Any]) -> Any:
        last = request["messages"][-1]
        if last["role"] == "tool":
            return last["content"]
        call = {"type": "function_call", "call_id": "c", "index": 0, "name": "population"}
        return {"tool_calls": [{**call, "arguments": {"city": "Lyon"}}]}

    assert alone(calls, tools=[population]).answer == str(population("Lyon"))


@pytest.mark.parametrize(
    ("calls", "complaint"),
    [
        ([{"function": {"name": "f", "arguments": "{}"}}], "a call has `function` in place"),
        ([{"name": "f", "args": {}}], "a call has `args` in place"),
        ([{"arguments": {}}], "no name: None"),
        ([{"name": "f", "arguments": [1]}], "the arguments of `f` are no dict: list"),
        ([{"name": "f", "arguments": {"a": object()}}], "the arguments of `f` are no JSON"),
        (["f"], "a call is no dict: str"),
        ({"name": "f"}, "no list: dict"),
    ],
)
def test_a_tool_call_of_a_function_that_is_none_is_a_typed_error(
    calls: Any, complaint: str
) -> None:
    with pytest.raises(ModelOutputError, match=complaint) as caught:
        alone(lambda request: {"tool_calls": calls}, tools=[population])
    assert caught.value.code == "model_reply_malformed"
    assert '`{"name": "population"' in str(caught.value.hint)


def chunks(stream: Any) -> list[str]:
    return [event.text for event in stream if event.kind == "chunk"]


@pytest.mark.parametrize("asynchronous", [False, True])
def test_a_generator_streams_its_reply(asynchronous: bool) -> None:
    def speak(request: dict[str, Any]) -> Any:
        yield "one "
        yield "word"
        yield {"usage": {"input_tokens": 3, "output_tokens": 2}, "model": "mine"}

    async def murmur(request: dict[str, Any]) -> Any:
        for piece in speak(request):
            await asyncio.sleep(0)
            yield piece

    team = Orchestrator([Agent(name="a", model=murmur if asynchronous else speak)])
    stream = team.stream("q")
    assert chunks(stream) == ["one ", "word"]
    assert stream.result.answer == "one word"
    assert stream.result.usage.output_tokens == 2
    assert team.run("q").answer == "one word"

    async def watch() -> list[str]:
        return [event.text async for event in team.astream("q") if event.kind == "chunk"]

    assert asyncio.run(watch()) == ["one ", "word"]


@pytest.mark.parametrize("pieces", [["a", 3], [{"usage": {}}, "late"], [{"txt": "x"}]])
def test_a_generator_that_yields_no_reply_is_a_typed_error(pieces: list[Any]) -> None:
    with pytest.raises(ModelOutputError) as caught:
        alone(lambda request: (piece for piece in pieces))
    assert caught.value.code == "model_reply_malformed"


@pytest.mark.parametrize("asynchronous", [False, True])
def test_a_model_that_an_agent_asks_is_heard_by_who_watches_the_team(asynchronous: bool) -> None:
    def speak(request: dict[str, Any]) -> Any:
        yield from ("one ", "by ", "one")

    class Asks(Agent):
        def act(self, state: Any, ctx: AgentContext) -> Any:
            return ctx.model("?", model=speak)

    class Awaits(Agent):
        async def act(self, state: Any, ctx: AgentContext) -> Any:
            return await ctx.amodel("?", model=speak)

    stream = Orchestrator([Awaits() if asynchronous else Asks()]).stream("q")
    assert chunks(stream) == ["one ", "by ", "one"]
    assert stream.result.answer == "one by one"


def test_what_an_agent_asks_a_model_is_counted_by_the_engine_also_when_it_fails() -> None:
    reply = {"text": "no number", "usage": {"input_tokens": 4, "output_tokens": 5}}

    class Asks(Agent):
        budget = Budget(output_tokens=12)

        def act(self, state: Any, ctx: AgentContext) -> Any:
            with pytest.raises(ModelOutputError):
                ctx.model("?", model=scripted([reply] * 2), output=int)
            return ctx.model("?", model=scripted([reply]))

    result = Orchestrator([Asks()]).run("q")
    usage = result.usage
    assert (usage.model_calls, usage.input_tokens, usage.output_tokens) == (3, 12, 15)
    assert result.outcome == "answered"

    class More(Asks):
        def act(self, state: Any, ctx: AgentContext) -> Any:
            super().act(state, ctx)
            return ctx.model("?", model=scripted([reply]))

    again = Orchestrator([More()]).run("q")
    assert (again.outcome, again.reason, again.usage.model_calls) == ("budget", "output_tokens", 3)


# Lists


@pytest.mark.parametrize(
    ("given", "settings", "code", "naming"),
    [
        ([], {}, "model_invalid", r"\[\]"),
        (["openai:x", 3], {"api_key": None}, "model_setting_invalid", "api_key"),
        ([scripted([]), 3], {}, "model_invalid", "int"),
        ([scripted([]), "nobody:x"], {}, "model_provider_unknown", "nobody"),
        ({"openai:x"}, {}, "model_invalid", "openai"),
    ],
)
def test_what_is_no_list_of_models_is_named(
    given: Any, settings: Any, code: str, naming: str
) -> None:
    with pytest.raises(ValidationError, match=naming) as caught:
        models.get(given, **settings)
    assert caught.value.code == code


def test_the_next_of_a_list_answers_when_one_cannot_be_had() -> None:
    down = scripted([ModelTransportError("down", code="model_unreachable")] * 2, name="test:down")
    up = scripted(["here", "again"], name="test:up")
    assert models.get([down, up]).name == "test:down | test:up"
    assert alone(models.get([down, up])).answer == "here"
    assert alone([down, up]).answer == "again"


# LangChain


class Toolish(BaseChatModel):
    """Calls the first tool it is offered, then says what it heard."""

    bound: list[Any] = Field(default_factory=list)
    heard: list[Any] = Field(default_factory=list)

    @property
    def _llm_type(self) -> str:
        return "toolish"

    def bind_tools(self, tools: Any, **options: Any) -> Any:
        self.bound.extend(tools)
        return self

    def _generate(self, messages: list[BaseMessage], *args: Any, **options: Any) -> ChatResult:
        self.heard.append(messages)
        if self.bound and messages[-1].type != "tool":
            name = self.bound[0]["function"]["name"]
            calls = [{"name": name, "args": {"city": "Lyon"}, "id": "c1"}]
            reply = AIMessage(content="", tool_calls=calls)
        else:
            usage = {"input_tokens": 7, "output_tokens": 5, "total_tokens": 12}
            text = f"heard {messages[-1].content}"
            reply = AIMessage(content=text, usage_metadata=usage)
        return ChatResult(generations=[ChatGeneration(message=reply)])


def test_a_langchain_chat_model_is_a_model() -> None:
    fake = GenericFakeChatModel(messages=iter([AIMessage(content="from langchain")]))
    assert alone(fake).answer == "from langchain"


@pytest.mark.parametrize("asynchronous", [False, True])
def test_a_langchain_chat_model_calls_tools_and_counts_tokens(asynchronous: bool) -> None:
    chat = Toolish()
    team = Orchestrator([Agent(name="a", model=chat, tools=[population], instructions="Count.")])
    result = asyncio.run(team.arun("q")) if asynchronous else team.run("q")
    assert result.answer == "heard 4"
    assert (result.usage.input_tokens, result.usage.output_tokens) == (7, 5)
    assert [message.type for message in chat.heard[-1]] == ["system", "human", "ai", "tool"]
    assert chat.heard[-1][2].tool_calls[0]["args"] == {"city": "Lyon"}


def test_a_langchain_chat_model_streams_its_reply() -> None:
    fake = GenericFakeChatModel(messages=iter([AIMessage(content="two more words")]))
    stream = Orchestrator([Agent(name="a", model=fake)]).stream("q")
    pieces = chunks(stream)
    assert (len(pieces) > 1, "".join(pieces)) == (True, "two more words")
    assert stream.result.answer == "two more words"
    whole = Orchestrator([Agent(name="a", model=Toolish(), tools=[population])]).stream("q")
    assert "".join(chunks(whole)) == "heard 4"
    assert whole.result.usage.output_tokens == 5


def test_a_langchain_chat_model_receives_the_schema() -> None:
    fake = GenericFakeChatModel(messages=iter([AIMessage(content='{"value": [1, 2]}')]))
    assert alone(fake, output=list[int]).answer == [1, 2]


def test_langchain_messages_are_messages() -> None:
    script = scripted(["ok"])
    result = alone(script, {"messages": [HumanMessage("hi"), ("assistant", "yes?"), "go"]})
    assert [(m["role"], m["content"]) for m in script.requests[0]["messages"]] == [
        ("user", "hi"),
        ("assistant", "yes?"),
        ("user", "go"),
    ]
    assert isinstance(result.messages[0], HumanMessage)


def test_an_agents_own_langchain_message_is_kept() -> None:
    class Says(Agent):
        def act(self, state: Any, ctx: AgentContext) -> dict[str, Any]:
            return {"messages": AIMessage(content=[{"type": "text", "text": "part"}], name="says")}

    script = scripted(["ok"])
    Orchestrator([Says(), Agent(name="a", model=script)]).run("q")
    assert script.requests[0]["messages"][-1] == {"role": "user", "content": "says: part"}


# Budgets


@pytest.mark.parametrize(
    "limits", [{"model_calls": -1}, {"tool_calls": 1.5}, {"wall_time": "1"}, {"retries": True}]
)
def test_a_wrong_budget_is_refused(limits: Any) -> None:
    with pytest.raises(ValidationError, match=next(iter(limits))) as caught:
        Budget(**limits)
    assert caught.value.code == "budget_invalid"
