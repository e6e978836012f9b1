"""Teams on threads: turns, resuming, looking back, writing from outside, and lost runs."""

from __future__ import annotations

import asyncio
import pickle
import threading
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Annotated, Any, TypedDict

import pydantic
import pytest

from antiphon import Agent, AgentContext, Budget, Orchestrator, Result, Send
from antiphon.checkpoint import MemorySaver, PostgresSaver, Saver, SqliteSaver
from antiphon.errors import AntiphonError, StateError, ValidationError
from antiphon.models import scripted
from antiphon.state import append, extend
from support.ends import ends, put_back, record_ends
from support.waiting import ENOUGH, forever

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from support.postgres import Server


@pytest.fixture(params=["memory", "sqlite", "postgres"])
def saver(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Saver]:
    """Where the threads of a test are kept."""
    kept: Saver
    if request.param == "memory":
        kept = MemorySaver()
    elif request.param == "sqlite":
        kept = SqliteSaver.open(tmp_path / "runs.db")
    else:
        server: Server = request.getfixturevalue("postgres")
        kept = PostgresSaver.open(server.database())
    with kept:
        yield kept


class Count(Agent):
    """Counts the turns of a thread."""

    def act(self, state: Any, ctx: AgentContext) -> dict[str, Any]:
        return {"turns": state.get("turns", 0) + 1, "thread": ctx.thread}


class Greet(Agent):
    """Greets a person by name."""

    def act(self, state: Any, ctx: AgentContext) -> str:
        return f"hello {ctx.ask('your name?')}"


class Echo(Agent):
    """Says what was asked."""

    async def act(self, state: Any, ctx: AgentContext) -> str:
        return f"{state['question']}!"


class Flaky(Agent):
    """Fails until somebody mends it."""

    mended = False

    def act(self, state: Any, ctx: AgentContext) -> str:
        if not self.mended:
            raise LookupError("not yet")
        return "mended"


def greeters(saver: Any, **options: Any) -> Orchestrator:
    return Orchestrator([Count(), Greet()], checkpointer=saver, **options)


def code_of(raised: pytest.ExceptionInfo[AntiphonError]) -> str:
    return raised.value.code


class TestTurns:
    """A thread continues with further questions."""

    def test_messages_and_keys_persist_and_the_answer_is_reset(self, saver: Saver) -> None:
        seen: list[Any] = []

        class Look(Agent):
            def act(self, state: Any, ctx: AgentContext) -> None:
                seen.append(state.get("answer", "none"))

        team = Orchestrator([Look(), Count(), Echo()], checkpointer=saver)
        first = team.run("one", thread="t")
        second = team.run("two", thread="t")
        assert (first.answer, second.answer) == ("one!", "two!")
        assert seen == ["none", "none"]
        assert (second.state["question"], second.state["turns"]) == ("two", 2)
        said = [message["content"] for message in second.messages]
        assert said == ["one", "one!", "two", "two!"]
        assert second.usage.steps == 3

    def test_a_run_that_says_nothing_has_no_answer_of_an_earlier_one(self, saver: Saver) -> None:
        class Once(Agent):
            def act(self, state: Any, ctx: AgentContext) -> str | None:
                return "once" if len(state["messages"]) == 1 else None

        team = Orchestrator([Once()], checkpointer=saver)
        assert team.run("one", thread="t").answer == "once"
        result = team.run("two", thread="t")
        assert (result.answer, result.outcome) == (None, "no_answer")
        assert team.state("t").outcome == "no_answer"
        assert "answer" not in result.state

    def test_without_a_name_each_run_has_its_own_thread(self, saver: Saver) -> None:
        team = Orchestrator([Count()], checkpointer=saver)
        one, two = team.run("q"), team.run("q")
        assert one.thread != two.thread
        assert (one.state["turns"], two.state["turns"]) == (1, 1)
        assert one.state["thread"] == one.thread
        assert team.run("q", one.thread).state["turns"] == 2

    def test_a_result_says_where_it_is_kept(self, saver: Saver) -> None:
        team = Orchestrator([Count()], checkpointer=saver)
        result = team.run("q", thread="t")
        assert (result.thread, result.checkpoint) == ("t", team.state("t").id)
        assert result.to_dict()["thread"] == "t"
        loose = Orchestrator([Count()]).run("q")
        assert (loose.thread, loose.checkpoint) == (None, None)

    def test_a_model_hears_what_was_said_before(self, saver: Saver) -> None:
        heard: list[int] = []

        def model(request: dict[str, Any]) -> str:
            heard.append(len(request["messages"]))
            return "ok"

        team = Orchestrator(
            [Agent(name="speaker", model=model, instructions="be kind")], checkpointer=saver
        )
        team.run("one", thread="t")
        team.run("two", thread="t")
        assert heard == [2, 4]

    def test_limits_are_those_of_one_run(self, saver: Saver) -> None:
        team = Orchestrator(
            [Agent(name="speaker", model=scripted(["x"] * 9))],
            checkpointer=saver,
            max_steps=2,
            budget=Budget(model_calls=1),
        )
        for _ in range(4):
            assert team.run("q", thread="t").outcome == "answered"

    def test_a_limit_is_durable_and_the_next_turn_begins_afresh(self, saver: Saver) -> None:
        model = scripted(["one", "two", "three", "four"])
        agents = [Agent(name=name, model=model) for name in ("a", "b")]
        team = Orchestrator(agents, checkpointer=saver, budget=Budget(model_calls=1))
        result = team.run("q", thread="t")
        assert (result.outcome, result.reason) == ("budget", "model_calls")
        held = team.state("t")
        assert (held.outcome, held.reason, held.next) == ("budget", "model_calls", ("b",))
        assert team.resume("t").outcome == "budget"
        assert team.run("q", thread="t").answer == "two"
        richer = Orchestrator(agents, checkpointer=saver, budget=Budget(model_calls=2))
        assert richer.resume("t").answer == "three"

    def test_too_many_turns_are_durable_too(self, saver: Saver) -> None:
        team = Orchestrator([Echo()], flow={"echo": "echo"}, max_steps=3, checkpointer=saver)
        assert team.run("q", thread="t").outcome == "step_limit"
        held = team.state("t")
        assert (held.outcome, held.reason) == ("step_limit", "max_steps")

    def test_errors_that_were_recorded_belong_to_their_turn(self, saver: Saver) -> None:
        flaky = Flaky()
        team = Orchestrator([flaky], on_error="record", checkpointer=saver)
        assert team.run("q", thread="t").outcome == "error"
        assert team.state("t").outcome == "error"
        flaky.mended = True
        assert team.run("q", thread="t").outcome == "answered"
        assert team.state("t").outcome == "answered"

    def test_what_a_run_was_asked_after_a_pause_is_a_further_turn(self, saver: Saver) -> None:
        team = greeters(saver)
        team.run("one", thread="t")
        result = team.run("two", thread="t")
        assert (result.outcome, result.state["turns"]) == ("paused", 2)
        assert team.resume("t", "Ada").answer == "hello Ada"

    def test_a_streamed_run_is_stored_in_its_thread(self, saver: Saver) -> None:
        team = Orchestrator([Echo()], checkpointer=saver)
        stream = team.stream("one", thread="t")
        kinds = [event.kind for event in stream]
        assert kinds[-1] == "run_finished"
        assert stream.result.thread == "t"
        assert team.run("two", thread="t").messages[0]["content"] == "one"

    def test_both_styles_share_a_thread_also_inside_a_loop(self, saver: Saver) -> None:
        team = greeters(saver)

        async def talk() -> None:
            paused = await team.arun("one", thread="t")
            first = team.resume(paused, "Ada")
            stream = team.astream("two", thread="t")
            async for _ in stream:
                pass
            second = await team.aresume("t", "Bob")
            held, past = await team.astate("t"), await team.ahistory("t", limit=2)
            changed = await team.adiff("t", past[1].id, past[0].id)
            fork = await team.afork("t", to="u")
            edited = await team.aupdate("u", {"turns": 9}, as_agent="count")
            lost, found = await team.aorphans(), await team.arecover()
            assert [first.answer, second.answer, held.answer] == [
                "hello Ada",
                "hello Bob",
                "hello Bob",
            ]
            assert set(changed.changes) == {"answer", "messages"}
            assert (fork, edited.state["turns"], lost, found) == ("u", 9, [], [])

        asyncio.run(talk())

    @pytest.mark.parametrize("durability", ["sync", "async", "exit"])
    def test_each_durability_ends_the_same(self, saver: Saver, durability: Any) -> None:
        team = greeters(saver, durability=durability)
        team.run("one", thread="t")
        assert team.resume("t", "Ada").answer == "hello Ada"
        assert team.run("two", thread="t").state["turns"] == 2
        assert team.state("t").questions[0].value == "your name?"

    def test_a_fan_out_that_asks_is_stored(self, saver: Saver) -> None:
        class Spread(Agent):
            def act(self, state: Any, ctx: AgentContext) -> list[Send]:
                return [ctx.send("ask", number) for number in range(3)]

        class Ask(Agent):
            def act(self, state: Any, ctx: AgentContext) -> dict[str, Any]:
                return {f"part_{state}": ctx.ask(state) * 2}

        team = Orchestrator([Spread(), Ask()], checkpointer=saver)
        paused = team.run("q", thread="t")
        ids = {question.value: question.id for question in paused.questions}
        paused = team.resume("t", {ids[0]: 1, ids[2]: 3})
        assert [question.value for question in paused.questions] == [1]
        result = team.resume("t", 2)
        assert [result.state[f"part_{number}"] for number in range(3)] == [2, 4, 6]


class Typed(TypedDict, total=False):
    """Keys with rules."""

    log: Annotated[list[str], append]
    seen: Annotated[list[int], extend]
    city: str


@dataclass
class Record:
    """One that must be given, and some that need not."""

    city: str
    visits: int = 0
    seen: Annotated[list[int], extend] = field(default_factory=list)


class Checked(pydantic.BaseModel):
    """The same for pydantic."""

    city: str
    visits: int = 0


class Visit(Agent):
    """Counts in a state with fields."""

    def act(self, state: Any, ctx: AgentContext) -> dict[str, Any]:
        return {"visits": state.visits + 1, "answer": state.city}


class TestSchemas:
    """A further turn writes what is given over what is there."""

    @pytest.mark.parametrize("kind", [Record, Checked])
    def test_defaults_are_those_of_the_first_turn(self, saver: Saver, kind: type[Any]) -> None:
        team = Orchestrator([Visit()], state=kind, checkpointer=saver)
        first = team.run({"question": "q", "city": "Lyon"}, thread="t")
        second = team.run("and again?", thread="t")
        assert isinstance(second.state, kind)
        assert (first.state.visits, second.state.visits) == (1, 2)
        assert second.answer == "Lyon"
        assert team.state("t").state == second.state

    @pytest.mark.parametrize("kind", [Record, Checked])
    def test_what_a_new_thread_lacks_is_reported(self, saver: Saver, kind: type[Any]) -> None:
        team = Orchestrator([Visit()], state=kind, checkpointer=saver, on_error="record")
        with pytest.raises(ValidationError, match="city") as raised:
            team.run("q", thread="t")
        assert code_of(raised) == "input_invalid"
        assert team.history("t") == []
        assert team.run({"question": "q", "city": "Lyon"}, thread="t").state.visits == 1

    def test_rules_of_merging_take_what_is_given(self, saver: Saver) -> None:
        team = Orchestrator([Echo()], state=Typed, checkpointer=saver)
        team.run({"question": "q", "log": ["a"], "seen": [1]}, thread="t")
        result = team.run({"question": "q", "log": "b", "seen": [2, 3]}, thread="t")
        assert (result.state["log"], result.state["seen"]) == (["a", "b"], [1, 2, 3])

    @pytest.mark.parametrize("given", [{"question": "q", "city": 1}, {"question": "q", "x": 1}, ""])
    def test_a_wrong_input_is_refused_before_anything_runs(self, saver: Saver, given: Any) -> None:
        team = Orchestrator([Echo()], state=Typed, checkpointer=saver)
        with pytest.raises(ValidationError):
            team.run(given, thread="t")
        assert team.history("t") == []

    def test_what_agents_answer_with_needs_no_registration(self, saver: Saver) -> None:
        reply = scripted([{"json": {"city": "Porto", "visits": 3}}])
        agent = Agent(name="reader", model=reply, output=Checked)
        team = Orchestrator([agent, Greet(writes=["greeting"])], checkpointer=saver)
        team.run("q", thread="t")
        assert team.state("t").answer == Checked(city="Porto", visits=3)


class TestResuming:
    """A run resumes where it stopped."""

    def test_by_the_name_of_the_thread(self, saver: Saver) -> None:
        greeters(saver).run("q", thread="t")
        result = greeters(saver).resume("t", "Ada")
        assert (result.answer, result.state["turns"], result.outcome) == (
            "hello Ada",
            1,
            "answered",
        )
        assert result.usage.steps == 2

    def test_by_a_result_that_comes_out_of_a_pickle(self, saver: Saver) -> None:
        paused = pickle.loads(pickle.dumps(greeters(saver).run("q")))
        assert greeters(saver).resume(paused, "Ada").answer == "hello Ada"

    def test_an_answer_counts_once(self, saver: Saver) -> None:
        team = greeters(saver)
        paused = team.run("q", thread="t")
        team.resume(paused, "Ada")
        with pytest.raises(ValidationError) as raised:
            team.resume(paused, "Bob")
        assert code_of(raised) == "question_unknown"
        with pytest.raises(ValidationError) as raised:
            team.resume("t", "Bob")
        assert code_of(raised) == "answer_invalid"
        assert team.state("t").answer == "hello Ada"

    def test_none_is_an_answer(self, saver: Saver) -> None:
        team = greeters(saver)
        team.run("q", thread="t")
        assert team.resume("t", None).answer == "hello None"

    def test_a_dict_that_names_no_question_is_the_answer(self, saver: Saver) -> None:
        team = greeters(saver)
        team.run("q", thread="t")
        assert team.resume("t", {"first": "Ada"}).answer == "hello {'first': 'Ada'}"

    @pytest.mark.parametrize("known", [True, False])
    def test_an_answer_to_an_unknown_question_is_refused(self, saver: Saver, known: bool) -> None:
        team = greeters(saver)
        team.run("q", thread="t")
        open_id = team.state("t").questions[0].id
        given = {"0" * 32: "Ada", **({open_id: "Bob"} if known else {})}
        with pytest.raises(
            ValidationError, match="names a question that is not open: 0000"
        ) as raised:
            team.resume("t", given)
        assert code_of(raised) == "answer_invalid"
        assert raised.value.details == {"unknown": ["0" * 32], "questions": [open_id]}
        assert team.resume("t", {open_id: "Ada"}).answer == "hello Ada"

    def test_several_questions_are_answered_by_id(self, saver: Saver) -> None:
        team = Orchestrator([[Greet(name="a"), Greet(name="b")]], checkpointer=saver)
        team.run("q", thread="t")
        with pytest.raises(ValidationError) as raised:
            team.resume("t", "Ada")
        assert code_of(raised) == "answer_invalid"
        ids = {question.agent: question.id for question in team.state("t").questions}
        half = team.resume("t", {ids["a"]: "Ada"})
        assert [question.agent for question in half.questions] == ["b"]
        assert team.state("t").next == ("b",)
        assert team.state("t").answer == "hello Ada"
        assert team.resume("t", "Bob").answer == "hello Bob"

    def test_without_an_answer_a_pause_is_shown_again(self, saver: Saver) -> None:
        team = greeters(saver)
        paused = team.run("q", thread="t")
        again = team.resume("t")
        assert again.questions == paused.questions
        assert team.resume(again, "Ada").answer == "hello Ada"

    def test_what_failed_runs_again_and_what_was_done_does_not(self, saver: Saver) -> None:
        flaky = Flaky()
        team = Orchestrator([Count(), flaky], checkpointer=saver)
        with pytest.raises(LookupError) as raised:
            team.run("q", thread="t")
        failed = Result.of(raised.value)
        assert failed is not None
        held = team.state("t")
        assert (held.outcome, held.reason) == ("error", "LookupError: not yet")
        assert held.next == ("flaky",)
        flaky.mended = True
        result = team.resume(failed)
        assert (result.answer, result.state["turns"]) == ("mended", 1)

    def test_what_is_over_is_given_again(self, saver: Saver) -> None:
        team = Orchestrator([Count(), Echo()], checkpointer=saver)
        team.run("q", thread="t")
        again = team.resume("t")
        assert (again.outcome, again.answer, again.state["turns"]) == ("answered", "q!", 1)
        assert len(team.history("t")) == 3

    def test_a_cancelled_run_can_be_resumed(self, saver: Saver) -> None:
        reached = threading.Event()
        waits = True

        class Waits(Agent):
            async def act(self, state: Any, ctx: AgentContext) -> str:
                if waits:
                    reached.set()
                    await forever()
                return "done"

        team = Orchestrator([Count(), Waits()], checkpointer=saver)

        async def cancel() -> None:
            task = asyncio.create_task(team.arun("q", thread="t"))
            await asyncio.to_thread(reached.wait, ENOUGH)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task

        asyncio.run(cancel())
        held = team.state("t")
        assert (held.outcome, held.next) == ("cancelled", ("waits",))
        assert team.orphans() == []
        waits = False
        result = team.resume("t")
        assert (result.answer, result.state["turns"]) == ("done", 1)

    def test_a_team_of_another_name_may_continue(self, saver: Saver) -> None:
        greeters(saver, name="old").run("q", thread="t")
        assert greeters(saver, name="new").resume("t", "Ada").answer == "hello Ada"

    def test_a_team_of_other_agents_may_not(self, saver: Saver) -> None:
        greeters(saver).run("q", thread="t")
        other = Orchestrator([Echo()], checkpointer=saver, on_error="record")
        with pytest.raises(StateError) as raised:
            other.resume("t")
        assert code_of(raised) == "checkpoint_misfit"
        with pytest.raises(StateError) as raised:
            other.run("q", thread="t")
        assert code_of(raised) == "checkpoint_misfit"
        assert greeters(saver).resume("t", "Ada").answer == "hello Ada"

    def test_an_agent_that_is_gone_can_be_passed_over(self, saver: Saver) -> None:
        greeters(saver).run("q", thread="t")
        other = Orchestrator([Count(), Echo()], checkpointer=saver)
        with pytest.raises(StateError, match="greet"):
            other.run("again", thread="t")
        other.update("t", {}, as_agent="echo")
        assert other.run("again", thread="t").answer == "again!"

    def test_a_team_that_has_lost_an_agent_and_its_keys_may(self, saver: Saver) -> None:
        Orchestrator([Count(), Echo()], checkpointer=saver).run("q", thread="t")
        smaller = Orchestrator([Echo()], checkpointer=saver)
        assert smaller.run("again", thread="t").answer == "again!"
        assert len(smaller.history("t")) == 5
        renamed = Orchestrator([Echo()], name="another", checkpointer=saver)
        with pytest.raises(StateError, match="another") as raised:
            renamed.run("again", thread="t")
        assert code_of(raised) == "checkpoint_misfit"

    def test_a_team_with_one_more_agent_may(self, saver: Saver) -> None:
        greeters(saver).run("q", thread="t")
        longer = Orchestrator([Count(), Greet(), Note()], checkpointer=saver)
        assert longer.resume("t", "Ada").state["noted"] == "hello Ada"

    def test_an_empty_thread_is_an_error_and_stays_empty(self, saver: Saver) -> None:
        team = greeters(saver)
        for go_on in (team.resume, team.state, team.fork):
            with pytest.raises(ValidationError) as raised:
                go_on("nobody")
            assert code_of(raised) == "thread_empty"
        assert team.history("nobody") == []

    def test_without_a_thread_only_an_answer_resumes(self) -> None:
        team = Orchestrator([Greet()])
        paused = team.run("q")
        with pytest.raises(ValidationError) as raised:
            team.resume(paused)
        assert code_of(raised) == "answer_invalid"
        assert team.resume(paused, "Ada").answer == "hello Ada"

    @pytest.mark.parametrize("given", [None, 7, object()])
    def test_only_a_result_or_a_thread_is_resumed(self, saver: Saver, given: Any) -> None:
        with pytest.raises(ValidationError) as raised:
            greeters(saver).resume(given, "x")
        assert code_of(raised) == "answer_invalid"


class Note(Agent):
    """Notes the answer."""

    def act(self, state: Any, ctx: AgentContext) -> dict[str, Any]:
        return {"noted": state["answer"]}


class TestLookingBack:
    """State, history, time travel, forks, differences."""

    def test_the_state_is_that_of_the_result_and_says_what_comes_next(self, saver: Saver) -> None:
        team = greeters(saver)
        paused = team.run("q", thread="t")
        held = team.state("t")
        assert held.state == paused.state
        assert (held.id, held.thread, held.step) == (paused.checkpoint, "t", 1)
        assert (held.wrote, held.next, held.outcome) == (("count",), ("greet",), "paused")
        assert (held.questions, held.run_id) == (paused.questions, paused.run_id)
        assert held.source == "step"
        assert held.at.tzinfo is not None

    def test_what_is_done_of_an_open_step_shows(self, saver: Saver) -> None:
        team = Orchestrator([[Count(), Greet()]], checkpointer=saver)
        team.run("q", thread="t")
        held = team.state("t")
        assert (held.next, held.state["turns"]) == (("greet",), 1)
        assert "turns" not in team.state("t", held.id).state
        assert team.history("t")[0] == held

    def test_a_history_is_newest_first(self, saver: Saver) -> None:
        team = greeters(saver)
        team.run("one", thread="t")
        team.resume("t", "Ada")
        team.run("two", thread="t")
        past = team.history("t")
        assert [(one.source, one.wrote) for one in past] == [
            ("step", ("count",)),
            ("input", ()),
            ("step", ("greet",)),
            ("step", ("count",)),
            ("input", ()),
        ]
        assert [one.outcome for one in past] == ["paused", None, "answered", None, None]
        assert [one.parent for one in past] == [one.id for one in past[1:]] + [None]
        assert [one.id for one in team.history("t", limit=2)] == [one.id for one in past[:2]]
        assert past[3].questions[0].value == "your name?"
        assert past[0].run_id != past[2].run_id == past[4].run_id
        for one in past:
            held = team.state("t", one.id)
            assert (held.state, held.next, held.wrote) == (one.state, one.next, one.wrote)

    @pytest.mark.parametrize("limit", [0, -1, "all"])
    def test_a_limit_is_a_number(self, saver: Saver, limit: Any) -> None:
        with pytest.raises(ValidationError):
            greeters(saver).history("t", limit=limit)

    @pytest.mark.parametrize("checkpoint", [0, -1, 2**63, True, "3", 1.5])
    def test_a_checkpoint_is_a_number(self, saver: Saver, checkpoint: Any) -> None:
        team = greeters(saver)
        for ask in (team.state, team.fork):
            with pytest.raises(ValidationError) as raised:
                ask("t", checkpoint)
            assert code_of(raised) == "call_invalid"

    def test_an_unknown_checkpoint_is_an_error(self, saver: Saver) -> None:
        team = greeters(saver)
        team.run("q", thread="t")
        asks = (
            lambda: team.state("t", 99),
            lambda: team.resume("t", checkpoint=99),
            lambda: team.fork("t", 99, "u"),
            lambda: team.update("t", {}, "count", checkpoint=99),
            lambda: team.diff("t", 99),
        )
        for ask in asks:
            with pytest.raises(StateError) as raised:
                ask()
            assert code_of(raised) == "checkpoint_unknown"
        assert team.history("u") == []
        assert team.resume("t", "Ada").answer == "hello Ada"

    def test_a_run_goes_back_in_a_branch_under_its_own_id(self, saver: Saver) -> None:
        team = greeters(saver)
        first = team.run("q", thread="t")
        team.resume("t", "Ada")
        start = team.history("t")[-1]
        again = team.resume("t", checkpoint=start.id)
        assert (again.outcome, again.state["turns"]) == ("paused", 1)
        assert again.run_id != first.run_id
        assert team.history("t")[-1].id == start.id
        assert team.resume("t", "Bob").answer == "hello Bob"
        with pytest.raises(ValidationError) as raised:
            team.resume("t", "Eve", checkpoint=start.id)
        assert code_of(raised) == "answer_invalid"

    def test_a_fork_is_a_separate_thread(self, saver: Saver) -> None:
        team = greeters(saver)
        paused = team.run("q", thread="t")
        assert team.fork("t", to="u") == "u"
        forked = team.resume("u", "Bob")
        assert forked.answer == "hello Bob"
        assert forked.run_id != paused.run_id
        assert team.state("t").outcome == "paused"
        assert team.resume("t", "Ada").answer == "hello Ada"
        assert [(one.id, one.wrote) for one in team.history("u")[1:]] == [
            (one.id, one.wrote) for one in team.history("t")[1:]
        ]
        assert team.run("q", thread="u").state["turns"] == 2
        assert team.state("t").state["turns"] == 1

    def test_a_fork_of_a_checkpoint_waits_until_it_is_resumed(self, saver: Saver) -> None:
        team = greeters(saver)
        team.run("q", thread="t")
        team.resume("t", "Ada")
        fork = team.fork("t", team.history("t")[1].id)
        held = team.state(fork)
        assert (held.outcome, held.reason, held.next) == ("cancelled", "forked", ("greet",))
        assert team.orphans() == []
        assert team.resume(fork).outcome == "paused"
        assert team.resume(fork, "Bob").answer == "hello Bob"

    def test_a_fork_of_a_finished_run_is_finished(self, saver: Saver) -> None:
        team = Orchestrator([Echo()], checkpointer=saver)
        team.run("q", thread="t")
        fork = team.fork("t")
        assert team.state(fork).outcome == "answered"
        assert team.resume(fork).answer == "q!"

    def test_a_fork_overwrites_nothing(self, saver: Saver) -> None:
        team = Orchestrator([Echo()], checkpointer=saver)
        team.run("one", thread="t")
        team.run("two", thread="u")
        for target in ("t", "u"):
            with pytest.raises(ValidationError) as raised:
                team.fork("t", to=target)
            assert code_of(raised) == "thread_taken"
        assert team.state("u").answer == "two!"

    def test_a_long_thread_is_forked_whole(self, saver: Saver) -> None:
        class Long(Agent):
            def act(self, state: Any, ctx: AgentContext) -> dict[str, Any]:
                return {f"text_{len(state)}": "x" * 3000}

        team = Orchestrator([Long()], flow={"long": "long"}, max_steps=120, checkpointer=saver)
        team.run("q", thread="t")
        fork = team.fork("t")
        assert [one.state for one in team.history(fork)] == [one.state for one in team.history("t")]

    def test_a_difference_shows_what_was_appended(self, saver: Saver) -> None:
        team = Orchestrator([Count(), Echo()], checkpointer=saver)
        one, two = team.run("one", thread="t"), team.run("two", thread="t")
        diff = team.diff("t", one.checkpoint or 0)
        assert (diff.thread, diff.before, diff.after) == ("t", one.checkpoint, two.checkpoint)
        said = diff.changes["messages"]
        assert said.kind == "appended"
        assert [message["content"] for message in said.items] == ["two", "two!"]
        turns = diff.changes["turns"]
        assert (turns.kind, turns.before, turns.after) == ("changed", 1, 2)
        assert set(diff.changes) == {"question", "messages", "answer", "turns"}
        back = team.diff("t", two.checkpoint or 0, one.checkpoint)
        assert back.changes["messages"].kind == "changed"

    def test_a_difference_knows_added_removed_and_nothing(self, saver: Saver) -> None:
        team = Orchestrator([Count(), Echo()], checkpointer=saver)
        team.run("one", thread="t")
        first, last = team.history("t")[-1].id, team.history("t")[0].id
        assert team.diff("t", first, last).changes["turns"].kind == "added"
        assert team.diff("t", last, first).changes["turns"].kind == "removed"
        nothing = team.diff("t", last)
        assert not nothing
        assert nothing.changes == {}

    def test_arrays_are_compared_by_what_they_hold(self, saver: Saver) -> None:
        numpy = pytest.importorskip("numpy")

        class Keep(Agent):
            def act(self, state: Any, ctx: AgentContext) -> dict[str, Any]:
                turn = len(state["messages"])
                return {"same": numpy.arange(9), "other": numpy.arange(9) * turn}

        team = Orchestrator([Keep()], checkpointer=saver)
        one = team.run("one", thread="t")
        team.run("two", thread="t")
        diff = team.diff("t", one.checkpoint or 0)
        assert set(diff.changes) == {"question", "messages", "other"}

    def test_checkpoints_and_diffs_have_a_notebook_view(self, saver: Saver) -> None:
        team = greeters(saver)
        team.run("<script>", thread="t")
        held = team.state("t")
        bundle = held._repr_mimebundle_()
        assert "<script>" not in bundle["text/html"]
        assert "your name?" in bundle["text/html"]
        assert "? greet: your name?" in bundle["text/plain"]
        assert repr(held).startswith(f"Checkpoint(id={held.id}, thread='t', step=1")
        diff = team.diff("t", held.parent or 0)
        assert "added turns" in repr(diff)
        assert "+ turns: 1" in diff._repr_mimebundle_()["text/plain"]
        assert "<script>" not in team.diff("t", held.id)._repr_mimebundle_()["text/html"]
        assert held.to_dict()["questions"][0]["agent"] == "greet"
        assert pickle.loads(pickle.dumps(held)) == held


class TestUpdates:
    """Writing to a thread from outside."""

    def test_what_is_written_counts_and_the_next_agent_runs(self, saver: Saver) -> None:
        team = greeters(saver)
        team.run("q", thread="t")
        held = team.update("t", {"turns": 41}, as_agent="count")
        assert (held.source, held.next, held.state["turns"]) == ("update", ("greet",), 41)
        assert held.questions == ()
        assert team.resume("t").outcome == "paused"
        result = team.resume("t", "Ada")
        assert (result.state["turns"], result.answer) == (41, "hello Ada")

    def test_as_the_last_agent_the_run_is_over(self, saver: Saver) -> None:
        team = greeters(saver)
        team.run("q", thread="t")
        held = team.update("t", "never mind", as_agent="greet")
        assert (held.next, held.answer) == ((), "never mind")
        assert held.state["messages"][-1]["name"] == "greet"
        assert team.resume("t").answer == "never mind"

    def test_by_default_it_counts_as_the_agent_that_wrote_last(self, saver: Saver) -> None:
        team = greeters(saver)
        team.run("q", thread="t")
        assert team.update("t", {"turns": 5}).next == ("greet",)
        wide = Orchestrator([[Echo(name="a"), Echo(name="b")], Greet()], checkpointer=saver)
        wide.run("q", thread="wide")
        with pytest.raises(ValidationError, match="a, b") as raised:
            wide.update("wide", {"x": 1})
        assert code_of(raised) == "agent_unknown"

    def test_an_update_may_begin_a_thread(self, saver: Saver) -> None:
        team = Orchestrator([Count(), Echo()], checkpointer=saver)
        messages = [{"role": "user", "content": "I am Ada"}]
        held = team.update("t", {"messages": messages, "turns": 7})
        assert held.next == ("count",)
        result = team.run("q", thread="t")
        assert (result.state["turns"], result.messages[0]) == (8, messages[0])

    def test_an_update_in_the_middle_begins_a_branch(self, saver: Saver) -> None:
        team = Orchestrator([Count(), Echo()], checkpointer=saver)
        team.run("q", thread="t")
        middle = team.history("t")[1]
        held = team.update("t", {"turns": 100}, checkpoint=middle.id)
        assert (held.parent, held.next) == (middle.id, ("echo",))
        assert team.resume("t").state["turns"] == 100

    def test_an_updated_thread_is_no_orphan(self, saver: Saver) -> None:
        team = greeters(saver)
        team.run("q", thread="t")
        team.update("t", {"turns": 5}, as_agent="count")
        assert team.orphans() == []

    @pytest.mark.parametrize("values", [None, 7, ["a"], {"__extras__": 1}, {1: 2}])
    def test_what_is_no_update_is_refused(self, saver: Saver, values: Any) -> None:
        team = greeters(saver)
        team.run("q", thread="t")
        with pytest.raises(ValidationError) as raised:
            team.update("t", values)
        assert code_of(raised) == "input_invalid"
        assert team.state("t").outcome == "paused"

    def test_an_unknown_agent_is_refused(self, saver: Saver) -> None:
        with pytest.raises(ValidationError) as raised:
            greeters(saver).update("t", {"x": 1}, as_agent="ghost")
        assert code_of(raised) == "agent_unknown"

    def test_a_value_that_cannot_be_stored_is_refused(self, saver: Saver) -> None:
        team = greeters(saver)
        team.run("q", thread="t")
        with pytest.raises(AntiphonError) as raised:
            team.update("t", {"thing": object()})
        assert code_of(raised) == "value_unstorable"
        assert "a value of `thing` cannot be stored: an object" in str(raised.value)


class TestSharing:
    """One writer per thread."""

    def test_a_thread_whose_run_has_stored_nothing_yet_is_busy_and_not_empty(
        self, saver: Saver
    ) -> None:
        inside, free = threading.Event(), threading.Event()

        class Holds(Agent):
            def act(self, state: Any, ctx: AgentContext) -> str:
                inside.set()
                assert free.wait(ENOUGH)
                return "held"

        team = Orchestrator([Holds()], checkpointer=saver, durability="exit")
        first = threading.Thread(target=lambda: team.run("q", thread="t"))
        first.start()
        try:
            assert inside.wait(ENOUGH)
            asks: tuple[Callable[[], object], ...] = (
                lambda: team.resume("t"),
                lambda: team.resume("t", "an answer"),
                lambda: asyncio.run(team.aresume("t")),
                lambda: team.update("t", {"x": 1}),
                lambda: team.fork("t"),
            )
            for ask in asks:
                with pytest.raises(StateError) as raised:
                    ask()
                assert code_of(raised) == "thread_busy"
        finally:
            free.set()
            first.join()
        assert team.resume("t").answer == "held"

    def test_the_second_writer_gets_a_typed_conflict(self, saver: Saver) -> None:
        inside, free = threading.Event(), threading.Event()

        class Holds(Agent):
            def act(self, state: Any, ctx: AgentContext) -> str:
                inside.set()
                assert free.wait(ENOUGH)
                return "held"

        team = Orchestrator([Holds()], checkpointer=saver)
        results: list[Result] = []
        first = threading.Thread(target=lambda: results.append(team.run("q", thread="t")))
        first.start()
        try:
            assert inside.wait(ENOUGH)
            asks = (
                lambda: team.run("q", thread="t"),
                lambda: team.resume("t"),
                lambda: team.update("t", {"x": 1}, as_agent="holds"),
                lambda: next(team.stream("q", thread="t")),
            )
            for ask in asks:
                with pytest.raises(StateError) as raised:
                    ask()
                assert code_of(raised) == "thread_busy"
            assert team.state("t").next == ("holds",)
            assert team.orphans() == []
            kept = team.batch(["q"], threads=["t"])[0]
            assert (kept.outcome, kept.state) == ("error", {})
            assert isinstance(kept.error, StateError)
        finally:
            free.set()
            first.join()
        assert results[0].answer == "held"
        assert team.state("t").answer == "held"

    def test_a_stream_that_is_left_frees_its_thread(self, saver: Saver) -> None:
        team = Orchestrator([Count(), Echo()], checkpointer=saver)
        for leave in (lambda stream: stream.close(), lambda _: None):
            stream = team.stream("q", thread="t")
            for event in stream:
                if event.kind == "node_finished":
                    break
            leave(stream)
            del stream, event
            held = team.state("t")
            assert held.outcome == "cancelled"
            assert team.orphans() == []
            assert team.resume("t").answer == "q!"


class TestBatches:
    """Many questions, each in a thread."""

    def test_each_has_a_new_thread_unless_they_are_named(self, saver: Saver) -> None:
        team = Orchestrator([Count()], checkpointer=saver)
        results = team.batch(["a", "b", "c"])
        assert len({result.thread for result in results}) == 3
        again = team.batch(["d", "e"], threads=[str(result.thread) for result in results[:2]])
        assert [result.state["turns"] for result in again] == [2, 2]
        later = asyncio.run(team.abatch(["f"], threads=["mine"]))
        assert later[0].thread == "mine"

    @pytest.mark.parametrize("threads", [["t"], ["t", "t"], "tu", ["t", ""], 7])
    def test_wrong_threads_run_nothing(self, saver: Saver, threads: Any) -> None:
        team = Orchestrator([Count()], checkpointer=saver)
        with pytest.raises(ValidationError):
            team.batch(["a", "b"], threads=threads)
        assert team.history("t") == []


class TestNames:
    """What threads may be called."""

    @pytest.mark.parametrize(
        "name", ["it's", 'a "b"', "'; drop table entries; --", "日本 🙂", "a/b\n%_?*", "x" * 512]
    )
    def test_any_text_will_do(self, saver: Saver, name: str) -> None:
        team = greeters(saver)
        team.run("q", thread=name)
        team.run("q", thread=name + "x" if len(name) < 512 else "other")
        assert team.resume(name, "Ada").answer == "hello Ada"
        assert team.state(name).thread == name
        assert len(team.history(name)) == 3

    @pytest.mark.parametrize("name", ["", "  ", "x" * 513, "a\0b", "\ud800", 7, b"t"])
    def test_invalid_thread_names_are_refused(self, saver: Saver, name: Any) -> None:
        team = greeters(saver)
        asks = (
            lambda: team.run("q", thread=name),
            lambda: team.stream("q", thread=name),
            lambda: team.batch(["q"], threads=[name]),
            lambda: team.state(name),
            lambda: team.history(name),
            lambda: team.update(name, {}),
            lambda: team.fork(name),
            lambda: team.diff(name, 1),
        )
        for ask in asks:
            with pytest.raises(ValidationError) as raised:
                ask()
            assert code_of(raised) == "thread_invalid"

    def test_without_a_checkpointer_there_are_no_threads(self) -> None:
        team = Orchestrator([Count()])
        asks = (
            lambda: team.run("q", thread="t"),
            lambda: team.stream("q", thread="t"),
            lambda: team.batch(["q"], threads=["t"]),
            lambda: team.resume("t"),
            lambda: team.state("t"),
            lambda: team.history("t"),
            lambda: team.update("t", {}),
            lambda: team.fork("t"),
            lambda: team.diff("t", 1),
            team.orphans,
            team.recover,
            lambda: asyncio.run(team.arun("q", thread="t")),
            lambda: asyncio.run(team.arecover()),
        )
        for ask in asks:
            with pytest.raises(ValidationError) as raised:
                ask()
            assert code_of(raised) == "thread_unkept"


class TestDeclaring:
    """What a team may be given."""

    def test_a_url_is_a_checkpointer(self, tmp_path: Path) -> None:
        url = f"sqlite:{tmp_path}/runs.db"
        greeters(url).run("q", thread="t")
        team = greeters(url)
        assert team.checkpointer is not None
        assert team.checkpointer.name == url
        assert team.resume("t", "Ada").answer == "hello Ada"
        assert greeters("memory:").history("t") == []
        assert Orchestrator([Count()]).checkpointer is None

    @pytest.mark.parametrize(
        "options",
        [
            {"checkpointer": "runs.db"},
            {"checkpointer": 7},
            {"checkpointer": "memory:", "durability": "often"},
            {"durability": "sync"},
        ],
    )
    def test_invalid_thread_options_are_refused(self, options: Any) -> None:
        with pytest.raises(ValidationError) as raised:
            Orchestrator([Count()], **options)
        assert code_of(raised) == "team_invalid"

    def test_a_store_that_cannot_be_opened_reports_it_itself(self, tmp_path: Path) -> None:
        with pytest.raises(AntiphonError) as raised:
            greeters(f"sqlite:{tmp_path}/nowhere/runs.db")
        assert code_of(raised) == "store_unavailable"

    def test_what_cannot_be_stored_fails_at_the_agent_that_wrote_it(self, saver: Saver) -> None:
        class Keeps(Agent):
            def act(self, state: Any, ctx: AgentContext) -> dict[str, Any]:
                return {"thing": {"deep": object()}}

        team = Orchestrator([Count(), Keeps()], checkpointer=saver)
        with pytest.raises(AntiphonError, match=r"a value of `thing` .*: key `deep`") as raised:
            team.run("q", thread="t")
        assert code_of(raised) == "value_unstorable"
        assert team.state("t").state["turns"] == 1
        assert Orchestrator([Keeps()]).run("q").outcome == "answered"

    def test_an_input_that_cannot_be_stored_leaves_the_thread_as_it_was(self, saver: Saver) -> None:
        team = Orchestrator([Count(), Echo()], checkpointer=saver)
        with pytest.raises(AntiphonError, match="a value of `thing`") as raised:
            team.run({"question": "q", "thing": object()}, thread="t")
        assert code_of(raised) == "value_unstorable"
        assert team.history("t") == []
        assert team.run("q", thread="t").state["turns"] == 1


class TestLostEnds:
    """A run whose process died when all was done but its end."""

    def test_a_run_that_lost_its_end_is_found_and_ended_without_running_anything(
        self, tmp_path: Path
    ) -> None:
        path = tmp_path / "runs.db"
        record_ends(path)
        # What nobody waits for is committed together with what comes after it.
        team = Orchestrator([Count(), Echo()], checkpointer=f"sqlite:{path}", durability="sync")
        team.run("q", thread="t")
        put_back(path, ends(path)[-2])
        assert team.orphans() == ["t"]
        assert team.state("t").outcome is None
        (result,) = team.recover()
        assert (result.outcome, result.answer, result.state["turns"]) == ("answered", "q!", 1)
        assert team.orphans() == []
        assert team.state("t").outcome == "answered"
