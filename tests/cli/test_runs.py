"""``antiphon runs`` as a person and a script meet it, over a file that a process has left."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from shutil import copy, copytree
from typing import Any

import pytest

from antiphon import Agent
from antiphon.checkpoint import SqliteSaver
from support.commands import PYTHON, CommandServer, kept_environment

TEAM = Path(__file__).with_name("team.py")
HOSTILE = "-t\x1b[31m\n\u202ered"
"""As that names a thread; to import it would leave a store in this folder."""


class Shell:
    """A folder with a file of threads, and the module of the team that has written it."""

    def __init__(self, folder: Path, commands: CommandServer) -> None:
        self.folder = folder
        self._commands = commands

    def runs(
        self, *arguments: str, store: str | None = "sqlite:runs.db", **more: str
    ) -> subprocess.CompletedProcess[str]:
        named = {} if store is None else {"ANTIPHON_CHECKPOINTER": store}
        return self._commands.run(
            "runs", *arguments, folder=self.folder, variables={**named, **more}
        )

    def json(self, *arguments: str) -> Any:
        done = self.runs(*arguments, "--json")
        assert done.returncode == 0, done.stderr
        assert done.stdout.count("\n") == 1
        return json.loads(done.stdout)


@pytest.fixture(scope="session")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder in which a process of the team has run."""
    folder = tmp_path_factory.mktemp("written")
    copy(TEAM, folder / "team.py")
    environment = {**kept_environment(), "PYTHONPATH": PYTHON}
    subprocess.run([sys.executable, "team.py"], cwd=folder, env=environment, check=True)
    return folder


@pytest.fixture
def shell(written: Path, tmp_path: Path, commands: CommandServer) -> Shell:
    folder = tmp_path / "shell"
    copytree(written, folder)
    return Shell(folder, commands)


class TestList:
    """What there is."""

    def test_a_line_for_each_thread(self, shell: Shell) -> None:
        done = shell.runs("list")
        assert (done.returncode, done.stderr) == (0, "")
        heads, hostile, plain = done.stdout.splitlines()
        assert heads.split() == ["THREAD", "STATUS", "GRAPH", "STEPS", "SIZE", "WRITTEN"]
        assert hostile.startswith("-t[31m red  paused (2 questions)  graph ")
        assert plain.split()[:5] == ["t", "paused", "(1", "question)", "team"]

    def test_nothing_of_a_name_reaches_the_terminal_as_a_command(self, shell: Shell) -> None:
        for arguments in (("list",), ("show", "--", HOSTILE), ("fork", "--", HOSTILE)):
            done = shell.runs(*arguments)
            assert done.returncode == 0, done.stderr
            assert not {"\x1b", "\u202e"} & set(done.stdout + done.stderr)
        listed = shell.json("list")
        assert HOSTILE in [one["thread"] for one in listed["threads"]]

    def test_runs_list_filters_and_pages(self, shell: Shell) -> None:
        def names(*arguments: str) -> list[str]:
            return [one["thread"] for one in shell.json("list", *arguments)["threads"]]

        assert names("--graph", "team") == ["t"]
        assert names("--status", "ended") == []
        assert names(f"--after={HOSTILE}") == ["t"]
        first = shell.json("list", "--limit", "1")
        assert ([one["thread"] for one in first["threads"]], first["after"]) == ([HOSTILE], HOSTILE)
        assert shell.json("list", "--limit", "2")["after"] is None
        done = shell.runs("list", "--limit", "1")
        assert done.stderr == "more threads: --after=-t[31m red\n"
        assert names("--graph", "' OR '1'='1") == []

    def test_the_store_may_be_named_in_any_way(self, shell: Shell) -> None:
        listing = shell.runs("list").stdout
        for store in ("sqlite:runs.db", "runs.db", str(shell.folder / "runs.db")):
            assert shell.runs("list", "--store", store, store=None).stdout.startswith(listing[:60])

    @pytest.mark.parametrize(
        ("store", "code", "message"),
        [
            (None, 2, "ANTIPHON_CHECKPOINTER is not set"),
            ("", 2, "ANTIPHON_CHECKPOINTER is not set"),
            ("sqlite:other.db", 1, "file not found: other.db"),
            ("other.db", 1, "file not found: other.db"),
            ("no/folder/runs.db", 1, "file not found: no/folder/runs.db"),
            ("nonsense:runs.db", 2, "found: nonsense:"),
            ("memory:", 2, "cannot be used from the command line"),
            ("sqlite:team.py", 1, "is damaged"),
            ("sqlite:///runs.db", 2, "write `sqlite:runs.db` for a file in the current folder"),
            ("sqlite:.", 1, "store"),
        ],
    )
    def test_a_store_that_is_none_is_an_error(
        self, shell: Shell, store: str | None, code: int, message: str
    ) -> None:
        done = shell.runs("list", store=store)
        assert (done.returncode, done.stdout) == (code, "")
        assert message in done.stderr
        assert "Traceback" not in done.stderr
        assert sorted(path.name for path in shell.folder.glob("*.db*")) == ["runs.db"]

    def test_an_encrypted_store_takes_its_key_from_the_environment(self, shell: Shell) -> None:
        with SqliteSaver.open(shell.folder / "secret.db", key=b"k" * 32) as saver:
            with SqliteSaver.open(shell.folder / "runs.db") as plain:
                assert len(plain.threads()) == 2
            assert saver.threads() == []
        good = shell.runs("list", store="secret.db", ANTIPHON_CHECKPOINTER_KEY="6b" * 32)
        assert (good.returncode, good.stdout) == (0, "no threads\n")
        bad = shell.runs("list", store="secret.db", ANTIPHON_CHECKPOINTER_KEY="6b6c6d" * 8)
        assert bad.returncode == 2
        assert "6b6c" not in bad.stderr


class TestShow:
    """One thread."""

    def test_runs_show_prints_questions_runs_checkpoints_and_values(self, shell: Shell) -> None:
        done = shell.runs("show", "t")
        assert done.returncode == 0, done.stderr
        assert done.stdout.startswith("t: paused (1 question), graph team, 0 steps, ")
        for part in ("of greeter: your name?", "RUN ", "CHECKPOINT ", "question = greet"):
            assert part in done.stdout
        thread = shell.json("show", "t")
        assert [one["value"] for one in thread["questions"]] == ["your name?"]
        assert thread["checkpoints"][0]["next"] == ["greeter"]
        assert thread["written"]["question"] == "greet"

    def test_keys_that_agents_have_added_have_their_own_names(self, shell: Shell) -> None:
        class Note(Agent):
            def act(self, state: Any, ctx: Any) -> Any:
                return {"note": "seen", "answer": "ok"}

        with SqliteSaver.open(shell.folder / "open.db") as saver:
            Note(checkpointer=saver).run("q", thread="t")
        done = shell.runs("show", "t", store="sqlite:open.db")
        assert "\nnote = seen\n" in f"{done.stdout}\n"
        assert "__extras__" not in done.stdout
        written = json.loads(shell.runs("show", "t", "--json", store="sqlite:open.db").stdout)
        assert (written["written"]["note"], written["written"]["answer"]) == ("seen", "ok")

    def test_a_thread_that_is_not_there_is_an_error(self, shell: Shell) -> None:
        for arguments in (
            ("show", "x"),
            ("fork", "x"),
            ("delete", "x"),
            ("prune", "--thread", "x"),
        ):
            more = ("--keep-last", "1") if arguments[0] == "prune" else ()
            done = shell.runs(*arguments, *more)
            assert (done.returncode, done.stdout) == (2, "")
            assert "the thread is empty: x" in done.stderr


class TestResume:
    """Continuing with the code of the run."""

    def test_a_team_resumes_with_an_answer(self, shell: Shell) -> None:
        done = shell.runs("resume", "t", "--team", "team:team", "--answer", "Ada")
        assert (done.returncode, done.stdout, done.stderr) == (0, "hello Ada\n", "")
        again = shell.json("resume", "t", "--team", "team:Holder.inner")
        assert (again["answer"], again["outcome"]) == ("hello Ada", "answered")
        (one,) = shell.json("list", "--graph", "team")["threads"]
        assert (one["status"], one["outcome"]) == ("ended", "completed")

    def test_open_questions_are_reported_and_have_no_answer(self, shell: Shell) -> None:
        done = shell.runs("resume", "t", "--team", "team:team")
        assert done.returncode == 3
        assert "of greeter: your name?" in done.stderr

    def test_a_graph_resumes_question_by_question(self, shell: Shell) -> None:
        named = ("--team", "team:graph", "--", HOSTILE)
        ids = [one["id"] for one in _questions(shell)]
        half = shell.runs("resume", "--answer", f"{ids[0]}=[1, 2]", *named)
        assert half.returncode == 3
        assert f"question {ids[1]} of two" in half.stderr
        assert "\x1b" not in half.stderr
        done = shell.runs("resume", "--json", "--answer", f"{ids[1]}=yes", *named)
        assert done.returncode == 0, done.stderr
        assert json.loads(done.stdout) == {"state": {"log": [1, [1, 2], "yes"]}, "questions": []}

    @pytest.mark.parametrize(
        ("arguments", "message"),
        [
            (("--team", "team"), "or a ready system: team"),
            (("--team", "nowhere:team"), "nowhere"),
            (("--team", "team:nothing"), "nothing"),
            (("--team", "team:other"), "is not an orchestrator"),
            (("--team", "team:team", "--answer", "1", "--answer", "2"), "`id=answer`: 1"),
            (("--team", "team:team", "--answer", f"{'a' * 32}=1"), "a" * 32),
        ],
    )
    def test_what_cannot_be_is_a_mistake_of_the_caller(
        self, shell: Shell, arguments: tuple[str, ...], message: str
    ) -> None:
        done = shell.runs("resume", "t", *arguments)
        assert (done.returncode, done.stdout) == (2, "")
        assert message in done.stderr
        assert "Traceback" not in done.stderr

    @pytest.mark.parametrize("thread", ["t", HOSTILE])
    def test_an_id_that_is_mistyped_is_no_answer(self, shell: Shell, thread: str) -> None:
        ids = [one["id"] for one in _questions(shell, thread)]
        named = ("--team", "team:team" if thread == "t" else "team:graph", "--", thread)
        for wrong in (ids[0][:-1], ids[0][1:], f"x{ids[0][1:]}", ids[0][:8], ids[0].upper()):
            done = shell.runs("resume", "--answer", f"{wrong}=yes", *named)
            assert (done.returncode, done.stdout) == (2, "")
            assert f"no open question has the id: {wrong}\n" in done.stderr
            assert f"open are: {', '.join(ids)}" in done.stderr
        assert [one["id"] for one in _questions(shell, thread)] == ids, "nothing was answered"

    def test_an_answer_may_hold_an_equals_sign(self, shell: Shell) -> None:
        done = shell.runs("resume", "t", "--team", "team:team", "--answer", "deadbeef=1")
        assert done.stdout == "hello deadbeef=1\n"

    def test_an_answer_to_one_of_several_questions_says_to_which(self, shell: Shell) -> None:
        ids = [one["id"] for one in _questions(shell)]
        for answers in (("yes",), (f"{ids[0]}=yes", "no")):
            more = [part for answer in answers for part in ("--answer", answer)]
            done = shell.runs("resume", *more, "--team", "team:graph", "--", HOSTILE)
            assert (done.returncode, done.stdout) == (2, "")
            assert f": {answers[-1]}\n" in done.stderr
            assert f"open are: {', '.join(ids)}" in done.stderr

    @pytest.mark.parametrize("answer", ["yes", f"{'a' * 32}=yes"])
    @pytest.mark.parametrize("thread", ["t", HOSTILE])
    def test_a_run_that_has_ended_takes_no_answer(
        self, shell: Shell, thread: str, answer: str
    ) -> None:
        ids = [one["id"] for one in _questions(shell, thread)]
        named = ("--team", "team:team" if thread == "t" else "team:graph", "--", thread)
        given = [part for one in ids for part in ("--answer", f"{one}=yes")]
        assert shell.runs("resume", *given, *named).returncode == 0
        done = shell.runs("resume", "--answer", answer, *named)
        assert (done.returncode, done.stdout) == (2, "")
        assert "the run has ended and is not waiting for an answer: " in done.stderr
        assert shell.runs("resume", *named).returncode == 0

    @pytest.mark.parametrize("team", ["team:team", "team:graph"])
    def test_an_answer_to_a_thread_that_is_not_there_is_an_error(
        self, shell: Shell, team: str
    ) -> None:
        done = shell.runs("resume", "nobody", "--team", team, "--answer", "yes")
        assert (done.returncode, done.stdout) == (2, "")
        assert "the thread is empty" in done.stderr


def _questions(shell: Shell, thread: str = HOSTILE) -> list[Any]:
    done = shell.runs("show", "--json", "--", thread)
    questions: list[Any] = json.loads(done.stdout)["questions"]
    return questions


class TestChange:
    """Copying and removing."""

    def test_a_fork_is_a_separate_thread(self, shell: Shell) -> None:
        assert shell.runs("fork", "t", "--to", "u").stdout == "u\n"
        name = shell.runs("fork", "t", "--checkpoint", "2").stdout.strip()
        threads = {one["thread"]: one for one in shell.json("list")["threads"]}
        assert (threads["u"]["status"], threads[name]["outcome"]) == ("paused", "cancelled")
        assert shell.runs("resume", "u", "--team", "team:team", "--answer", "Eve").returncode == 0
        assert shell.json("show", "t")["status"] == "paused"
        taken = shell.runs("fork", "t", "--to", "u")
        assert (taken.returncode, taken.stdout) == (2, "")
        assert shell.runs("fork", "t", "--checkpoint", "99").returncode == 1

    def test_old_threads_are_removed(self, shell: Shell) -> None:
        pruned = shell.json("prune", "--delete-after", "0s", "--dry-run")
        assert (pruned["threads"], pruned["deleted"], pruned["busy"]) == (2, 2, [])
        assert len(shell.json("list")["threads"]) == 2
        done = shell.runs("prune", "--keep-last", "1", "--compact")
        assert done.stdout == "removed: 0 entries, 0 B, of 2 threads, 0 of them entirely\n"
        done = shell.runs("prune", "--thread", "t", "--delete-after", "0s")
        assert done.stdout.endswith("of 1 threads, 1 of them entirely\n")
        assert shell.runs("delete", "--", HOSTILE).returncode == 0
        assert shell.runs("list").stdout == "no threads\n"

    def test_limits_are_named_where_there_are_none(self, shell: Shell) -> None:
        done = shell.runs("prune", "--compact")
        assert (done.returncode, done.stdout) == (2, "")
        for limit in ("--keep-last", "--keep-for", "--keep-bytes", "--delete-after"):
            assert limit in done.stderr

    @pytest.mark.parametrize(
        "arguments",
        [
            ("prune",),
            ("prune", "--keep-last", "0"),
            ("prune", "--keep-for", "30"),
            ("prune", "--keep-bytes", "lots"),
            ("list", "--limit", "-1"),
            ("list", "--status", "'; DROP TABLE thread; --"),
            ("delete",),
            (),
        ],
    )
    def test_what_is_typed_wrong_is_said(self, shell: Shell, arguments: tuple[str, ...]) -> None:
        done = shell.runs(*arguments)
        assert (done.returncode, done.stdout) == (2, "")
        assert len(shell.json("list")["threads"]) == 2
