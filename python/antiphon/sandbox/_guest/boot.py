"""The zygote: it locks itself in, imports all packages once, and forks workers.

The steps are native code in antiphon's extension module. Their order is in Python, because only
the interpreter can fork itself safely. None of antiphon's Python code is imported.
"""

from __future__ import annotations

import gc
import importlib
import importlib.machinery
import importlib.util
import os
import sys
import types
from functools import partial
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from typing import NoReturn

_FAILED = 1
# Tells the host that the worker failed before it received a job.
_UNSEALED = 97


def boot(control: int, native: str) -> NoReturn:
    """Become a zygote: `control` is the socket to the host, `native` the extension module."""
    zygote = _extension(native).SandboxZygote(control)
    try:
        if zygote.leave():
            first = os.fork()
            if first:
                zygote.guard(first)
        zygote.furnish([path for path in sys.path if path])
        sys.path += zygote.path()
        guest = _guest(zygote.guest())
        preload = importlib.import_module("_guest.preload")
        preload.load(zygote.packages())
        _open_streams()
        guest.prepare()
        gc.collect()
        gc.freeze()
        zygote.ready(sys.version.split()[0])
    except BaseException as problem:  # noqa: BLE001 - reported to the host
        zygote.fail(f"{type(problem).__name__}: {problem}")
        os._exit(_FAILED)
    while zygote.next():
        child = _fork()
        if child == 0:
            _work(zygote, guest.serve, preload)
        zygote.forked(child)
    os._exit(0)


def _fork() -> int:
    try:
        return os.fork()
    except OSError:
        return -1


def _work(zygote: Any, serve: Any, preload: Any) -> NoReturn:
    try:
        channel, folder, waits = zygote.seal()
        # A library that needs threads starts them when a job arrives, because they would take
        # memory in every spare worker. The lock comes after them: it forbids new threads.
        later = preload.needs_threads()
        if not later:
            zygote.lock()
    except BaseException as problem:  # noqa: BLE001 - the worker is not locked in, and must not run code
        os.write(2, f"{problem}"[:500].encode("utf-8", "replace"))
        os._exit(_UNSEALED)
    if folder not in {None, os.environ["HOME"]}:
        os.environ["HOME"] = os.environ["TMPDIR"] = folder
    code = _FAILED
    try:
        _reseed()
        serve(channel, waits=waits, prepare=partial(_lock, zygote, preload) if later else None)
        code = 0
    except BaseException as problem:  # noqa: BLE001 - the process ends here
        os.write(2, f"{type(problem).__name__}: {problem}"[:500].encode("utf-8", "replace"))
    finally:
        # Neither exit handlers of the zygote nor those of the job may run.
        os._exit(code)


def _lock(zygote: Any, preload: Any) -> None:
    preload.start_threads()
    zygote.lock()


def _open_streams() -> None:
    """Open the streams of the workers: the zygote's own were opened as seekable.

    They are opened on a pipe, as a worker has it.
    """
    ends = os.pipe()
    for number, name in ((1, "stdout"), (2, "stderr")):
        own = os.dup(number)
        os.dup2(ends[1], number)
        stream = open(number, "w", encoding="utf-8", closefd=False)  # noqa: SIM115
        os.dup2(own, number)
        os.close(own)
        setattr(sys, name, stream)
        setattr(sys, f"__{name}__", stream)
    for end in ends:
        os.close(end)


def _reseed() -> None:
    """Reseed numpy in each worker; Python's own `random` is reseeded by the fork."""
    numbers = sys.modules.get("numpy.random")
    if numbers is not None:
        numbers.seed(int.from_bytes(os.urandom(4), "little"))


def _extension(path: str) -> Any:
    name = "_antiphon"
    loader = importlib.machinery.ExtensionFileLoader(name, path)
    spec = importlib.util.spec_from_loader(name, loader)
    if spec is None:
        raise ImportError(f"not an extension module: {path}")
    module = importlib.util.module_from_spec(spec)
    loader.exec_module(module)
    return module


def _guest(folder: str) -> Any:
    """Import the guest's code as a package, independent of its location."""
    package = types.ModuleType("_guest")
    package.__path__ = [folder]
    sys.modules["_guest"] = package
    return importlib.import_module("_guest.serve")


if __name__ == "__main__":
    boot(int(sys.argv[1]), sys.argv[2])
