"""All of a question to a data analyst that is neither a model nor a database, and 200 at once."""

import json
from collections.abc import Awaitable, Callable
from typing import Any, TypedDict

from antiphon.models import scripted
from antiphon.systems import DataAnalyst
from bench.engine import Engine
from bench.row import Row, Sample, sync
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


class State(TypedDict, total=False):
    """The same flow as a graph."""

    question: str
    schema: dict[str, Any]
    query: str
    rows: list[Any]
    answer: str


def graph(engine: Engine) -> Any:
    """Schema, query, review, run, answer, compose: without checks, links or comparisons."""
    impl = engine.impl

    def schema(_: Any) -> State:
        names = [table["name"] for table in sql_tables()["tables"]]
        return {"schema": sql_schema(names)}

    def query(state: Any) -> State:
        return {"query": json.loads(json.dumps(write(state)))["sql"]}

    def run(state: Any) -> State:
        return {"rows": sql_query(state["query"])["rows"]}

    def answer(state: Any) -> State:
        return {"answer": json.loads(json.dumps(word(state)))["answer"]}

    steps = {"schema": schema, "query": query, "review": query, "run": run}
    steps |= {"answer": answer, "compose": answer}
    builder, last = impl.StateGraph(State), impl.START
    for name, step in steps.items():
        builder.add_node(f"step_{name}", step).add_edge(last, f"step_{name}")
        last = f"step_{name}"
    return engine.compile(builder)


def analyst() -> DataAnalyst:
    """The system; its roles are functions, so that no model costs anything."""
    roles: dict[str, Any] = dict.fromkeys(("sql_writer", "sql_reviewer"), write)
    others = ("planner", "sql_answerer", "api_planner", "api_answerer", "coder", "summariser")
    roles |= dict.fromkeys((*others, "composer"), word)
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
    compiled = graph(engine)
    return sync(lambda: compiled.invoke({"question": QUESTION}))


def asking(engine: Engine) -> Callable[[], Awaitable[Any]]:
    """Asks one question on the event loop; the models follow a script."""
    if engine.ours:
        queries = dict.fromkeys(("sql_writer", "sql_reviewer"), [{"json": QUERY}] * REPLIES)
        words = dict.fromkeys(("sql_answerer", "composer"), [{"json": ANSWER}] * REPLIES)
        model = scripted([], replies_by_agent=queries | words)
        ready = DataAnalyst(model, database=[sql_tables, sql_schema, sql_query], sandbox=False)
        return lambda: ready.arun(QUESTION)
    compiled = graph(engine)
    return lambda: compiled.ainvoke({"question": QUESTION})


ROWS = (
    Row("analyst", "data analyst with a query (beside: a bare graph)", "µs", 1, bare, one),
    at_once("analyst-runs", f"data analyst, {RUNS} questions at once", bare, asking),
    memory("analyst-memory", "bench.rows.analyst", f"memory of one of {RUNS} questions"),
)
