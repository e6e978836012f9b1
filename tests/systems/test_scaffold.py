"""A tiny native system on the shared scaffold: from Python, by name and on the command line."""

from __future__ import annotations

import asyncio
import pickle
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from antiphon import Budget
from antiphon.checkpoint import MemorySaver
from antiphon.errors import AntiphonError, BudgetError, StateError, ValidationError
from antiphon.models import scripted
from antiphon.systems import Computation, DataAnalyst, ReviewLoop, System, find, systems
from antiphon.systems.result import SystemResult

SAID = {"json": {"said": "hello"}}


@pytest.fixture(scope="module")
def echo() -> type[System[Any]]:
    """The system, which only development builds have."""
    if "echo" not in systems():
        pytest.skip("this build has no `echo`: it is of the kind that is published")
    return find("echo")


def test_a_native_system_pauses_and_is_resumed_by_an_answer(echo: type[System[Any]]) -> None:
    saver = MemorySaver()
    paused = echo(scripted([]), checkpointer=saver).run("hello", thread="t")
    assert (paused.outcome, paused.answer, paused.thread) == ("paused", None, "t")
    (question,) = paused.questions
    assert (question.agent, question.value) == ("ask", "Shall I say it again: hello?")
    with pytest.raises(StateError, match="is waiting for an answer to: Shall I"):
        paused.raise_for_outcome()
    other = echo(scripted([SAID]), checkpointer=saver)
    still = other.resume("t")
    assert still.questions == paused.questions
    result = other.resume("t", {question.id: True})
    assert (result.outcome, result.answer, result.run_id) == ("answered", "hello", paused.run_id)
    assert result.raise_for_outcome() is result
    assert other.resume("t").answer == "hello", "a question that has ended returns its result"


def test_the_answer_to_a_single_question_needs_no_id(echo: type[System[Any]]) -> None:
    system = echo(scripted([]), checkpointer=MemorySaver())
    system.run("hello", thread="t")
    assert system.resume("t", False).answer is None
    with pytest.raises(ValidationError, match="is not waiting for an answer") as caught:
        system.resume("t", True)
    assert caught.value.code == "answer_invalid"
    with pytest.raises(ValidationError, match="several questions are open"):
        system.resume("t", 1, 2)


def test_a_pause_without_a_store_is_resumed_by_its_result(echo: type[System[Any]]) -> None:
    system = echo(scripted([SAID]))
    paused = system.run("hello")
    assert (paused.outcome, paused.thread) == ("paused", None)
    with pytest.raises(ValidationError, match="another system has asked it"):
        echo(scripted([])).resume(paused, True)
    copied = pickle.loads(pickle.dumps(paused))
    assert copied.to_dict() == paused.to_dict()
    with pytest.raises(ValidationError, match="no thread keeps the question"):
        system.resume(copied, True)
    with pytest.raises(ValidationError, match="by an answer alone"):
        system.resume(paused)
    result = system.resume(paused, True)
    assert (result.outcome, result.answer, result.run_id) == ("answered", "hello", paused.run_id)
    assert result.to_dict()["output"] == {"answer": "hello"}
    with pytest.raises(ValidationError, match="already resumed"):
        system.resume(paused, True)
    with pytest.raises(ValidationError, match="cannot be resumed: answered"):
        system.resume(result)


def test_a_result_with_a_thread_is_resumed_there(echo: type[System[Any]]) -> None:
    system = echo(scripted([SAID]), checkpointer="memory:")
    assert system.resume(system.run("hello"), True).answer == "hello"


def test_a_thread_shows_its_state_and_history(echo: type[System[Any]]) -> None:
    system = echo(scripted([SAID]), checkpointer="memory:")
    for read in (
        system.state,
        system.resume,
        lambda thread: system.update(thread, {"consent": True}, as_agent="ask"),
    ):
        with pytest.raises(ValidationError, match="the thread is empty: t") as caught:
            read("t")
        assert caught.value.code == "thread_empty"
        assert caught.value.details == {"thread": "t"}
    paused = system.run("hello", thread="t")
    shown = system.state("t")
    assert (shown.outcome, shown.next, shown.questions) == ("paused", ("ask",), paused.questions)
    assert shown.state["input"] == {"question": "hello"}
    system.resume("t", True)
    history = system.history("t")
    assert [one.wrote for one in history] == [("speak",), ("ask",), ()]
    assert history[0] == system.state("t")
    assert (history[0].outcome, history[0].state["said"]) == ("answered", "hello")
    changed = system.diff("t", history[1].id).changes
    assert changed["said"].after == "hello"
    assert len(system.history("t", 2)) == 2


def test_a_state_is_updated_and_a_thread_forked(echo: type[System[Any]]) -> None:
    system = echo(scripted([SAID, {"json": {"said": "again"}}]), checkpointer="memory:")
    system.run("hello", thread="t")
    other = system.fork("t", to="other")
    updated = system.update("t", {"consent": True}, as_agent="ask")
    assert (updated.source, updated.next, updated.questions) == ("update", ("speak",), ())
    assert system.resume("t").answer == "hello"
    assert system.state(other).outcome == "paused"
    assert system.resume(other, True).answer == "again"
    for values, agent, code in [
        ({"consent": True}, "nobody", "agent_unknown"),
        ({"assent": True}, "ask", "state_key_unknown"),
        ({"consent": "perhaps"}, "ask", "state_unreadable"),
        ("yes", "ask", "input_invalid"),
    ]:
        with pytest.raises(AntiphonError) as caught:
            system.update("t", values, agent)
        assert caught.value.code == code
    assert system.state("t").outcome == "answered", "nothing was written"


def test_threads_can_be_awaited(echo: type[System[Any]]) -> None:
    async def main() -> None:
        system = echo(scripted([SAID]), checkpointer="memory:")
        await system.arun("hello", thread="t")
        await system.aupdate("t", {"consent": True}, "ask")
        assert (await system.aresume("t")).answer == "hello"
        assert len(await system.ahistory(await system.afork("t"))) == 3
        assert (await system.astate("t")).outcome == "answered"
        assert await system.aorphans() == []
        assert await system.arecover() == []

    asyncio.run(main())


def test_the_graph_is_drawn(echo: type[System[Any]]) -> None:
    graph = echo(scripted([])).graph
    assert list(graph.nodes) == ["__start__", "ask", "speak", "__end__"]
    assert "ask -. &nbsp;yes&nbsp; .-> speak;" in graph.draw_mermaid()
    assert graph.draw_svg().startswith("<svg")
    assert {"planner", "critic", "finalizer"} <= ReviewLoop(scripted([])).graph.nodes.keys()


def test_a_pause_can_be_awaited_streamed_and_batched(echo: type[System[Any]]) -> None:
    asyncio.run(_await_stream_and_batch(echo))


async def _await_stream_and_batch(echo: type[System[Any]]) -> None:
    system = echo(scripted([SAID, SAID]), checkpointer=MemorySaver(), times=2)
    paused = await system.arun("hello", thread="t")
    assert (await system.aresume("t", True)).answer == "hello hello"
    assert paused.outcome == "paused"
    stream = system.astream("hello")
    kinds = [event.kind async for event in stream]
    assert kinds[0] == "run_started"
    assert stream.result.outcome == "paused"
    results = await system.abatch(["one", "two"])
    assert [one.questions[0].value for one in results] == [
        "Shall I say it again: one?",
        "Shall I say it again: two?",
    ]


def test_code_can_have_the_role(echo: type[System[Any]]) -> None:
    seen: list[dict[str, Any]] = []

    def speak(brief: dict[str, Any]) -> dict[str, str]:
        seen.append(brief)
        return {"said": brief["question"].upper()}

    system = echo(roles={"speaker": speak}, checkpointer=MemorySaver())
    system.run("hello", thread="t")
    assert system.resume("t", True).answer == "HELLO"
    assert seen[0]["schema"]["required"] == ["said"]


def test_settings_and_inputs_of_another_form_are_refused_by_name(echo: type[System[Any]]) -> None:
    with pytest.raises(ValidationError, match="unknown setting of the echo: time") as caught:
        echo(scripted([]), time=1)
    assert caught.value.code == "system_setting_invalid"
    with pytest.raises(ValidationError, match="`times` must be at least 1"):
        echo(scripted([]), times=0)
    with pytest.raises(ValidationError, match="blank"):
        echo(scripted([])).run(" ")
    with pytest.raises(ValidationError, match="does not have the role: speakers") as caught:
        echo(roles={"speakers": lambda brief: brief})
    assert caught.value.code == "role_unknown"
    with pytest.raises(TypeError, match="got beside it: file"):
        echo(scripted([])).run("hello", file="notes.txt")


def test_the_command_line_finds_it_by_name(echo: type[System[Any]], tmp_path: Path) -> None:
    del echo
    model = tmp_path / "asked.py"
    model.write_text(
        "import sys\n"
        "from antiphon import models\n"
        "from antiphon.cli import main\n"
        "sys.exit(main(['ask', 'hello', '--system', 'echo', '--model', 'openai:none']))\n"
    )
    done = subprocess.run(
        [sys.executable, str(model)],
        capture_output=True,
        text=True,
        check=False,
        env={"OPENAI_API_KEY": "k", "PATH": ""},
    )
    assert done.returncode == 3, done.stderr
    assert "question of ask: Shall I say it again: hello?" in done.stderr


def test_an_unknown_name_is_answered_with_those_there_are() -> None:
    with pytest.raises(ValidationError, match="ecco") as caught:
        find("ecco")
    assert caught.value.code == "system_unknown"
    with pytest.raises(ValidationError) as hyphen:
        find("review-loop")
    assert "did you mean `review_loop`?" in str(hyphen.value.hint)
    assert "review_loop" in str(caught.value.hint)
    assert {"computation", "review_loop"} <= set(systems())
    assert (find("review_loop"), find("computation")) == (ReviewLoop, Computation)
    assert find("data_analyst") is DataAnalyst


@pytest.fixture
def loop() -> ReviewLoop:
    """A review loop that is asked nothing."""
    return ReviewLoop(scripted([]))


def test_a_setting_that_is_no_json_is_refused_by_its_name() -> None:
    with pytest.raises(
        ValidationError, match="`retry_limit` is no setting, or has no JSON form"
    ) as caught:
        ReviewLoop(scripted([]), retry_limit=object())  # type: ignore[arg-type]
    assert caught.value.code == "system_setting_invalid"
    assert "retry_limit" in str(caught.value.hint)
    with pytest.raises(ValidationError, match="has no JSON form: JSON number out of range"):
        ReviewLoop(scripted([]), retry_limit=10**30)


@pytest.mark.parametrize(
    ("misspelt", "meant"),
    [
        ("researcher_tools", "`research_tools`"),
        ("planer", "`planner`"),
        ("retry_limits", "`retry_limit`"),
        ("xyz", "retry_limit"),
    ],
)
def test_a_misspelt_argument_is_refused_with_what_was_meant(misspelt: str, meant: str) -> None:
    with pytest.raises(ValidationError, match=f"unknown setting of .*: {misspelt}") as caught:
        ReviewLoop(scripted([]), **{misspelt: object()})  # type: ignore[arg-type]
    assert caught.value.code == "system_setting_invalid"
    assert meant in str(caught.value.hint)


def test_a_budget_limits_a_question_beside_the_settings() -> None:
    replies: list[Any] = [{"json": {"research_steps": [], "expert_steps": ["add"]}}]
    loop = ReviewLoop(scripted(replies), budget=Budget(model_calls=1))
    result = loop.run("What is 3 plus 4?")
    assert result.outcome == "budget"
    assert result.error is not None
    assert result.error.message == "the question reached its limit of model calls: 1"
    with pytest.raises(BudgetError) as caught:
        result.raise_for_outcome()
    assert caught.value.hint == "raise `model_calls` of the budget"
    with pytest.raises(ValidationError, match="must be a `Budget`"):
        ReviewLoop(scripted([]), budget=5)  # type: ignore[arg-type]


def test_prompts_can_be_read(loop: ReviewLoop) -> None:
    prompts = loop.prompts
    assert "{{tools}}" in prompts["expert.small"]
    assert prompts["critic_expert.small"] != prompts["critic_expert.large"]


def test_prompts_can_be_replaced_by_texts_and_files(tmp_path: Path) -> None:
    path = tmp_path / "expert.md"
    path.write_text("Answer in one word. {{tools}}", "utf-8")
    loop = ReviewLoop(scripted([]), prompts={"expert": path, "planner.small": "Plan."})
    assert loop.prompts["expert.large"] == "Answer in one word. {{tools}}"
    assert loop.prompts["planner.small"] == "Plan."
    assert loop.prompts["planner.large"] != "Plan."


@pytest.mark.parametrize(
    ("prompts", "code", "message"),
    [
        ({"experts": "x"}, "prompt_unknown", "experts"),
        ({"expert": "Use {{tolls}}."}, "prompt_invalid", "tolls"),
        ({"expert": ""}, "prompt_invalid", "blank"),
        ({"expert": Path("/nowhere/expert.md")}, "prompt_invalid", "cannot be read"),
        ({"expert": 3}, "prompt_invalid", "string or a path: int"),
    ],
)
def test_a_prompt_that_cannot_be_used_is_refused_before_a_model_is_looked_for(
    prompts: dict[str, Any], code: str, message: str
) -> None:
    with pytest.raises(ValidationError, match=message) as caught:
        ReviewLoop("nobody:x", prompts=prompts)
    assert caught.value.code == code


def test_signatures_name_the_settings_of_the_schema() -> None:
    from antiphon.systems.agentic_search import AgenticSearchSettings
    from antiphon.systems.computation import ComputationSettings
    from antiphon.systems.data_analyst import DataAnalystSettings
    from antiphon.systems.deep_research import DeepResearchSettings
    from antiphon.systems.plan_execute import PlanExecuteSettings
    from antiphon.systems.review_loop import ReviewLoopSettings

    known = systems()
    for name, settings in (
        ("review_loop", ReviewLoopSettings),
        ("computation", ComputationSettings),
        ("agentic_search", AgenticSearchSettings),
        ("data_analyst", DataAnalystSettings),
        ("deep_research", DeepResearchSettings),
        ("plan_execute", PlanExecuteSettings),
    ):
        assert set(settings.__annotations__) == set(known[name].config_schema["properties"]), name


@pytest.mark.parametrize("system", [ReviewLoop, Computation])
def test_a_batch_that_is_no_list_is_refused(system: type[Any]) -> None:
    for given, found in (("What?", "a string"), (3, "int")):
        with pytest.raises(ValidationError, match=f"takes a list of questions, found: {found}"):
            system(scripted([])).batch(given)


@pytest.mark.parametrize("option", ["tools", "research_tools", "expert_tools"])
def test_a_single_tool_in_place_of_a_list_is_refused(option: str) -> None:
    given: dict[str, Any] = {option: lambda: 1}
    with pytest.raises(ValidationError, match="tools must be given as a list: function") as caught:
        ReviewLoop(scripted([]), **given)
    assert caught.value.code == "tool_function"


def test_a_misspelt_option_is_refused_with_the_one_that_was_meant() -> None:
    loop, computed = ReviewLoop(scripted([])), Computation(scripted([]))
    calls: dict[str, tuple[str, Any]] = {
        "run": ("file", lambda: loop.run("q", fil="x")),  # type: ignore[call-arg]
        "arun": ("file", lambda: asyncio.run(loop.arun("q", fil="x"))),  # type: ignore[call-arg]
        "stream": ("file", lambda: loop.stream("q", fil="x")),  # type: ignore[call-arg]
        "batch": ("concurrency", lambda: loop.batch(["q"], concurency=1)),  # type: ignore[call-arg]
        "batch_file": ("files", lambda: loop.batch_file("a", "b", file="c")),  # type: ignore[call-arg]
        "resume": ("watch", lambda: loop.resume("t", wach=print)),  # type: ignore[call-arg]
        "history": ("thread", lambda: loop.history(thred="t")),  # type: ignore[call-arg]
        "astream": ("inputs", lambda: computed.astream("q", input={})),  # type: ignore[call-arg]
    }
    for method, (meant, call) in calls.items():
        with pytest.raises(ValidationError, match=f"`{method}` has no option") as caught:
            call()
        assert (caught.value.code, caught.value.hint) == (
            "call_invalid",
            f"did you mean `{meant}`?",
        )
    with pytest.raises(ValidationError, match="temperature") as caught:
        computed.run("q", temperature=0)  # type: ignore[call-arg]
    assert caught.value.hint == "its options are context, facts, inputs, question, thread, watch"
    assert asyncio.iscoroutinefunction(loop.arun)


def test_the_methods_of_a_subclass_are_its_own() -> None:
    class Mine(ReviewLoop):
        def ask(self, topic: str) -> str:
            return topic

    with pytest.raises(TypeError, match="topik"):
        Mine(scripted([])).ask(topik="x")  # type: ignore[call-arg]


def test_what_a_result_lacks_is_told_with_what_is_meant() -> None:
    found = object.__new__(SystemResult)
    with pytest.raises(AttributeError, match="content; did you mean `answer`"):
        _ = found.content  # type: ignore[attr-defined]


def test_a_limit_of_time_is_said_with_its_fraction() -> None:
    async def plan(_: Any) -> Any:
        await asyncio.Event().wait()

    result = ReviewLoop(scripted([]), planner=plan, question_timeout_s=0.25).run("q")
    assert result.error is not None
    assert result.error.message == "the question reached its limit of seconds: 0.25"
    assert result.error.details["limit"] == 0.25
