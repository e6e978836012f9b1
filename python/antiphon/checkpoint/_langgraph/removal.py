"""Removing checkpoints that are not needed any more."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from antiphon.checkpoint._langgraph.checkpoint_ref import CheckpointRef, FoundCheckpoint

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from antiphon._antiphon import LangGraphThreads
    from antiphon.checkpoint._langgraph.steps import Steps


def prune_threads(
    threads: LangGraphThreads, thread_ids: Sequence[str], strategy: str
) -> Steps[None]:
    """Leaves the last checkpoint of each namespace, or nothing."""
    if strategy not in {"keep_latest", "delete"}:
        raise ValueError(f"`strategy` is keep_latest or delete, found: {strategy}")
    if isinstance(thread_ids, str):
        raise TypeError(f"`thread_ids` is a list of names, found a text: {thread_ids!r}")
    for thread in map(str, thread_ids):
        if strategy == "delete":
            yield threads.delete(thread)
            continue
        checkpoints = yield threads.checkpoints(thread)
        latest = {namespace: name for namespace, name, *_ in checkpoints}
        kept: set[tuple[str, str]] = set()
        for namespace, name in latest.items():
            ref = CheckpointRef(thread, namespace, name)
            kept.update((yield from _with_sources(threads, ref)))
        # What others have added since is none of these.
        gone = {(namespace, name) for namespace, name, *_ in checkpoints} - kept
        if gone:
            yield threads.remove(thread, gone)


def _with_sources(threads: LangGraphThreads, ref: CheckpointRef) -> Steps[set[tuple[str, str]]]:
    """A checkpoint, and those that LangGraph makes the values of its delta channels from."""
    kept: set[tuple[str, str]] = set()
    wanted: set[str] | None = None
    while ref.id is not None:
        found: FoundCheckpoint | None = yield threads.get(ref.thread, ref.key)
        if found is None:
            break
        name, parent, (_, metadata), values, _ = found
        kept.add((ref.namespace, name))
        if wanted is None:
            wanted = set(metadata.get("counters_since_delta_snapshot", ()))
        wanted -= values.keys()
        if not wanted:
            break
        ref = ref._replace(id=parent)
    return kept


def delete_runs(threads: LangGraphThreads, run_ids: Iterable[str]) -> Steps[None]:
    """Removes the checkpoints of some runs, in all threads."""
    runs = set(run_ids)
    if not runs:
        return
    named: list[tuple[str, Any]] = yield threads.threads()
    for thread, _ in named:
        checkpoints = yield threads.checkpoints(thread)
        gone = {(namespace, name) for namespace, name, _, run in checkpoints if run in runs}
        if gone:
            yield threads.remove(thread, gone)
