"""``antiphon doctor`` as a person and a script meet it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

PYTHON = str(Path(__file__).parents[2] / "python")


def doctor(*arguments: str, **more: str) -> str:
    kept = {key: os.environ[key] for key in ("PATH", "HOME", "LANG") if key in os.environ}
    done = subprocess.run(
        [sys.executable, "-m", "antiphon", "doctor", *arguments],
        env={**kept, "PYTHONPATH": PYTHON, "PYTHONIOENCODING": "utf-8", **more},
        capture_output=True,
        text=True,
        check=True,
        timeout=120,
    )
    assert done.stderr == ""
    return done.stdout


def told(**more: str) -> Any:
    text = doctor("--json", **more)
    assert text.count("\n") == 1
    return json.loads(text)


def test_a_script_gets_one_object_with_everything() -> None:
    found = told()
    assert set(found) == {"antiphon", "python", "system", "sandbox", "model", "store"}
    for engine in found["sandbox"]["engines"]:
        assert engine["ok"] or engine["missing"]
    usable = [engine["engine"] for engine in found["sandbox"]["engines"] if engine["ok"]]
    assert found["sandbox"]["auto"] in {*usable, None}


def test_a_person_reads_of_engines_model_and_store() -> None:
    text = doctor(OPENAI_API_KEY="sk-never-shown")
    for head in ("sandbox", "model", "store"):
        assert f"\n{head}\n" in text
    assert "`auto` takes: " in text or "`auto` finds no engine" in text
    assert "openai:gpt-5-mini (OPENAI_API_KEY is set)" in text
    assert "sk-never-shown" not in text


def test_a_store_that_is_named_is_tried_and_its_address_kept_secret(tmp_path: Path) -> None:
    assert told()["store"] == {"named": False, "opens": None}
    missing = told(ANTIPHON_CHECKPOINTER=f"sqlite:{tmp_path}/runs.db")["store"]
    assert missing["named"]
    assert not missing["opens"]
    assert "no such file" in missing["problem"]
    url = "postgres://somebody:hunter2@127.0.0.1:1/none"
    text = doctor(ANTIPHON_CHECKPOINTER=url)
    assert "cannot be opened" in text
    assert "hunter2" not in text
