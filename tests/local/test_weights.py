"""Which file runs, with how many threads, and how a fetch is shown."""

from __future__ import annotations

import io
import struct
from pathlib import Path

import pytest

from antiphon.errors import ValidationError
from antiphon.local import Progress, ProgressBar, cached, ensure
from antiphon.local.catalog import named
from antiphon.local.cores import usable_cores, worker_threads
from antiphon.local.weights import locate

HEADER = struct.pack("<4sIQQ", b"GGUF", 3, 10, 10)


def test_a_path_to_a_model_is_taken_as_it_is(tmp_path: Path) -> None:
    path = tmp_path / "own model.gguf"
    path.write_bytes(HEADER)
    assert ensure(path) == path
    assert ensure(str(path)) == path
    weights = locate(path)
    assert (weights.name, weights.entry) == ("own model", None)


def test_a_file_as_large_as_a_known_model_gets_its_template(tmp_path: Path) -> None:
    path = tmp_path / "download.gguf"
    path.write_bytes(HEADER)
    with path.open("r+b") as file:
        file.truncate(named("qwen2.5-coder:0.5b").size)
    assert locate(path).entry is named("qwen2.5-coder:0.5b")


@pytest.mark.parametrize(
    ("content", "fault"),
    [
        (b"", "it ends after 0 bytes"),
        (b"PK\x03\x04" + bytes(40), "it does not start with `GGUF`"),
        (struct.pack("<4sIQQ", b"GGUF", 99, 1, 1), "version 99 is not supported"),
        (struct.pack("<4sIQQ", b"GGUF", 3, 0, 1), "its header is damaged"),
    ],
)
def test_a_file_that_is_no_model_is_recognised_by_its_header(
    tmp_path: Path, content: bytes, fault: str
) -> None:
    path = tmp_path / "x.gguf"
    path.write_bytes(content)
    with pytest.raises(ValidationError) as caught:
        ensure(path)
    assert caught.value.code == "local_model_format"
    assert caught.value.details["fault"] == fault
    assert caught.value.message.endswith(f": {path}")


@pytest.mark.parametrize("name", ["none.gguf", "no/such/file", "."])
def test_a_path_without_a_file_is_a_typed_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ValidationError) as caught:
        ensure(Path(name))
    assert caught.value.code == "local_model_missing"


def test_an_empty_name_is_not_the_default() -> None:
    with pytest.raises(ValidationError, match="name is empty"):
        ensure("  ")


def test_nothing_is_cached_in_a_new_cache(cache_dir: Path) -> None:
    assert cached("smollm2:135m") is None
    assert not cache_dir.exists()


def test_threads_come_from_the_argument_then_the_environment_then_the_cores(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delenv("ANTIPHON_LOCAL_THREADS", raising=False)
    assert worker_threads() == max(1, usable_cores() - 1)
    monkeypatch.setenv("ANTIPHON_LOCAL_THREADS", "7")
    assert worker_threads() == 7
    assert worker_threads(3) == 3


@pytest.mark.parametrize("text", ["0", "-1", "two", "1.5", "100000"])
def test_a_thread_number_that_makes_no_sense_is_refused(
    monkeypatch: pytest.MonkeyPatch, text: str
) -> None:
    monkeypatch.setenv("ANTIPHON_LOCAL_THREADS", text)
    with pytest.raises(ValidationError) as caught:
        worker_threads()
    assert caught.value.message.startswith("`ANTIPHON_LOCAL_THREADS` must be")
    assert caught.value.message.endswith(f": {text}")


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def show(stream: io.StringIO) -> str:
    with ProgressBar(stream) as bar:
        for done in (0, 50, 60, 100, 100):
            bar(Progress(model="m", stage="fetching", done=done * 10**6, total=10**8))
    return stream.getvalue()


def test_a_terminal_gets_one_line_that_is_drawn_over() -> None:
    text = show(Terminal())
    assert text.startswith("m: downloading 100 MB, once\n\rm: fetching:   0%|")
    assert text.rstrip().rpartition("\r")[2].startswith("m: fetching: 100%|")
    assert text.count("\n") == 2


def test_a_log_gets_few_plain_lines() -> None:
    assert show(io.StringIO()) == (
        "m: downloading 100 MB, once\n"
        "m: fetching 0 of 100 MB (0 %)\nm: fetching 100 of 100 MB (100 %)\n"
    )
