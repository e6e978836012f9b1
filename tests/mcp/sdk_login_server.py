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
    construct_redirect_uri,
)
from mcp.server.auth.settings import AuthSettings, ClientRegistrationOptions
from mcp.shared.auth import OAuthToken

PORT = int(sys.argv[1])
ADDRESS = f"http://127.0.0.1:{PORT}"


class Accounts(OAuthAuthorizationServerProvider):
    def __init__(self) -> None:
        self.clients, self.codes, self.tokens = {}, {}, {}

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
        token = AccessToken(
            # No text of another test ends like the beginning of a secret, which is held back.
            token=f"~{secrets.token_hex(20)}",
            client_id=client.client_id,
            scopes=authorization_code.scopes,
            resource=authorization_code.resource,
        )
        self.tokens[token.token] = token
        return OAuthToken(access_token=token.token, expires_in=3600)

    async def load_refresh_token(self, client, refresh_token):
        return None

    async def load_access_token(self, token):
        return self.tokens.get(token)


server = MCPServer(
    "members",
    auth_server_provider=Accounts(),
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


server.run("streamable-http", host="127.0.0.1", port=PORT)
