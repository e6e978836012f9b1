"""Servers that ask for OAuth: a person logs in on a page, and tokens are kept."""

from __future__ import annotations

import json
import stat
import subprocess
import sys
import urllib.error
import urllib.request
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import parse_qs, urlparse

import pytest

from antiphon import Agent, Orchestrator, Toolset
from antiphon.errors import AuthError, ValidationError
from antiphon.models import scripted
from antiphon.systems import AgenticSearch
from support.mcp_peers import sdk_environment
from support.mcp_servers import free_port, is_open, tool_of
from support.waiting import happens

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = [pytest.mark.network, pytest.mark.slow]
# What the shell would start as a browser: it visits a page, and follows where that leads.
VISIT = f'{sys.executable} -c "import sys, urllib.request as r; r.urlopen(sys.argv[1])" %s'


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    port = free_port()
    command = [sys.executable, str(Path(__file__).with_name("sdk_login_server.py")), str(port)]
    environment = sdk_environment("2")
    with subprocess.Popen(command, env=environment, stderr=subprocess.DEVNULL) as running:
        try:
            assert happens(lambda: is_open(port))
            yield f"http://127.0.0.1:{port}/mcp"
        finally:
            running.kill()


def visit(page: str) -> None:
    with urllib.request.urlopen(page) as shown:
        assert b"You can close this page" in shown.read()


class _Stay(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *_: object) -> None:
        return None


def refusal(address: str) -> urllib.error.HTTPError:
    """What a server says that neither answers nor is followed to another address."""
    try:
        urllib.request.build_opener(_Stay).open(address).close()
    except urllib.error.HTTPError as error:
        error.close()
        return error
    raise AssertionError(f"it was answered: {address}")


def nobody(page: str) -> None:
    raise AssertionError(f"nobody has to log in: {page}")


def test_the_browser_of_this_machine_leads_back(
    server: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("BROWSER", VISIT)
    monkeypatch.setattr("webbrowser._tryorder", None)
    with Toolset.mcp(server, login="browser") as tools:
        assert tool_of(tools, "members").call({}) == {"result": 42}


def test_where_the_page_has_led_may_be_handed_in(server: str) -> None:
    def elsewhere(page: str) -> str:
        # The browser of another machine ends at an address that it does not reach.
        return str(refusal(page).headers["Location"])

    with Toolset.mcp(server, login=elsewhere) as tools:
        assert tool_of(tools, "members").call({}) == {"result": 42}


def test_what_another_page_sends_is_ignored(server: str) -> None:
    def beside_a_forger(page: str) -> None:
        address = parse_qs(urlparse(page).query)["redirect_uri"][0]
        for forged in ("?code=theirs&state=guessed", "?code=theirs", "/other?state=guessed"):
            assert refusal(address + forged).code == 404
        visit(page)

    with Toolset.mcp(server, login=beside_a_forger) as tools:
        assert tool_of(tools, "members").call({}) == {"result": 42}


def test_tokens_are_kept_for_the_next_process_and_stay_secret(server: str, tmp_path: Path) -> None:
    kept = tmp_path / "config/tokens.json"
    with Toolset.mcp(server, login=visit, oauth={"token_file": kept}) as tools:
        assert tools.tools
    assert stat.S_IMODE(kept.stat().st_mode) == 0o600
    tokens = json.loads(kept.read_text(encoding="utf-8"))
    token = tokens[server]["token_response"]["access_token"]

    again = Toolset.mcp(server, login=nobody, oauth={"token_file": kept})
    model = scripted([{"tool_calls": [{"name": "token", "arguments": {}}]}, "Done."])
    result = Orchestrator([Agent(name="clerk", model=model, tools=[again])]).run("?")
    assert result.answer == "Done."
    assert len(token) > 20
    assert token not in json.dumps(result.to_json())

    # A token that the server does not know any more: somebody logs in again.
    tokens[server]["token_response"]["access_token"] = "~forgotten" * 5
    kept.write_text(json.dumps(tokens), encoding="utf-8")
    with Toolset.mcp(server, login=visit, oauth={"token_file": kept}) as tools:
        assert tool_of(tools, "members").call({}) == {"result": 42}


def test_a_token_that_is_refused_at_a_call_is_renewed_once_without_a_login(server: str) -> None:
    """AS-20 of docs/systems/agentic-search.md."""
    pages: list[str] = []

    def first(page: str) -> None:
        pages.append(page)
        assert len(pages) == 1, "nobody has to log in again"
        visit(page)

    plan = {"tasks": [{"tool_name": "members", "tool_arguments": {}}]}
    answer = {"response_content": "<p>There are 42.</p>"}
    with Toolset.mcp(server, login=first) as tools:
        for renewable, kind in ((True, None), (False, "Auth")):
            model = scripted([{"json": plan}, {"json": answer}])
            tool_of(tools, "expire").call({"renewable": renewable})
            found = AgenticSearch(model, tools=[tools]).run("How many members are there?")
            [task] = found.execution_plan.tasks if found.execution_plan else []
            assert (task.error.type if task.error else None) == kind
            assert found.answer == (None if kind else "There are 42.")
            assert len(pages) == (1 if renewable else 2), "only without a renewal, and in vain"


def test_why_there_is_no_access(server: str, tmp_path: Path) -> None:
    def message(login: object, **oauth: object) -> str:
        with pytest.raises(AuthError) as caught, Toolset.mcp(server, login=login, oauth=oauth):  # type: ignore[arg-type]
            pass
        assert caught.value.code == "mcp_unauthorized"
        return str(caught.value)

    assert "access_denied" in message(visit, scopes=["nobody"])
    assert "nobody has permitted it within 0.2 s" in message(lambda _: None, timeout=0.2)
    assert "cannot be shown: ZeroDivisionError" in message(lambda _: 1 / 0)
    port = int(urlparse(server).netloc.rpartition(":")[2])
    assert f"nothing can listen on port {port}" in message(visit, redirect_port=port)
    (broken := tmp_path / "tokens.json").write_text("{", encoding="utf-8")
    assert f"the file of tokens `{broken}`" in message(visit, token_file=broken)
    assert "refused the credentials" in message(None)


def test_a_login_is_a_function_or_a_browser() -> None:
    with pytest.raises(ValidationError, match="`login` must be a function or 'browser': True"):
        Toolset.mcp("http://127.0.0.1:9/mcp", login=True)  # type: ignore[arg-type]
    with pytest.raises(ValidationError, match=r"oauth\.timeout"):
        Toolset.mcp("http://127.0.0.1:9/mcp", login=visit, oauth={"timeout": 0})
