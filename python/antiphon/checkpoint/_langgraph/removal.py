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
        else:
            yield from _keep_latest(threads, thread)


def _keep_latest(threads: LangGraphThreads, thread: str) -> Steps[None]:
    kept: set[tuple[str, str]] | None = None
    # Each further round is due to others who have removed something.
    while kept is None:
        checkpoints = yield threads.checkpoints(thread)
        listed = [(namespace, name) for namespace, name, *_ in checkpoints]
        kept = yield from _needed(threads, thread, listed)
    # What others have added since is none of these.
    gone = set(listed) - kept
    if gone:
        yield threads.remove(thread, gone)


def _needed(
    threads: LangGraphThreads, thread: str, listed: list[tuple[str, str]]
) -> Steps[set[tuple[str, str]] | None]:
    """The last checkpoint of each namespace, with its sources; none if one was removed since."""
    needed: set[tuple[str, str]] = set()
    for namespace, name in dict(listed).items():
        ref = CheckpointRef(thread, namespace, name)
        found = yield from _with_sources(threads, ref, listed)
        if found is None:
            return None
        needed |= found
    return needed


def _with_sources(
    threads: LangGraphThreads, ref: CheckpointRef, listed: list[tuple[str, str]]
) -> Steps[set[tuple[str, str]] | None]:
    """A checkpoint, and those that LangGraph makes the values of its delta channels from.

    None if one of them was listed, and is removed.
    """
    kept: set[tuple[str, str]] = set()
    wanted: set[str] | None = None
    while ref.id is not None:
        found: FoundCheckpoint | None = yield threads.get(ref.thread, ref.key)
        if found is None:
            # LangGraph too looks no further than a source that is not there.
            return None if ref.key in listed else kept
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
