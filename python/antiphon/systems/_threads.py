"""The threads of a system: where its questions are kept, and what can be done with them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from antiphon._diagram import Diagram, DiagramEdge
from antiphon._faults import from_fault
from antiphon._serialization.registry import GLOBAL
from antiphon._sync_async import twin
from antiphon._thread_store import ThreadStore, fresh_name, read_saver, thread_name
from antiphon._threads import Threads
from antiphon.errors import ValidationError
from antiphon.systems.result import SystemResult

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from antiphon._antiphon import NativeSystem, ThreadRef
    from antiphon._batch_file import Task
    from antiphon._serialization.registry import Registry
    from antiphon._sync_async import Routine
    from antiphon.result import Outcome
    from antiphon.systems._lazy_native_system import LazyNativeSystem

__all__ = ["SystemThreads", "thread_of"]


class SystemThreads(Threads):
    """The threads of a system, and its graph."""

    _kind = "system"
    _lazy: LazyNativeSystem

    @property
    def _native(self) -> NativeSystem:
        return self._lazy.native

    @property
    def graph(self) -> Diagram:
        """The diagram of the system: Mermaid text or SVG, displayed in notebooks."""
        drawing = self._native.drawing()
        edges = (DiagramEdge(**edge) for edge in drawing["edges"])
        return Diagram({name: {} for name in drawing["nodes"]}, tuple(edges))

    def _keep_in(self, checkpointer: Any, durability: Any) -> None:
        """Takes the store of its threads.

        Raises:
            ValidationError: the checkpointer is neither a saver nor the URL of one, or the
                durability is unknown, or needs a checkpointer (``system_setting_invalid``).
        """
        saver = read_saver(checkpointer, durability, "system_setting_invalid")
        self._store = None if saver is None else ThreadStore(saver, durability)

    def _new_question(self, thread: str | None) -> dict[str, Any]:
        """How the engine stores a new question: in that thread, or in a new one."""
        if thread is not None:
            return {"thread": self._thread_store().ref(thread_name(thread))}
        if self._store is None:
            return {}
        run_id = fresh_name()
        return {"thread": self._store.ref(run_id), "run_id": run_id}

    def _question_of_file(self, task: Task) -> dict[str, Any]:
        """How the engine stores a question of a file: it resumes from the last commit."""
        if self._store is None:
            return {}
        how = "again" if task.again else "once"
        return {"thread": self._store.ref(thread_name(task.task_id)), "how": how}

    def _old_question(self, run: SystemResult | str, answers: Sequence[Any]) -> dict[str, Any]:
        """How the engine resumes a question.

        Raises:
            ValidationError: no thread keeps it, and it does not wait for an answer or was
                resumed before (``answer_invalid``).
        """
        if isinstance(run, SystemResult) and run.thread is None:
            if run._paused is None:  # noqa: SLF001 - a result keeps its run for this alone
                raise ValidationError(
                    f"no thread keeps the question, and it cannot be resumed: {run.outcome}",
                    code="answer_invalid",
                    hint='give the system a store: `checkpointer="sqlite:runs.db"`',
                )
            if not answers:
                raise ValidationError(
                    "no thread keeps the question, so it is resumed by an answer alone",
                    code="answer_invalid",
                    hint="`system.resume(result, answer)`",
                )
            return {"how": "resume", "paused": run._paused}  # noqa: SLF001 - as above
        thread = run.thread if isinstance(run, SystemResult) else run
        return {"thread": self._thread_store().ref(thread_name(thread)), "how": "resume"}

    @property
    def _engine(self) -> NativeSystem:
        return self._native

    def _registry(self) -> Registry:
        return GLOBAL

    def _write(self, ref: ThreadRef, values: Any, writer: str) -> Routine[int]:
        del writer  # the engine has it in `ref`
        if not isinstance(values, dict):
            raise ValidationError(
                f"the update of a system's state is a dict: {type(values).__name__}",
                code="input_invalid",
            )
        written: int = yield twin(self._native, "edit", ref, values)
        return written

    def _state(self, values: dict[str, Any]) -> dict[str, Any]:
        return values

    def _outcome_of(self, shown: dict[str, Any]) -> tuple[Outcome, str]:
        outcome = shown["outcome"]
        if outcome == "completed":
            outcome = self._native.completed_outcome(shown["values"])
        elif shown["fault"] is not None:
            outcome = "budget" if from_fault(shown["fault"]).category == "budget" else "error"
        return outcome, shown["reason"] or ""


def thread_of(put: Mapping[str, Any]) -> str | None:
    """The thread that a question was put in."""
    thread = put.get("thread")
    return None if thread is None else str(thread.thread)
