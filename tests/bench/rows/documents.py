"""Search in a folder of documents: what an index costs, and a query; beside Python's libraries."""

import random
import sqlite3
from collections.abc import Callable, Iterator
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory, mkdtemp
from typing import Any

from antiphon.tools import document_search
from bench.engine import Engine
from bench.row import Goal, Row, Sample, sync

COUNT = 10_000
WORDS = 200
"""Of a document."""
HITS = 10
FILES = TemporaryDirectory()
"""Removed at the end of the process."""
SQLITE, WHOOSH = "sqlite3 (FTS5)", "whoosh-reloaded"

Search = Callable[[str], Any]


@cache
def vocabulary() -> list[str]:
    """Words, the frequent ones first."""
    chosen = random.Random(7)
    parts = ["ba", "den", "fi", "gor", "lu", "mas", "ne", "por", "ri", "sto", "tal", "ven"]
    return ["".join(chosen.choices(parts, k=chosen.randint(2, 4))) for _ in range(20_000)]


@cache
def folder() -> Path:
    """The documents, the same each time."""
    made = Path(FILES.name) / "documents"
    made.mkdir()
    words, chosen = vocabulary(), random.Random(11)
    weights = [1 / rank for rank in range(1, len(words) + 1)]
    for number in range(COUNT):
        text = chosen.choices(words, weights, k=WORDS)
        lines = [" ".join(text[at : at + 20]) + "." for at in range(0, WORDS, 20)]
        path = made / f"{number // 100:03}" / f"{number:05}.md"
        path.parent.mkdir(exist_ok=True)
        path.write_text(f"# Document {number}\n\n" + "\n\n".join(lines), encoding="utf-8")
    return made


def queries() -> list[str]:
    """One, two and three words, of the frequent and the rare ones."""
    words, chosen = vocabulary(), random.Random(13)
    return [" ".join(chosen.sample(words[20:5_000], size)) for size in (1, 2, 3) for _ in range(10)]


def fresh() -> Path:
    """A folder for an index."""
    return Path(mkdtemp(dir=FILES.name))


def texts() -> Iterator[tuple[str, str]]:
    """Each document with its path."""
    for path in folder().rglob("*.md"):
        yield str(path), path.read_text(encoding="utf-8")


def index_ours() -> Search:
    """The tools of a folder, when all of it is indexed."""
    search, _ = document_search(folder(), cache=fresh(), refresh_after=86_400).tools
    assert search.call({"query": "?"})["documents"] == COUNT
    return lambda query: search.call({"query": query, "limit": HITS})


def index_sqlite() -> Search:
    """A table of Python's own SQLite."""
    connection = sqlite3.connect(fresh() / "index.db")
    connection.execute(
        "create virtual table docs using fts5(path unindexed, text, tokenize=porter)"
    )
    with connection:
        connection.executemany("insert into docs values (?, ?)", texts())
    select = (
        "select path, snippet(docs, 1, '', '', '…', 30) from docs"
        f" where docs match ? order by bm25(docs) limit {HITS}"
    )
    return lambda query: connection.execute(select, [" OR ".join(query.split())]).fetchall()


def index_whoosh() -> Search:
    """An index of pure Python."""
    fields, index, qparser = (
        import_module(f"whoosh.{name}") for name in ("fields", "index", "qparser")
    )
    schema = fields.Schema(path=fields.ID(stored=True), text=fields.TEXT(stored=True))
    made = index.create_in(str(fresh()), schema)
    writer = made.writer(limitmb=256)
    for path, text in texts():
        writer.add_document(path=path, text=text)
    writer.commit()
    searcher = made.searcher()
    parser = qparser.QueryParser("text", schema, group=qparser.OrGroup)

    def search(query: str) -> Any:
        hits = searcher.search(parser.parse(query), limit=HITS)
        return [(hit["path"], hit.highlights("text")) for hit in hits]

    return search


def building(index: Callable[[], Search]) -> Sample:
    """The time of an index; the documents are written before."""
    folder()
    return sync(index)


def searching(index: Callable[[], Search]) -> Sample:
    """The time of all queries, in an index that is there."""
    search = index()

    def work() -> None:
        for query in queries():
            search(query)

    return sync(work)


def row(name: str, title: str, per: int, goal: Goal, work: Callable[..., Sample]) -> Row:
    """A row beside both libraries."""

    def ours(engine: Engine) -> Sample | None:
        return work(index_ours) if engine.ours else None

    def whoosh() -> Sample | None:
        return work(index_whoosh) if find_spec("whoosh") else None

    return Row(
        name,
        title,
        "ms",
        per,
        floor=lambda _: None,
        engine=ours,
        absolute=goal,
        scale=1e3,
        once=True,
        beside={SQLITE: lambda: work(index_sqlite), WHOOSH: whoosh},
    )


ROWS = (
    row("index-build", f"{COUNT:,} documents indexed", 1, Goal(20_000, 60_000), building),
    row(
        "index-search",
        f"a query of {COUNT:,} documents",
        len(queries()),
        Goal(10, 20),
        searching,
    ),
)
