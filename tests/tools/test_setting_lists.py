"""Lists of built-in tools that are single texts, or hold unknown names."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from typing import TYPE_CHECKING, Any

import pytest

from antiphon.errors import ValidationError
from antiphon.tools import download, files, http_api, read_page, sql, web_search, write_pdf

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    """A database with a table and a view."""
    path = tmp_path / "shop.db"
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.executescript(
            "CREATE TABLE Big (id INTEGER); CREATE VIEW small AS SELECT id FROM Big;"
        )
    return path


@pytest.mark.parametrize(
    ("make", "name", "value"),
    [
        (download, "types", "application/pdf"),
        (download, "allow", "loopback"),
        (download, "ports", 80),
        (read_page, "allow", "loopback"),
        (files, "patterns", "*.md"),
        (http_api, "allow", "private"),
        (write_pdf, "fonts", "serif.ttf"),
        (web_search, "backends", "brave"),
        (web_search, "include_domains", "example.org"),
        (sql, "tables", "Big"),
        (sql, "functions", "soundex"),
    ],
)
def test_a_single_value_is_refused_with_the_list_to_write(
    make: Callable[..., Any], name: str, value: Any, tmp_path: Path, shop: Path
) -> None:
    first = {read_page: (), web_search: (), sql: (shop,), http_api: ("base_url: http://x\n",)}
    with pytest.raises(ValidationError, match=f"`{name}` must be a list: ") as caught:
        make(*first.get(make, (tmp_path,)), **{name: value})
    assert caught.value.code == "tool_setting_invalid"
    assert caught.value.hint == f"write `{name}=[{value!r}]`"


def test_lists_may_be_any_iterables(tmp_path: Path, shop: Path) -> None:
    assert download(tmp_path, types=("text/*",), ports=range(80, 82)).name == "download"
    assert len(sql(shop, tables=iter(["Big"])).tools) == 3  # type: ignore[arg-type]


def test_unknown_names_come_with_what_was_meant(tmp_path: Path, shop: Path) -> None:
    wrong: list[tuple[Callable[[], Any], str, str]] = [
        (lambda: read_page(allow=["loopbck"]), "`allow`.*: loopbck", "did you mean `loopback`?"),
        (lambda: download(tmp_path, types=["pdf"]), ": pdf", "did you mean `application/pdf`?"),
        (lambda: download(tmp_path, types=["x"]), ": x", "write for instance `application/pdf`"),
        (lambda: sql(shop, tables=["bigg"]), "does not have: bigg", "did you mean `Big`?"),
        (lambda: sql(shop, tables=["orders"]), "does not have: orders", "it has Big, small"),
    ]
    for make, message, hint in wrong:
        with pytest.raises(ValidationError, match=message) as caught:
            make()
        assert (caught.value.code, caught.value.hint) == ("tool_setting_invalid", hint)


def test_names_that_exist_are_taken_as_a_query_writes_them(shop: Path) -> None:
    names = ["big", '"Big"', "main.SMALL", "sqlite_master"]
    assert len(sql(f"sqlite:///{shop}", tables=names).tools) == 3
    assert read_page(allow=["wiki", "loopback:8080", "private"]).name == "read_page"


def test_what_is_no_database_is_refused_with_what_to_pass(
    shop: Path, request: pytest.FixtureRequest
) -> None:
    pandas = pytest.importorskip("pandas")
    connection = sqlite3.connect(shop)
    request.addfinalizer(connection.close)
    wrong: list[tuple[Any, str, str]] = [
        ("a.csv", "a file of one table: a.csv", "`DataAnalyst(database='a.csv')`"),
        ("a.xlsx", "Excel", "frames="),
        (connection, "a connection was given: Connection", "pass the path"),
        (pandas.DataFrame({"a": [1]}), "a data frame was given: DataFrame", "frames="),
        (3, "must be the path of a SQLite file or a URL: int", "sql("),
    ]
    for given, message, hint in wrong:
        with pytest.raises(ValidationError, match=message) as caught:
            sql(given)
        assert caught.value.code == "tool_setting_invalid"
        assert hint in str(caught.value.hint)
