"""All rows, in the order of the table."""

from bench.row import Row
from bench.rows import (
    analyst,
    beside,
    chain,
    concurrent,
    documents,
    fanout,
    invoke,
    kept,
    mcp,
    plan,
    process,
    research,
    sandbox,
    search,
    state,
    stream,
    tools,
)

ROWS: tuple[Row, ...] = (
    *chain.ROWS,
    *fanout.ROWS,
    *concurrent.ROWS,
    *beside.ROWS,
    *state.ROWS,
    *stream.ROWS,
    *invoke.ROWS,
    *kept.ROWS,
    *process.ROWS,
    *sandbox.ROWS,
    *tools.ROWS,
    *mcp.ROWS,
    *documents.ROWS,
    *search.ROWS,
    *analyst.ROWS,
    *plan.ROWS,
    *research.ROWS,
)
