"""What a process has of the machine: what it might leave behind."""

from __future__ import annotations

import contextlib
import dataclasses
import os
import re
import tempfile
from collections import Counter
from pathlib import Path

from support.processes import descendants

_GROUPS = Path("/sys/fs/cgroup")


@dataclasses.dataclass(frozen=True)
class Traces:
    """What there is at one moment.

    Attributes:
        processes: names of the processes that descend from this one, zombies included.
        threads: number of its threads.
        descriptors: what its descriptors lead to, without their numbers.
        files: files and folders of temporary ones that bear the product's name.
        mounts: number of mounts that it sees.
        groups: number of control groups that bear the product's name and this process's number.
    """

    processes: list[str]
    threads: int
    descriptors: dict[str, int]
    files: list[str]
    mounts: int
    groups: int


def traces() -> Traces:
    """What there is now."""
    own = f"antiphon-{os.getpid()}-"
    return Traces(
        processes=sorted(descendants(os.getpid()).values()),
        threads=len(list(Path("/proc/self/task").iterdir())),
        descriptors=_descriptors(),
        files=sorted(
            path.name for path in Path(tempfile.gettempdir()).iterdir() if _is_ours(path.name)
        ),
        mounts=len(Path("/proc/self/mountinfo").read_text(encoding="utf-8").splitlines()),
        # Groups of other processes may vanish while they are listed: `os.walk` passes them over.
        groups=sum(own in name for _, names, _ in os.walk(_GROUPS) for name in names),
    )


def resident() -> int:
    """Bytes of this process that are in memory."""
    pages = Path("/proc/self/statm").read_text(encoding="ascii").split()[1]
    return int(pages) * os.sysconf("SC_PAGE_SIZE")


def _is_ours(name: str) -> bool:
    return name.startswith("antiphon") and f"-{os.getpid()}-" in name


def _descriptors() -> dict[str, int]:
    found: Counter[str] = Counter()
    for entry in Path("/proc/self/fd").iterdir():
        with contextlib.suppress(OSError):
            found[str(entry.readlink()).partition(":")[0]] += 1
    # The one that lists them.
    found.pop(f"/proc/{os.getpid()}/fd", None)
    counts: Counter[str] = Counter()
    for name, count in found.items():
        counts[re.sub(r"^/proc/\d+/", "/proc/…/", name)] += count
    return dict(sorted(counts.items()))
