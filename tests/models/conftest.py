"""A server that speaks the wire of OpenAI, and the official client on it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from openai import OpenAI

from support.chat_server import ChatServer

KEY = "~sk-test-0123456789abcdef"


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
