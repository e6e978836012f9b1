"""Batches in files: RL-27, and what may be wrong with a line, a file, a disk or a process."""

from __future__ import annotations

import asyncio
import json
import threading
from pathlib import Path
from typing import Any

import pytest

from antiphon.checkpoint import MemorySaver
from antiphon.errors import AuthError, StateError, ValidationError
from antiphon.event import Event
from antiphon.models import scripted
from antiphon.systems import BatchReport, ReviewLoop, find, systems

REPLIES: dict[str, dict[str, Any]] = {
    "planner": {"research_steps": ["r"], "expert_steps": ["e"]},
    "critic": {"decision": "approve"},
    "researcher": {"result": "found"},
    "finalizer": {"final_answer": "words", "final_reasoning_trace": "t"},
}


class ScriptedRoles:
    """Roles that are functions. The expert's reply to a question may be given.

    Attributes:
        asked: role and question of each call.
        says: by question: an exception, or something to be called, for the expert.
    """

    def __init__(self, **says: Any) -> None:
        self.asked: list[tuple[str, str]] = []
        self.says = says

    def loop(self, **options: Any) -> ReviewLoop:
        return ReviewLoop(**{name: self._role(name) for name in [*REPLIES, "expert"]}, **options)

    def questions(self, role: str = "expert") -> list[str]:
        return [question for name, question in self.asked if name == role]

    def _role(self, name: str) -> Any:
        def answer(brief: dict[str, Any]) -> dict[str, Any]:
            question = brief["question"]
            self.asked.append((name, question))
            if name != "expert":
                return REPLIES[name]
            says = self.says.get(question)
            if isinstance(says, Exception):
                raise says
            if says is not None:
                says()
            return {"expert_answer": question, "reasoning_trace": "why"}

        return answer


def write(path: Path, *lines: Any) -> Path:
    """A file of lines: bytes as they are, all else as JSON."""
    plain = [line if isinstance(line, bytes) else json.dumps(line).encode() for line in lines]
    path.write_bytes(b"".join(line + b"\n" for line in plain))
    return path


def task(name: str, **more: Any) -> dict[str, Any]:
    return {"task_id": f"id-{name}", "question": name, **more}


def read(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_bytes().splitlines()]


def counts(report: BatchReport) -> tuple[int, int, int, int]:
    return report.answered, report.failed, report.skipped, report.refused


def test_each_question_has_a_line_and_none_is_asked_again(tmp_path: Path) -> None:
    """Prove RL-27 of docs/systems/review-loop.md."""
    questions = write(tmp_path / "in.jsonl", task("a"), task("b"), task("c"))
    output = tmp_path / "out.jsonl"
    roles = ScriptedRoles(b=StateError("the state is corrupt", code="state_invalid"))
    report = roles.loop().batch_file(questions, output, concurrency=1)
    assert counts(report) == (2, 1, 0, 0)
    lines = read(output)
    assert [line["task_id"] for line in lines] == ["id-a", "id-b", "id-c"]
    assert [line["outcome"] for line in lines] == ["answered", "error", "answered"]
    assert (lines[0]["model_answer"], lines[0]["reasoning_trace"]) == ("words", "t")
    assert lines[1]["model_answer"] == "The question could not be answered."
    assert lines[1]["error"]["code"] == "state_invalid"
    assert next(iter(lines[0])) == "task_id"
    before = output.read_bytes()
    roles.asked.clear()
    assert counts(roles.loop().batch_file(questions, output)) == (0, 0, 3, 0)
    assert roles.asked == []
    assert output.read_bytes() == before


def test_lines_come_in_the_order_in_which_questions_end(tmp_path: Path) -> None:
    questions = write(tmp_path / "in.jsonl", task("slow"), task("quick"))
    output = tmp_path / "out.jsonl"
    ended = threading.Event()
    roles = ScriptedRoles(slow=lambda: ended.wait(30))

    def watch(event: Event) -> None:
        if event.data.get("task_id") == "id-quick":
            ended.set()

    report = roles.loop().batch_file(questions, output, watch=watch)
    assert counts(report) == (2, 0, 0, 0)
    assert [line["task_id"] for line in read(output)] == ["id-quick", "id-slow"]


def test_what_failed_is_asked_again_only_where_that_is_wanted(tmp_path: Path) -> None:
    questions = write(tmp_path / "in.jsonl", task("a"), task("b"))
    output = tmp_path / "out.jsonl"
    saver = MemorySaver()
    first = ScriptedRoles(b=ValueError("no"))
    first.loop(checkpointer=saver).batch_file(questions, output, concurrency=1)
    roles = ScriptedRoles()
    loop = roles.loop(checkpointer=saver)
    assert counts(loop.batch_file(questions, output)) == (0, 0, 2, 0)
    assert counts(loop.batch_file(questions, output, redo_failed=True)) == (1, 0, 1, 0)
    assert roles.questions("planner") == ["b"]
    assert [line["outcome"] for line in read(output)] == ["answered", "error", "answered"]
    assert counts(loop.batch_file(questions, output, redo_failed=True)) == (0, 0, 2, 0)


def test_a_line_that_cannot_be_asked_is_reported_and_stops_no_other(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("notes")
    (tmp_path / "outside").mkdir()
    lines = [
        b"\xef\xbb\xbf" + json.dumps(task("first")).encode(),
        b"",
        b"   \t",
        b"{not json",
        b"[1, 2]",
        b"\xff\xfe{}",
        b"[" * 100_000,
        b'{"task_id": ' + b"1" * 5_000 + b"}",
        {"question": "no id"},
        {"task_id": 7, "question": "a number"},
        {"task_id": " ", "question": "blank"},
        {"task_id": "x" * 513, "question": "long"},
        {"task_id": "zero\0", "question": "zero"},
        {"task_id": "id-none"},
        {"task_id": "id-blank", "question": "  "},
        b'{"task_id": "id-half", "question": "\\ud800"}',
        task("first"),
        task("file", file_name="../notes.txt"),
        task("absent", file_name="absent.txt"),
        b'{"task_id": "id-huge", "question": "' + b"x" * 1024 * 1024 + b'"}',
        task("last", file_name="notes.txt", level=1),
    ]
    questions = write(tmp_path / "in.jsonl", *lines)
    output = tmp_path / "out.jsonl"
    roles = ScriptedRoles()
    folder = tmp_path / "outside"
    (folder / "notes.txt").write_text("notes")
    seen: list[Event] = []
    report = roles.loop().batch_file(questions, output, files=folder, watch=seen.append)
    assert sorted(roles.questions()) == ["first", "last"]
    assert counts(report) == (2, 0, 0, 17)
    problems = {problem.line: problem.code for problem in report.problems}
    assert problems == {
        **dict.fromkeys((4, 5, 6, 7, 8, 20), "batch_line_invalid"),
        **dict.fromkeys((9, 10, 11, 12, 13), "task_id_invalid"),
        14: "question_malformed",
        15: "question_blank",
        16: "question_malformed",
        17: "task_id_duplicate",
        18: "attachment_outside",
        19: "attachment_unreadable",
    }
    assert all(str(problem.line) in problem.message for problem in report.problems[:-2])
    refused = [event.data["line"] for event in seen if event.name == "line_refused"]
    assert sorted(refused) == sorted(problems)
    assert [event.seq for event in seen] == list(range(1, len(seen) + 1))
    again = roles.loop().batch_file(questions, output, files=folder)
    assert counts(again) == (0, 0, 2, 17), "they can be mended and asked later"


def test_a_link_that_leads_outside_is_no_file_of_the_folder(tmp_path: Path) -> None:
    folder = tmp_path / "files"
    folder.mkdir()
    (tmp_path / "secret").write_text("secret")
    (folder / "link").symlink_to(tmp_path / "secret")
    questions = write(tmp_path / "in.jsonl", task("a", file_name="link"))
    report = ScriptedRoles().loop().batch_file(questions, tmp_path / "out.jsonl", files=folder)
    assert [problem.code for problem in report.problems] == ["attachment_outside"]


@pytest.mark.parametrize("torn", [b"{", b'{"task_i', b'{"task_id": "id-b", "model_an', b"\0" * 40])
def test_a_torn_last_line_is_dropped_and_done_again(tmp_path: Path, torn: bytes) -> None:
    """Prove EN-13 of docs/engine.md."""
    questions = write(tmp_path / "in.jsonl", task("a"), task("b"))
    output = write(tmp_path / "out.jsonl", {"task_id": "id-a", "outcome": "answered"})
    before = output.read_bytes()
    output.write_bytes(before + torn)
    seen: list[Event] = []
    roles = ScriptedRoles()
    assert counts(roles.loop().batch_file(questions, output, watch=seen.append)) == (1, 0, 1, 0)
    assert roles.questions() == ["b"]
    assert output.read_bytes().startswith(before)
    assert [line["task_id"] for line in read(output)] == ["id-a", "id-b"]
    warned = [event for event in seen if event.name == "torn_line_dropped"]
    assert [(event.level, event.data) for event in warned] == [("warning", {"bytes": len(torn)})]


def test_a_last_line_that_lacks_its_end_alone_is_kept(tmp_path: Path) -> None:
    questions = write(tmp_path / "in.jsonl", task("a"), task("b"))
    output = tmp_path / "out.jsonl"
    output.write_bytes(b'{"task_id": "id-a", "outcome": "answered"}')
    assert counts(ScriptedRoles().loop().batch_file(questions, output)) == (1, 0, 1, 0)
    assert [line["task_id"] for line in read(output)] == ["id-a", "id-b"]


@pytest.mark.parametrize("content", [b"notes", b"notes\n", b'{"id": 1}\n', b"{}", b"\n", b"\x80\n"])
def test_a_file_of_something_else_is_left_as_it_is(tmp_path: Path, content: bytes) -> None:
    questions = write(tmp_path / "in.jsonl", task("a"))
    output = tmp_path / "notes"
    output.write_bytes(content)
    roles = ScriptedRoles()
    with pytest.raises(ValidationError) as caught:
        roles.loop().batch_file(questions, output)
    assert caught.value.code == "batch_output_invalid"
    assert (output.read_bytes(), roles.asked) == (content, [])


def test_what_concerns_the_whole_batch_is_said_before_anything_is_asked(tmp_path: Path) -> None:
    questions = write(tmp_path / "in.jsonl", task("a"))
    output = tmp_path / "out.jsonl"
    roles = ScriptedRoles()
    loop = roles.loop()
    for given, code in (
        ((tmp_path / "absent", output), "batch_input_unreadable"),
        ((tmp_path, output), "batch_input_unreadable"),
        (("zero\0", output), "batch_input_unreadable"),
        ((questions, tmp_path), "batch_output_invalid"),
        ((questions, tmp_path / "absent" / "out"), "batch_output_invalid"),
        ((questions, questions), "batch_output_invalid"),
        ((["What?"], output), "batch_input_unreadable"),
        ((questions, 3), "batch_output_invalid"),
    ):
        with pytest.raises(ValidationError) as caught:
            loop.batch_file(*given)
        assert caught.value.code == code, given
    with pytest.raises(ValidationError, match="concurrency"):
        loop.batch_file(questions, output, concurrency=0)
    assert roles.asked == []
    assert not output.exists()


def test_two_batches_cannot_have_one_output(tmp_path: Path) -> None:
    questions = write(tmp_path / "in.jsonl", task("a"))
    output = tmp_path / "out.jsonl"
    codes: list[str] = []

    def another() -> None:
        try:
            ScriptedRoles().loop().batch_file(questions, output)
        except StateError as error:
            codes.append(error.code)

    report = ScriptedRoles(a=another).loop().batch_file(questions, output)
    assert codes == ["batch_busy"]
    assert counts(report) == (1, 0, 0, 0)
    assert len(read(output)) == 1


def test_a_key_that_is_refused_ends_the_batch(tmp_path: Path) -> None:
    questions = write(tmp_path / "in.jsonl", *(task(str(number)) for number in range(50)))
    output = tmp_path / "out.jsonl"
    refused = AuthError("the key was refused", code="model_key_refused")
    roles = ScriptedRoles(**{"3": refused})
    with pytest.raises(AuthError):
        roles.loop().batch_file(questions, output, concurrency=1)
    assert [line["task_id"] for line in read(output)] == ["id-0", "id-1", "id-2"]
    assert counts(ScriptedRoles().loop().batch_file(questions, output)) == (47, 0, 3, 0)


def test_a_thread_that_another_process_holds_is_left_for_later(tmp_path: Path) -> None:
    questions = write(tmp_path / "in.jsonl", task("a"), task("b"))
    output = tmp_path / "out.jsonl"
    saver = MemorySaver()
    reports: list[BatchReport] = []

    def meanwhile() -> None:
        other = ScriptedRoles().loop(checkpointer=saver)
        reports.append(other.batch_file(questions, tmp_path / "other.jsonl"))

    roles = ScriptedRoles(a=meanwhile)
    report = roles.loop(checkpointer=saver).batch_file(questions, output, concurrency=1)
    assert counts(report) == (2, 0, 0, 0)
    assert counts(reports[0]) == (1, 0, 0, 1)
    assert [problem.code for problem in reports[0].problems] == ["thread_busy"]
    # What the other batch has answered is in the store.
    assert roles.questions() == ["a"]


def test_a_stopped_batch_keeps_finished_lines_and_resumes_with_the_rest(
    tmp_path: Path,
) -> None:
    questions = write(tmp_path / "in.jsonl", task("a"), task("b"), task("c"))
    output = tmp_path / "out.jsonl"
    saver = MemorySaver()
    held, go = threading.Event(), threading.Event()

    def hold() -> None:
        held.set()
        go.wait(30)

    first = ScriptedRoles(b=hold)

    async def stopped() -> None:
        loop = first.loop(checkpointer=saver, durability="sync")
        batch = asyncio.ensure_future(loop.abatch_file(questions, output, concurrency=1))
        await asyncio.to_thread(held.wait, 30)
        batch.cancel()
        with pytest.raises(asyncio.CancelledError):
            await batch
        go.set()

    asyncio.run(stopped())
    assert [line["task_id"] for line in read(output)] == ["id-a"]
    second = ScriptedRoles()
    report = second.loop(checkpointer=saver).batch_file(questions, output)
    assert counts(report) == (2, 0, 1, 0)
    assert second.questions("planner") == ["c"], "the plan for b is in its thread"
    assert sorted(second.questions()) == ["b", "c"]


def test_what_a_watcher_raises_ends_the_batch(tmp_path: Path) -> None:
    questions = write(tmp_path / "in.jsonl", task("a"), task("b"))
    output = tmp_path / "out.jsonl"

    def watch(event: Event) -> None:
        if event.name == "question_finished":
            raise LookupError(event.name)

    with pytest.raises(LookupError):
        ScriptedRoles().loop().batch_file(questions, output, concurrency=1, watch=watch)
    assert ScriptedRoles().loop().batch_file(questions, output).skipped >= 1


def test_a_question_that_has_changed_is_another_one(tmp_path: Path) -> None:
    saver = MemorySaver()
    questions = write(tmp_path / "in.jsonl", task("a"))
    ScriptedRoles().loop(checkpointer=saver).batch_file(questions, tmp_path / "one.jsonl")
    write(questions, {**task("a"), "question": "changed"}, task("b"))
    roles = ScriptedRoles()
    roles.loop(checkpointer=saver).batch_file(questions, tmp_path / "two.jsonl")
    assert sorted(roles.questions()) == ["b", "changed"]


def test_the_report_of_a_batch_is_json() -> None:
    report = BatchReport(
        output=Path("out"), answered=1, failed=0, skipped=2, refused=0, problems=()
    )
    assert json.loads(json.dumps(report.to_dict()))["skipped"] == 2
    assert str(report) == "1 answered, 0 failed, 2 done before"


def test_a_question_that_pauses_gets_a_line_and_later_one_with_its_answer(tmp_path: Path) -> None:
    if "echo" not in systems():
        pytest.skip("this build has no `echo`: it is of the kind that is published")
    model = scripted([{"json": {"said": "hello"}}])
    system = find("echo")(model, checkpointer=MemorySaver())
    questions = write(tmp_path / "in.jsonl", task("a"), task("b"))
    output = tmp_path / "out.jsonl"
    seen: list[Event] = []
    report = system.batch_file(questions, output, concurrency=1, watch=seen.append)
    assert (report.paused, *counts(report)) == (2, 0, 0, 0, 0)
    assert str(report) == "0 answered, 0 failed, 0 done before, 2 paused for an answer"
    assert [event.data["outcome"] for event in seen[1:]] == ["paused", "paused"]
    assert [line["outcome"] for line in read(output)] == ["paused", "paused"]
    assert read(output)[0]["questions"][0]["value"].startswith("Shall I say it again")
    assert counts(system.batch_file(questions, output)) == (0, 0, 2, 0)
    assert system.resume("id-a", True).answer == "hello"
    report = system.batch_file(questions, output, redo_failed=True, concurrency=1)
    assert (report.paused, *counts(report)) == (1, 1, 0, 0, 0)
    assert read(output)[2]["outcome"] == "answered"
    assert len(model.requests) == 1


@pytest.mark.parametrize("watch", [True, False, 3])
def test_what_cannot_watch_a_batch_is_refused(tmp_path: Path, watch: Any) -> None:
    questions = write(tmp_path / "in.jsonl", task("a"))
    with pytest.raises(ValidationError, match=f"must be a function.*: {watch}") as caught:
        ScriptedRoles().loop().batch_file(questions, tmp_path / "out.jsonl", watch=watch)
    assert caught.value.code == "input_invalid"
