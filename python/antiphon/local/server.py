"""A local model behind an OpenAI-compatible address on this machine."""

from __future__ import annotations

import secrets
import threading
import weakref
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Self

from antiphon.local.cores import require_whole, worker_threads
from antiphon.local.extra import require_extra
from antiphon.local.process import ServerProcess
from antiphon.local.weights import Weights, locate

if TYPE_CHECKING:
    import os

    from antiphon.local.progress import Report

__all__ = ["LocalServer", "serve", "shared"]

_TEMPLATES = Path(__file__).with_name("templates")
_LEAST_CONTEXT = 256
_MOST_PARALLEL = 64
_KEY_BYTES = 32


class LocalServer:
    """A model in a child process; created by :func:`serve` and :func:`shared`.

    The child stops with :meth:`close`, at the end of a ``with`` block, when the object is
    garbage-collected, and when this process ends for any reason.

    Attributes:
        base_url: OpenAI-compatible URL on 127.0.0.1, ending in ``/v1``.
        api_key: the random key that every request needs as ``Authorization: Bearer``.
        model: the model name in requests.
        path: the model file.
    """

    def __init__(
        self, *, address: str, api_key: str, weights: Weights, process: ServerProcess
    ) -> None:
        self.base_url = f"{address}/v1"
        self.api_key = api_key
        self.model = weights.name
        self.path = weights.path
        self._process = process
        self._stop = weakref.finalize(self, process.stop)

    @property
    def pid(self) -> int:
        """The process id of the child."""
        return self._process.pid

    @property
    def alive(self) -> bool:
        """Whether the child runs; false in a fork of the process that started it."""
        return self._stop.alive and self._process.alive

    def log(self) -> str:
        """Return the last lines that the child printed (warnings and errors only)."""
        return self._process.log()

    def close(self) -> None:
        """Stop the child and free its memory; further calls do nothing."""
        self._stop()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        state = "alive" if self.alive else "closed"
        return f"<LocalServer {self.model} at {self.base_url}, {state}>"

    def __reduce__(self) -> str:
        # A pickle would contain the key.
        raise TypeError("a LocalServer cannot be pickled")


def serve(
    model: str | os.PathLike[str] | None = None,
    *,
    threads: int | None = None,
    context: int = 8192,
    parallel: int = 2,
    load_timeout: float = 180.0,
    progress: Report | None = None,
) -> LocalServer:
    """Start a local model; download it first if it is not in the cache.

    Args:
        model: as for :func:`ensure`. Default: ``qwen2.5-coder:1.5b``.
        threads: compute threads. Default: ``ANTIPHON_LOCAL_THREADS``, else one less than the
            cores, at least 1. On a busy machine 1 is by far the fastest.
        context: most tokens of one request, prompt and answer together.
        parallel: concurrent requests; each takes memory for ``context`` tokens (about 0.2 GB
            with the defaults). Further requests wait.
        load_timeout: most seconds for loading.
        progress: as for :func:`ensure`.

    Raises:
        ValidationError: those of :func:`ensure`, ``local_setting``, ``local_runtime_missing``.
        ModelTransportError: those of :func:`ensure`, ``local_server_failed``,
            ``local_server_timeout``.

    Example:
        >>> from antiphon import local
        >>> with local.serve("smollm2:135m") as server:  # doctest: +SKIP
        ...     print(server.base_url)
        http://127.0.0.1:40123/v1
    """
    require_extra("xllamacpp")
    options = _Options(worker_threads(threads), context, parallel)
    weights = locate(model, progress=progress)
    return _start(weights, options, load_timeout)


def shared(
    model: str | os.PathLike[str] | None = None,
    *,
    threads: int | None = None,
    context: int = 8192,
    parallel: int = 2,
    load_timeout: float = 180.0,
    progress: Report | None = None,
) -> LocalServer:
    """Start a local model as :func:`serve` does; equal calls share one child per process.

    The child runs until the process ends. A child that died or was closed is replaced.
    """
    require_extra("xllamacpp")
    options = _Options(worker_threads(threads), context, parallel)
    weights = locate(model, progress=progress)
    with _sharing:
        server = _shared.get((weights, options))
        if server is None or not server.alive:
            server = _shared[weights, options] = _start(weights, options, load_timeout)
        return server


_sharing = threading.Lock()


@dataclass(frozen=True, slots=True)
class _Options:
    threads: int
    context: int
    parallel: int

    def __post_init__(self) -> None:
        require_whole("context", self.context, _LEAST_CONTEXT, 1 << 20)
        require_whole("parallel", self.parallel, 1, _MOST_PARALLEL)


_shared: dict[tuple[Weights, _Options], LocalServer] = {}


def _start(weights: Weights, options: _Options, load_timeout: float) -> LocalServer:
    entry = weights.entry
    if entry is not None:
        require_whole("context", options.context, _LEAST_CONTEXT, entry.context)
    template = None if entry is None else entry.template
    # Streams hold back what may begin a known key: words do not begin like this one.
    key = f"~{secrets.token_urlsafe(_KEY_BYTES)}"
    process = ServerProcess(
        {
            "path": str(weights.path),
            "name": weights.name,
            "api_key": key,
            "template": template and (_TEMPLATES / template).read_text(encoding="utf-8"),
            **asdict(options),
        }
    )
    try:
        address = process.wait_ready(load_timeout)
    except BaseException:
        process.stop()
        raise
    return LocalServer(address=address, api_key=key, weights=weights, process=process)
