"""Teams as members of teams."""

from __future__ import annotations

from typing import Annotated, Any, TypedDict

import pytest

from antiphon import Agent, AgentContext, Budget, Orchestrator
from antiphon.errors import ValidationError
from antiphon.models import scripted
from antiphon.state import extend


class Asks(Agent):
    """Asks a person."""

    def act(self, state: Any, ctx: AgentContext) -> str:
        return f"for {ctx.ask('whom?')}"


class Adds(Agent):
    """Adds one."""

    def act(self, state: Any, ctx: AgentContext) -> dict[str, Any]:
        return {"n": state.get("n", 0) + 1, "by": ctx.agent}


class Sums(Agent):
    """Says what it sees."""

    def act(self, state: Any, ctx: AgentContext) -> str:
        return f"{state.get('n')} after {state.get('answer')}"


def writers(**options: Any) -> Orchestrator:
    model = scripted(["draft", "better"] * 4)
    agents = [Agent(model, name="writer"), Agent(model, name="editor")]
    return Orchestrator(agents, name="writers", description="Write texts.", **options)


def test_a_team_runs_as_an_agent_of_another() -> None:
    result = Orchestrator([Adds(), writers(), Sums()]).run("q")
    assert (result.answer, result.outcome) == ("1 after better", "answered")
    assert [message["content"] for message in result.messages] == [
        "q",
        "draft",
        "better",
        "1 after better",
    ]
    assert result.usage.model_calls == 2


def test_keys_that_the_inner_team_changes_reach_the_outer_one() -> None:
    inner = Orchestrator([Adds(name="x"), Adds(name="y")], name="inner")
    result = Orchestrator([Adds(), inner]).run("q")
    assert (result.state["n"], result.state["by"]) == (3, "y")


class Outer(TypedDict, total=False):
    n: int
    log: Annotated[list[str], extend]


def test_only_keys_of_the_outer_state_are_returned_and_reducers_merge_nothing_twice() -> None:
    class Logs(Agent):
        def act(self, state: Any, ctx: AgentContext) -> dict[str, Any]:
            return {"log": ["x"]}

    inner = Orchestrator([Adds()], name="inner")
    result = Orchestrator([Logs(), inner], state=Outer).run("q")
    assert (result.state["n"], result.state["log"]) == (1, ["x"])


def test_a_team_within_a_team_within_a_team() -> None:
    middle = Orchestrator([writers()], name="middle")
    result = Orchestrator([middle, Sums()]).run("q")
    assert result.answer == "None after better"


def test_a_router_reads_its_description() -> None:
    router = scripted([{"json": {"next": "writers"}}, {"json": {"next": "finish"}}])
    result = Orchestrator([writers()], router=router).run("q")
    assert result.answer == "better"
    assert "- writers: Write texts." in router.requests[0]["messages"][0]["content"]


def test_the_budget_of_the_outer_team_counts_for_the_inner_one() -> None:
    result = Orchestrator([writers()], budget=Budget(model_calls=1)).run("q")
    assert (result.outcome, result.reason) == ("budget", "model_calls")


def test_a_limit_of_the_inner_team_ends_the_run_as_that_limit() -> None:
    endless = Orchestrator([Adds()], flow={"adds": "adds"}, max_steps=3, name="endless")
    result = Orchestrator([endless, Sums()]).run("q")
    assert (result.outcome, result.reason, result.answer) == ("step_limit", "max_steps", None)


def test_what_the_inner_team_raises_is_raised_or_recorded_by_the_outer_one() -> None:
    class Fails(Agent):
        def act(self, state: Any, ctx: AgentContext) -> None:
            raise LookupError("no such city")

    inner = Orchestrator([Fails()], name="inner")
    with pytest.raises(LookupError, match="no such city"):
        Orchestrator([inner]).run("q")
    result = Orchestrator([inner, Sums()], on_error="record").run("q")
    assert (result.outcome, result.answer) == ("error", "None after None")


@pytest.mark.parametrize("thread", [None, "t"])
def test_a_question_of_the_inner_team_pauses_the_outer_run(thread: str | None) -> None:
    def team() -> Orchestrator:
        inner = Orchestrator([Adds(), Asks()], name="inner")
        return Orchestrator([inner, Sums()], checkpointer=store)

    from antiphon.checkpoint import MemorySaver

    store = None if thread is None else MemorySaver()
    first = team()
    paused = first.run("q", thread=thread)
    assert [question.value for question in paused.questions] == ["whom?"]
    again = first if thread is None else team()
    result = again.resume(paused if thread is None else thread, "Ada")
    assert (result.answer, result.outcome) == ("1 after for Ada", "answered")


def test_its_events_reach_the_stream_of_the_outer_team() -> None:
    stream = Orchestrator([writers()]).stream("q")
    seen = list(stream)
    assert "".join(event.text for event in seen) == "draftbetter"
    started = [event.path for event in seen if event.kind == "node_started"]
    assert started == [("writers",), ("writers", "writer"), ("writers", "editor")]
    pieces = [(event.path, event.agent) for event in seen if event.kind == "chunk"]
    assert pieces == [(("writers", "writer"), "writer"), (("writers", "editor"), "editor")]


def test_pieces_of_replies_say_the_path_of_the_agent_at_any_depth() -> None:
    seen = list(Orchestrator([Orchestrator([writers()], name="middle")]).stream("q"))
    calls = [event.path for event in seen if event.kind == "model_call"]
    pieces = [event.path for event in seen if event.kind == "chunk"]
    assert (
        pieces
        == calls
        == [
            ("middle", "writers", "writer"),
            ("middle", "writers", "editor"),
        ]
    )
    kinds = [event.kind for event in seen if event.kind in ("model_call", "chunk", "model_reply")]
    assert kinds == ["model_call", "chunk", "model_reply"] * 2


@pytest.mark.parametrize("watched", [False, True])
def test_the_trace_shows_the_calls_of_an_inner_team_below_it(watched: bool) -> None:
    middle = Orchestrator([writers()], name="middle")
    result = Orchestrator([middle]).run("q", watch=repr if watched else None)
    (outer,) = result.trace.agents
    assert outer.path == ("middle",)
    inner: Any
    (inner,) = outer.calls
    assert [call.path for call in inner.calls] == [
        ("middle", "writers", "writer"),
        ("middle", "writers", "editor"),
    ]
    assert [call.calls[0].text for call in inner.calls] == ["draft", "better"]
    seen = [event.seq for event in result.events]
    assert seen == sorted(set(seen))
    assert "chunk" not in {event.kind for event in result.events}
    assert {event.run_id for event in result.events} == {result.run_id}
    spans = {event.span_id for event in result.events}
    assert {event.parent_span_id for event in result.events} <= {None, *spans}
    assert {event.path for event in result.events if event.parent_span_id is None} == {()}


def test_an_inner_team_that_fails_leaves_its_events(caplog: pytest.LogCaptureFixture) -> None:
    class Fails(Agent):
        def act(self, state: Any, ctx: AgentContext) -> None:
            raise LookupError("no such city")

    inner = Orchestrator([Adds(), Fails()], name="inner")
    with caplog.at_level("INFO", "antiphon"):
        result = Orchestrator([inner, Sums()], on_error="record").run("q")
    assert ("inner", "adds") in [event.path for event in result.events]
    assert [error["agent"] for error in result.errors] == ["fails", "inner"]
    starts = [one for one in caplog.records if "adds node_started" in one.message]
    assert len(starts) == 1, "logged by the outer run alone"


def test_two_teams_need_two_names_and_none_is_a_router() -> None:
    with pytest.raises(ValidationError, match="same name: writers") as caught:
        Orchestrator([writers(), writers()])
    assert caught.value.hint == 'rename one: `Orchestrator(name="...")`'
    with pytest.raises(ValidationError, match="cannot be the router"):
        Orchestrator([Adds()], router=writers())


def test_a_team_may_be_a_fallback_and_take_over_by_a_handoff() -> None:
    class Fails(Agent):
        def act(self, state: Any, ctx: AgentContext) -> None:
            raise LookupError("no such city")

    assert Orchestrator([Fails(fallback=writers())]).run("q").answer == "better"
    call = {"tool_calls": [{"name": "transfer_to_writers", "arguments": {}}]}
    triage = Agent(scripted([call]), name="triage", handoffs=[writers()])
    assert triage.run("q").answer == "better"
