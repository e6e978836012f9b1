"""What a zygote runs: it locks itself in, imports everything once, and forks workers.

Each step is native and lives in antiphon's extension module; here is only their order, because
forks have to be the interpreter's own. Nothing of antiphon's Python code is imported.
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
# The host knows by this code that a worker never met its job.
_UNSEALED = 97


def boot(control: int, native: str) -> NoReturn:
    """Becomes a zygote.

    Args:
        control: the descriptor of the socket that leads to the host.
        native: path of the extension module.
    """
    jail = _extension(native).Jail(control)
    try:
        if jail.leave():
            first = os.fork()
            if first:
                jail.guard(first)
        jail.furnish([path for path in sys.path if path])
        sys.path += jail.path()
        guest = _guest(jail.guest())
        preload = importlib.import_module("_guest.preload")
        preload.load(jail.packages())
        _open_streams()
        guest.prepare()
        gc.collect()
        gc.freeze()
        jail.ready(sys.version.split()[0])
    except BaseException as problem:  # noqa: BLE001 - the host is told of whatever it is
        jail.fail(f"{type(problem).__name__}: {problem}")
        os._exit(_FAILED)
    while jail.next():
        child = _fork()
        if child == 0:
            _work(jail, guest.serve, preload)
        jail.forked(child)
    os._exit(0)


def _fork() -> int:
    try:
        return os.fork()
    except OSError:
        return -1


def _work(jail: Any, serve: Any, preload: Any) -> NoReturn:
    try:
        channel, folder, waits = jail.seal()
        # A library that needs threads starts them when the job is there: they would take memory
        # from every spare. The door is locked behind them.
        later = preload.needs_threads()
        if not later:
            jail.lock()
    except BaseException as problem:  # noqa: BLE001 - whatever it is, the door is not locked
        os.write(2, f"{problem}"[:500].encode("utf-8", "replace"))
        os._exit(_UNSEALED)
    if folder not in {None, os.environ["HOME"]}:
        os.environ["HOME"] = os.environ["TMPDIR"] = folder
    code = _FAILED
    try:
        _reseed()
        serve(channel, waits=waits, prepare=partial(_lock, jail, preload) if later else None)
        code = 0
    except BaseException as problem:  # noqa: BLE001 - it ends here, whatever it is
        os.write(2, f"{type(problem).__name__}: {problem}"[:500].encode("utf-8", "replace"))
    finally:
        # No exit handler of the zygote's is a worker's, and none of the job's counts.
        os._exit(code)


def _lock(jail: Any, preload: Any) -> None:
    preload.start_threads()
    jail.lock()


def _open_streams() -> None:
    """Makes streams for the workers: the zygote's own think that they can be sought in.

    They are opened while a pipe is there, as it will be in a worker.
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
    """Gives each worker chances of its own; Python's are renewed by the fork itself."""
    numbers = sys.modules.get("numpy.random")
    if numbers is not None:
        numbers.seed(int.from_bytes(os.urandom(4), "little"))


def _extension(path: str) -> Any:
    name = "_antiphon"
    loader = importlib.machinery.ExtensionFileLoader(name, path)
    spec = importlib.util.spec_from_loader(name, loader)
    if spec is None:
        raise ImportError(f"this is no extension module: {path}")
    module = importlib.util.module_from_spec(spec)
    loader.exec_module(module)
    return module


def _guest(folder: str) -> Any:
    """The guest's code as a package of its own, wherever its folder is."""
    package = types.ModuleType("_guest")
    package.__path__ = [folder]
    sys.modules["_guest"] = package
    return importlib.import_module("_guest.serve")


if __name__ == "__main__":
    boot(int(sys.argv[1]), sys.argv[2])
