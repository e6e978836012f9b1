"""Images and files as parts of questions, messages and results of tools."""

from __future__ import annotations

import base64
import json
import zlib
from typing import TYPE_CHECKING, Any

import pandas as pd
import pytest

from antiphon import Agent, File, Image, models, tool
from antiphon.errors import ValidationError

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


def _chunk(kind: bytes, data: bytes) -> bytes:
    sum_ = zlib.crc32(kind + data).to_bytes(4, "big")
    return len(data).to_bytes(4, "big") + kind + data + sum_


PNG = (
    b"\x89PNG\r\n\x1a\n"
    + _chunk(b"IHDR", bytes([0, 0, 0, 1, 0, 0, 0, 1, 8, 0, 0, 0, 0]))
    + _chunk(b"IDAT", zlib.compress(b"\0\0"))
    + _chunk(b"IEND", b"")
)
"""A picture of one pixel."""
BLOCK = {"type": "image", "mime_type": "image/png", "base64": base64.b64encode(PNG).decode()}


def _sent(model: Any, request: int = 0) -> Any:
    """What the last message of a request says."""
    return model.requests[request]["messages"][-1]["content"]


def test_an_image_is_read_from_a_path_bytes_an_address_and_a_figure(tmp_path: Path) -> None:
    path = tmp_path / "plot.png"
    path.write_bytes(PNG)
    assert Image(path).to_dict() == Image(str(path)).to_dict() == Image(PNG).to_dict() == BLOCK
    address = "https://example.org/plot.png"
    assert Image(address).to_dict() == {"type": "image", "url": address}
    figure: Any = pytest.importorskip("matplotlib.figure")
    assert Image(figure.Figure()).data.startswith(PNG[:8])


@pytest.mark.parametrize(
    ("data", "kind"),
    [
        (b"\xff\xd8\xff\xe0", "image/jpeg"),
        (b"GIF89a", "image/gif"),
        (b"RIFF\0\0\0\0WEBPVP8 ", "image/webp"),
    ],
)
def test_the_kind_of_an_image_follows_from_its_bytes(data: bytes, kind: str) -> None:
    assert Image(data).mime_type == kind


def test_what_is_no_image_and_no_file_is_refused_by_name(tmp_path: Path) -> None:
    notes = tmp_path / "notes.txt"
    notes.write_text("no image")
    empty = tmp_path / "empty.png"
    empty.touch()
    refusals: list[tuple[Callable[[], object], str]] = [
        (lambda: Image(notes), "must be PNG, JPEG, GIF or WebP.*notes.txt"),
        (lambda: Image(tmp_path / "lost.png"), r"no such file.*lost\.png"),
        (lambda: Image(empty), "is empty"),
        (lambda: Image(3), "must be a path or bytes: int"),
        (lambda: Image(bytes(21 * 1024 * 1024)), "more than 20 MiB"),
        (lambda: File(b"data"), "needs a name"),
    ]
    for make, message in refusals:
        with pytest.raises(ValidationError, match=message) as caught:
            make()
        assert caught.value.code == "content_invalid"


def test_a_question_with_an_image_reaches_the_model_and_the_state() -> None:
    model = models.scripted(["the axis"])
    result = Agent(model).run(["What is wrong?", Image(PNG)])
    parts = [{"type": "text", "text": "What is wrong?"}, BLOCK]
    assert _sent(model) == parts
    assert result.state["question"] == "What is wrong?"
    assert result.state["messages"][0]["content"] == parts
    assert result.answer == "the axis"


def test_a_second_turn_sees_the_image_of_the_first(tmp_path: Path) -> None:
    model = models.scripted(["a plot", "a red one"])
    agent = Agent(model, checkpointer=f"sqlite:{tmp_path / 'runs.db'}")
    agent.run(["What is this?", Image(PNG)], thread="t")
    agent.run("Which colour?", thread="t")
    assert BLOCK in model.requests[1]["messages"][0]["content"]


def test_a_file_of_text_is_text_for_every_model_and_a_document_stays_a_file() -> None:
    model = models.scripted(["ok"])
    table = File(b"a,b\n1,2\n", name="table.csv")
    report = File(b"%PDF-1.7\0", name="report.pdf")
    Agent(model).run(["Compare.", table, report])
    assert _sent(model)[1:] == [
        {"type": "file", "filename": "table.csv", "mime_type": "text/csv", "text": "a,b\n1,2\n"},
        {
            "type": "file",
            "filename": "report.pdf",
            "mime_type": "application/pdf",
            "base64": base64.b64encode(report.data).decode(),
        },
    ]


def test_the_index_of_a_frame_in_a_question_is_sent_if_it_says_something() -> None:
    sales = pd.DataFrame({"region": ["north", "south", "north"], "net": [10, 25, 30]})
    model = models.scripted(["The north."])
    frames = [
        sales.groupby("region").net.sum(),
        pd.Series([5, 7], [2019, 2020]),
        sales.describe().head(2),
    ]
    Agent(model).run(["Which region sold most?", *frames])
    grouped, yearly, described = (part["value"] for part in _sent(model)[1:])
    assert grouped["columns"] == ["region", "net"]
    assert grouped["rows"] == [["north", 40], ["south", 25]]
    assert yearly["rows"] == [[2019, 5], [2020, 7]]
    assert described["rows"][0][0] == "count"


def test_missing_cells_of_a_frame_in_a_question_are_null_and_unknown_ones_text() -> None:
    frame = pd.DataFrame(
        {
            "id": pd.array([2**60 + 1, None], dtype="Int64"),
            "note": pd.array(["x", None], dtype="string"),
            "name": ["y", None],
            "kind": pd.Categorical(["z", None]),
            "net": [1.5, float("nan")],
            "at": pd.to_datetime(["2026-01-02", None]),
            "month": pd.PeriodIndex(["2026-01", None], freq="M"),
            "band": pd.cut([1, float("nan")], [0, 2]),
        }
    )
    model = models.scripted(["ok"])
    Agent(model).run(["What?", frame])
    first, second = _sent(model)[1]["value"]["rows"]
    assert first == [2**60 + 1, "x", "y", "z", 1.5, "2026-01-02T00:00:00", "2026-01", "(0.0, 2.0]"]
    assert second == [None] * 8


def test_a_data_frame_in_a_question_is_data_with_its_columns_and_first_rows() -> None:
    model = models.scripted(["ok"])
    Agent(model).run(["Sum up.", pd.DataFrame({"n": range(60)}), {"unit": "t"}])
    frame, record = _sent(model)[1:]
    assert (frame["value"]["row_count"], frame["value"]["columns"]) == (60, ["n"])
    assert frame["value"]["rows"][:2] == [[0], [1]]
    assert record == {"type": "data", "value": {"unit": "t"}}


def test_an_image_that_a_tool_returns_is_an_image_for_the_model() -> None:
    @tool
    def plot() -> list[Any]:
        """Draw the prices."""
        return ["prices in 2025", Image(PNG)]

    call = {"tool_calls": [{"name": "plot", "arguments": {}}]}
    model = models.scripted([call, "it rises"])
    Agent(model, tools=[plot]).run("How do prices move?")
    assert _sent(model, 1) == [{"type": "text", "text": "prices in 2025"}, BLOCK]


@pytest.mark.parametrize("library", ["pandas", "polars"])
@pytest.mark.parametrize("among", [True, False])
def test_a_data_frame_that_a_tool_returns_is_data_for_the_model_and_in_the_state(
    library: str, among: bool
) -> None:
    frames: Any = pytest.importorskip(library)
    frame = frames.DataFrame({"city": ["Lyon", "Oslo"], "people": [520_774.0, None]})

    @tool
    def look_up() -> Any:
        """Look the table up."""
        return ["found", frame, 3, {"type": "city"}] if among else frame

    call = {"tool_calls": [{"name": "look_up", "arguments": {}}]}
    model = models.scripted([call, "two cities", "again"])
    agent = Agent(model, tools=[look_up], checkpointer="memory:")
    result = agent.run("Which cities?", thread="t")
    rows = [["Lyon", 520_774.0], ["Oslo", None]]
    data = {"type": "data", "value": {"row_count": 2, "columns": ["city", "people"], "rows": rows}}
    more = [{"type": "data", "value": 3}, {"type": "data", "value": {"type": "city"}}]
    expected = [{"type": "text", "text": "found"}, data, *more] if among else [data]
    assert _sent(model, 1) == expected
    assert result.messages[2]["content"] == expected
    agent.run("Again?", thread="t")
    assert model.requests[2]["messages"][2]["content"] == expected
    assert json.dumps(data["value"]) in str(result.trace)


def test_the_column_of_a_frame_is_a_table_of_one_column() -> None:
    @tool
    def column() -> Any:
        """Look the column up."""
        return pd.Series([1.5, float("nan")], name="x")

    call = {"tool_calls": [{"name": "column", "arguments": {}}]}
    model = models.scripted([call, "done"])
    Agent(model, tools=[column]).run("q")
    value = {"row_count": 2, "columns": ["x"], "rows": [[1.5], [None]]}
    assert _sent(model, 1) == [{"type": "data", "value": value}]


def test_the_tables_of_one_turn_add_no_more_to_the_conversation_than_texts() -> None:
    wide = pd.DataFrame({"text": ["x" * 1_000] * 50})

    @tool(max_result=60_000)
    def look_up() -> Any:
        """Look the table up."""
        return [wide, Image(PNG)]

    call = {"name": "look_up", "arguments": {}}
    model = models.scripted([{"tool_calls": [call, call, call]}, "done"])
    result = Agent(model, tools=[look_up]).run("q")
    said = [message["content"] for message in result.messages if message["role"] == "tool"]
    assert [[part["type"] for part in content] for content in said] == [
        ["data", "image"],
        ["text", "image"],
        ["text", "image"],
    ]
    assert "[truncated: " in said[1][0]["text"]
    assert said[2][0]["text"].startswith("\n[truncated: 0 of")


def test_a_result_draws_the_images_of_its_messages_and_a_trace_says_their_size() -> None:
    @tool
    def plot() -> list[Any]:
        """Draw the prices."""
        return ["prices in 2025", Image(PNG)]

    call = {"tool_calls": [{"name": "plot", "arguments": {}}]}
    result = Agent(models.scripted([call, "it rises"]), tools=[plot], name="analyst").run(
        ["Like this?", Image(PNG), File(b"%PDF-1", name="<a>.pdf")]
    )
    html = result._repr_mimebundle_()["text/html"]
    assert html.count(f'src="data:image/png;base64,{BLOCK["base64"]}"') == 2
    assert "image from user" in html
    assert "image from plot" in html
    assert "<a>" not in html
    size = f"[image: image/png, {len(PNG)} bytes]"
    assert str(result.trace).count(size) == 3, "asked, returned, and read by the model"
    assert result.trace.to_html().count(size) == 3
    assert "[file: &lt;a&gt;.pdf, application/pdf, 6 bytes]" in html


def test_only_images_are_drawn_and_not_many_of_them() -> None:
    def drawn(parts: list[Any]) -> str:
        class Says(Agent):
            def act(self, state: Any, ctx: Any) -> dict[str, Any]:
                return {"messages": [{"role": "assistant", "content": parts}], "answer": "done"}

        html: str = Says().run("q")._repr_mimebundle_()["text/html"]
        return html

    evil = {**BLOCK, "mime_type": 'image/svg+xml" onload="x'}
    assert drawn([evil]).count('src="data:image/png;base64,') == 1, "its kind is that of its bytes"
    svg = {"type": "image", "mime_type": "image/svg+xml", "base64": "PHN2Zz4="}
    away = {"type": "image", "url": "https://a.test/x.png"}
    assert "<img" not in drawn([svg, away, {**BLOCK, "base64": "~"}])
    many = drawn([BLOCK] * 10)
    assert many.count("<img") == 8
    assert "and 2 more images" in many


def test_blocks_of_other_packages_are_taken_in_messages() -> None:
    data = BLOCK["base64"]
    blocks = [
        {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{data}"}},
        {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": data}},
        {"type": "image", "base64": data, "mime_type": "image/png"},
    ]
    model = models.scripted(["ok"])
    Agent(model).run({"messages": [{"role": "user", "content": ["Which?", *blocks]}]})
    assert _sent(model) == [{"type": "text", "text": "Which?"}, BLOCK, BLOCK, BLOCK]


def test_a_part_of_an_unknown_kind_is_refused_before_any_call() -> None:
    model = models.scripted(["ok"])
    with pytest.raises(ValidationError, match=r"a part of a message must be .*: object"):
        Agent(model).run(["What?", object()])
    assert not model.requests
