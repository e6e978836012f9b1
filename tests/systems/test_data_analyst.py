"""Questions about data: scripted models, a real SQLite file, a real sandbox."""

from __future__ import annotations

import asyncio
import pickle
import sqlite3
import subprocess
import sys
from contextlib import closing
from dataclasses import replace
from datetime import UTC, date
from typing import TYPE_CHECKING, Any

import pytest

from antiphon.checkpoint import MemorySaver
from antiphon.errors import StateError, ValidationError
from antiphon.models import scripted
from antiphon.sandbox import Limits, Sandbox
from antiphon.systems import (
    AgentRequest,
    AgentResult,
    DataAnalyst,
    OrchestratorResponse,
    PlannerDecision,
    TabularResult,
    TraceEvent,
)
from antiphon.tools import sql
from support.engines import probe

if TYPE_CHECKING:
    from pathlib import Path

    from support.postgres import Server

COUNT = {"json": {"sql": "SELECT count(*) AS n FROM orders"}}
THREE = {"json": {"answer": "There are 3 orders."}}


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    """A database with three orders."""
    path = tmp_path / "shop.db"
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.executescript(
            "CREATE TABLE orders (id INTEGER PRIMARY KEY, region TEXT, net_eur REAL);"
            "INSERT INTO orders VALUES (1, 'north', 10.5), (2, 'south', 20), (3, 'north', 11.5);"
        )
    return path


@pytest.fixture
def box() -> Any:
    """A sandbox of the kind that this machine has."""
    if not probe("process")["ok"]:
        pytest.skip("this machine cannot isolate processes")
    with Sandbox(engine="process", limits=Limits(wall=5)) as found:
        yield found


def analyst(shop: Path, replies: list[Any], **options: Any) -> DataAnalyst:
    options = {"check_query": False, "compose_single": False, "sandbox": False, **options}
    return DataAnalyst(scripted(replies), database=shop, **options)


def test_a_question_is_answered_from_the_database_with_typed_values(shop: Path) -> None:
    found = analyst(shop, [COUNT, THREE]).run("How many orders are there?", trace=True)
    assert isinstance(found, OrchestratorResponse)
    assert (found.outcome, found.answer) == ("answered", "There are 3 orders.")
    assert found.sql == "SELECT count(*) AS n FROM orders"
    assert isinstance(found.planner, PlannerDecision)
    assert found.planner.chosen_agents == ("sql",)
    (one,) = found.agent_results
    assert isinstance(one, AgentResult)
    assert (one.agent, one.status, one.error) == ("sql", "succeeded", None)
    assert isinstance(found.data, TabularResult)
    assert found.data.rows == ({"n": 3},)
    assert found.trace_events
    assert all(isinstance(event, TraceEvent) for event in found.trace_events)
    assert all(event.timestamp.tzinfo is UTC for event in found.trace_events)
    kinds = {event.event_type for event in found.trace_events}
    assert kinds == {"decision", "tool", "message", "result"}
    assert found.metadata["agents"] == ["sql"]
    assert found.to_dict()["data"] == {
        "columns": ["n"],
        "rows": [{"n": 3}],
        "row_count": 1,
        "truncated": False,
        "cells_cut": False,
    }
    assert pickle.loads(pickle.dumps(found)).answer == found.answer


def test_a_request_has_all_fields_of_a_question(shop: Path) -> None:
    request = AgentRequest(
        question="How many orders are there?",
        context={"tenant": "north"},
        prefer_agents=[" SQL ", None],
        include_data=False,
    )
    found = analyst(shop, [COUNT, THREE]).run(request)
    assert found.data is None
    assert found.agent_results[0].tabular is not None
    assert (found.agent_results[0].tabular.rows, len(found.agent_results[0].tabular)) == ((), 1)
    assert found.state["context"]["tenant"] == "north"
    with pytest.raises(ValidationError, match="`AgentRequest` has all fields"):
        analyst(shop, []).run(request, trace=True)


def test_a_request_is_read_when_it_is_made() -> None:
    """DA-07 of `docs/systems/data-analyst.md`."""
    facts = {"day": date(2026, 1, 2)}
    request = AgentRequest(
        question="How many?",
        prefer_agents=[" SQL ", None, "sql"],
        disable_agents=("Api_Docs",),
        context=facts,
    )
    assert (request.prefer_agents, request.disable_agents) == (("sql",), ("api_docs",))
    assert request.context == {"day": "2026-01-02"}
    facts.clear()
    assert request.context, "what is done to the dict afterwards changes nothing"
    assert replace(request, max_turns=2).prefer_agents == ("sql",)
    assert pickle.loads(pickle.dumps(request)) == request
    refused: list[tuple[dict[str, Any], str]] = [
        ({"question": " "}, "question_blank"),
        ({"question": 3}, "input_invalid"),
        ({"prefer_agents": ["foo"]}, "input_invalid"),
        ({"disable_agents": "sql"}, "input_invalid"),
        ({"max_turns": 0}, "input_invalid"),
        ({"trace": "yes"}, "input_invalid"),
        ({"context": {"api_key": "x"}}, "input_invalid"),
    ]
    for fields, code in refused:
        with pytest.raises(ValidationError) as caught:
            AgentRequest(**{"question": "How many?", **fields})
        assert caught.value.code == code


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"prefer_agents": ["foo"]}, "unknown agent: foo"),
        ({"facts": {"api_token": "hunter2"}}, "`facts` is read by models.*: api_token"),
        ({"facts": {"all": [{"password": "hunter2"}]}}, "`facts` is read by models.*: password"),
        ({"disable_agents": "sql"}, "`disable_agents` must be a list of agents: 'sql'"),
        ({"prefer_agents": "sql"}, "`prefer_agents` must be a list of agents: 'sql'"),
        ({"facts": [1]}, "`facts` must be a dict"),
        ({"facts": {"x": object()}}, "JSON values"),
        ({"facts": {"x": b"\xff"}}, "JSON values, and `x` is none: bytes\n.*decode"),
        ({"facts": {"x": [{"y": bytearray(b"z")}]}}, "and `x` is none: bytearray"),
        ({"max_turns": 0}, "`max_turns` must be at least 1"),
        ({"max_turns": -1}, "`max_turns` must be at least 1: -1"),
        ({"max_turns": "two"}, "`max_turns` must be an integer: 'two'"),
        ({"trace": "yes"}, "`trace` must be True or False: 'yes'"),
        ({"system_prompt": 3}, "`system_prompt` must be a text: 3"),
        ({"prefer_agents": 3}, "`prefer_agents` must be a list of agents: 3"),
        ({"prefer_agents": ["sqll"]}, "`prefer_agents` has an unknown agent: sqll\n.*`sql`"),
        ({"facts": {"my_token": 1}}, "`facts` is read by models, and .*: my_token"),
    ],
)
def test_a_request_that_cannot_be_meant_is_refused(
    shop: Path, options: dict[str, Any], message: str
) -> None:
    with pytest.raises(ValidationError, match=message) as caught:
        analyst(shop, []).run("How many?", **options)
    assert caught.value.code == "input_invalid"
    assert "hunter2" not in str(caught.value)


def test_what_to_know_of_a_query_stands_beside_the_answer() -> None:
    frames = {"orders": {"region": ["n", "s", "<b>"], "paid": [True, False, True]}}
    query = {"json": {"sql": "SELECT count(paid) AS n FROM orders"}}
    model = scripted([query, query, THREE])
    system = DataAnalyst(model, frames=frames, check_query=False, compose_single=False)
    found = system.run("How many orders are paid?")
    assert "write the same query again" in model.requests[1]["messages"][-1]["content"]
    (warning,) = found.metadata["warnings"]
    assert warning.startswith("count(paid) counts all rows that have a value")
    assert f"! sql: {warning}" in found._repr_mimebundle_()["text/plain"]
    assert "count(paid) counts" in found._repr_mimebundle_()["text/html"]


def test_names_of_secrets_are_told_by_whole_words(shop: Path) -> None:
    """As src/systems/tests/data_analyst/planning.rs has them for Rust."""
    secret = (
        "token api_token accessToken authtoken OAUTH_TOKEN api_tokens password passwords "
        "dbPassword client-secret clientSecret secrets api_key x-api-key apiKey APIKey apikey "
        "credentials firebase_web_api_key Authorization api_headers token_2"
    )
    for name in secret.split():
        with pytest.raises(ValidationError, match=f"a key of it names a secret: {name}"):
            analyst(shop, []).run("How many?", facts={name: 1})
    innocent = (
        "tokens_sold tokensSold TOKENS_SOLD secretary secretaries tokenised passwordless api key "
        "keyboard therapy_key authorized"
    )
    facts = dict.fromkeys(innocent.split(), 1)
    assert analyst(shop, [COUNT, THREE]).run("How many?", facts=facts).outcome == "answered"


@pytest.mark.parametrize(
    ("context", "message"),
    [
        ([1], "`context` must be a dict .*: list"),
        ({"day": object()}, "`context` must hold JSON values, and `day` is none: object"),
        ({"api_key": "x"}, "`context` is read by models, and .*: api_key"),
    ],
)
def test_the_facts_of_a_request_are_called_as_it_calls_them(context: Any, message: str) -> None:
    with pytest.raises(ValidationError, match=message) as caught:
        AgentRequest(question="How many?", context=context)
    assert caught.value.code == "input_invalid"


def test_an_unknown_option_of_a_question_is_told_what_was_meant(shop: Path) -> None:
    with pytest.raises(ValidationError, match="no option of that name: disable_agent") as caught:
        analyst(shop, []).run("How many?", disable_agent=["sql"])  # type: ignore[call-arg]
    assert (caught.value.code, caught.value.hint) == (
        "call_invalid",
        "did you mean `disable_agents`?",
    )


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("ordrs", "did you mean `orders`?"),
        ("Orders", "did you mean `orders`?"),
        ("orders.net", "did you mean `orders.net_eur`?"),
        ("orders.xyz", "it has orders.id, orders.region, orders.net_eur"),
        ("staff", "it has orders"),
    ],
)
def test_descriptions_of_what_the_database_does_not_have_are_refused(
    shop: Path, name: str, hint: str
) -> None:
    frames = {"orders": [{"id": 1, "region": "north", "net_eur": 1.5}]}
    for given in ({"database": shop}, {"database": f"sqlite:///{shop}"}, {"frames": frames}):
        with pytest.raises(ValidationError, match=f"`descriptions` names .*: {name}") as caught:
            DataAnalyst(scripted([]), **given, sandbox=False, descriptions={name: "?"})
        assert caught.value.code == "system_setting_invalid"
        assert caught.value.hint == hint


def test_descriptions_of_tables_and_columns_are_taken(shop: Path) -> None:
    analyst(shop, [], descriptions={"orders": "what was sold", "orders.net_eur": "in euros"})


def test_an_unknown_option_is_refused(shop: Path) -> None:
    with pytest.raises(ValidationError, match="no option of that name: tables") as caught:
        analyst(shop, []).run("How many?", tables=["orders"])  # type: ignore[call-arg]
    assert caught.value.code == "call_invalid"


def test_parts_of_the_wrong_kind_are_refused(shop: Path) -> None:
    with pytest.raises(ValidationError, match="there is no SQLite file") as missing:
        DataAnalyst(scripted([]), database=shop.with_name("none.db"))
    assert missing.value.code == "tool_setting_invalid"
    with pytest.raises(ValidationError, match="`sandbox` must be a Sandbox"):
        DataAnalyst(scripted([]), sandbox="yes")  # type: ignore[arg-type]


def test_tools_with_limits_of_their_own_are_taken(shop: Path) -> None:
    with closing(sqlite3.connect(shop)) as connection, connection:
        connection.execute("CREATE TABLE salaries AS SELECT 5000 AS eur")
    query = {"json": {"sql": "SELECT eur FROM salaries"}}
    replies = [query, query, query, query, {"json": {"answer": "That is not known."}}]
    tools = sql(shop, tables=["orders"], prefix="shop_")
    found = DataAnalyst(scripted(replies), database=tools, check_query=False, sandbox=False).run(
        "Show the salaries"
    )
    assert (found.outcome, found.answer) == ("no_answer", "That is not known.")
    error = found.agent_results[0].error
    assert error is not None
    assert error.details["attempts"][0]["error"]["type"] == "TableNotAllowed"
    with pytest.raises(StateError, match="no query was found"):
        found.raise_for_outcome()


@pytest.mark.parametrize("none", [[], (), iter([])])
def test_an_empty_list_of_tables_admits_none_and_no_list_all(shop: Path, none: Any) -> None:
    """DA-14 of `docs/systems/data-analyst.md`."""
    with pytest.raises(ValidationError, match="`tables` allows no table") as refused:
        DataAnalyst(scripted([]), database=sql(shop, tables=none), sandbox=False)
    assert refused.value.code == "tool_setting_invalid"
    tables = sql(shop).tools[0].call({})["tables"]
    assert [table["name"] for table in tables] == ["orders"]


def test_a_table_becomes_a_frame_and_shows_itself(shop: Path) -> None:
    pandas, polars = pytest.importorskip("pandas"), pytest.importorskip("polars")
    query = {"json": {"sql": "SELECT region, net_eur, '<b>' AS note FROM orders ORDER BY id"}}
    found = analyst(shop, [query, {"json": {"answer": "These."}}]).run("Show all orders")
    assert found.data is not None
    frame = found.data.to_pandas()
    assert isinstance(frame, pandas.DataFrame)
    assert frame["net_eur"].sum() == 42
    assert isinstance(found.data.to_polars(), polars.DataFrame)
    assert found.data.to_polars().columns == ["region", "net_eur", "note"]
    html = found._repr_mimebundle_()["text/html"]
    assert "&lt;b&gt;" in html
    assert "south" in html
    assert "SELECT region" in found._repr_mimebundle_()["text/plain"]


def plan(python: str) -> dict[str, Any]:
    return {"json": {"reasoning": "", "python": python, "explain": ""}}


def words(answer: str) -> dict[str, Any]:
    return {"json": {"answer": answer, "highlights": []}}


def test_code_computes_with_the_rows_of_the_query(shop: Path, box: Sandbox) -> None:
    """DA-29 of `docs/systems/data-analyst.md`."""
    replies = [
        {"json": {"agents": ["sql", "computation"]}},
        {"json": {"sql": "SELECT region, net_eur FROM orders"}},
        {"json": {"answer": "There are three orders."}},
        plan("sum(row['net_eur'] for row in sql_rows)\nresult"),
        plan("result = sum([row['net_eur'] for row in sql_rows])\ntable = sql_rows[:1]"),
        words("They come to 42."),
        {"json": {"answer": "Orders come to 42."}},
    ]
    found = analyst(shop, replies, sandbox=box).run("Count, then compare")
    assert (found.outcome, found.answer) == ("answered", "Orders come to 42.")
    computed = found.agent_results[1]
    assert computed.tabular is not None
    assert computed.tabular.rows == ({"region": "north", "net_eur": 10.5},)
    assert found.usage.model_calls == 7


def test_a_frame_of_the_code_is_a_table_and_stays_arrow(shop: Path) -> None:
    pytest.importorskip("pandas")
    pytest.importorskip("pyarrow")
    if not probe("process")["ok"]:
        pytest.skip("this machine cannot isolate processes")
    code = "import pandas as pd\ntable = pd.DataFrame({'n': range(2000)})\nresult = len(table)"
    with Sandbox(engine="process", packages=["pandas", "pyarrow"]) as box:
        replies = [plan(code), words("There are 2000.")]
        found = analyst(shop, replies, sandbox=box).run("Compute it", disable_agents=["sql"])
    assert found.outcome == "answered", found.error
    assert found.data is not None
    assert (found.data.columns, len(found.data), len(found.data.rows)) == (("n",), 2000, 1000)
    assert found.data.to_pandas()["n"].sum() == 1_999_000
    assert "2,000 rows" in found.data._repr_html_()


def test_a_response_is_headed_by_its_system(shop: Path) -> None:
    shown = analyst(shop, [COUNT, THREE]).run("How many orders are there?")._repr_mimebundle_()
    assert "<b>data analyst</b>" in shown["text/html"]


def test_rows_beyond_the_limit_are_missed_aloud(shop: Path) -> None:
    """DA-44 of `docs/systems/data-analyst.md`."""
    rows = {"json": {"sql": "SELECT id FROM orders ORDER BY id"}}
    some = {"json": {"answer": "There are more than 2 orders."}}
    found = analyst(shop, [rows, some], max_rows=2).run("Show all orders")
    assert found.data is not None
    assert (found.data.row_count, found.data.truncated) == (2, True)
    assert found.metadata["truncated"] == ["sql"]
    shown = found._repr_mimebundle_()
    assert "! sql: only the first 2 rows were read" in shown["text/plain"]
    assert "the first 2 rows; there are more" in shown["text/html"]
    all_of_them = {"json": {"answer": "Orders 1, 2 and 3."}}
    whole = analyst(shop, [rows, all_of_them], max_rows=3).run("Show all orders")
    assert whole.metadata["truncated"] == []
    with pytest.raises(ValidationError, match="`max_rows` needs the path or URL") as caught:
        DataAnalyst(scripted([]), database=sql(shop), max_rows=2)
    assert caught.value.code == "system_setting_invalid"
    for wrong in (0, -1, "5", 2.5, True, [5]):
        with pytest.raises(ValidationError, match="`max_rows` must be a whole number") as caught:
            analyst(shop, [], max_rows=wrong)
        assert (caught.value.code, str(caught.value.hint)) == (
            "system_setting_invalid",
            "write for instance `max_rows=10_000`",
        )


def test_cells_beyond_their_limit_are_missed_aloud() -> None:
    """DA-44 of `docs/systems/data-analyst.md`."""
    frames = {"notes": [{"id": 1, "text": "long " * 500}, {"id": 2, "text": "short"}]}
    settings: Any = {"sandbox": False, "check_query": False, "compose_single": False}
    model = scripted([{"json": {"sql": "SELECT text FROM notes"}}, {"json": {"answer": "Notes."}}])
    found = DataAnalyst(model, frames=frames, **settings).run("Show the notes")
    assert found.data is not None
    assert (found.data.cells_cut, found.data.truncated) == (True, False)
    assert len(found.data[0]["text"]) == 2_001
    assert found.metadata["cells_cut"] == ["sql"]
    read = str(model.requests[1]["messages"])
    assert "(some cells hold only the beginning of a longer value)" in read
    shown = found._repr_mimebundle_()
    assert "! sql: long cells were cut" in shown["text/plain"]
    assert "2 rows; long cells were cut" in shown["text/html"]
    model = scripted([{"json": {"sql": "SELECT id FROM notes"}}, {"json": {"answer": "Notes."}}])
    whole = DataAnalyst(model, frames=frames, **settings).run("Show the notes")
    assert whole.metadata["cells_cut"] == []


def test_a_frame_has_the_row_limit_of_its_analyst() -> None:
    query = {"json": {"sql": "SELECT n FROM t"}}
    replies = [query, {"json": {"answer": "There are 1500 numbers."}}]
    ready = DataAnalyst(
        scripted(replies),
        frames={"t": {"n": list(range(1500))}},
        max_rows=2_000,
        sandbox=False,
        check_query=False,
        compose_single=False,
    )
    found = ready.run("Show all numbers")
    assert found.data is not None
    assert (found.data.row_count, found.data.truncated) == (1500, False)


def test_a_question_of_any_wording_reaches_the_database(shop: Path, box: Sandbox) -> None:
    """DA-42 of `docs/systems/data-analyst.md`."""
    for question in ("What is the number of orders?", "Compare orders", "Plot the orders"):
        chosen = {"json": {"agents": ["sql"]}}
        found = analyst(shop, [chosen, COUNT, THREE], sandbox=box).run(question)
        assert found.data is not None
        assert found.data.rows == ({"n": 3},)


@pytest.mark.parametrize(
    "code",
    ["import socket\nsocket.create_connection(('1.1.1.1', 80))", "open('/etc/shadow').read()"],
)
def test_code_that_reaches_out_fails_and_harms_nothing(shop: Path, box: Sandbox, code: str) -> None:
    """DA-27 of `docs/systems/data-analyst.md`."""
    replies = [plan(code), plan(code), {"json": {"answer": "It was not computed."}}]
    found = analyst(shop, replies, sandbox=box).run("Compute it", disable_agents=["sql"])
    assert found.outcome == "no_answer"
    error = found.agent_results[0].error
    assert error is not None
    assert error.type in {"ComputationError", "SandboxViolation"}


def test_endless_code_ends_and_others_go_on_meanwhile(shop: Path) -> None:
    """DA-28 of `docs/systems/data-analyst.md`."""
    if not probe("process")["ok"]:
        pytest.skip("this machine cannot isolate processes")

    async def both() -> tuple[OrchestratorResponse, OrchestratorResponse]:
        with Sandbox(engine="process", limits=Limits(wall=1)) as box:
            endless = [plan("while True: pass")] * 2
            endless.append({"json": {"answer": "It took too long."}})
            slow = analyst(shop, endless, sandbox=box).arun("Compute it", disable_agents=["sql"])
            quick = analyst(shop, [COUNT, THREE]).arun("How many orders are there?")
            return await asyncio.gather(slow, quick)

    slow, quick = asyncio.run(both())
    assert quick.answer == "There are 3 orders."
    error = slow.agent_results[0].error
    assert error is not None
    assert error.type == "SandboxTimeout"


@pytest.mark.parametrize(
    ("code", "kinds"),
    [
        ("result = 10**10**8", {"SandboxTimeout", "SandboxMemory"}),
        ("result = len('a' * 10**9)", {"SandboxMemory"}),
    ],
)
def test_large_powers_and_texts_end_within_the_limits(
    shop: Path, code: str, kinds: set[str]
) -> None:
    """DA-28 of `docs/systems/data-analyst.md`."""
    if not probe("process")["ok"]:
        pytest.skip("this machine cannot isolate processes")
    replies = [plan(code), plan(code), {"json": {"answer": "It was too large."}}]
    with Sandbox(engine="process", limits=Limits(wall=2)) as box:
        found = analyst(shop, replies, sandbox=box).run("Compute it", disable_agents=["sql"])
    error = found.agent_results[0].error
    assert error is not None
    assert error.type in kinds


def test_streams_batches_and_threads_work_as_for_every_system(shop: Path) -> None:
    stream = analyst(shop, [COUNT, THREE]).stream("How many orders are there?")
    names = [event.name for event in stream]
    assert "trace_event" in names
    assert stream.result.answer == "There are 3 orders."
    saver = MemorySaver()
    kept = analyst(shop, [COUNT, THREE], checkpointer=saver)
    first = kept.run("How many orders are there?", thread="q1")
    again = analyst(shop, [], checkpointer=saver).resume("q1")
    assert again.answer == first.answer
    both = analyst(shop, [COUNT, THREE, COUNT, THREE]).batch(
        ["How many orders?", "How many?"], concurrency=1
    )
    assert [one.answer for one in both] == ["There are 3 orders."] * 2


def test_functions_can_have_the_roles(shop: Path) -> None:
    seen: dict[str, Any] = {}

    def write(brief: dict[str, Any]) -> dict[str, Any]:
        seen.update(brief)
        return {"sql": "SELECT count(*) AS n FROM orders"}

    found = DataAnalyst(
        scripted([]),
        database=shop,
        sandbox=False,
        sql_writer=write,
        sql_reviewer=lambda brief: {"sql": brief["query"]},
        sql_answerer=lambda brief: {"answer": f"It is {brief['result'].splitlines()[1]}."},
        composer=lambda brief: {"answer": brief["results"][0]["answer"]},
    ).run("How many orders are there?")
    assert found.answer == "It is 3."
    assert "Table orders (3 rows)" in seen["tables"]
    assert seen["dialect"] == "SQLite"


def test_a_database_that_is_lost_between_two_candidates_leaves_a_trace(shop: Path) -> None:
    written: list[int] = []

    def write(_: dict[str, Any]) -> dict[str, Any]:
        if written:
            shop.unlink()
            shop.mkdir()
        written.append(1)
        return {"sql": f"SELECT count(*) + 0 * {len(written)} AS n FROM orders"}

    found = DataAnalyst(
        scripted([]),
        database=shop,
        sandbox=False,
        check_query=False,
        compose_single=False,
        candidate_queries=3,
        sql_writer=write,
        sql_answerer=lambda _: {"answer": "There are 3 orders."},
        composer=lambda _: {"answer": "There are 3 orders."},
    ).run("How many orders are there?", trace=True)
    assert found.answer == "There are 3 orders."
    lost = [event for event in found.trace_events if event.event_type == "error"]
    assert [event.data["type"] for event in lost] == ["DatabaseUnavailable"]


RESUME = """
import sys
from antiphon.models import scripted
from antiphon.systems import DataAnalyst

replies = [
    {"json": {"sql": "SELECT sum(net_eur) AS net_eur FROM orders"}},
    {"json": {"answer": "It was 42 euros."}},
]
analyst = DataAnalyst(
    scripted(replies),
    database=sys.argv[1],
    sandbox=False,
    clarify=True,
    check_query=False,
    compose_single=False,
    checkpointer=f"sqlite:{sys.argv[2]}",
)
print(analyst.resume("q1", "the sum of net_eur").answer)
"""


def test_another_process_goes_on_with_the_answer_of_a_person(shop: Path, tmp_path: Path) -> None:
    """DA-40 of `docs/systems/data-analyst.md`."""
    store = tmp_path / "runs.db"
    missing = {"json": {"missing": "turnover", "sql": ""}}
    paused = analyst(shop, [missing], clarify=True, checkpointer=f"sqlite:{store}").run(
        "What was the turnover?", thread="q1"
    )
    assert paused.outcome == "paused"
    (question,) = paused.questions
    assert question.value == "the database does not hold what is asked for: turnover"
    command = [sys.executable, "-c", RESUME, str(shop), str(store)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, "It was 42 euros.\n"), done.stderr


def test_a_question_is_answered_from_postgres(postgres: Server) -> None:
    url = postgres.database()
    name = url.rpartition("/")[2].partition("?")[0]
    for statement in (
        "CREATE TABLE orders (id int PRIMARY KEY, net_eur numeric(10, 2))",
        "COMMENT ON COLUMN orders.net_eur IS 'net, in euros'",
        "INSERT INTO orders VALUES (1, 10.10), (2, 0.25)",
    ):
        postgres.ask(statement, name)
    replies = [
        {"json": {"sql": "SELECT sum(net_eur) AS net_eur, count(*) AS n FROM orders"}},
        {"json": {"answer": "Two orders came to 10.35 euros."}},
    ]
    found = DataAnalyst(
        scripted(replies), database=url, sandbox=False, check_query=False, compose_single=False
    ).run("How much was sold?")
    assert found.answer == "Two orders came to 10.35 euros."
    assert found.data is not None
    assert found.data.rows == ({"net_eur": 10.35, "n": 2},)
    (schema,) = [
        event
        for event in found.events
        if event.name == "sql_schema" and event.kind == "tool_result"
    ]
    assert "net, in euros" in str(schema.data)
