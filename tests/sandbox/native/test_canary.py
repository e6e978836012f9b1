"""The file that a worker must not be able to open when the host tries its jail."""

from __future__ import annotations

import ctypes
import os
import re
import subprocess
import sys
from pathlib import Path

from support.engines import needs

pytestmark = needs("process")

_IN_CREATE = 0x100
_PROBE = "from antiphon.sandbox._engines import probe; print(probe('process')['ok'])"


def test_each_probe_plants_it_under_a_name_that_nobody_foresees(tmp_path: Path) -> None:
    libc = ctypes.CDLL(None, use_errno=True)
    watch = libc.inotify_init()
    try:
        assert libc.inotify_add_watch(watch, os.fsencode(tmp_path), _IN_CREATE) > 0
        for _ in range(2):
            command = [sys.executable, "-c", _PROBE]
            env = {**os.environ, "TMPDIR": str(tmp_path)}
            done = subprocess.run(command, env=env, capture_output=True, text=True, check=True)
            assert done.stdout == "True\n"
        # What was made is reported here even though it is gone.
        names = re.findall(rb"antiphon-canary-[0-9a-f]{32}", os.read(watch, 1 << 16))
    finally:
        os.close(watch)
    assert len(names) == len({*names}) == 2
    assert not [*tmp_path.iterdir()]
