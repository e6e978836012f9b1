"""Results: what they say, how they travel, and how they show themselves."""

from __future__ import annotations

import json
import pickle
import re
from dataclasses import dataclass, replace
from html.parser import HTMLParser
from typing import Any, TypedDict, get_args

import pydantic
import pytest

from antiphon import (
    Agent,
    AgentContext,
    Event,
    Image,
    Orchestrator,
    Result,
    RunResult,
    Usage,
    tool,
)
from antiphon.errors import StateError, ValidationError
from antiphon.models import scripted
from antiphon.result import Outcome
from antiphon.systems import ReviewLoop

EVIL = "<script>alert(1)</script><img src=x onerror=alert(2)>"


class Says(Agent):
    def act(self, state: Any, ctx: AgentContext) -> Any:
        return {"answer": state["question"], "thing": object(), "n": 3}


class Asks(Agent):
    def act(self, state: Any, ctx: AgentContext) -> Any:
        return ctx.ask(EVIL)


class Fails(Agent):
    def act(self, state: Any, ctx: AgentContext) -> Any:
        raise RuntimeError(EVIL)


def result() -> Result:
    return Orchestrator([Says()], name="speakers").run("hello")


def test_state_keys_are_attributes_and_others_are_an_error_that_names_them() -> None:
    found: Any = result()
    assert (found.answer, found.n, found.question) == ("hello", 3, "hello")
    with pytest.raises(AttributeError, match=r"xyzzy; it has .*answer.* n,.*outcome"):
        _ = found.xyzzy
    with pytest.raises(AttributeError, match="did you mean `questions`"):
        _ = found.questons
    with pytest.raises(AttributeError, match="did you mean `answer`"):
        _ = found.output
    assert not hasattr(found, "__wrapped__")


def test_completion_of_a_result_knows_its_fields_and_the_keys_of_the_state() -> None:
    assert {"n", "question", "answer", "events", "raise_for_outcome"} <= set(dir(result()))
    assert result().messages[0]["content"] == "hello"


def test_a_result_is_json_that_names_what_json_lacks() -> None:
    fields = json.loads(result().to_json(indent=2))
    assert fields["outcome"] == "answered"
    assert fields["team"] == "speakers"
    assert fields["state"]["thing"] == "<object>"
    assert fields["usage"]["steps"] == 1
    assert fields["errors"] == fields["questions"] == []


@pytest.mark.parametrize("answer", ["x" * 1_000_000, ["x" * 1_000_000]])
def test_a_repr_is_bounded_and_the_answer_whole(answer: Any) -> None:
    class Long(Agent):
        def act(self, state: Any, ctx: AgentContext) -> Any:
            return {"answer": answer}

    results = Long().batch(["a", "b"])
    assert len(repr(results)) < 1_500
    assert "Result(outcome='answered', answer=" in repr(results)
    assert [one.answer for one in results] == [answer, answer]


def test_an_answered_one_passes_on() -> None:
    found = result()
    assert found.raise_for_outcome() is found


def test_a_paused_result_says_what_it_waits_for() -> None:
    paused = Orchestrator([Asks()]).run("q")
    with pytest.raises(StateError, match="is waiting for an answer") as caught:
        paused.raise_for_outcome()
    assert caught.value.code == "run_paused"


@dataclass
class Plain:
    question: str = ""
    n: int = 0


class Counts(Agent):
    def act(self, state: Any, ctx: AgentContext) -> Any:
        return {"n": 1, "answer": "a"}


def test_a_result_can_be_pickled_without_the_run() -> None:
    found = Orchestrator([Counts()]).run("q")
    again = pickle.loads(pickle.dumps(found))
    assert again.to_dict() == found.to_dict()
    assert again.events == found.events
    assert isinstance(again.events[0], Event)


def test_a_pickled_pause_cannot_be_resumed() -> None:
    team = Orchestrator([Asks()])
    again = pickle.loads(pickle.dumps(team.run("q")))
    with pytest.raises(ValidationError, match="pickle") as caught:
        team.resume(again, "a")
    assert caught.value.code == "answer_invalid"


def test_an_error_that_cannot_be_pickled_stays_as_a_record() -> None:
    class Stubborn(Exception):
        def __reduce__(self) -> Any:
            raise TypeError("no")

    class Breaks(Agent):
        def act(self, state: Any, ctx: AgentContext) -> Any:
            raise Stubborn("deep")

    (found,) = Orchestrator([Breaks()]).batch(["q"])
    again = pickle.loads(pickle.dumps(found))
    assert again.error is None
    assert "deep" in again.errors[0]["message"]


class Tags(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.seen: set[str] = set()
        self.attributes: set[str] = set()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.seen.add(tag)
        self.attributes |= {name for name, _ in attrs}


@pytest.mark.parametrize("agent", [Says, Asks, Fails])
def test_the_notebook_shows_static_html_with_everything_escaped(agent: type[Agent]) -> None:
    script = scripted([{"tool_calls": [{"name": EVIL, "arguments": {"x": EVIL}}]}, EVIL])
    team = Orchestrator(
        [Agent(name="writer", model=script, tools=[len_of]), agent()], on_error="record", name=EVIL
    )
    found = team.run(EVIL)
    bundle = found._repr_mimebundle_()
    tags = Tags()
    tags.feed(bundle["text/html"])
    assert tags.seen <= {"div", "b", "span", "code", "details", "summary", "pre"}
    assert tags.attributes <= {"style", "open"}
    assert "http" not in bundle["text/html"]
    assert EVIL in bundle["text/plain"]


def len_of(x: str) -> int:
    """Length."""
    return len(x)


def test_a_long_trace_and_a_long_answer_are_cut_with_a_mark() -> None:
    class Talks(Agent):
        def act(self, state: Any, ctx: AgentContext) -> str:
            for _ in range(500):
                ctx.model("y" * 1_000, model=answers)
            return "x" * 100_000

    answers = scripted(["z"] * 1_500)
    team = Orchestrator([Talks(name=name) for name in "abc"])
    shown = team.run("q")._repr_mimebundle_()["text/html"]
    assert len(shown) < 900_000
    assert "(100000 characters)" in shown
    assert "and 2 more agents in `result.trace`" in shown


def test_an_event_says_when_where_and_what() -> None:
    event = next(event for event in result().events if event.kind == "node_finished")
    assert (event.agent, event.path, event.text) == ("says", ("says",), "")
    assert event.at.tzinfo is not None
    fields = event.to_dict()
    assert fields["at"].endswith("Z")
    json.dumps(fields)


def test_beyond_ten_thousand_events_are_counted() -> None:
    class Talks(Agent):
        def act(self, state: Any, ctx: AgentContext) -> None:
            for number in range(10_050):
                ctx.emit(number)

    found = Orchestrator([Talks()]).run("q")
    assert len(found.events) == 10_000
    assert found.events_dropped > 50


def test_the_state_may_be_a_dataclass() -> None:
    found = Orchestrator([Counts()], state=Plain).run("q")
    assert (found.state.n, found.answer, found.state.n) == (1, "a", 1)
    assert found.to_dict()["state"]["n"] == 1


def shown(answer: Any) -> str:
    """What a notebook shows of an answer."""

    class Gives(Agent):
        def act(self, state: Any, ctx: AgentContext) -> Any:
            return {"answer": answer}

    return Orchestrator([Gives()]).run("q")._repr_mimebundle_()["text/html"]


def test_a_data_frame_is_shown_as_a_table_with_its_cells_escaped() -> None:
    pandas = pytest.importorskip("pandas")
    html = shown(pandas.DataFrame({"city": ["Lyon", EVIL]}))
    assert "<table" in html
    assert "<td>Lyon</td>" in html
    assert "<script" not in html


def test_an_image_is_shown_from_its_bytes_and_never_from_an_address() -> None:
    png = bytes.fromhex("89504e470d0a1a0a0000000d4948445200000001000000010802000000907753de")
    assert 'src="data:image/png;base64,iVBORw0' in shown(Image(png))
    assert "<img" not in shown(Image("https://example.com/tracker.png"))


def test_an_answer_is_shown_as_markdown_without_its_html() -> None:
    html = shown("**42** of | <b onclick=x>all</b>\n\n| a |\n|---|\n| 1 |")
    assert "<strong>42</strong>" in html
    assert "<td>1</td>" in html
    assert "<b onclick" not in html


def test_keys_are_shown_where_there_is_no_answer() -> None:
    class Counts(Agent):
        def act(self, state: Any, ctx: AgentContext) -> Any:
            return {"population": 522250, "city": EVIL, "rows": list(range(100_000)), "none": None}

    class Report(TypedDict, total=False):
        report: str

    bundle = Orchestrator([Counts()], name="team").run("q")._repr_mimebundle_()
    text, html = bundle["text/plain"], bundle["text/html"].split("<details")[0]
    assert text.startswith(f"team: answered\npopulation: 522250\ncity: {EVIL}\nrows: ")
    assert "none" not in text
    assert "522250" in html
    assert "<b onclick" not in html
    assert len(text) < 2_000
    assert len(html) < 4_000
    writes = Agent(scripted(["The report."]), name="w", writes="report")
    shown = Orchestrator([writes], state=Report, name="team").run("q")._repr_mimebundle_()
    assert shown["text/plain"] == "team: answered\nreport: The report."
    assert "The report." in shown["text/html"].split("<details")[0]


def test_keys_beside_an_answer_are_not_shown() -> None:
    class Both(Agent):
        def act(self, state: Any, ctx: AgentContext) -> Any:
            return {"answer": "yes", "note": "x"}

    shown = Orchestrator([Both()], name="team").run("q")._repr_mimebundle_()
    assert shown["text/plain"] == "team: answered\nyes"


@pytest.mark.parametrize("outcome", get_args(Outcome))
def test_every_colour_is_readable_on_white_and_on_black(outcome: Outcome) -> None:
    shown = replace(result(), outcome=outcome)._repr_mimebundle_()["text/html"]
    for colour in set(re.findall(r"color:(#\w{6})", shown)):
        red, green, blue = (linear(colour[at : at + 2]) for at in (1, 3, 5))
        light = 0.2126 * red + 0.7152 * green + 0.0722 * blue
        assert 1.05 / (light + 0.05) > 3
        assert (light + 0.05) / (DARK + 0.05) > 3


DARK = 0.013
"""How light the background of a dark notebook is, `#1e1e1e`."""


def linear(pair: str) -> float:
    share = int(pair, 16) / 255
    return share / 12.92 if share <= 0.04045 else ((share + 0.055) / 1.055) ** 2.4


def test_a_long_answer_is_folded() -> None:
    assert "characters</summary>" not in shown("short")
    assert ">5,000 characters</summary>" in shown("x" * 5_000)


def test_an_open_question_shows_the_call_that_answers_it() -> None:
    paused = Orchestrator([Asks()]).run("q")
    assert (
        "<code>team.resume(result, &quot;…&quot;)</code>" in paused._repr_mimebundle_()["text/html"]
    )

    class Pays(Agent):
        def act(self, state: Any, ctx: AgentContext) -> Any:
            return str(ctx.call("pay", euros=3))

    @tool(approval=True)
    def pay(euros: int) -> int:
        """Pays."""
        return euros

    team = Orchestrator([Pays(tools=[pay])])
    asked = team.run("q")
    shown = asked._repr_mimebundle_()
    assert "team.resume(result, {&quot;approve&quot;: True})" in shown["text/html"]
    assert 'answer with team.resume(result, {"approve": True})' in shown["text/plain"]
    assert team.resume(asked, {"approve": True}).answer == "3"


def test_teams_and_ready_systems_return_one_family_of_results() -> None:
    found = [result(), ReviewLoop(scripted([])).run("What is 1 + 1?")]
    for one in found:
        assert isinstance(one, RunResult)
        assert isinstance(one.usage, Usage)
        assert isinstance(one.state, dict)
        again = pickle.loads(pickle.dumps(one))
        assert again.to_dict(events=True) == one.to_dict(events=True)
        fields = json.loads(one.to_json())
        assert fields.keys() >= {
            "answer",
            "checkpoint",
            "errors",
            "outcome",
            "questions",
            "reason",
            "run_id",
            "state",
            "thread",
            "usage",
        }


def test_pydantic_writes_a_result_as_its_dict_and_accepts_its_class_only() -> None:
    for one in (result(), ReviewLoop(scripted([])).run("What is 1 + 1?")):
        adapter: pydantic.TypeAdapter[Any] = pydantic.TypeAdapter(type(one))
        assert json.loads(adapter.dump_json(one)) == json.loads(one.to_json())
        assert adapter.dump_python(one) == one.to_dict()
        assert adapter.validate_python(one) is one
        assert adapter.json_schema(mode="serialization")["type"] == "object"
        with pytest.raises(pydantic.ValidationError, match=type(one).__name__):
            adapter.validate_python(one.to_dict())

    class Reply(pydantic.BaseModel):
        result: Result

    reply = json.loads(Reply(result=result()).model_dump_json())
    assert reply["result"]["outcome"] == "answered"


def test_pydantic_reads_over_the_type_arguments_of_a_result() -> None:
    class Reply(pydantic.BaseModel):
        result: Result[int, dict[str, Any]]

    reply = json.loads(Reply(result=result()).model_dump_json())
    assert reply["result"]["outcome"] == "answered"
    assert Reply.model_json_schema()["properties"]["result"]["type"] == "object"
    adapter: pydantic.TypeAdapter[Any] = pydantic.TypeAdapter(list[Result[int]])
    one = result()
    assert adapter.validate_python([one])[0] is one


def test_the_text_of_a_result_is_its_answer_and_the_error_says_so() -> None:
    class Greeter(Agent):
        def act(self, state: Any, ctx: Any) -> str:
            return "hello"

    with pytest.raises(AttributeError, match="text; did you mean `answer`") as caught:
        _ = Orchestrator([Greeter()]).run("greet").text  # type: ignore[attr-defined]
    assert str(caught.value).count("answer") == 1
