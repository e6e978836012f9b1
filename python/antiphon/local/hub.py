"""Download a model file from the Hugging Face Hub.

``hf_hub_download`` keeps nothing of an interrupted download, and retries an unreachable hub
for minutes. The two functions below it resume, and let the next source start in seconds.
"""

from __future__ import annotations

import errno
import functools
import os
import queue
import threading
from typing import TYPE_CHECKING, Any, Self

from antiphon.errors import ModelTransportError

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from antiphon.local.catalog import CatalogModel

__all__ = ["DISK_FULL", "fetch_from_hub"]

DISK_FULL = (errno.ENOSPC, errno.EDQUOT)
"""Error numbers of a write that found no space."""

_CONNECT_SECONDS = 3.0
_PROBE_SECONDS = 6.0
"""Includes name resolution, which no HTTP time-out covers."""


def fetch_from_hub(model: CatalogModel, target: Path, tick: Callable[[], None]) -> None:
    """Complete the unfinished file ``target`` from the model's repository on the hub.

    Mirror, token, proxy and offline mode come from the environment, as the Hub's own tools read
    them (``HF_ENDPOINT``, ``HF_TOKEN``, ``HF_HUB_OFFLINE``).

    The content of `target` is resumed; `tick` is called after each block. Failures are
    ``local_source_failed``.
    """
    if model.repository is None:
        raise _failed(f"the model has no repository on the hub: {model.name}")
    from huggingface_hub import hf_hub_url

    url = hf_hub_url(model.repository, model.file, endpoint=os.environ.get("HF_ENDPOINT") or None)
    try:
        size = _probe(url)
        if size == model.size:
            _resume(url, model, target, tick)
    except Exception as error:
        if isinstance(error, OSError) and error.errno in DISK_FULL:
            raise
        # The library's HTTP client raises its own exceptions.
        reason = str(error).strip() or type(error).__name__
        raise _failed(f"{url} cannot be downloaded: {reason}") from error
    if size != model.size:
        raise _failed(f"the hub has a file of {size} bytes instead of {model.size}: {url}")


def _resume(url: str, model: CatalogModel, target: Path, tick: Callable[[], None]) -> None:
    from huggingface_hub.file_download import http_get
    from huggingface_hub.utils import build_hf_headers  # type: ignore[attr-defined]

    with target.open("ab") as file:
        http_get(
            url,
            file,
            resume_size=file.tell(),
            headers=build_hf_headers(library_name="antiphon"),
            expected_size=model.size,
            displayed_filename=model.name,
            tqdm_class=functools.partial(_Blocks, tick),  # type: ignore[arg-type]
        )
    # The library counts each block before it writes it.
    tick()


class _Blocks:
    """Stand in for the progress bar that ``http_get`` updates after each block."""

    def __init__(self, tick: Callable[[], None], **_: Any) -> None:
        self._tick = tick

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        """Leave the display to the caller."""

    def update(self, _: float) -> None:
        self._tick()


def _probe(url: str) -> int | None:
    """Ask for the file's size, and give up after a few seconds."""
    from huggingface_hub import get_hf_file_metadata

    answers: queue.SimpleQueue[int | Exception | None] = queue.SimpleQueue()

    def ask() -> None:
        try:
            answers.put(get_hf_file_metadata(url, timeout=_CONNECT_SECONDS).size)
        except Exception as error:  # noqa: BLE001 - raised in the caller's thread
            answers.put(error)

    # A daemon: a name server that does not answer must not delay the interpreter's exit.
    threading.Thread(target=ask, name="antiphon-hub-probe", daemon=True).start()
    try:
        answer = answers.get(timeout=_PROBE_SECONDS)
    except queue.Empty:
        raise TimeoutError(f"no answer within {_PROBE_SECONDS:g} s") from None
    if isinstance(answer, Exception):
        raise answer
    return answer


def _failed(reason: str) -> ModelTransportError:
    return ModelTransportError(reason, code="local_source_failed")
