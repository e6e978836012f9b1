"""A server that speaks the wire of OpenAI, and the official client on it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from openai import OpenAI

from antiphon import Image
from support.chat_server import ChatServer

KEY = "~sk-test-0123456789abcdef"
PIXEL = bytes.fromhex(
    "89504e470d0a1a0a0000000d49484452000000010000000108000000003a7e9b55"
    "0000000a49444154789c636000000002000148afa4710000000049454e44ae426082"
)
"""A picture of one grey pixel, as PNG."""


def plot(city: str) -> list[object]:
    """Draws the inhabitants of a city."""
    return [f"a plot of {city}", Image(PIXEL)]


@pytest.fixture(scope="module")
def server() -> Iterator[ChatServer]:
    """Served to the tests of one module."""
    with ChatServer() as server:
        yield server


@pytest.fixture
def client(server: ChatServer) -> Iterator[OpenAI]:
    """Asks the server, once for each question."""
    with OpenAI(base_url=server.url, api_key=KEY, max_retries=0, timeout=10) as client:
        yield client
