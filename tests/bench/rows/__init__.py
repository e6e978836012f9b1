"""All rows, in the order of the table."""

from tests.bench.row import Row
from tests.bench.rows import chain, concurrent, fanout, invoke, process, state, stream

ROWS: tuple[Row, ...] = (
    *chain.ROWS,
    *fanout.ROWS,
    *concurrent.ROWS,
    *state.ROWS,
    *stream.ROWS,
    *invoke.ROWS,
    *process.ROWS,
)
