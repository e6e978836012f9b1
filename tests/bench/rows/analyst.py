"""All of a question to a data analyst that is neither a model nor a database, and 200 at once."""

import re
from collections.abc import Awaitable, Callable
from itertools import pairwise
from typing import Any, TypedDict

from antiphon.models import scripted
from antiphon.systems import DataAnalyst
from bench.chat import Ask, chats, functions
from bench.engine import Engine
from bench.row import Row, Sample, awaited, sync
from bench.rows.at_once import REPLIES, RUNS, at_once, memory

QUESTION = "How many orders are there?"
TABLES = {"dialect": "SQLite", "tables": [{"name": "orders", "columns": ["id"]}]}
SCHEMA = {"tables": [{"name": "orders", "columns": [{"name": "id", "type": "INTEGER"}]}]}
ROWS_FOUND = {"columns": [{"name": "n", "type": ""}], "rows": [[3]], "row_count": 1}
QUERY = {"sql": "SELECT count(*) AS n FROM orders"}
ANSWER = {"answer": "There are 3 orders."}


def sql_tables() -> dict[str, Any]:
    """Lists tables."""
    return TABLES


def sql_schema(tables: list[str], sample_rows: int = 0) -> dict[str, Any]:
    """Describes tables."""
    return SCHEMA


def sql_query(query: str, check_only: bool = False) -> dict[str, Any]:
    """Runs a query."""
    return ROWS_FOUND


def write(_: Any) -> dict[str, Any]:
    """What a writer and a reviewer reply."""
    return QUERY


def word(_: Any) -> dict[str, Any]:
    """What an answerer and a composer reply."""
    return ANSWER


ROLES = {"sql_writer": write, "sql_reviewer": write, "sql_answerer": word, "composer": word}
"""The roles that are asked, as functions."""
SAID = {"sql_writer": QUERY, "sql_reviewer": QUERY, "sql_answerer": ANSWER, "composer": ANSWER}
"""What a scripted model replies in each role."""
RETRIES = 2


class State(TypedDict, total=False):
    """The same flow as a graph of LangGraph."""

    question: str
    schema: dict[str, Any]
    query: str
    error: str
    tries: int
    rows: list[Any]
    answer: str


def refusal(query: str, schema: dict[str, Any]) -> str:
    """Why a query is not run; blank if nothing speaks against it."""
    tables = {table["name"] for table in schema["tables"]}
    unknown = set(re.findall(r"(?:from|join)\s+(\w+)", query, re.IGNORECASE)) - tables
    if not re.match(r"\s*(select|with)\b", query, re.IGNORECASE) or ";" in query:
        return "only one SELECT"
    return f"unknown tables: {unknown}" if unknown else ""


class AnalystNodes:
    """The nodes of LangGraph's graph."""

    def __init__(self, ask: Ask) -> None:
        self.ask = ask

    async def schema(self, _: Any) -> State:
        names = [table["name"] for table in sql_tables()["tables"]]
        return {"schema": sql_schema(names), "tries": 0}

    async def query(self, state: Any) -> State:
        given = {name: state.get(name) for name in ("question", "schema", "query", "error")}
        sql = (await self.ask("sql_writer", given))["sql"]
        return {"query": sql, "error": refusal(sql, state["schema"]), "tries": state["tries"] + 1}

    async def review(self, state: Any) -> State:
        given = {name: state[name] for name in ("question", "schema", "query")}
        sql = (await self.ask("sql_reviewer", given))["sql"]
        return {"query": sql, "error": refusal(sql, state["schema"])}

    async def run(self, state: Any) -> State:
        try:
            return {"rows": sql_query(state["query"])["rows"]}
        except ValueError as error:
            return {"error": str(error)}

    async def answer(self, state: Any) -> State:
        given = {name: state.get(name) for name in ("question", "query", "rows", "error")}
        return {"answer": (await self.ask("sql_answerer", given))["answer"]}

    async def compose(self, state: Any) -> State:
        given = {"question": state["question"], "answers": [state["answer"]]}
        return {"answer": (await self.ask("composer", given))["answer"]}


def unless_wrong(following: str) -> Callable[[Any], str]:
    """The next node; after a query that is refused or fails another one is written."""

    def route(state: Any) -> str:
        if not state["error"]:
            return following
        return "do_query" if state["tries"] <= RETRIES else "do_answer"

    return route


def graph(engine: Engine, ask: Ask) -> Any:
    """Schema, query, check, review, run, answer, compose; again if a query is refused or fails."""
    impl, nodes = engine.impl, AnalystNodes(ask)
    builder = impl.StateGraph(State).add_edge(impl.START, "do_schema")
    for name in ("schema", "query", "review", "run", "answer", "compose"):
        builder.add_node(f"do_{name}", getattr(nodes, name))
    builder.add_edge("do_schema", "do_query").add_edge("do_answer", "do_compose")
    for name, following in pairwise(("do_query", "do_review", "do_run", "do_answer")):
        ends = list({following, "do_query", "do_answer"})
        builder.add_conditional_edges(name, unless_wrong(following), ends)
    return engine.compile(builder)


def analyst() -> DataAnalyst:
    """The system; its roles are functions, so that no model costs anything."""
    others = ("planner", "api_planner", "api_answerer", "coder", "summariser")
    roles: dict[str, Any] = ROLES | dict.fromkeys(others, word)
    return DataAnalyst(**roles, database=[sql_tables, sql_schema, sql_query], sandbox=False)


def bare(_: Any) -> Sample:
    """The floor: the functions."""

    def flow() -> str:
        sql_tables()
        sql_schema(["orders"])
        sql_query(write(None)["sql"])
        return str(word(None)["answer"])

    return sync(flow)


def one(engine: Engine) -> Sample:
    """One question."""
    if engine.ours:
        ready = analyst()
        return sync(lambda: ready.run(QUESTION))
    compiled = graph(engine, functions(ROLES))
    return awaited(lambda: compiled.ainvoke({"question": QUESTION}))


def asking(engine: Engine) -> Callable[[], Awaitable[Any]]:
    """Asks one question on the event loop; the models follow a script."""
    if engine.ours:
        replies = {role: [{"json": reply}] * REPLIES for role, reply in SAID.items()}
        model = scripted([], replies_by_agent=replies)
        ready = DataAnalyst(model, database=[sql_tables, sql_schema, sql_query], sandbox=False)
        return lambda: ready.arun(QUESTION)
    compiled = graph(engine, chats(SAID))
    return lambda: compiled.ainvoke({"question": QUESTION})


LACKS = "LangGraph: no parser of SQL, no check of the words"
ROWS = (
    Row("analyst", f"data analyst with a query ({LACKS})", "µs", 1, bare, one),
    at_once("analyst-runs", f"data analyst, {RUNS} questions at once ({LACKS})", bare, asking),
    memory("analyst-memory", "bench.rows.analyst", f"memory of one of {RUNS} questions"),
)
