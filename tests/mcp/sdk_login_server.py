"""A server written with the official Python SDK that lets in only who has logged in.

Usage: sdk_login_server.py PORT

Its page permits access at once, or refuses it to who asks for the scope `nobody`.
"""

# ruff: noqa: ANN001, ANN201
# mypy: ignore-errors
# The package is not installed where types are checked.
from __future__ import annotations

import secrets
import sys
import time

from mcp.server import MCPServer
from mcp.server.auth.middleware.auth_context import get_access_token
from mcp.server.auth.provider import (
    AccessToken,
    AuthorizationCode,
    OAuthAuthorizationServerProvider,
    RefreshToken,
    construct_redirect_uri,
)
from mcp.server.auth.settings import AuthSettings, ClientRegistrationOptions
from mcp.shared.auth import OAuthToken

PORT = int(sys.argv[1])
ADDRESS = f"http://127.0.0.1:{PORT}"


class Accounts(OAuthAuthorizationServerProvider):
    def __init__(self) -> None:
        self.clients, self.codes, self.tokens, self.renewals = {}, {}, {}, {}

    async def get_client(self, client_id):
        return self.clients.get(client_id)

    async def register_client(self, client_info):
        self.clients[client_info.client_id] = client_info

    async def authorize(self, client, params):
        if "nobody" in (params.scopes or []):
            return construct_redirect_uri(
                str(params.redirect_uri), error="access_denied", state=params.state
            )
        code = AuthorizationCode(
            code=secrets.token_hex(20),
            scopes=params.scopes or [],
            expires_at=time.time() + 600,
            client_id=client.client_id,
            code_challenge=params.code_challenge,
            redirect_uri=params.redirect_uri,
            redirect_uri_provided_explicitly=params.redirect_uri_provided_explicitly,
            resource=params.resource,
        )
        self.codes[code.code] = code
        return construct_redirect_uri(str(params.redirect_uri), code=code.code, state=params.state)

    async def load_authorization_code(self, client, authorization_code):
        return self.codes.get(authorization_code)

    async def exchange_authorization_code(self, client, authorization_code):
        del self.codes[authorization_code.code]
        return self.issue(client, authorization_code.scopes, authorization_code.resource)

    def issue(self, client, scopes, resource):
        of = {"client_id": client.client_id, "scopes": scopes, "resource": resource}
        # No text of another test ends like the beginning of a secret, which is held back.
        token = AccessToken(token=f"~{secrets.token_hex(20)}", **of)
        renewal = RefreshToken(token=f"~{secrets.token_hex(20)}", **of)
        self.tokens[token.token], self.renewals[renewal.token] = token, renewal
        return OAuthToken(access_token=token.token, refresh_token=renewal.token, expires_in=3600)

    async def load_refresh_token(self, client, refresh_token):
        return self.renewals.get(refresh_token)

    async def exchange_refresh_token(self, client, refresh_token, scopes):
        del self.renewals[refresh_token.token]
        return self.issue(client, scopes, refresh_token.resource)

    async def load_access_token(self, token):
        return self.tokens.get(token)


accounts = Accounts()
server = MCPServer(
    "members",
    auth_server_provider=accounts,
    auth=AuthSettings(
        issuer_url=ADDRESS,
        resource_server_url=f"{ADDRESS}/mcp",
        validate_token_resource=True,
        client_registration_options=ClientRegistrationOptions(
            enabled=True, valid_scopes=["members", "nobody"], default_scopes=["members"]
        ),
    ),
)


@server.tool()
def members() -> int:
    """The number of members."""
    return 42


@server.tool()
def token() -> str:
    """The token of the caller."""
    return get_access_token().token


@server.tool()
def expire(renewable: bool) -> str:
    """Forget all tokens, and those that renew them too if asked."""
    accounts.tokens.clear()
    if not renewable:
        accounts.renewals.clear()
    return "forgotten"


server.run("streamable-http", host="127.0.0.1", port=PORT)
