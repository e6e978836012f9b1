"""A process that answers one question about data in a thread, and may be killed on the way.

Arguments: the file, the journal, the database, at which step the process dies, 0 for never, and
then, if given, after how many seconds it dies, and when steps are stored (`sync`). The journal gets
a line for each request to a role and each call of the API; the answer goes to standard output.
"""

from __future__ import annotations

import functools
import sys
from typing import Any

from antiphon.checkpoint import Saver, SqliteSaver
from antiphon.errors import ValidationError
from antiphon.systems import DataAnalyst
from systems.lost_question import Journal, die_after
from systems.report_api import ENDPOINT, replying, report_tools


def analyst(journal: Journal, saver: Saver, database: str, durability: Any) -> DataAnalyst:
    """A query, and then a call that has an effect."""

    role = functools.partial(replying, journal)
    answer = role("answer", {"answer": "Report 7 was made of 3 orders."})
    return DataAnalyst(
        database=database,
        api=report_tools(journal, side_effect="external"),
        sandbox=False,
        planner=role("planner", {"agents": ["sql", "api_docs"]}),
        sql_writer=role("sql_writer", {"sql": "SELECT count(*) AS n FROM orders"}),
        sql_reviewer=role("sql_reviewer", {"sql": "SELECT count(*) AS n FROM orders"}),
        sql_answerer=role("sql_answerer", {"answer": "There are 3."}),
        api_planner=role("api_planner", {"make_request": True, **ENDPOINT}),
        api_answerer=role("api_answerer", {"answer": "Report 7 was made."}),
        coder=answer,
        summariser=answer,
        composer=role("composer", {"answer": "Report 7 was made of 3 orders."}),
        checkpointer=saver,
        durability=durability,
    )


def main(
    path: str,
    journal: str,
    database: str,
    dies_at: str,
    after: str = "0",
    durability: str = "sync",
) -> None:
    """Resumes the question, or begins it."""
    with SqliteSaver.open(path) as saver:
        asked = analyst(Journal(journal, int(dies_at)), saver, database, durability)
        die_after(float(after))
        try:
            result = asked.resume("q")
        except ValidationError as error:
            if error.code != "thread_empty":
                raise
            result = asked.run("List the orders to the API endpoint", thread="q")
    sys.stdout.write(result.to_json())


if __name__ == "__main__":
    main(*sys.argv[1:])
