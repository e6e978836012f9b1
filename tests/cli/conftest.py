"""One process that forks all commands of these tests."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

import pytest

from support.commands import PYTHON, CommandServer, kept_environment

if TYPE_CHECKING:
    import subprocess
    from collections.abc import Iterator

KEY = "sk-never-shown"


class Antiphon(Protocol):
    """Runs ``antiphon`` with these arguments, perhaps with a model's server and variables."""

    def __call__(
        self, *arguments: str, url: str = "", **more: str
    ) -> subprocess.CompletedProcess[str]:
        """Run it to its end."""


def environment(url: str = "", **more: str) -> dict[str, str]:
    """What a command in a separate interpreter needs; with a model's server if there is one."""
    return {
        **kept_environment(),
        "PYTHONPATH": PYTHON,
        "PYTHONUNBUFFERED": "1",
        **_model(url),
        **more,
    }


def _model(url: str) -> dict[str, str]:
    return {"OPENAI_API_KEY": KEY, "OPENAI_BASE_URL": url} if url else {}


@pytest.fixture(scope="session")
def commands() -> Iterator[CommandServer]:
    """Runs commands, each in a separate process."""
    with CommandServer() as server:
        yield server


@pytest.fixture
def antiphon(commands: CommandServer) -> Antiphon:
    """Runs a command."""

    def run(*arguments: str, url: str = "", **more: str) -> subprocess.CompletedProcess[str]:
        return commands.run(*arguments, variables={**_model(url), **more})

    return run
