"""Questions that are computed: a scripted model, and a real sandbox."""

from __future__ import annotations

import asyncio
from typing import Any, TypedDict

import pytest

from antiphon import Agent, Orchestrator
from antiphon.errors import GuestError, StateError, ValidationError
from antiphon.event import Event
from antiphon.models import get, scripted
from antiphon.sandbox import Limits, Sandbox, compute
from antiphon.systems import Computation
from support.engines import ENGINES, probe


@pytest.fixture(params=[name for name in ENGINES if name != "subprocess"])
def engine(request: pytest.FixtureRequest) -> str:
    found = probe(request.param)
    if not found["ok"]:
        pytest.skip(f"the engine `{request.param}` cannot be used here: {found['missing']}")
    return str(request.param)


def plan(python: str) -> dict[str, object]:
    return {"json": {"reasoning": "add", "python": python, "explain": "Adds them up."}}


def words(answer: str, *highlights: str) -> dict[str, object]:
    return {"json": {"answer": answer, "highlights": list(highlights)}}


def test_code_is_mended_until_it_comes_to_a_result_which_is_put_into_words(engine: Any) -> None:
    mended = "print('adding')\nresult = sum(sales)\ntable = [{'region': 'north', 'net': 10}]"
    model = scripted([plan("result = sum(sale)"), plan(mended), words("60.", "North sold 10.")])
    with Sandbox(engine=engine) as box:
        found = Computation(model, sandbox=box).run("How much?", {"sales": [10, 20, 30]})
    assert (found.outcome, found.answer) == ("answered", "60.")
    assert found.highlights == ("North sold 10.",)
    assert (found.value, found.table) == (60, [{"region": "north", "net": 10}])
    first, second = found.attempts
    assert isinstance(first.error, GuestError)
    assert first.error.type == "NameError"
    assert (second.error, found.python) == (None, mended)
    assert found.computed is not None
    assert (found.computed.stdout, found.computed.engine) == ("adding\n", engine)
    events = [event.name for event in found.events if event.kind == "custom"]
    assert events == ["code_planned", "code_ran", "code_planned", "code_ran"]


def test_zero_for_a_text_that_no_cell_holds_goes_back_to_the_model(engine: Any) -> None:
    rows = [{"day": "2024-04-03", "net": 10}, {"day": "2024-05-17", "net": 20}]

    def count(month: str) -> dict[str, object]:
        return plan(f"result = len([row for row in sales if {month!r} in row['day']])")

    for replies, value, attempts in (
        ([count("April 2024"), count("2024-04")], 1, 2),
        ([count("June 2024"), count("2024-06")], 0, 2),
        ([count("2024-04")], 1, 1),
    ):
        with Sandbox(engine=engine) as box:
            computation = Computation(scripted(replies), sandbox=box, summarise=False)
            found = computation.run("How many orders on these days?", {"sales": rows})
        assert (found.value, len(found.attempts)) == (value, attempts)


def test_the_cells_of_a_data_frame_are_compared_too() -> None:
    pandas = pytest.importorskip("pandas")
    sales = pandas.DataFrame({"day": ["2024-04-03", None], "Shop": ["North Sea", "south"]})
    again = plan("result = int((sales['Shop'] == 'North Sea').sum())")
    with Sandbox(packages=["pandas"]) as box:
        for text, attempts in (("north sea", 1), ("Nord", 2)):
            code = plan(f"result = int((sales['Shop'] == {text!r}).sum())")
            computation = Computation(scripted([code, again]), sandbox=box, summarise=False)
            found = computation.run("How many in the North Sea?", {"sales": sales})
            assert len(found.attempts) == attempts, text


def test_an_agent_is_asked_for_the_column_without_its_output_and_tools() -> None:
    class Code(TypedDict):
        python: str

    def convert(amount: float) -> float:
        """Convert an amount."""
        return amount

    replies = [
        plan("result = sum(row['net'] for row in sales)"),
        {"json": {"asked_for": "the salary", "column": "none"}},
    ]
    small = scripted(replies, name="test:1b")
    planner = Agent(name="coder", model=small, output=Code, tools=[convert])
    with Sandbox() as box:
        computation = Computation(scripted([]), planner=planner, sandbox=box, summarise=False)
        events: list[Event] = []
        sales = [{"net": 3}]
        found = computation.run("What is the mean salary?", {"sales": sales}, watch=events.append)
    assert found.outcome == "no_answer"
    requests = [event.data for event in events if event.kind == "model_call"]
    assert [request.get("tools", []) for request in requests] == [["convert"], []]


def test_code_may_call_the_tools_of_its_sandbox(engine: Any) -> None:
    def price(article: str) -> int:
        """The price of an article."""
        return {"chair": 40}[article]

    model = scripted([plan("result = price('chair') * 2"), words("80.")])
    with Sandbox(engine=engine, tools=[price]) as box:
        found = Computation(model, sandbox=box).run("What do two chairs cost?")
    assert (found.value, found.answer) == (80, "80.")


def test_the_last_mistake_is_raised_if_an_answer_is_demanded(engine: Any) -> None:
    model = scripted([plan("result = 1 / 0")])
    with Sandbox(engine=engine) as box:
        found = Computation(model, sandbox=box, max_attempts=1).run("How much?")
    assert (found.outcome, found.answer, found.computed) == ("retry_limit", None, None)
    with pytest.raises(GuestError, match="ZeroDivisionError"):
        found.raise_for_outcome()


def test_a_result_can_do_without_words(engine: Any) -> None:
    with Sandbox(engine=engine) as box:
        computation = Computation(scripted([plan("result = 42")]), sandbox=box, summarise=False)
        found = computation.run("What is 6 times 7?").raise_for_outcome()
    assert found.value == 42
    assert "42" in (found.answer or "")
    assert not found.is_summarised


def test_many_questions_are_answered_at_once(engine: Any) -> None:
    with Sandbox(engine=engine) as box:

        async def ask(number: int) -> object:
            model = scripted([plan("result = n * n"), words("there")])
            found = await Computation(model, sandbox=box).arun("Squared?", {"n": number})
            return found.value

        async def ask_all() -> list[object]:
            return await asyncio.gather(*map(ask, range(6)))

        assert asyncio.run(ask_all()) == [0, 1, 4, 9, 16, 25]


def test_cancelling_a_question_kills_its_code(engine: Any) -> None:
    async def cancel() -> None:
        started = asyncio.Event()
        loop = asyncio.get_running_loop()

        def tell() -> None:
            loop.call_soon_threadsafe(started.set)

        model = scripted([plan("tell()\nwhile True:\n    pass")])
        with Sandbox(engine=engine, tools=[tell], limits=Limits(wall=60)) as box:
            asked = asyncio.create_task(Computation(model, sandbox=box).arun("How long?"))
            await started.wait()
            asked.cancel()
            with pytest.raises(asyncio.CancelledError):
                await asked

    asyncio.run(asyncio.wait_for(cancel(), 30))


def test_what_cannot_be_meant_is_refused_before_anything_is_called(engine: Any) -> None:
    model = scripted([])
    with Sandbox(engine=engine) as box:
        computation = Computation(model, sandbox=box)
        with pytest.raises(ValidationError) as blank:
            computation.run("  ")
        with pytest.raises(ValidationError) as taken:
            computation.run("How much?", {"result": 1})
        with pytest.raises(ValidationError) as setting:
            Computation(model, sandbox=box, max_attempts=0)
    codes = [raised.value.code for raised in (blank, taken, setting)]
    assert codes == ["question_blank", "sandbox_input_invalid", "system_setting_invalid"]


@pytest.mark.parametrize(
    ("given", "named"),
    [({"inputs": [1]}, "inputs"), ({"inputs": "x"}, "inputs"), ({"facts": "today"}, "facts")],
)
def test_inputs_that_have_no_names_are_refused(given: dict[str, Any], named: str) -> None:
    with pytest.raises(ValidationError, match=f"`{named}` must be a dict") as caught:
        Computation(scripted([])).run("How many?", **given)
    assert caught.value.code == "input_invalid"


@pytest.mark.parametrize("when", [object(), b"\xff", {"at": [b"now"]}, {b"at": 1}])
def test_facts_that_are_no_json_are_refused_by_their_name(when: Any) -> None:
    with pytest.raises(ValidationError, match="`facts` must hold JSON values, and `when` is none"):
        Computation(scripted([])).run("How many?", facts={"when": when})


def test_a_known_secret_is_in_no_prompt_and_in_no_result(engine: Any) -> None:
    secret = "~key-of-a-computation-2"
    get("openai:any", api_key=secret, base_url="http://127.0.0.1:9/v1")
    code = "result = '~key-of-a-' + 'computation-2 and more'"
    model = scripted([plan(code), words("It is *** and more.")])
    with Sandbox(engine=engine) as box:
        found = Computation(model, sandbox=box).run("Which key is it?")
    assert (found.outcome, found.value) == ("answered", "*** and more")
    assert secret not in f"{found}{found.state}{model.requests}"


def test_words_beside_the_result_are_not_delivered(engine: Any) -> None:
    answers = [words("It is 61."), words("It is 60 in June.")]
    model = scripted([plan("result = sum(sales)"), *answers])
    with Sandbox(engine=engine) as box:
        found = Computation(model, sandbox=box).run("How much?", {"sales": [10, 20, 30]})
    assert (found.outcome, found.answer, found.is_summarised) == ("answered", "60", False)
    first, second = found.rejected_wordings
    assert first.differences == (
        "the number `61` is not in the result",
        "the result `60` is missing",
    )
    assert second.answer == "It is 60 in June."
    events = [event.name for event in found.events if event.kind == "custom"]
    assert events.count("wording_rejected") == 2
    assert found.to_dict()["rejected_wordings"][1]["differences"] == list(second.differences)


@pytest.mark.parametrize("code", ["result = None", "result = ''", "result = float('nan')", "[]"])
def test_a_result_that_is_no_value_is_no_answer(engine: Any, code: str) -> None:
    with Sandbox(engine=engine) as box:
        computation = Computation(scripted([plan(code)] * 2), sandbox=box)
        found = computation.run("How much?")
    assert (found.outcome, found.answer, len(found.attempts)) == ("no_answer", None, 2)
    assert found.reason is not None
    assert found.reason.startswith("the code computed")
    assert found.attempts[0].no_answer == found.reason
    assert found.reason in found._repr_mimebundle_()["text/plain"]
    with pytest.raises(StateError, match="the run ended without an answer: the code computed"):
        found.raise_for_outcome()


def test_the_columns_of_a_table_are_listed_with_their_missing_values() -> None:
    pandas = pytest.importorskip("pandas")
    birds = pandas.DataFrame({"kind": ["a", "b", None], "bill_mm": [1.5, None, 3.0]})
    model = scripted([plan("result = birds['bill_mm'].max()"), words("It is 3 mm.")])
    with Sandbox(packages=["pandas", "numpy", "pyarrow"]) as box:
        found = Computation(model, sandbox=box).run("How long is a bill?", {"birds": birds})
        (source,) = found.sources
        assert (source.name, source.rows, source.columns) == ("birds", 3, {"bill_mm": 1})
        assert found.doubts == ("`bill_mm` of `birds` has no value in 1 of 3 rows",)
        empty = scripted([plan("result = birds[birds['kind'] == 'c']")] * 2)
        none = Computation(empty, sandbox=box).run("Which are c?", {"birds": birds})
        assert none.outcome == "no_answer"
        rows = "result = birds.sort_values('bill_mm')"
        shown = scripted([plan(rows), words("They are 1.5 and 3.0 mm long.")])
        listed = Computation(shown, sandbox=box).run("How long are the bills?", {"birds": birds})
    assert listed.is_summarised, listed.rejected_wordings
    assert "bill_mm" in shown.requests[-1]["messages"][-1]["content"]


def test_examples_of_code_count_rows_and_measure_no_numbers_of_rows() -> None:
    pandas = pytest.importorskip("pandas")
    orders = pandas.DataFrame({"no": [7, 8, 9], "quantity": [1, 1, 2]})
    model = scripted([plan("result = len(orders)")])
    with Sandbox(packages=["pandas", "numpy", "pyarrow"]) as box:
        computation = Computation(model, sandbox=box, summarise=False)
        computation.run("How many orders are there?", {"orders": orders})
    prompt = model.requests[0]["messages"][-1]["content"]
    assert "how many rows there are: result = len(orders)" in prompt
    assert "the mean of a column: result = orders['quantity'].mean()" in prompt


def test_a_column_that_no_table_has_is_no_answer_before_a_model_is_asked(engine: Any) -> None:
    model = scripted([])
    with Sandbox(engine=engine) as box:
        computation = Computation(model, sandbox=box)
        found = computation.run("What is the mean `salary`?", {"people": [{"age": 3}]})
    assert (found.outcome, model.requests) == ("no_answer", [])
    assert found.reason == "no input has a column or a value `salary`"


def test_html_runs_nothing_of_what_a_model_or_its_code_says(engine: Any) -> None:
    model = scripted([plan("result = '<script>1</script>'"), words("It is <script>1</script>.")])
    with Sandbox(engine=engine) as box:
        found = Computation(model, sandbox=box).run("How much?")
    shown = found._repr_mimebundle_()
    assert "<script>" not in shown["text/html"]
    assert "It is &lt;script&gt;1" in shown["text/html"]
    assert "computation: answered" in shown["text/plain"]


def test_an_agent_computes_with_a_tool_and_reads_its_own_mistakes(engine: Any) -> None:
    def call(code: str) -> dict[str, object]:
        return {"tool_calls": [{"name": "compute", "arguments": {"code": code}}]}

    class Analyst(Agent):
        """Computes."""

    model = scripted([call("price"), call("print('sum'); sum(prices)"), "It is 7."])
    with Sandbox(engine=engine) as box:
        tools = [compute(box, inputs={"prices": [3, 4]})]
        team = Orchestrator([Analyst(model=model, tools=tools)])
        found = team.run("What is the sum?")
    assert found.answer == "It is 7."
    requests = [[said["content"] for said in request["messages"]] for request in model.requests]
    assert "NameError" in requests[1][-1]
    assert "sum" in requests[2][-1]
    assert "7" in requests[2][-1]


def test_a_tool_that_computes_tells_what_its_code_has() -> None:
    with Sandbox(engine="monty") as box:
        tool = compute(box, inputs={"prices": [3, 4]}, name="calculate", max_calls=2)
    assert (tool.name, tool.max_calls) == ("calculate", 2)
    assert "prices (list)" in tool.description


def test_the_model_reads_how_many_columns_of_a_wide_table_are_left_out() -> None:
    pandas = pytest.importorskip("pandas")
    wide = pandas.DataFrame({f"measurement_{at:03}": [at] for at in range(200)})
    model = scripted([plan("result = int(wide['measurement_199'].iloc[0])")])
    with Sandbox(packages=["pandas", "numpy", "pyarrow"]) as box:
        computed = Computation(model, sandbox=box, summarise=False).run("?", {"wide": wide})
    assert computed.value == 199
    prompt = model.requests[0]["messages"][-1]["content"]
    assert "\n- and 160 more: 'measurement_040', 'measurement_041'" in prompt
    named = [at for at in range(200) if f"'measurement_{at:03}'" in prompt]
    assert f", and {200 - len(named)} whose names are left out\n" in prompt
    assert "Its first rows, of which only the first 40 of 200 columns are shown:\n" in prompt
