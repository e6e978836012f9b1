"""``antiphon doctor`` as a person and a script meet it."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from pathlib import Path

    from cli.conftest import Antiphon


class Doctor:
    """Asks what this machine offers."""

    def __init__(self, antiphon: Antiphon) -> None:
        self._antiphon = antiphon

    def text(self, *arguments: str, **more: str) -> str:
        done = self._antiphon("doctor", *arguments, **more)
        assert (done.returncode, done.stderr) == (0, "")
        return done.stdout

    def json(self, **more: str) -> Any:
        text = self.text("--json", **more)
        assert text.count("\n") == 1
        return json.loads(text)


@pytest.fixture
def doctor(antiphon: Antiphon) -> Doctor:
    return Doctor(antiphon)


def test_a_script_gets_one_object_with_everything(doctor: Doctor) -> None:
    found = doctor.json()
    assert set(found) == {"antiphon", "python", "system", "sandbox", "model", "store"}
    for engine in found["sandbox"]["engines"]:
        assert engine["ok"] or engine["missing"]
    usable = [engine["engine"] for engine in found["sandbox"]["engines"] if engine["ok"]]
    assert found["sandbox"]["auto"] in {*usable, None}


def test_a_person_reads_of_engines_model_and_store(doctor: Doctor) -> None:
    text = doctor.text(OPENAI_API_KEY="sk-never-shown")
    for head in ("sandbox", "model", "store"):
        assert f"\n{head}\n" in text
    assert "`auto` selects: " in text or "`auto` finds no engine" in text
    assert "openai:gpt-5-mini (OPENAI_API_KEY is set)" in text
    assert "sk-never-shown" not in text


def test_a_store_that_is_named_is_tried_and_its_address_kept_secret(
    doctor: Doctor, tmp_path: Path
) -> None:
    assert doctor.json()["store"] == {"named": False, "opens": None}
    missing = doctor.json(ANTIPHON_CHECKPOINTER=f"sqlite:{tmp_path}/runs.db")["store"]
    assert missing["named"]
    assert not missing["opens"]
    assert "file not found" in missing["problem"]
    url = "postgres://somebody:hunter2@127.0.0.1:1/none"
    text = doctor.text(ANTIPHON_CHECKPOINTER=url)
    assert "cannot be opened" in text
    assert "hunter2" not in text
