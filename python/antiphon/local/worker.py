"""The child process that runs the model; a script, never imported.

It reads one line of JSON settings from standard input, writes one line of JSON to standard
output, and serves until standard input ends or its parent has exited. It imports only the
standard library and ``xllamacpp``, so that starting it does not import antiphon again.

The parent is watched in two ways. Standard input ends when the parent dies, unless
a fork of the parent still holds the pipe; then the changed parent id tells.
``PR_SET_PDEATHSIG`` would be wrong here: it fires when the *thread* that started
the child ends.
"""

from __future__ import annotations

import importlib
import json
import os
import select
import signal
import sys
import threading
import traceback
from typing import Any, NoReturn

__all__ = ["main"]

_LOOK_SECONDS = 1.0
_PROMPT_CACHE_MIB = 512
_REPEATED_TOKENS = 40
_RECENT_TOKENS = 512
_WARNINGS = 2
"""Log level that neither prints prompts nor the end of the API key."""


def main() -> NoReturn:
    """Load the model, report its address, and serve."""
    # Ctrl-C at a terminal is for the parent.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    answers = _claim_stdout()
    settings = json.loads(_read_line())
    threading.Thread(target=_watch_parent, args=(os.getppid(),), daemon=True).start()
    try:
        library = importlib.import_module("xllamacpp")
    except ImportError as error:
        _answer(answers, {"missing": str(error)})
        os._exit(1)
    server = library.Server(_params(library, settings))
    _answer(answers, {"address": server.listening_address})
    while True:
        threading.Event().wait()


def _claim_stdout() -> int:
    """Keep the answer channel private: what the library prints goes to the log."""
    answers = os.dup(1)
    os.dup2(2, 1)
    return answers


def _read_line() -> bytes:
    # Unbuffered, so that the watcher sees every later byte and the end.
    line = b""
    while not line.endswith(b"\n"):
        piece = os.read(0, 1)
        if not piece:
            os._exit(0)
        line += piece
    return line


def _watch_parent(parent: int) -> None:
    while True:
        if sys.platform != "win32":
            ready, _, _ = select.select([0], [], [], _LOOK_SECONDS)
            if os.getppid() != parent:
                os._exit(0)
            if not ready:
                continue
        if not os.read(0, 1):
            os._exit(0)


def _params(library: Any, settings: dict[str, Any]) -> Any:
    params = library.CommonParams()
    params.model.path = settings["path"]
    params.model_alias = {settings["name"]}
    params.api_keys = [settings["api_key"]]
    # The system picks a free port, so there is no race for one.
    params.port = 0
    params.hostnames = ["127.0.0.1"]
    # The default lets a page of any origin in, with credentials.
    params.cors_origins = ""
    params.ui = False
    params.endpoint_slots = False
    params.verbosity = _WARNINGS
    # The context is shared out over the slots.
    params.n_ctx = settings["context"] * settings["parallel"]
    params.n_parallel = settings["parallel"]
    params.cpuparams.n_threads = settings["threads"]
    params.cpuparams_batch.n_threads = settings["threads"]
    params.cache_ram_mib = _PROMPT_CACHE_MIB
    params.use_jinja = True
    # Small models answer best without sampling; a request's own temperature overrides it.
    params.sampling.temp = 0.0
    # Without sampling they also repeat a sentence until their reply is cut off. What was said
    # lately may be said again up to a length that quotations and queries do not have.
    params.sampling.dry_multiplier = 0.8
    params.sampling.dry_allowed_length = _REPEATED_TOKENS
    params.sampling.dry_penalty_last_n = _RECENT_TOKENS
    if settings["template"] is not None:
        params.chat_template = settings["template"]
    return params


def _answer(channel: int, value: dict[str, str]) -> None:
    os.write(channel, json.dumps(value).encode() + b"\n")
    os.close(channel)


if __name__ == "__main__":
    try:
        main()
    except BaseException:  # noqa: BLE001 - printed, then left without the library's own clean-up
        traceback.print_exc()
        # Ordinary shutdown freezes the watcher first and may then wait for busy threads for ever.
        os._exit(1)
